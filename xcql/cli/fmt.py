"""`xcqlc fmt`: format queries without changing their meaning."""

from __future__ import annotations

import argparse
import re
import sys
from itertools import pairwise
from pathlib import Path

from xcql.cli.inputs import read_text
from xcql.cli.outputs import open_output
from xcql.cli.report import report_note
from xcql.diagnostics import error
from xcql.parser import parse
from xcql.parser.lexer import tokenize
from xcql.source import Source, Span
from xcql.syntax.emitter import emit

_EXAMPLES = """\
examples:
  xcqlc fmt query.xcql                 the formatted query, on standard output
  xcqlc fmt --write queries/*.xcql     in place
  xcqlc fmt --check queries/*.xcql     exit code 1 if a file would change

Comments before and after the query are kept. A comment inside the query cannot be kept: this is an
error, and the file is not changed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="query files, or - for stdin")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="the query itself")
    parser.add_argument("-w", "--write", action="store_true", help="change the files in place")
    parser.add_argument("--check", action="store_true", help="only list files that would change")


def run(arguments: argparse.Namespace) -> int:
    changed = 0
    for source in _sources(arguments):
        new = laid_out(source)
        if arguments.check:
            if new != source.text:
                changed += 1
                report_note(f"would change: {source.name}", arguments)
        elif arguments.write:
            if new != source.text:
                with open_output(source.name) as output:
                    output.write(new.encode("utf-8"))
                report_note(f"changed: {source.name}", arguments)
        else:
            sys.stdout.write(new)
    return 1 if changed else 0


def _sources(arguments: argparse.Namespace) -> list[Source]:
    if arguments.expression is not None:
        if arguments.queries or arguments.write:
            raise error("XCQL0100", "-e cannot be combined with files or --write")
        return [Source(arguments.expression, "<query>")]
    if not arguments.queries:
        raise error(
            "XCQL0100",
            "no query given",
            hints=["give query files, the text with -e, or - for standard input"],
        )
    if "-" in arguments.queries and arguments.write:
        raise error("XCQL0100", "cannot write to standard input: omit --write")
    return [
        Source(sys.stdin.read(), "<stdin>")
        if name == "-"
        else Source(read_text(name), str(Path(name)))
        for name in arguments.queries
    ]


def laid_out(source: Source) -> str:
    """The query in the layout of `emit`, with the comments around it.

    >>> print(laid_out(Source("(: one :) 1+1")), end="")
    (: one :)
    1 + 1
    """
    module = parse(source)
    tokens = [token for token in tokenize(source) if token.type >= 0]
    head = source.text[: tokens[0].start].strip()
    tail = source.text[tokens[-1].stop + 1 :].strip()
    for one, other in pairwise(tokens):
        between = source.text[one.stop + 1 : other.start]
        if (found := re.search(r"\(:", between)) is not None:
            start = one.stop + 1 + found.start()
            raise error(
                "XCQL0108",
                "formatting would lose this comment",
                Span(source, start, start + 2),
                hints=["move it before the query; nothing was changed"],
            )
    return "\n".join(part for part in (head, emit(module), tail) if part) + "\n"
