"""`xcqlc run`: answer a query with DuckDB or Spark."""

from __future__ import annotations

import argparse

from xcql.cli.answers import FORMATS, write_answer
from xcql.cli.data import add_data_arguments, add_evaluation_arguments, open_answer
from xcql.cli.inputs import add_query_arguments
from xcql.strategies import STRATEGIES

_EXAMPLES = """\
examples:
  xcqlc run query.xcql --store DIR
  xcqlc run -e 'count(//book)' --doc books.xml
  xcqlc run query.xcql --stream credit=fragments.xml --tags tags.xml --now 2003-12-01
  xcqlc run query.xcql --store DIR --format parquet --out answer.parquet

The formats jsonl, csv, parquet and table have a column for each attribute and child of the elements
of the answer. DuckDB runs the query in this process, unless it reads too much for one machine or
XCQL_SPARK names a Spark (spark://host:7077, yarn, local[4], sc://host:15002). Spark needs Java.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_query_arguments(parser)
    add_data_arguments(parser)
    add_evaluation_arguments(parser)
    add_strategy_argument(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="xml",
        help="the output format (default: %(default)s, one item per line)",
    )
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        dest="out",
        metavar="PATH",
        help="a file, or for parquet a folder (default: standard output)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=100,
        metavar="N",
        help="for the format table: how many rows to show (default: %(default)s)",
    )


def add_strategy_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        help="build the view, then query it (caq); query along holes, then build (qac); also"
        " find fillers by their tags (qac+); or choose (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    with open_answer(arguments) as (_, answer):
        write_answer(answer, arguments)
    return 0
