"""Arrays in SQL: sequences of values, in order."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, call, cast, number, struct

forms = Forms()


@forms
def members(*parts: Sql) -> Sql:
    """What the variables of a tuple in a group are made of."""
    return call("named_struct", *parts)


@forms
def tuple_(*values: Sql) -> Sql:
    """A struct with the fields col1, col2 and so on, whatever the values are called."""
    return struct(**{f"col{index}": value for index, value in enumerate(values, 1)})


@forms
def or_empty(value: Sql) -> Sql:
    return call("coalesce", value, call("array"))


@forms
def concat_arrays(*arrays: Sql) -> Sql:
    return call("concat", *arrays)


@forms
def size(array: Sql) -> Sql:
    return cast(call("size", array), "BIGINT")


@forms
def slice_(array: Sql, start: Sql, length: Sql) -> Sql:
    return call("slice", array, cast(start, "INT"), cast(length, "INT"))


@forms
def slice_from_end(array: Sql, position: Sql) -> Sql:
    """The element at a position from the end, as an array; `slice` fails beyond the beginning."""
    body = template(
        """CASE WHEN size(xs) >= position THEN slice(xs, CAST(-position AS INT), 1)
          ELSE slice(xs, 1, 0) END""",
        position=position,
    )
    return let(array, "xs", body)


@forms
def get(array: Sql, index: Sql) -> Sql:
    return call("get", array, cast(index, "INT"))


@forms
def first_of(array: Sql) -> Sql:
    return call("get", array, number(0))


@forms
def only(array: Sql, otherwise: Sql) -> Sql:
    """The only element of an array."""
    body = template(
        "CASE WHEN size(xs) > 1 THEN otherwise ELSE get(xs, 0) END", otherwise=otherwise
    )
    return let(array, "xs", body)


@forms
def array_sum(array: Sql) -> Sql:
    return template(
        """aggregate(filter(transform(xs, x -> CAST(x AS BIGINT)), x -> x IS NOT NULL), 0L,
          (total, x) -> total + x)""",
        xs=array,
    )


@forms
def array_sum_doubles(array: Sql) -> Sql:
    """Begins with the first number, not with 0: the sum of -0 is -0."""
    return template(
        """coalesce(aggregate(filter(xs, x -> x IS NOT NULL), CAST(NULL AS DOUBLE),
          (total, x) -> coalesce(total + x, x)), 0.0D)""",
        xs=array,
    )


@forms
def join_texts(array: Sql, separator: Sql) -> Sql:
    return call("array_join", array, separator)


@forms
def range_(first: Sql, last: Sql) -> Sql:
    return template(
        "CASE WHEN first <= last THEN sequence(first, last) ELSE slice(sequence(1L, 1L), 1, 0) END",
        first=first,
        last=last,
    )
