"""Everything that is peculiar to the SQL dialect: how scalars are said in Spark SQL.

An operation of the algebra is a function here, registered by its name. Trees are sqlglot's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any

from sqlglot import exp

from xcql.algebra.scalars import Argument, Call, Column, Constant, Lambda, Scalar
from xcql.sql.templates import filled, named

Sql = exp.Expression
_FORMS: dict[str, Callable[..., Sql]] = {}

# operations that Spark has under the same name
_PLAIN = frozenset(
    [
        "abs",
        "aggregate",
        "any_value",
        "array",
        "array_distinct",
        "array_max",
        "array_min",
        "sort_array",
        "ceil",
        "coalesce",
        "concat",
        "contains",
        "day",
        "endswith",
        "exists",
        "explode",
        "filter",
        "flatten",
        "floor",
        "get",
        "greatest",
        "hour",
        "least",
        "lower",
        "minute",
        "month",
        "named_struct",
        "nullif",
        "octet_length",
        "replace",
        "size",
        "slice",
        "startswith",
        "struct",
        "transform",
        "translate",
        "upper",
        "year",
        "xpath",
        "xpath_string",
        "xpath_int",
        "xpath_boolean",
        "collect_list",
    ]
)
_BINARY = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
    "-": exp.Sub,
    "%": exp.Mod,
}
_CHAINS = {"+": exp.Add, "*": exp.Mul, "and": exp.And, "or": exp.Or}

BLANKS = r"[ \t\r\n]*"
_TRIMMED = r"^[ \t\r\n]+|[ \t\r\n]+\z"
_INTEGER = r"^[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*\z"
_DECIMAL = r"^[ \t\r\n]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*\z"
_DOUBLE = (
    r"^[ \t\r\n]*([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)[ \t\r\n]*\z"
)
_BOOLEAN = r"^[ \t\r\n]*(true|false|1|0)[ \t\r\n]*\z"


def form(function: Callable[..., Sql]) -> Callable[..., Sql]:
    """Declare how the operation with the function's name is said."""
    _FORMS[function.__name__.rstrip("_")] = function
    return function


def sql(scalar: Scalar, columns: Mapping[str, Sql]) -> Sql:
    """A scalar in SQL; `columns` says what the columns are."""
    match scalar:
        case Column(name=name):
            found = columns.get(name)
            return found.copy() if found is not None else variable(name)
        case Constant(value=value):
            return constant(value)
        case Argument(name=name):
            return exp.Placeholder(this=name)
        case Lambda(parameters=parameters, body=body):
            inner = {name: one for name, one in columns.items() if name not in parameters}
            return exp.Lambda(
                this=sql(body, inner), expressions=[variable_name(name) for name in parameters]
            )
        case Call(function=name, arguments=arguments):
            return _call(name, [sql(one, columns) for one in arguments])
    raise AssertionError(scalar)


def _call(name: str, arguments: list[Sql]) -> Sql:
    if name in _FORMS:
        return _FORMS[name](*arguments)
    if name in _BINARY:
        left, right = arguments
        return exp.Paren(this=_BINARY[name](this=left, expression=right))
    if name in _CHAINS:
        result: Sql = arguments[0]
        for one in arguments[1:]:
            result = exp.Paren(this=_CHAINS[name](this=result, expression=one))
        return result
    if name in _PLAIN:
        return call(name, *arguments)
    raise AssertionError(f"no form of {name!r}")


# building blocks


def identifier(name: str) -> exp.Identifier:
    assert "\0" not in name, "a name with the mark of slots"
    return exp.Identifier(this=name, quoted=True)


def variable_name(name: str) -> exp.Identifier:
    """The name that a column of the algebra has in SQL.

    The sign sets it apart from the columns of tables and from the names inside of templates: a
    query may use any of those words as the name of a variable. Spark finds no parameter of a lambda
    that has a dot in its name.
    """
    return identifier(f"${name.replace('.', '@')}")


def variable(name: str, table: str | None = None) -> exp.Column:
    """A column of the algebra."""
    return exp.Column(this=variable_name(name), table=None if table is None else identifier(table))


def column(name: str) -> exp.Column:
    """A column of a table, or a name inside of a template."""
    return exp.Column(this=identifier(name))


def call(name: str, *arguments: Any) -> Sql:
    return exp.Anonymous(this=name, expressions=[_sql(one) for one in arguments])


def _sql(value: Any) -> Sql:
    return value if isinstance(value, exp.Expression) else constant(value)


def constant(value: object) -> Sql:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return (
                exp.Var(this=f"{value}L")
                if value >= 0
                else exp.Paren(this=exp.Var(this=f"{value}L"))
            )
        case float():
            if math.isnan(value) or math.isinf(value):
                name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
                return cast(exp.Literal.string(name), "DOUBLE")
            return (
                exp.Var(this=f"{value!r}D")
                if value >= 0
                else exp.Paren(this=exp.Var(this=f"{value!r}D"))
            )
        case Decimal():
            return exp.Var(this=f"{value:f}BD")
        case str():
            return text_literal(value)
        case bytes():
            return exp.Var(this=f"X'{value.hex()}'")
        case datetime():
            return exp.Var(this=f"TIMESTAMP_NTZ'{value.isoformat(sep=' ')}'")
    raise AssertionError(value)


def text_literal(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def cast(value: Sql, type_: str) -> Sql:
    return exp.Cast(this=value, to=_type(type_).copy())


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="spark")


def lambda_(parameters: str, body: Sql) -> Sql:
    return exp.Lambda(this=body, expressions=[identifier(one) for one in parameters.split()])


def case_(*parts: Any) -> Sql:
    """CASE WHEN a THEN b ... ELSE c END"""
    return _FORMS["case"](*(_sql(one) for one in parts))


