"""What a group of tuples is reduced to."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from xcql.algebra.operators import Aggregate
from xcql.algebra.scalars import Call
from xcql.sql import dialect
from xcql.sql.array_forms import array_sum_doubles, join_texts, tuple_
from xcql.sql.dialect import Sql, call, cast, column, identifier, sql
from xcql.sql.number_forms import DECIMAL

# reductions that look at the order of the tuples
ORDERED = frozenset({"collect", "join", "sum_doubles", "first"})


def reduced(one: Aggregate, known: dict[str, Sql], sort: list[Sql], fields: Collection[str]) -> Sql:
    """A reduction of tuples in an order; of structs, only `fields` are kept."""
    value = one.value
    if isinstance(value, Call) and value.function == "members":
        value = _pruned(value, fields)
    scalar = sql(value, known)
    match one.reduction:
        case "count":
            return call("count", exp.Star())
        case "count_if":
            return call("count_if", scalar)
        case "exists":
            return call("any_value", exp.Boolean(this=True))
        case "any":
            return call("any_value", scalar)
        case "min" | "max" | "sum":
            return call(one.reduction, scalar)
        case "sum_decimals":
            return cast(call("sum", cast(scalar, DECIMAL)), DECIMAL)
    gathered = _gathered(scalar, sort)
    match one.reduction:
        case "collect":
            return gathered
        case "join":
            return join_texts(gathered, dialect.text_literal(""))
        case "sum_doubles":
            return array_sum_doubles(gathered)
        case "first":
            return call("get", gathered, exp.Var(this="0"))
    raise AssertionError(one)


def _pruned(struct: Call, fields: Collection[str]) -> Call:
    """A struct without the fields that nothing asks for."""
    pairs = [struct.arguments[index : index + 2] for index in range(0, len(struct.arguments), 2)]
    kept = [pair for pair in pairs if pair[0].value in fields]  # type: ignore[attr-defined]
    return Call("members", tuple(part for pair in kept or pairs[:1] for part in pair))


def _gathered(value: Sql, sort: list[Sql]) -> Sql:
    """An array of the values of a group, in order."""
    if not sort:
        struct = call("struct", value)
        return call(
            "transform", call("collect_list", struct), dialect.lambda_("e", _dot("e", "col1"))
        )
    struct = tuple_(*(one.copy() for one in sort), value)
    inside = dialect.lambda_("e", _dot("e", f"col{len(sort) + 1}"))
    return call("transform", call("sort_array", call("collect_list", struct)), inside)


def _dot(name: str, part: str) -> Sql:
    return exp.Dot(this=column(name), expression=identifier(part))
