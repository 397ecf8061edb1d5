"""`xcqlc parse`: show how a query is parsed."""

from __future__ import annotations

import argparse
import json

from xcql.cli.inputs import add_query_arguments, read_query
from xcql.cli.report import report_warnings
from xcql.parser import parse
from xcql.syntax.emitter import emit
from xcql.syntax.printer import as_data, tree_text

_EXAMPLES = """\
examples:
  xcqlc parse query.xcql                       the tree, one node per line
  xcqlc parse --format json - < query.xcql     the tree for other programs
  xcqlc parse --format xquery -e '1+2*3'       the formatted query
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_query_arguments(parser)
    parser.add_argument(
        "--format",
        choices=["tree", "json", "xquery"],
        default="tree",
        help="a tree, JSON, or the query itself in canonical form (default: %(default)s)",
    )
    parser.epilog = _EXAMPLES


def run(arguments: argparse.Namespace) -> int:
    module = parse(read_query(arguments))
    report_warnings(module.warnings, arguments)
    if arguments.format == "json":
        print(json.dumps(as_data(module), ensure_ascii=False, indent=2))
    elif arguments.format == "xquery":
        print(emit(module))
    else:
        print(tree_text(module))
    return 0
