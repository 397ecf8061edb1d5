"""`xcqlc eval`: the answer of a query by the reference evaluator, in memory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xcql.check import check
from xcql.cli.data import (
    add_evaluation_arguments,
    add_stream_arguments,
    stream_files,
    variables,
)
from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.kinds import expect
from xcql.cli.report import report_warnings
from xcql.evaluate.api import evaluate, prepare
from xcql.model.tags import read_tags

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
    add_stream_arguments(parser, "the document that is the context item")
    add_evaluation_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    query = check(read_query(arguments))
    prepared = prepare(query)
    report_warnings(query.module.warnings, arguments)
    streams = stream_files(arguments)
    if arguments.doc is not None:
        expect(arguments.doc, "document")
    if streams and all(tags is not None for _, tags in streams.values()):
        structures = {name: read_tags(tags) for name, (_, tags) in streams.items() if tags}
        report_warnings(query.over(structures).tag_warnings, arguments)
    answer = evaluate(
        prepared,
        context=None if arguments.doc is None else Path(arguments.doc),
        variables=variables(arguments),
        streams={
            name: fragments if tags is None else (fragments, tags)
            for name, (fragments, tags) in streams.items()
        },
        now=arguments.now,
    )
    report_warnings(answer.warnings[len(prepared.warnings) :], arguments)
    for item in answer:
        sys.stdout.write(item.xml + "\n")
    return 0
