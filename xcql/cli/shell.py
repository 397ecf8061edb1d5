"""`xcqlc shell`: queries at a prompt, one after the other, in one warm session."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import xcql
from xcql.cli.data import (
    add_data_arguments,
    add_evaluation_arguments,
    check_query,
    open_session,
    parse_query,
    variables,
)
from xcql.cli.line_editing import edited_lines
from xcql.cli.report import explained_os_error, report_bug, report_diagnostic
from xcql.cli.run import add_strategy_argument
from xcql.diagnostics import XcqlError, error
from xcql.evaluate.registry import all_builtins
from xcql.explain import text
from xcql.model.tags import tags_to_xml
from xcql.model.time import format_time, parse_time
from xcql.parser import parse
from xcql.strategies import STRATEGIES

_EXAMPLES = """\
examples:
  xcqlc shell --store DIR
  xcqlc shell --doc books.xml
  xcqlc shell --store DIR < queries.txt

A query can span several lines: it runs when it is complete, or after an empty line.
A line that ends in \\ always continues on the next line.
"""

HELP = """\
Type a query; it runs when it is complete. An empty line always ends it, and a line that ends in
\\ always continues on the next line.

  \\explain [QUERY]   how a query is answered, or the last one
  \\tags [STREAM]     the tag structure of a stream, or the names of all streams
  \\now [TIME]        the instant of evaluation; 'clock' is the time when a query is entered
  \\strategy [NAME]   auto, caq, qac or qac+
  \\engine [NAME]     auto, embedded or spark
  \\timing            turn the timing of answers on or off
  \\help              this text
  \\quit              leave (also Ctrl-D)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_data_arguments(parser)
    add_evaluation_arguments(parser)
    add_strategy_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    with open_session(arguments) as (session, context):
        shell = Shell(session, context, arguments, arguments.now, variables(arguments))
        if sys.stdin.isatty() and not arguments.quiet:
            print(f"Streams: {', '.join(session.streams())}. Type \\help for help.")
        with edited_lines(shell.words) as read_line:
            for entry in entries(read_line):
                if not shell.take(entry):
                    break
        return 1 if shell.failed and not sys.stdin.isatty() else 0


@dataclass(slots=True)
class Shell:
    """The state of the prompt between entries."""

    session: xcql.Session
    context: str | None
    arguments: argparse.Namespace
    now: str | None
    variables: dict[str, Any]
    timing: bool = False
    last: str = ""
    failed: bool = False
    strategy: str = field(init=False)

    def __post_init__(self) -> None:
        self.strategy = self.arguments.strategy

    def take(self, entry: str) -> bool:
        """Execute an entry; return False if it is the last one.

        Errors are reported, and the prompt returns.
        """
        try:
            if entry.startswith("\\"):
                return self._command(entry[1:])
            self.last = entry
            self._ask(entry)
        except XcqlError as problem:
            self.failed = True
            report_diagnostic(problem.diagnostic, self.arguments)
        except OSError as problem:
            self.failed = True
            report_diagnostic(explained_os_error(problem).diagnostic, self.arguments)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        except Exception as bug:
            self.failed = True
            report_bug(bug, self.arguments.verbose)
        return True

    def words(self) -> list[str]:
        """The completions: commands, streams, tag names, functions."""
        found = {f"\\{name}" for name in _COMMANDS}
        found |= {f'stream("{name}")' for name in self.session.streams()}
        for stream in self.session.streams():
            found |= {tag.name.local for tag in self.session.tags(stream)}
        return sorted(found | {f"{name}(" for name in {one.name for one in all_builtins()}})

    def _answer(self, query: str) -> Any:
        asked = check_query(
            parse_query(query, self.arguments), self.session, self.context, self.arguments
        )
        strategy: Any = self.strategy
        return self.session.query(asked, strategy, self.now, self.variables, self.context)

    def _ask(self, query: str) -> None:
        began = time.perf_counter()
        count = 0
        for item in self._answer(query).items():
            print(item)
            count += 1
        sys.stdout.flush()
        if self.timing:
            took = time.perf_counter() - began
            print(f"{count} item{'' if count == 1 else 's'}, {took:.2f} s", file=sys.stderr)

    def _command(self, text: str) -> bool:
        name, _, rest = text.partition(" ")
        command = _COMMANDS.get(name)
        if command is None:
            known = ", ".join(f"\\{one}" for one in _COMMANDS)
            raise error("XCQL0107", f"unknown command \\{name}", hints=[f"commands: {known}"])
        command(self, rest.strip())
        return name != "quit"


def entries(read_line: Callable[[str], str | None]) -> Iterator[str]:
    """Commands and complete queries; `read_line` takes a prompt, and returns None at the end."""
    lines: list[str] = []
    while True:
        line = read_line("   ... " if lines else "xcql> ")
        if line is None:
            break
        if not lines and (not line.strip() or line.lstrip().startswith("\\")):
            if line.strip():
                yield line.strip()
            continue
        goes_on = line.endswith("\\")
        lines.append(line.removesuffix("\\"))
        query = "\n".join(lines)
        if not line.strip() or not (goes_on or is_incomplete(query)):
            lines = []
            yield query
    if lines:
        yield "\n".join(lines)


def is_incomplete(query: str) -> bool:
    """Whether more text could complete the query.

    >>> is_incomplete("for $a in //account"), is_incomplete("1 + 1"), is_incomplete("1 ) 2")
    (True, False, False)
    """
    try:
        parse(query)
    except XcqlError as problem:
        span = problem.diagnostic.span
        if span is None:
            return False
        return span.start >= len(query.rstrip()) or problem.message.endswith("is not closed")
    return False


def _explain(shell: Shell, query: str) -> None:
    query = query or shell.last
    if not query:
        raise error("XCQL0107", "there is no query yet", hints=["give one: \\explain QUERY"])
    print(text(shell._answer(query).explanation()))


def _tags(shell: Shell, stream: str) -> None:
    streams = shell.session.streams()
    if stream or len(streams) == 1:
        print(tags_to_xml(shell.session.tags(stream or streams[0])), end="")
    else:
        print("\n".join(streams))


def _now(shell: Shell, given: str) -> None:
    if given:
        shell.now = None if given == "clock" else format_time(parse_time(given))
    print(f"now is {shell.now or 'the current time'}")


def _strategy(shell: Shell, given: str) -> None:
    if given and given not in STRATEGIES:
        raise error("XCQL0107", f"unknown strategy {given}", hints=[f"use {', '.join(STRATEGIES)}"])
    shell.strategy = given or shell.strategy
    print(f"strategy {shell.strategy}")


def _engine(shell: Shell, given: str) -> None:
    if given:
        shell.session.use_engine(given)
    print(f"engine {shell.session.engine}")


def _timing(shell: Shell, given: str) -> None:
    shell.timing = {"on": True, "off": False}.get(given, not shell.timing)
    print(f"timing {'on' if shell.timing else 'off'}")


_COMMANDS: dict[str, Callable[[Shell, str], None]] = {
    "explain": _explain,
    "tags": _tags,
    "now": _now,
    "strategy": _strategy,
    "engine": _engine,
    "timing": _timing,
    "help": lambda shell, rest: print(HELP),
    "quit": lambda shell, rest: None,
}
