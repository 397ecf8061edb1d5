"""SQL trees, built from parts; the nodes are sqlglot's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from sqlglot import exp

Sql = exp.Expression
T = TypeVar("T", bound=exp.Expression)

_COMPARISONS = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
}
_ARITHMETIC = {"-": exp.Sub, "%": exp.Mod}
_CHAINS = {"+": exp.Add, "*": exp.Mul, "and": exp.And, "or": exp.Or}
BINARY = {**_COMPARISONS, **_ARITHMETIC}
CHAINS = _CHAINS


_INTEGERS = (exp.DataType.Type.INT, exp.DataType.Type.BIGINT)


# copies


def copied(tree: T, values: Mapping[str, Sql] = MappingProxyType({})) -> T:
    """A copy of a tree, with values in place of columns without a table.

    This is much faster than sqlglot's own `copy`. Trees share their parts: who changes a tree
    copies it first.
    """
    if values and isinstance(tree, exp.Column) and not tree.args.get("table"):
        value = values.get(tree.name)
        if value is not None:
            return value  # type: ignore[return-value]
    arguments: dict[str, Any] = {}
    for name, argument in tree.args.items():
        if isinstance(argument, exp.Expression):
            argument = copied(argument, values)
        elif isinstance(argument, list):
            argument = [
                copied(one, values) if isinstance(one, exp.Expression) else one for one in argument
            ]
        arguments[name] = argument
    new = type(tree)(**arguments)
    if tree._meta:
        new._meta = dict(tree._meta)
    return new


# names


def identifier(name: str) -> exp.Identifier:
    assert "\0" not in name, "a name with the mark of slots"
    return exp.Identifier(this=name, quoted=True)


def variable_name(name: str) -> exp.Identifier:
    """The name of an algebra column in SQL.

    The `$` keeps it apart from the columns of tables and the names inside templates: a query may
    use any of those words as a variable. Spark cannot resolve a lambda parameter with a dot in its
    name.
    """
    return identifier(f"${name.replace('.', '@')}")


def variable(name: str, table: str | None = None) -> exp.Column:
    """A column of the algebra."""
    return exp.Column(this=variable_name(name), table=None if table is None else identifier(table))


def column(name: str) -> exp.Column:
    """A column of a table, or a name inside a template."""
    return exp.Column(this=identifier(name))


def dot(value: Sql, name: str) -> exp.Dot:
    """A field of a struct."""
    return exp.Dot(this=value, expression=identifier(name))


# values


def number(value: int) -> Sql:
    """An integer of 32 bits: a position, a length, or a number of digits."""
    literal = exp.Literal.number(abs(value))
    return literal if value >= 0 else exp.Paren(this=exp.Neg(this=literal))


def text_literal(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def constant(value: object) -> Sql:
    """A value of the algebra; an integer has 64 bits."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return _signed(value < 0, cast(exp.Literal.number(str(abs(value))), "BIGINT"))
        case float() if not math.isfinite(value):
            name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            return cast(text_literal(name), "DOUBLE")
        case float():
            is_negative = math.copysign(1, value) < 0
            return _signed(is_negative, cast(exp.Literal.number(repr(abs(value))), "DOUBLE"))
        case Decimal():
            return _signed(value < 0, _decimal(f"{abs(value):f}"))
        case str():
            return text_literal(value)
        case bytes():
            return exp.HexString(this=value.hex())
        case datetime():
            return cast(text_literal(value.isoformat(sep=" ")), "TIMESTAMP_NTZ")
    raise AssertionError(value)


def _signed(is_negative: bool, value: Sql) -> Sql:
    return exp.Paren(this=exp.Neg(this=value)) if is_negative else value


def _decimal(digits: str) -> Sql:
    return exp.Cast(this=text_literal(digits), to=decimal_type(digits))


@cache
def decimal_type(digits: str) -> exp.DataType:
    """The type of a decimal with exactly the digits that it is written with."""
    whole, _, fraction = digits.partition(".")
    precision = max(len(whole.lstrip("0")) + len(fraction), 1)
    return _type(f"DECIMAL({precision}, {len(fraction)})")


def is_integer(tree: Sql) -> bool:
    """Whether a tree is a constant integer."""
    match tree:
        case exp.Paren() | exp.Neg():
            return is_integer(tree.this)
        case exp.Cast():
            return tree.to.this in _INTEGERS and is_integer(tree.this)
    return isinstance(tree, exp.Literal) and not tree.is_string


def integer_value(tree: Sql) -> int:
    """The value of a constant integer."""
    match tree:
        case exp.Paren():
            return integer_value(tree.this)
        case exp.Neg():
            return -integer_value(tree.this)
        case exp.Cast():
            return integer_value(tree.this)
    return int(tree.this)


# expressions


def sql_of(value: Any) -> Sql:
    return value if isinstance(value, exp.Expression) else constant(value)


def call(name: str, *arguments: Any) -> Sql:
    return exp.Anonymous(this=name, expressions=[sql_of(one) for one in arguments])


def cast(value: Sql, type_: str) -> Sql:
    return exp.Cast(this=value, to=_type(type_))


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="spark")


def lambda_(parameters: str, body: Sql) -> Sql:
    return exp.Lambda(this=body, expressions=[identifier(one) for one in parameters.split()])


def struct(**fields: Sql) -> Sql:
    parts = [part for name, value in fields.items() for part in (text_literal(name), value)]
    return call("named_struct", *parts)


def binary(sign: str, left: Any, right: Any) -> Sql:
    return exp.Paren(this=BINARY[sign](this=sql_of(left), expression=sql_of(right)))


def chain(sign: str, *operands: Sql) -> Sql:
    result = operands[0]
    for one in operands[1:]:
        result = exp.Paren(this=CHAINS[sign](this=result, expression=one))
    return result


def plus(left: Sql, right: Sql) -> Sql:
    return exp.Add(this=left, expression=right)


def minus(left: Sql, right: Sql) -> Sql:
    return exp.Sub(this=left, expression=right)


def both(*conditions: Sql) -> Sql:
    return chain("and", *conditions)


def either(*conditions: Sql) -> Sql:
    return chain("or", *conditions)


def negated(condition: Sql) -> Sql:
    return exp.Paren(this=exp.Not(this=condition))


def is_null(value: Sql) -> Sql:
    return exp.Paren(this=exp.Is(this=value, expression=exp.Null()))


def is_not_null(value: Sql) -> Sql:
    return exp.Paren(this=exp.Not(this=exp.Is(this=value, expression=exp.Null())))


def case_(*parts: Any) -> Sql:
    """CASE WHEN a THEN b ... ELSE c END"""
    *branches, otherwise = map(sql_of, parts)
    ifs = [
        exp.If(this=condition, true=value)
        for condition, value in zip(branches[::2], branches[1::2], strict=True)
    ]
    default = None if isinstance(otherwise, exp.Null) else otherwise
    return exp.Case(ifs=ifs, default=default)


def matches(value: Sql, pattern: str) -> Sql:
    """Whether a text matches one of our own patterns."""
    return exp.Paren(this=exp.RegexpLike(this=value, expression=text_literal(pattern)))
