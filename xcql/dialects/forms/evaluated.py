"""Calls of the reference evaluator in SQL, and its results."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.forms.nodes import escape_text
from xcql.dialects.forms.registry import Forms
from xcql.dialects.slots import slot
from xcql.dialects.templates import let, template
from xcql.dialects.trees import (
    Sql,
    call,
    cast,
    dot,
    lambda_,
    struct,
    text_literal,
)

forms = Forms()


@forms
def evaluator_item(kind: Sql, text: Sql, begin: Sql | None = None, end: Sql | None = None) -> Sql:
    """An item as the evaluator's argument or result; results also have lifespans."""
    ends = {"vtFrom": begin, "vtTo": end}
    lifespan = {name: cast(one or exp.null(), "TIMESTAMP_NTZ") for name, one in ends.items()}
    return struct(kind=kind, value=text, **lifespan)


@forms
def evaluate(name: Sql, *arguments: Sql) -> Sql:
    return call(slot(name.this), exp.Placeholder(this="now"), *arguments)


@forms
def dynamic_text(pair: Sql) -> Sql:
    """An item of the evaluator as text: atomic values are escaped, nodes are text already."""
    return template(
        "CASE WHEN startswith(pair.kind, 'xs:') THEN escaped ELSE pair.value END",
        pair=pair,
        escaped=escape_text(dot(pair, "value")),
    )


@forms
def dynamic_truth(pairs: Sql) -> Sql:
    """The effective boolean value of items; NULL if they have none, or a rare type."""
    body = template(
        """CASE WHEN size(xs) = 0 THEN false
          WHEN NOT startswith(f.kind, 'xs:') THEN true
          WHEN size(xs) > 1 THEN CAST(NULL AS BOOLEAN)
          WHEN f.kind = 'xs:boolean' THEN f.value = 'true'
          WHEN f.kind IN ('xs:string', 'xs:untypedAtomic', 'xs:anyURI') THEN f.value <> ''
          WHEN f.kind IN ('xs:integer', 'xs:decimal', 'xs:double', 'xs:float')
            THEN NOT f.value IN ('0', '-0', 'NaN') END""",
        f=template("get(xs, 0)"),
    )
    return let(pairs, "xs", body)


@forms
def dynamic_content(pairs: Sql) -> Sql:
    """Items of the evaluator as content: a space between atomic values next to each other."""
    body = template(
        """concat(CASE WHEN i > 0 AND startswith(pair.kind, 'xs:')
          AND startswith(get(pairs, i - 1).kind, 'xs:') THEN ' ' ELSE '' END, text)""",
        text=dynamic_text(exp.column("pair")),
    )
    texts = call("transform", exp.column("pairs"), lambda_("pair i", body))
    return let(pairs, "pairs", call("array_join", texts, text_literal("")))
