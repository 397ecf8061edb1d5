"""What the reference evaluator computes in a worker, and what it gives, in SQL."""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import (
    Sql,
    binary,
    both,
    call,
    case_,
    column,
    form,
    identifier,
    lambda_,
    let,
    text_literal,
)
from xcql.sql.node_forms import escape_text
from xcql.sql.slots import slot


@form
def evaluator_item(kind: Sql, text: Sql) -> Sql:
    """An item as the evaluator takes and gives it."""
    return call("named_struct", text_literal("kind"), kind, text_literal("value"), text)


@form
def evaluate(name: Sql, *arguments: Sql) -> Sql:
    return call(slot(name.this), exp.Placeholder(this="now"), *arguments)


@form
def dynamic_text(pair: Sql) -> Sql:
    """An item of the evaluator as text: atomic values are escaped, nodes are text already."""
    kind = exp.Dot(this=pair, expression=identifier("kind"))
    value = exp.Dot(this=pair.copy(), expression=identifier("value"))
    return case_(call("startswith", kind, text_literal("xs:")), escape_text(value), value.copy())


@form
def dynamic_content(pairs: Sql) -> Sql:
    """Items of the evaluator as content: a space between atomic values next to each other."""
    e, before = (
        column("e"),
        call("get", column("pairs"), exp.Sub(this=column("i"), expression=exp.Var(this="1"))),
    )

    def is_atomic(pair: Sql) -> Sql:
        return call(
            "startswith", exp.Dot(this=pair, expression=identifier("kind")), text_literal("xs:")
        )

    space = case_(
        both(binary(">", column("i"), exp.Var(this="0")), is_atomic(e), is_atomic(before)),
        text_literal(" "),
        text_literal(""),
    )
    each = lambda_("e i", call("concat", space, dynamic_text(column("e"))))
    return let(
        pairs,
        "pairs",
        call("array_join", call("transform", column("pairs"), each), text_literal("")),
    )
