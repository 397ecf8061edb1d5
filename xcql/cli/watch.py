"""`xcqlc watch`: the answer of a query, kept up to date while fragments come."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xcql.analysis.streams import streams_named
from xcql.cli.data import advice, variables
from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.kinds import existing_store, expect
from xcql.cli.report import report_note, report_warnings
from xcql.continuous import open_continuous
from xcql.diagnostics import error
from xcql.model.tags import TagStructure, read_tags
from xcql.parser import parse
from xcql.syntax.prolog import MainModule
from xcql.temporary import temporary_folder

if TYPE_CHECKING:
    from xcql import Session

_EXAMPLES = """\
examples:
  xcqlc watch query.xcql --source tcp://localhost:9000 --tags tags.xml
  xcqlc watch query.xcql --source credit=dir:inbox --tags credit=tags.xml --checkpoint state
  xcqlc watch query.xcql --source inbox --tags tags.xml --now event --sink parquet:changes
  xcqlc watch query.xcql --store DIR --source kafka://localhost:9092/credit

The answer is shown in place on a terminal, else an update a line: what happens (insert, replace or
delete), at which position, and the item. Ctrl-C ends it. With --checkpoint the same command goes on
where it ended, also after a crash.
"""
_NAMED = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_query_arguments(parser)
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="[NAME=]ADDRESS",
        help="where a stream comes from: tcp://HOST:PORT, dir:FOLDER or kafka://BROKER:PORT/TOPIC;"
        " may be repeated, with the streams' names",
    )
    parser.add_argument(
        "--tags",
        action="append",
        default=[],
        metavar="[NAME=]TAGS",
        help="the file with a stream's tag structure; without a name, for every stream",
    )
    parser.add_argument("--store", metavar="DIR", help="a store with the streams' history")
    parser.add_argument(
        "--now",
        choices=["wall", "event"],
        default="wall",
        help="the instant of evaluation: the clock, or the largest validTime seen"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an external variable",
    )
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where the query's state is kept, to go on from it"
    )
    parser.add_argument(
        "--sink",
        action="append",
        default=[],
        metavar="SINK",
        help="where else updates go: parquet:FOLDER or kafka://BROKER:PORT/TOPIC",
    )
    parser.add_argument(
        "--format",
        choices=["display", "lines", "jsonl", "none"],
        help="how updates are shown (default: display on a terminal, else lines)",
    )
    parser.add_argument(
        "--trigger",
        metavar="TIME",
        help="how often to look for what came, such as '1 second'; 'once' for all that is there",
    )
    parser.add_argument(
        "--max-fragments",
        type=int,
        default=10_000,
        metavar="N",
        help="how many fragments are taken in at once (default: %(default)s)",
    )
    parser.add_argument(
        "--until-idle",
        type=float,
        metavar="SECONDS",
        help="end when nothing has come for so long",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="do not start; tell what is kept as state, its bounds, and what needs the whole",
    )
    parser.add_argument("--stop-after", type=int, metavar="N", help="end after so many batches")


def run(arguments: argparse.Namespace) -> int:
    query = read_query(arguments)
    module = parse(query)
    sources = _named(arguments.source, "--source")
    if not sources and not arguments.explain:
        raise error(
            "XCQL0100",
            "there is nothing to watch",
            hints=["name a source: --source tcp://HOST:PORT, or a folder"],
        )
    with _opened(arguments) as session:
        tags = _tags(arguments)
        known = {name: session.tags(name) for name in session.streams()}
        structures = {name: one for name, one in tags.items() if name} | known
        if None in tags:
            asked = streams_named(module) if isinstance(module, MainModule) else None
            named = {name for name in sources if name} | (asked or set())
            structures = dict.fromkeys(named, tags[None]) | known
        if structures and structures.keys() >= {name for name in sources if name}:
            report_warnings(advice(module, structures), arguments)
        if arguments.explain:
            _explain(arguments, query.text, structures)
        else:
            _watch(arguments, session, query, sources, tags)
    return 0


def _explain(
    arguments: argparse.Namespace, query: str, structures: Mapping[str, TagStructure]
) -> None:
    with temporary_folder() as folder:
        given = variables(arguments)
        with open_continuous(query, structures, folder, arguments.now, given) as continuous:
            print(continuous.explanation())


def _watch(
    arguments: argparse.Namespace,
    session: Session,
    query: Any,
    sources: dict[str | None, str],
    tags: dict[str | None, TagStructure],
) -> None:
    form = arguments.format or ("display" if sys.stdout.isatty() else "lines")
    batches = 0

    def tell(figures: object) -> None:
        nonlocal batches
        batches += 1
        if form != "display":  # which has a line for it
            report_note(figures, arguments)

    handle = session.stream(
        query,
        sources[None] if None in sources else {str(name): one for name, one in sources.items()},
        tags=tags[None] if None in tags else {str(name): one for name, one in tags.items()} or None,
        now=arguments.now,
        trigger=arguments.trigger,
        checkpoint=arguments.checkpoint,
        sink=[*([] if form == "none" else [form]), *arguments.sink],
        variables=variables(arguments),
        max_fragments=arguments.max_fragments,
        progress=tell,
        warn=lambda warning: report_warnings([warning], arguments),
    )
    may_end = arguments.stop_after is not None or arguments.until_idle is not None
    try:
        while not handle.await_termination(0.1 if may_end else None):
            if arguments.stop_after is not None and batches >= arguments.stop_after:
                break
            if arguments.until_idle is not None and handle.idle_seconds >= arguments.until_idle:
                break
    except KeyboardInterrupt:
        pass  # the usual end
    finally:
        handle.stop()


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Session]:
    """A session over the store, or over none."""
    from xcql import Session  # imports PySpark: slow

    if arguments.store is not None:
        yield Session(existing_store(arguments.store), verbose=arguments.verbose)
        return
    with Session.temporary({}, verbose=arguments.verbose) as session:
        yield session


def _tags(arguments: argparse.Namespace) -> dict[str | None, TagStructure]:
    found = {}
    for name, path in _named(arguments.tags, "--tags").items():
        expect(path, "tags")
        found[name] = read_tags(path)
    return found


def _named(given: list[str], option: str) -> dict[str | None, str]:
    """What an option says for each stream; None stands for the only one."""
    found: dict[str | None, str] = {}
    for one in given:
        match = _NAMED.fullmatch(one)
        name, value = (match[1], match[2]) if match else (None, one)
        if name in found:
            whose = f"the stream '{name}'" if name else "every stream"
            raise error("XCQL0100", f"{option} is given twice for {whose}")
        found[name] = value
    if None in found and len(found) > 1:
        raise error("XCQL0100", f"say which stream each {option} is for: {option} NAME=…")
    return found
