"""`xcqlc explain`: how a query is answered, and why."""

from __future__ import annotations

import argparse
import json

from xcql.cli.data import add_data_arguments, add_evaluation_arguments, open_answer
from xcql.cli.inputs import add_query_arguments
from xcql.cli.outputs import open_output
from xcql.cli.run import add_strategy_argument
from xcql.diagnostics import error
from xcql.explain import as_data, mermaid, text
from xcql.explain.text import STAGES
from xcql.syntax.printer import as_data as tree_data
from xcql.syntax.printer import tree_text

_EXAMPLES = """\
examples:
  xcqlc explain query.xcql --store DIR
  xcqlc explain query.xcql --store DIR --stage joins
  xcqlc explain -e 'stream("credit")//account[@id = "1234"]' \\
      --stream credit=fragments.xml --tags tags.xml --format mermaid

stages: tree (the syntax tree), query (with its parts marked), engine, strategy, algebra (before the
rules), rules (what each did), plan (the algebra after them), joins, native (what runs where), sql,
spark (Spark's own plan). The default is all of them except tree, sql and spark. Only spark starts
Spark.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_query_arguments(parser)
    add_data_arguments(parser)
    add_evaluation_arguments(parser)
    add_strategy_argument(parser)
    parser.add_argument(
        "--stage", choices=["tree", *STAGES, "sql", "spark"], help="one part of the explanation"
    )
    parser.add_argument(
        "--format",
        choices=["text", "json", "mermaid"],
        default="text",
        help="text, JSON, or the plan as a Mermaid flowchart (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", "--out", dest="out", metavar="FILE", help="default: standard output"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.stage and arguments.format == "mermaid":
        raise error("XCQL0100", "the flowchart shows the plan: omit --stage")
    with open_answer(arguments) as (query, answer):
        explanation = answer.explanation()
        if arguments.format == "mermaid":
            shown = mermaid(explanation)
        elif arguments.format == "json":
            data = as_data(explanation)
            if arguments.stage == "tree":
                data["tree"] = tree_data(query.module)
            if arguments.stage == "spark":
                data["spark"] = answer.explain("spark")
            if arguments.stage is not None:
                data = {arguments.stage: data[arguments.stage]}
            shown = json.dumps(data, ensure_ascii=False, indent=2)
        elif arguments.stage == "tree":
            shown = tree_text(query.module)
        elif arguments.stage in ("sql", "spark"):
            shown = answer.explain(arguments.stage).rstrip()
            shown = shown or "-- the reference evaluator answers this query (caq): there is no SQL"
        else:
            shown = text(explanation, STAGES if arguments.stage is None else (arguments.stage,))
    with open_output(arguments.out) as output:
        output.write(f"{shown}\n".encode())
    return 0
