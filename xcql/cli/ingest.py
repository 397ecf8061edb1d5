"""`xcqlc ingest`: fragment files into a store."""

from __future__ import annotations

import argparse

import xcql
from xcql.cli.kinds import expect
from xcql.cli.outputs import naming
from xcql.cli.report import report_note, report_warnings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fragments", nargs="+", metavar="FRAGMENTS", help="files or folders")
    parser.add_argument("--store", required=True, metavar="DIR", help="the store's folder")
    parser.add_argument("--stream", required=True, metavar="NAME", help="the stream's name")
    parser.add_argument("--tags", metavar="TAGS.xml", help="the tag structure of a new stream")
    parser.add_argument(
        "--strict", action="store_true", help="fail on an invalid fragment, and change nothing"
    )


def run(arguments: argparse.Namespace) -> int:
    for path in arguments.fragments:
        expect(path, "fragments")
    if arguments.tags is not None:
        expect(arguments.tags, "tags")
    with naming(arguments.store):
        summary = xcql.Session(arguments.store, verbose=arguments.verbose).ingest(
            arguments.fragments,
            stream=arguments.stream,
            tags=arguments.tags,
            strict=arguments.strict,
        )
    report_warnings(summary.warnings, arguments)
    report_note(summary, arguments)
    return 0
