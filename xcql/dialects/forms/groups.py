"""Reductions of the values in a group; ordered ones take sort keys after the value."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.forms import arrays
from xcql.dialects.forms.arrays import tuple_
from xcql.dialects.forms.casts import DECIMAL
from xcql.dialects.forms.registry import Form, Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, call, text_literal

forms = Forms()

forms.calls(
    group_count_if="count_if",
    group_any="any_value",
    group_min="min",
    group_max="max",
    group_max_doubles="max",
    group_min_doubles="min",
    group_sum="sum",
)
forms.templates(
    {
        "group_exists value": "any_value(true)",
        "group_sum_decimals value": f"CAST(sum(CAST(value AS {DECIMAL})) AS {DECIMAL})",
    }
)


@forms
def group_count(value: Sql) -> Sql:
    return call("count", exp.Star())


def _sorted_array(value: Sql, *keys: Sql) -> Sql:
    """An array of the values, in the order of some keys; NULL is a value like any other."""
    if not keys:
        return template("transform(collect_list(s), e -> e.col1)", s=tuple_(value))
    return template(
        f"transform(sort_array(collect_list(s)), e -> e.col{len(keys) + 1})",
        s=tuple_(*keys, value),
    )


def with_collected(collected: Form) -> Forms:
    """The reductions of all values in order, by the form that collects them."""
    ordered = Forms()
    ordered["group_collect"] = collected

    @ordered
    def group_join(value: Sql, *keys: Sql) -> Sql:
        return call("array_join", collected(value, *keys), text_literal(""))

    @ordered
    def group_sum_doubles(value: Sql, *keys: Sql) -> Sql:
        return arrays.forms["array_sum_doubles"](collected(value, *keys))

    return ordered


@forms
def group_first(value: Sql, *keys: Sql) -> Sql:
    return call("min_by", value, tuple_(*keys)) if keys else call("first", value)


@forms
def group_last(value: Sql, *keys: Sql) -> Sql:
    return call("max_by", value, tuple_(*keys)) if keys else call("first", value)


forms.update(with_collected(_sorted_array))
