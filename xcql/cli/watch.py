"""`xcqlc watch`: the answer of a query, kept up to date while fragments arrive."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import xcql
from xcql.check import Checked, check
from xcql.cli.data import variables
from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.kinds import existing_store, expect
from xcql.cli.report import report_note, report_warnings
from xcql.continuous import open_continuous
from xcql.diagnostics import error
from xcql.model.tags import TagStructure, read_tags
from xcql.temporary import temporary_folder

_EXAMPLES = """\
examples:
  xcqlc watch query.xcql --source tcp://localhost:9000 --tags tags.xml
  xcqlc watch query.xcql --source credit=dir:inbox --tags credit=tags.xml --checkpoint state
  xcqlc watch query.xcql --source inbox --tags tags.xml --now event --sink parquet:changes
  xcqlc watch query.xcql --store DIR --source kafka://localhost:9092/credit

On a terminal, the answer is updated in place; elsewhere, each line is an update: the operation
(insert, replace or delete), the position, and the item. Ctrl-C stops the query. With --checkpoint,
the same command continues where it stopped, also after a crash.
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
        " can be repeated, with the names of the streams",
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
        "--checkpoint", metavar="DIR", help="where to keep the query's state, to continue from it"
    )
    parser.add_argument(
        "--sink",
        action="append",
        default=[],
        metavar="SINK",
        help="where else to send updates: parquet:FOLDER or kafka://BROKER:PORT/TOPIC",
    )
    parser.add_argument(
        "--format",
        choices=["display", "lines", "jsonl", "none"],
        help="how to show updates (default: display on a terminal, otherwise lines)",
    )
    parser.add_argument(
        "--trigger",
        metavar="TIME",
        help="how often to check the sources, such as '1 second'; 'once' for what is there now",
    )
    parser.add_argument(
        "--max-fragments",
        type=int,
        default=10_000,
        metavar="N",
        help="the maximum number of fragments per batch (default: %(default)s)",
    )
    parser.add_argument(
        "--until-idle",
        type=float,
        metavar="SECONDS",
        help="stop when nothing has arrived for this long",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="do not start; show the state, its bounds, and what needs recomputing as a whole",
    )
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after this many batches")


def run(arguments: argparse.Namespace) -> int:
    query = check(read_query(arguments))
    sources = _named(arguments.source, "--source")
    if not sources and not arguments.explain:
        raise error(
            "XCQL0100",
            "no source",
            hints=["give a source: --source tcp://HOST:PORT, or a folder"],
        )
    with _opened(arguments) as session:
        tags = _tags(arguments)
        known = {name: session.tags(name) for name in session.streams()}
        structures = {name: one for name, one in tags.items() if name} | known
        if None in tags:
            named = {name for name in sources if name} | (query.streams or set())
            structures = dict.fromkeys(named, tags[None]) | known
        query = query.over(structures)
        if structures and structures.keys() >= {name for name in sources if name}:
            report_warnings(query.tag_warnings, arguments)
        if arguments.explain:
            _explain(arguments, query)
        else:
            _watch(arguments, session, query, sources, tags)
    return 0


def _explain(arguments: argparse.Namespace, query: Checked) -> None:
    with temporary_folder() as folder:
        given = variables(arguments)
        with open_continuous(query, query.tags, folder, arguments.now, given) as continuous:
            print(continuous.explanation())


def _watch(
    arguments: argparse.Namespace,
    session: xcql.Session,
    query: Checked,
    sources: dict[str | None, str],
    tags: dict[str | None, TagStructure],
) -> None:
    form = arguments.format or ("display" if sys.stdout.isatty() else "lines")
    batches = 0

    def tell(figures: object) -> None:
        nonlocal batches
        batches += 1
        if form != "display":  # the display has its own status line
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
        pass  # the normal way to stop
    finally:
        handle.stop()


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[xcql.Session]:
    """A session over the store, or over an empty temporary one."""
    if arguments.store is not None:
        yield xcql.Session(existing_store(arguments.store), verbose=arguments.verbose)
        return
    with xcql.Session.temporary({}, verbose=arguments.verbose) as session:
        yield session


def _tags(arguments: argparse.Namespace) -> dict[str | None, TagStructure]:
    found = {}
    for name, path in _named(arguments.tags, "--tags").items():
        expect(path, "tags")
        found[name] = read_tags(path)
    return found


def _named(given: list[str], option: str) -> dict[str | None, str]:
    """The values of an option by stream; the key None is the only stream."""
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
