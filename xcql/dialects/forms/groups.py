"""What the values of a group are reduced to; those in an order get its keys behind the value."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.forms.arrays import array_sum_doubles, join_texts, tuple_
from xcql.dialects.forms.numbers import DECIMAL
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, call, cast, number, text_literal

forms = Forms()


@forms
def group_count(value: Sql) -> Sql:
    return call("count", exp.Star())


@forms
def group_count_if(value: Sql) -> Sql:
    return call("count_if", value)


@forms
def group_exists(value: Sql) -> Sql:
    return call("any_value", True)


@forms
def group_any(value: Sql) -> Sql:
    return call("any_value", value)


@forms
def group_min(value: Sql) -> Sql:
    return call("min", value)


@forms
def group_max(value: Sql) -> Sql:
    return call("max", value)


@forms
def group_sum(value: Sql) -> Sql:
    return call("sum", value)


@forms
def group_sum_decimals(value: Sql) -> Sql:
    return cast(call("sum", cast(value, DECIMAL)), DECIMAL)


@forms
def group_collect(value: Sql, *keys: Sql) -> Sql:
    """An array of the values, in the order of some keys; NULL is a value like any other."""
    if not keys:
        return template("transform(collect_list(s), e -> e.col1)", s=tuple_(value))
    return template(
        f"transform(sort_array(collect_list(s)), e -> e.col{len(keys) + 1})",
        s=tuple_(*keys, value),
    )


@forms
def group_join(value: Sql, *keys: Sql) -> Sql:
    return join_texts(group_collect(value, *keys), text_literal(""))


@forms
def group_sum_doubles(value: Sql, *keys: Sql) -> Sql:
    return array_sum_doubles(group_collect(value, *keys))


@forms
def group_first(value: Sql, *keys: Sql) -> Sql:
    return call("get", group_collect(value, *keys), number(0))
