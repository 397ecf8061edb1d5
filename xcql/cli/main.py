"""The entry point of `xcqlc`: finds the verb's module, and turns errors into exit codes.

A verb's module is imported only when the verb is used, so `xcqlc --help` is instant.
It provides `add_arguments(parser)` and `run(arguments) -> int`.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from xcql.cli.report import (
    add_report_arguments,
    explained_os_error,
    report_bug,
    report_diagnostic,
)
from xcql.diagnostics import XcqlError
from xcql.evaluate.stack import out_of_memory
from xcql.version import __version__

EXIT_OK = 0
EXIT_QUERY_ERROR = 1
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130

# the code for errors in the command line itself
USAGE = "XCQL0100"

# how many new objects there are before Python looks for garbage
_NEW_OBJECTS = 50_000

# verb -> (module, one line of help)
VERBS = {
    "run": ("xcql.cli.run", "answer a query over a store, a document, or fragments"),
    "explain": ("xcql.cli.explain", "explain how a query is answered, and why"),
    "shell": ("xcql.cli.shell", "run queries interactively at a prompt"),
    "eval": ("xcql.cli.eval", "answer a query with the reference evaluator"),
    "fragment": ("xcql.cli.fragment", "cut a document into fillers, or find what changed in it"),
    "infer-tags": ("xcql.cli.infer_tags", "make a tag structure from a document or a schema"),
    "ingest": ("xcql.cli.ingest", "ingest fragments into a store"),
    "import": ("xcql.cli.import_", "import a history from git or from dated documents"),
    "watch": ("xcql.cli.watch", "keep the answer of a query up to date as fragments arrive"),
    "publish": ("xcql.cli.publish", "play a file of fragments as a live stream"),
    "store": ("xcql.cli.store", "inspect, check and maintain a store"),
    "translate": ("xcql.cli.translate", "translate a query to standard XQuery over fragments"),
    "temporalize": ("xcql.cli.temporalize", "write the temporal view of a stream"),
    "parse": ("xcql.cli.parse", "show how a query is parsed: its syntax tree"),
    "fmt": ("xcql.cli.fmt", "format queries"),
    "prepare": ("xcql.cli.prepare", "make Spark start faster from now on"),
    "completion": ("xcql.cli.completion", "print the completion script for a shell"),
}

_EXAMPLES = """\
examples:
  xcqlc run -e 'count(//book)' --doc books.xml     answer from a document
  xcqlc run query.xcql --store DIR                 answer from a store
  xcqlc explain query.xcql --store DIR             how the query is answered
  echo '//account?[now]' | xcqlc parse -           a query from standard input

'xcqlc COMMAND --help' describes a command. Exit codes: 0 success, 1 the query or the data is wrong,
2 the command is wrong, 70 an internal error.
"""


def process() -> NoReturn:
    """Run `xcqlc` as a process of its own."""
    try:
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else EXIT_USAGE
    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    # Python does not tidy up properly while a thread runs: libraries complain on stderr, and after
    # an interrupt, a thread that does not stop would be waited for
    if others and (code == EXIT_INTERRUPTED or all(one.daemon for one in others)):
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xcqlc` with the given arguments (default: the process's) and return its exit code."""
    _write_utf_8()
    _end_in_order()
    # imports make many objects and no garbage
    gc.set_threshold(_NEW_OBJECTS)
    parser = command_line((sys.argv[1:] if argv is None else argv)[:1])
    arguments = parser.parse_args(argv)
    if arguments.verb is None:
        parser.print_help()
        return EXIT_USAGE
    try:
        code = int(import_module(VERBS[arguments.verb][0]).run(arguments))
        sys.stdout.flush()  # here, where a failure is reported
        return code
    except XcqlError as problem:
        report_diagnostic(problem.diagnostic, arguments)
        return EXIT_USAGE if problem.code == USAGE else EXIT_QUERY_ERROR
    except BrokenPipeError:
        _forget_output()  # the reader has closed the pipe, as `| head` does
        return EXIT_OK
    except OSError as problem:
        _forget_output()
        report_diagnostic(explained_os_error(problem).diagnostic, arguments)
        return EXIT_QUERY_ERROR
    except MemoryError:
        report_diagnostic(out_of_memory().diagnostic, arguments)
        return EXIT_QUERY_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as bug:
        report_bug(bug, arguments.verbose)
        return EXIT_BUG


def _end_in_order() -> None:
    """On SIGTERM and SIGHUP, exit with an exception, so that no temporary files are left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # the signal may be ignored on purpose, as by nohup; only the main thread can set a handler
        with suppress(ValueError):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)


def _leave(number: int, _: object) -> None:
    for other in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def _forget_output() -> None:
    """Suppress the error of the interpreter's final flush when the output cannot be written."""
    with suppress(OSError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_utf_8() -> None:
    """Write UTF-8, whatever the locale is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def command_line(wanted: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """The parser of the command line, with the arguments of the wanted verbs."""
    parser = argparse.ArgumentParser(
        prog="xcqlc",
        description="XQuery with time: ask streams of XML fragments what was true, and when.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command_line=command_line)
    parser.add_argument("--version", action="version", version=f"xcqlc {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for verb, (module, summary) in VERBS.items():
        verb_parser = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if verb in wanted:
            import_module(module).add_arguments(verb_parser)
        add_report_arguments(verb_parser)
    return parser


if __name__ == "__main__":
    process()