def binary(sign: str, left: Any, right: Any) -> Sql:
    return exp.Paren(this=_BINARY[sign](this=_sql(left), expression=_sql(right)))


def either(*conditions: Sql) -> Sql:
    return _call("or", list(conditions))


def both(*conditions: Sql) -> Sql:
    return _call("and", list(conditions))


def let(value: Sql, name: str, body: Sql) -> Sql:
    """The body with a name for a value, which is computed once."""
    if isinstance(value, exp.Column | exp.Var | exp.Literal | exp.Placeholder):
        return filled(body, {name: value})
    return named(value, name, body)


# logic


@form
def case(*parts: Sql) -> Sql:
    *branches, otherwise = parts
    ifs = [
        exp.If(this=branches[index], true=branches[index + 1])
        for index in range(0, len(branches), 2)
    ]
    default = None if isinstance(otherwise, exp.Null) else otherwise
    return exp.Case(ifs=ifs, default=default)


@form
def not_(value: Sql) -> Sql:
    return exp.Paren(this=exp.Not(this=value))


@form
def is_true(value: Sql) -> Sql:
    return call("coalesce", value, False)


@form
def is_null(value: Sql) -> Sql:
    return exp.Paren(this=exp.Is(this=value, expression=exp.Null()))


@form
def is_not_null(value: Sql) -> Sql:
    return exp.Paren(this=exp.Not(this=exp.Is(this=value, expression=exp.Null())))


@form
def present(value: Sql) -> Sql:
    return is_not_null(value)


@form
def with_name(value: Sql, body: Sql) -> Sql:
    """The body with a name for the value: a function of one element is as near as SQL comes."""
    return call("get", call("transform", call("array", value), body), exp.Var(this="0"))


@form
def field(value: Sql, name: Sql) -> Sql:
    return exp.Dot(this=value, expression=identifier(name.this))


@form
def fail(number: Sql, value: Sql) -> Sql:
    return call(
        "raise_error",
        call(
            "concat",
            text_literal("XCQL|"),
            cast(number, "STRING"),
            text_literal("|"),
            call("coalesce", value, text_literal("")),
        ),
    )


# numbers


@form
def to_double(value: Sql) -> Sql:
    return cast(value, "DOUBLE")


@form
def to_integer(value: Sql) -> Sql:
    return cast(value, "BIGINT")


@form
def to_int(value: Sql) -> Sql:
    return cast(value, "INT")


@form
def to_string(value: Sql) -> Sql:
    return cast(value, "STRING")


@form
def negative(value: Sql) -> Sql:
    return exp.Paren(this=exp.Neg(this=value))


@form
def is_nan(value: Sql) -> Sql:
    return call("isnan", value)


@form
def least_if_nan(value: Sql) -> Sql:
    """The number, or what is less than any number."""
    return call("nanvl", value, constant(-math.inf))


@form
def idiv(x: Sql, y: Sql) -> Sql:
    return exp.Paren(this=exp.IntDiv(this=x, expression=y))


# reading values from text


def matches_pattern(value: Sql, pattern: str) -> Sql:
    return exp.Paren(this=exp.RegexpLike(this=value, expression=text_literal(pattern)))


@form
def trimmed(value: Sql) -> Sql:
    return call("regexp_replace", value, text_literal(_TRIMMED), text_literal(""))


@form
def is_double_text(value: Sql) -> Sql:
    return matches_pattern(value, _DOUBLE)


@form
def is_integer_text(value: Sql) -> Sql:
    return matches_pattern(value, _INTEGER)


@form
def is_decimal_text(value: Sql) -> Sql:
    return matches_pattern(value, _DECIMAL)


@form
def is_boolean_text(value: Sql) -> Sql:
    return matches_pattern(value, _BOOLEAN)


@form
def parse_boolean(value: Sql) -> Sql:
    return exp.In(this=trimmed(value), expressions=[text_literal("true"), text_literal("1")])


# strings


@form
def length_of_text(value: Sql) -> Sql:
    return cast(call("length", value), "BIGINT")


@form
def collapsed(value: Sql) -> Sql:
    return call("regexp_replace", trimmed(value), text_literal(r"[ \t\r\n]+"), text_literal(" "))


@form
def substring_of_text(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """From a position that may lie before the text, so many characters."""
    first = call("greatest", start, constant(1))
    if length is None:
        return call("substr", value, cast(first, "INT"))
    end = exp.Add(this=start.copy(), expression=length)
    size_ = call(
        "greatest",
        exp.Sub(this=end, expression=call("greatest", start.copy(), constant(1))),
        constant(0),
    )
    return call("substr", value, cast(first, "INT"), cast(size_, "INT"))


@form
def text_before(value: Sql, part: Sql) -> Sql:
    found = call("instr", value, part)
    return case_(
        either(binary("=", part.copy(), text_literal("")), binary("=", found, exp.Var(this="0"))),
        text_literal(""),
        call(
            "substr",
            value.copy(),
            exp.Var(this="1"),
            exp.Sub(this=found.copy(), expression=exp.Var(this="1")),
        ),
    )


@form
def text_after(value: Sql, part: Sql) -> Sql:
    found = call("instr", value, part)
    return case_(
        binary("=", part.copy(), text_literal("")),
        value.copy(),
        binary("=", found, exp.Var(this="0")),
        text_literal(""),
        call(
            "substr",
            value.copy(),
            exp.Add(this=found.copy(), expression=call("length", part.copy())),
        ),
    )


# the forms of some topics have modules of their own
for _topic in (
    "array_forms",
    "number_forms",
    "time_forms",
    "duration_forms",
    "text_forms",
    "node_forms",
    "namespace_forms",
    "inner_forms",
    "evaluated_forms",
):
    import_module(f"xcql.sql.{_topic}")
