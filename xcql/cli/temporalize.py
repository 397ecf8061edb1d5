"""`xcqlc temporalize`: the view of a stream, or the document at an instant."""

from __future__ import annotations

import argparse

import xcql
from xcql.cli.data import add_engine_arguments, engine_options
from xcql.cli.kinds import existing_store
from xcql.cli.outputs import open_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="DIR", help="the store's folder")
    parser.add_argument("--stream", required=True, metavar="NAME", help="the stream's name")
    parser.add_argument("--at", metavar="T", help="write the document as it was at this instant")
    parser.add_argument("--now", metavar="T", help="the instant of evaluation (default: the clock)")
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        dest="output",
        metavar="OUT",
        help="a file (default: standard output)",
    )
    add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    with xcql.Session(existing_store(arguments.store), **engine_options(arguments)) as session:
        pieces = session.temporalize(arguments.stream, at=arguments.at, now=arguments.now)
        with open_output(arguments.output) as output:
            for piece in pieces:
                output.write(piece.encode())
            output.write(b"\n")
    return 0
