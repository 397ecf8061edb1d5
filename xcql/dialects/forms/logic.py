"""Conditions, absent values, names for values, and errors in SQL."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from xcql.dialects import trees
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, binary, call, case_, chain, dot

forms = Forms()
forms.update({sign: partial(binary, sign) for sign in trees.BINARY})
forms.update({sign: partial(chain, sign) for sign in trees.CHAINS})
forms.update(
    {
        "case": case_,
        "not": trees.negated,
        "is_null": trees.is_null,
        "is_not_null": trees.is_not_null,
        "present": trees.is_not_null,
    }
)


@forms
def one_of(value: Sql, *values: Sql) -> Sql:
    return exp.Paren(this=exp.In(this=value, expressions=list(values)))


@forms
def is_true(value: Sql) -> Sql:
    return call("coalesce", value, False)


@forms
def with_name(value: Sql, body: Sql) -> Sql:
    """The body with a name for the value: the closest thing in SQL is a function of one element."""
    return call("get", call("transform", call("array", value), body), trees.number(0))


@forms
def field(value: Sql, name: Sql) -> Sql:
    return dot(value, name.this)


@forms
def fail(site: Sql, value: Sql) -> Sql:
    """An error with the number of its place in the query, and the value that caused it."""
    return template(
        "raise_error(concat('XCQL|', CAST(site AS STRING), '|', coalesce(value, '')))",
        site=site,
        value=value,
    )
