"""The input of a query: a store, a document, or streams of fragments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xcql
from xcql.check import Checked, check
from xcql.cli.documents import open_document
from xcql.cli.inputs import read_query
from xcql.cli.kinds import existing_store, expect
from xcql.cli.outputs import open_output
from xcql.cli.report import report_warnings
from xcql.diagnostics import error
from xcql.evaluate.values import untyped
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.tags import TagStructure, read_tags
from xcql.source import Source
from xcql.temporary import temporary_folder

if TYPE_CHECKING:
    from xcql_runtime.answers.answer import Answer  # noqa: TID251


def add_stream_arguments(parser: argparse.ArgumentParser, of_document: str) -> None:
    """`--doc`, `--stream` and `--tags`."""
    parser.add_argument("--doc", metavar="FILE", help=of_document)
    parser.add_argument(
        "--stream",
        action="append",
        default=[],
        metavar="NAME=FRAGMENTS",
        help="a stream: its name, and the file with its fragments; can be repeated",
    )
    parser.add_argument(
        "--tags",
        action="append",
        default=[],
        metavar="[NAME=]TAGS",
        help="the file with a stream's tag structure; without a name, for every stream",
    )


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """`--store`, and the options of `add_stream_arguments` and `add_engine_arguments`."""
    parser.add_argument("--store", metavar="DIR", help="the store to query")
    add_stream_arguments(
        parser, "a document: the context item, so that //x finds every x; also a stream of its own"
    )
    add_engine_arguments(parser)


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """`--engine`, `--memory` and `--threads`."""
    parser.add_argument(
        "--engine",
        choices=("auto", "embedded", "spark"),
        help="what runs the query: DuckDB in this process (embedded), Spark, or DuckDB unless the"
        " query reads too much for one machine (auto); default: XCQL_ENGINE, or else auto",
    )
    parser.add_argument(
        "--memory", metavar="SIZE", help="the most memory that DuckDB uses before it spills: 4g"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="how many threads DuckDB uses (default: all cores)"
    )


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_engine_arguments` for a session."""
    return {
        "engine": arguments.engine,
        "memory": arguments.memory,
        "threads": arguments.threads,
        "verbose": arguments.verbose,
    }


def add_evaluation_arguments(parser: argparse.ArgumentParser) -> None:
    """`--now` and `--var`."""
    parser.add_argument(
        "--now", metavar="TIME", help="the instant of evaluation, in UTC (default: the clock)"
    )
    parser.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an external variable: text, cast to the type that the query declares;"
        " text that starts with < is a document",
    )


def variables(arguments: argparse.Namespace) -> dict[str, Any]:
    """The values of external variables: documents, or untyped text."""
    pairs = [pair(given, "--var") for given in arguments.var]
    return {name: text if text.startswith("<") else untyped(text) for name, text in pairs}


def stream_files(arguments: argparse.Namespace) -> dict[str, tuple[Path, Path | None]]:
    """For each stream in the arguments, its fragments, and its tags if given."""
    files = dict(pair(given, "--stream") for given in arguments.stream)
    named = dict(pair(given, "--tags") for given in arguments.tags if "=" in given)
    for_all = [given for given in arguments.tags if "=" not in given]
    if len(for_all) > 1:
        raise error("XCQL0100", "say which stream each of the --tags is for: --tags NAME=TAGS")
    for name in named:
        if name not in files and arguments.doc is None:
            raise error("XCQL0100", f"--tags is given for '{name}', but no --stream {name}=…")
    found: dict[str, tuple[Path, Path | None]] = {}
    for name, fragments in files.items():
        tags = named.get(name) or (for_all[0] if for_all else None)
        if tags is not None:
            expect(tags, "tags")
            expect(fragments, "fragments")
        found[name] = Path(fragments), None if tags is None else Path(tags)
    return found


@contextmanager
def open_session(arguments: argparse.Namespace) -> Iterator[tuple[xcql.Session, str | None]]:
    """A session over the input in the arguments, and the stream that is the context item."""
    given = [arguments.store is not None, bool(arguments.stream or arguments.doc)]
    if given.count(True) != 1:
        raise error(
            "XCQL0100",
            "no input" if not any(given) else "give either a store or files",
            hints=[
                "give a store (--store DIR), a document (--doc FILE), or fragments"
                " (--stream NAME=FRAGMENTS --tags TAGS)"
            ],
        )
    if arguments.store is not None:
        if arguments.tags:
            raise error("XCQL0100", "a store has the tags of its streams: omit --tags")
        store = existing_store(arguments.store)
        with xcql.Session(store, **engine_options(arguments)) as session:
            yield session, None
        return
    with temporary_folder() as folder:
        streams: dict[str, Any] = {}
        for name, (fragments, tags) in stream_files(arguments).items():
            if tags is None:
                raise error(
                    "XCQL0100",
                    f"the stream '{name}' has no tag structure",
                    hints=[f"give one: --tags {name}=TAGS.xml", "a plain document: --doc FILE"],
                )
            streams[name] = fragments, tags
        context = None
        if arguments.doc is not None:
            context = _stream_name(arguments.doc)
            streams[context] = _fragmented(arguments, folder / "document.xml")
        with xcql.Session.temporary(streams, **engine_options(arguments)) as session:
            yield session, context


def _stream_name(document: str) -> str:
    """The stream name for a document: its file name, with other characters replaced."""
    return re.sub(r"\W", "_", Path(document).name.partition(".")[0]) or "document"


def _fragmented(arguments: argparse.Namespace, target: Path) -> tuple[Path, TagStructure]:
    """Fragment a document into a file; return it with its tags: those given, or else inferred."""
    document: str = arguments.doc
    expect(document, "document")
    given = [one.rpartition("=")[2] for one in arguments.tags if not arguments.stream]
    if given:
        expect(given[0], "tags")
        tags = read_tags(given[0])
    else:
        with open_document(document) as read:
            tags = tag_structure(infer_from_document(read), [], [])
    with open_document(document) as read, open_output(str(target)) as output:
        fragment(read, tags, "start", output)
    return target, tags


@contextmanager
def open_answer(arguments: argparse.Namespace) -> Iterator[tuple[Checked, Answer]]:
    """The query in the arguments, and its answer over their input.

    Errors and old spellings in its text are reported before any data is read.
    """
    query = parse_query(read_query(arguments), arguments)
    with open_session(arguments) as (session, context):
        query = check_query(query, session, context, arguments)
        yield (
            query,
            session.query(query, arguments.strategy, arguments.now, variables(arguments), context),
        )


def parse_query(text: str | Source, arguments: argparse.Namespace) -> Checked:
    """Parse and check a query's text; report spellings that have a standard form."""
    query = check(text)
    report_warnings(query.module.warnings, arguments)
    return query


def check_query(
    query: Checked, session: xcql.Session, context: str | None, arguments: argparse.Namespace
) -> Checked:
    """Check a query against a session's streams; report steps that cannot find anything."""
    query = query.over({name: session.tags(name) for name in session.streams()}, context)
    report_warnings(query.tag_warnings, arguments)
    return query


def pair(given: str, option: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise error("XCQL0100", f"{option} must have the form NAME=VALUE, not '{given}'")
    return name, value
