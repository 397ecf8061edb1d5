"""The command line's inputs: files, standard input, inline text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xcql.cli.kinds import unreadable
from xcql.diagnostics import error
from xcql.source import Source


def add_query_arguments(parser: argparse.ArgumentParser) -> None:
    """A query as a file, as `-` for standard input, or inline with `-e`."""
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a query file, or - for stdin")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="the query itself")


def read_query(arguments: argparse.Namespace) -> Source:
    """The query in the arguments."""
    if arguments.expression is not None:
        if arguments.query is not None:
            raise error("XCQL0100", "give the query as a file or with -e, not both")
        return Source(arguments.expression, "<query>")
    if arguments.query is None:
        raise error(
            "XCQL0100",
            "no query given",
            hints=["give a query file, the text with -e, or - for standard input"],
        )
    if arguments.query == "-":
        return Source(_decoded(sys.stdin.buffer.read(), "standard input"), "<stdin>")
    text = read_text(arguments.query)
    if not text.strip():
        raise error(
            "XCQL0105",
            f"expected a query, but '{arguments.query}' is empty",
            hints=["was it saved? '-e TEXT' takes a query from the command line"],
        )
    return Source(text, arguments.query)


def read_text(path: str) -> str:
    """The content of a UTF-8 text file; an error says what is wrong with the path."""
    try:
        return _decoded(Path(path).read_bytes(), f"'{path}'")
    except OSError as problem:
        raise unreadable(path, problem) from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(
            "XCQL0101",
            f"{name} is not UTF-8 text (byte {problem.start})",
            hints=["save it as UTF-8"],
        ) from None
