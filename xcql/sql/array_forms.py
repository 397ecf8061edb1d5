"""Arrays in SQL: sequences of values, in order."""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import (
    Sql,
    binary,
    call,
    case_,
    cast,
    column,
    constant,
    form,
    is_not_null,
    lambda_,
    let,
    text_literal,
)
from xcql.sql.templates import said


@form
def members(*parts: Sql) -> Sql:
    """What the variables of a tuple in a group are made of."""
    return call("named_struct", *parts)


@form
def tuple_(*values: Sql) -> Sql:
    """A struct with the fields col1, col2 and so on, whatever the values are called."""
    parts: list[Sql] = []
    for index, value in enumerate(values):
        parts += [text_literal(f"col{index + 1}"), value]
    return call("named_struct", *parts)


@form
def or_empty(value: Sql) -> Sql:
    return call("coalesce", value, call("array"))


@form
def concat_arrays(*arrays: Sql) -> Sql:
    return call("concat", *arrays)


@form
def size(array: Sql) -> Sql:
    return cast(call("size", array), "BIGINT")


@form
def slice_(array: Sql, start: Sql, length: Sql) -> Sql:
    return call("slice", array, cast(start, "INT"), cast(length, "INT"))


@form
def slice_from_end(array: Sql, number: Sql) -> Sql:
    """The element with a number from the end, as an array; `slice` fails beyond the beginning."""
    body = case_(
        binary(">=", call("size", column("xs")), number),
        call("slice", column("xs"), cast(exp.Neg(this=number.copy()), "INT"), exp.Var(this="1")),
        call("slice", column("xs"), exp.Var(this="1"), exp.Var(this="0")),
    )
    return let(array, "xs", body)


@form
def get(array: Sql, index: Sql) -> Sql:
    return call("get", array, cast(index, "INT"))


@form
def first_of(array: Sql) -> Sql:
    return call("get", array, exp.Var(this="0"))


@form
def only(array: Sql, otherwise: Sql) -> Sql:
    """The only element of an array."""
    body = case_(
        binary(">", call("size", column("xs")), exp.Var(this="1")),
        otherwise,
        call("get", column("xs"), exp.Var(this="0")),
    )
    return let(array, "xs", body)


def _fold(array: Sql, zero: Sql) -> Sql:
    added = exp.Add(this=column("sum"), expression=column("x"))
    return call(
        "aggregate",
        call("filter", array, lambda_("x", is_not_null(column("x")))),
        zero,
        lambda_("sum x", added),
    )


@form
def array_sum(array: Sql) -> Sql:
    return _fold(call("transform", array, lambda_("x", cast(column("x"), "BIGINT"))), constant(0))


@form
def array_sum_doubles(array: Sql) -> Sql:
    """Begins with the first number, not with 0: the sum of -0 is -0."""
    return said(
        """coalesce(aggregate(filter(xs, x -> x IS NOT NULL), CAST(NULL AS DOUBLE),
          (total, x) -> coalesce(total + x, x)), 0.0D)""",
        xs=array,
    )


@form
def join_texts(array: Sql, separator: Sql) -> Sql:
    return call("array_join", array, separator)


@form
def range_(first: Sql, last: Sql) -> Sql:
    return case_(
        binary("<=", first, last),
        call("sequence", first.copy(), last.copy()),
        call(
            "slice",
            call("sequence", constant(1), constant(1)),
            exp.Var(this="1"),
            exp.Var(this="0"),
        ),
    )
