"""`xcqlc translate`: a query as standard XQuery over fragments, or as SQL over a store."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import xcql
from xcql.check import Checked, check
from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.kinds import existing_store, expect
from xcql.cli.outputs import open_output
from xcql.cli.report import report_note, report_warnings
from xcql.diagnostics import error
from xcql.model.tags import TagStructure, read_tags
from xcql.strategies import STRATEGIES
from xcql.translate import Translation, translate
from xcql.translate.api import only_stream
from xcql.translate.library import library_path
from xcql.translate.standalone import standalone

_EXAMPLES = """\
examples:
  xcqlc translate query.xcql --tags tags.xml --strategy qac
  xcqlc translate query.xcql --tags credit=tags.xml --explain
  xcqlc translate query.xcql --tags tags.xml --standalone --fragments credit=fragments.xml \\
      --now 2003-12-01T00:00:00 > query.xq
  xcqlc translate query.xcql --to sql --store DIR

Without --standalone the query imports the library xcql.xqm (--library says where that is) and takes
the documents with the fragments of a stream NAME in the external variable $NAME-files.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_query_arguments(parser)
    parser.add_argument(
        "--to",
        choices=("xquery", "sql"),
        default="xquery",
        help="standard XQuery over fragments, or SQL over a store (default: %(default)s)",
    )
    parser.add_argument("--store", metavar="DIR", help="for --to sql: the store to query")
    parser.add_argument(
        "--engine",
        choices=("embedded", "spark"),
        default="spark",
        help="for --to sql: in the dialect of DuckDB (embedded) or Spark (default: %(default)s)",
    )
    parser.add_argument(
        "--tags",
        action="append",
        default=[],
        metavar="[NAME=]TAGS.xml",
        help="a stream's tag structure; without a name, that of the only stream in the query",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        help="build the view, then query it (caq); query, then build (qac); also find fillers"
        " by their tags (qac+); or choose the fastest (default: %(default)s)",
    )
    parser.add_argument(
        "--explain", action="store_true", help="print on stderr how each stream is read, and why"
    )
    parser.add_argument(
        "--standalone",
        action="store_true",
        help="one module that runs by itself on any XQuery 3.1 processor",
    )
    parser.add_argument(
        "--fragments",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="for --standalone: the file or files with a stream's fragments",
    )
    parser.add_argument(
        "--now", metavar="TIME", help="for --standalone: the instant of evaluation (default: now)"
    )
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        dest="output",
        metavar="FILE",
        help="default: standard output",
    )
    parser.add_argument(
        "--clean-to",
        metavar="FOLDER",
        help="for --standalone: where to write a clean copy NAME.clean.xml of fragments that other"
        " XQuery processors cannot read as they are",
    )
    parser.add_argument(
        "--library", action="store_true", help="print the path of the library xcql.xqm, and exit"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.library:
        print(library_path())
        return 0
    query = check(read_query(arguments))
    if arguments.to == "sql":
        return _to_sql(arguments, query)
    named = [_pair(given) for given in arguments.tags]
    for _, file in named:
        expect(file, "tags")
    tags = {name or only_stream(query): read_tags(file) for name, file in named}
    translation = translate(query.over(tags), strategy=arguments.strategy)
    report_warnings(translation.warnings, arguments)
    if arguments.explain:
        for note in translation.notes:
            report_note(f"note: {note}", arguments)
    text = translation.text + "\n"
    if arguments.standalone:
        text = _standalone(arguments, translation, tags)
    elif arguments.fragments or arguments.now or arguments.clean_to:
        raise error("XCQL0100", "--fragments, --now and --clean-to require --standalone")
    _write(arguments, text)
    return 0


def _to_sql(arguments: argparse.Namespace, query: Checked) -> int:
    """Print the query as SQL; `:now` is its instant, and `{name}` is a table."""
    if arguments.store is None:
        raise error("XCQL0100", "--to sql needs a store: --store DIR")
    if arguments.strategy == "caq":
        raise error("XCQL0100", "caq evaluates the query over the view: there is no SQL")
    session = xcql.Session(existing_store(arguments.store), engine=arguments.engine)
    answer = session.query(query, strategy=arguments.strategy)
    report_warnings(answer.warnings, arguments)
    if answer.strategy == "caq":
        raise error(
            "XCQL0502",
            f"the query cannot be written in SQL: {'; '.join(answer.reasons)}",
            hints=["a session still answers it, with the strategy caq"],
        )
    if arguments.explain:
        report_note(answer.explain("plan"), arguments)
    _write(arguments, answer.explain("sql") + "\n")
    return 0


def _write(arguments: argparse.Namespace, text: str) -> None:
    if arguments.output is None:
        sys.stdout.write(text)
        return
    with open_output(arguments.output) as output:
        output.write(text.encode("utf-8"))


def _standalone(
    arguments: argparse.Namespace, translation: Translation, tags: dict[str, TagStructure]
) -> str:
    files: dict[str, list[Path]] = {}
    for name, file in (_pair(given) for given in arguments.fragments):
        if name is None and len(tags) != 1:
            raise error(
                "XCQL0100", "say which stream the --fragments belong to: --fragments NAME=FILE"
            )
        files.setdefault(name or next(iter(tags)), []).append(Path(file))
    folder = None if arguments.clean_to is None else Path(arguments.clean_to)
    module = standalone(translation, files, tags, arguments.now, folder)
    for copy in module.copies:
        report_note(f"note: {copy.reason}; the query reads a clean copy, '{copy.path}'", arguments)
    return module.text


def _pair(given: str) -> tuple[str | None, str]:
    """The name and the file in `NAME=FILE`; the name is None if it is missing."""
    name, equals, file = given.partition("=")
    return (name, file) if equals and "/" not in name else (None, given)
