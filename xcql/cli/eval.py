"""`xcqlc eval`: the answer of a query, at once and without Spark."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.report import report_warnings
from xcql.diagnostics import error
from xcql.evaluate.api import evaluate, prepare
from xcql.evaluate.values import untyped

_EXAMPLES = """\
examples:
  xcqlc eval -e 'count(//book)' --doc books.xml
  xcqlc eval query.xcql --stream credit=fragments.xml --tags tags.xml --now 2003-12-01T00:00:00
  xcqlc eval -e 'declare variable $n external; //x[. = $n]' --doc doc.xml --var n=3

A stream without tags is a plain document, which has no history.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_query_arguments(parser)
    parser.add_argument("--doc", metavar="FILE", help="the document that is the context item")
    parser.add_argument(
        "--stream",
        action="append",
        default=[],
        metavar="NAME=FRAGMENTS",
        help="a stream: its name, and the file of its fragments; may be repeated",
    )
    parser.add_argument(
        "--tags",
        action="append",
        default=[],
        metavar="[NAME=]TAGS",
        help="the file with a stream's tag structure; without a name, for every stream",
    )
    parser.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an external variable: text, cast to the type that the query declares;"
        " one that starts with < is a document",
    )
    parser.add_argument("--now", metavar="TIME", help="the instant of evaluation, in UTC")


def run(arguments: argparse.Namespace) -> int:
    query = prepare(read_query(arguments))
    report_warnings(query.warnings, arguments.error_format)
    answer = evaluate(
        query,
        context=None if arguments.doc is None else Path(arguments.doc),
        variables=dict(_variable(given) for given in arguments.var),
        streams=_streams(arguments.stream, arguments.tags),
        now=arguments.now,
    )
    report_warnings(answer.warnings[len(query.warnings) :], arguments.error_format)
    for item in answer:
        sys.stdout.write(item.xml + "\n")
    return 0


def _streams(streams: list[str], tags: list[str]) -> dict[str, Any]:
    """Each stream's fragments with its tags, or alone if there are none."""
    files = dict(_pair(given, "--stream") for given in streams)
    named = dict(_pair(given, "--tags") for given in tags if "=" in given)
    for_all = [given for given in tags if "=" not in given]
    if len(for_all) > 1:
        raise error("XCQL0100", "say which stream each of the --tags is for: --tags NAME=TAGS")
    for name in named:
        if name not in files:
            raise error("XCQL0100", f"there are --tags for '{name}' but no --stream {name}=…")
    found: dict[str, Any] = {}
    for name, fragments in files.items():
        structure = named.get(name) or (for_all[0] if for_all else None)
        found[name] = Path(fragments) if structure is None else (Path(fragments), Path(structure))
    return found


def _variable(given: str) -> tuple[str, Any]:
    """A variable's value: a document, or untyped text, which is cast to the declared type."""
    name, value = _pair(given, "--var")
    return name, value if value.startswith("<") else untyped(value)


def _pair(given: str, option: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise error("XCQL0100", f"{option} is written NAME=VALUE, not '{given}'")
    return name, value
