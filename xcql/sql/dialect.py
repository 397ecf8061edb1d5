"""Everything that is peculiar to the SQL dialect: how scalars are said in Spark SQL.

An operation of the algebra is a function here, registered by its name. Trees are sqlglot's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any

from sqlglot import exp

from xcql.algebra.scalars import Argument, Call, Column, Constant, Lambda, Scalar
from xcql.sql.templates import named, said

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

_MONTHS = "January February March April May June July August September October November December"
_BLANKS = r"[ \t\r\n]*"
_TRIMMED = r"^[ \t\r\n]+|[ \t\r\n]+\z"
_INTEGER = r"^[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*\z"
_DECIMAL = r"^[ \t\r\n]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*\z"
_DOUBLE = (
    r"^[ \t\r\n]*([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)[ \t\r\n]*\z"
)
_BOOLEAN = r"^[ \t\r\n]*(true|false|1|0)[ \t\r\n]*\z"
_ZONE = r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE_TEXT = rf"^[ \t\r\n]*{_DATE}{_ZONE}[ \t\r\n]*\z"
_TIME_TEXT = rf"^[ \t\r\n]*{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}[ \t\r\n]*\z"
_NAME_OF_TAG = r"^<[^\s/>]+"
_VALUE = r"""(?:"[^"]*"|'[^']*')"""
# a lifespan that came with the data, after whatever other attributes stand before it
_OLD_LIFESPAN = (
    rf"^(<[^\s/>]+(?:\s+(?!(?:vtFrom|vtTo)[\s=])[^\s=]+\s*=\s*{_VALUE})*)"
    rf"\s+(?:vtFrom|vtTo)\s*=\s*{_VALUE}"
)


def form(function: Callable[..., Sql]) -> Callable[..., Sql]:
    """Declare how the operation with the function's name is said."""
    _FORMS[function.__name__.rstrip("_")] = function
    return function


def sql(scalar: Scalar, columns: Mapping[str, Sql]) -> Sql:
    """A scalar in SQL; `columns` says what the columns are."""
    match scalar:
        case Column(name=name):
            found = columns.get(name)
            return found.copy() if found is not None else column(name)
        case Constant(value=value):
            return constant(value)
        case Argument(name=name):
            return exp.Placeholder(this=name)
        case Lambda(parameters=parameters, body=body):
            inner = {name: one for name, one in columns.items() if name not in parameters}
            return exp.Lambda(
                this=sql(body, inner), expressions=[identifier(name) for name in parameters]
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
    return exp.Identifier(this=name, quoted=not name.isidentifier() or not name.isascii())


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.Column(this=identifier(name), table=None if table is None else identifier(table))


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


_UNSAFE_IN_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def text_literal(value: str) -> Sql:
    """A string; what cannot stand in SQL text, or ends a line of it, is escaped."""
    written = value.replace("\\", "\\\\").replace("'", "\\'")
    written = written.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    written = _UNSAFE_IN_TEXT.sub(lambda sign: f"\\u{ord(sign[0]):04x}", written)
    return exp.Var(this=f"'{written}'")


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
    if isinstance(value, exp.Column | exp.Var | exp.Placeholder):
        return _substituted(body, name, value)
    return named(value, name, body)


def _substituted(body: Sql, name: str, value: Sql) -> Sql:
    def change(node: Sql) -> Sql:
        if isinstance(node, exp.Column) and node.name == name and not node.table:
            return value.copy()
        return node

    return body.transform(change)


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
    text = name.this[1:-1]
    return exp.Dot(this=value, expression=identifier(text))


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


# arrays


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
    return _fold(array, constant(0.0))


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
def idiv(x: Sql, y: Sql) -> Sql:
    return exp.Paren(this=exp.IntDiv(this=x, expression=y))


# reading values from text


def _matches(value: Sql, pattern: str) -> Sql:
    return exp.Paren(this=exp.RegexpLike(this=value, expression=text_literal(pattern)))


def _trim(value: Sql) -> Sql:
    return call("regexp_replace", value, text_literal(_TRIMMED), text_literal(""))


@form
def is_double_text(value: Sql) -> Sql:
    return _matches(value, _DOUBLE)


@form
def is_integer_text(value: Sql) -> Sql:
    return _matches(value, _INTEGER)


@form
def is_decimal_text(value: Sql) -> Sql:
    return _matches(value, _DECIMAL)


@form
def is_boolean_text(value: Sql) -> Sql:
    return _matches(value, _BOOLEAN)


@form
def parse_boolean(value: Sql) -> Sql:
    return exp.In(this=_trim(value), expressions=[text_literal("true"), text_literal("1")])


@form
def is_date_text(value: Sql) -> Sql:
    day = call("substr", _trim(value), exp.Var(this="1"), exp.Var(this="10"))
    return both(
        _matches(value.copy(), _DATE_TEXT),
        is_not_null(exp.TryCast(this=day, to=exp.DataType.build("DATE"), safe=True)),
    )


@form
def parse_date(value: Sql) -> Sql:
    return cast(call("substr", _trim(value), exp.Var(this="1"), exp.Var(this="10")), "DATE")


def _local_time(value: Sql) -> Sql:
    """The time as it is written; 24 o'clock is the next day, and finer than microseconds is cut."""

    local = call(
        "regexp_replace",
        _trim(value),
        text_literal(r"(Z|[+-][0-9]{2}:[0-9]{2})\z"),
        text_literal(""),
    )
    return let(
        local,
        "l",
        said(
            """CASE WHEN regexp_like(l, 'T24:00:00([.]0+)?$')
            THEN timestampadd(DAY, 1, try_cast(substr(l, 1, 10) AS TIMESTAMP_NTZ))
            ELSE try_cast(regexp_replace(l, '([.][0-9]{6})[0-9]+$', '$1') AS TIMESTAMP_NTZ) END"""
        ),
    )


@form
def is_dateTime_text(value: Sql) -> Sql:
    return both(_matches(value, _TIME_TEXT), is_not_null(_local_time(value.copy())))


@form
def parse_dateTime(value: Sql) -> Sql:
    """The instant in UTC."""
    minutes = _zone_minutes(zone_of(value.copy()))
    return call("timestampadd", exp.Var(this="MINUTE"), exp.Neg(this=minutes), _local_time(value))


@form
def zone_of(value: Sql) -> Sql:
    found = call(
        "regexp_extract",
        value,
        text_literal(rf"^{_BLANKS}{_DATE}(?:T[0-9:.]+)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?{_BLANKS}\z"),
        exp.Var(this="1"),
    )
    return call("regexp_replace", found, text_literal(r"^[+-]00:00$"), text_literal("Z"))


_CLOCK_TEXT = rf"^{_BLANKS}[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}{_BLANKS}\z"


@form
def is_time_text(value: Sql) -> Sql:
    return both(_matches(value, _CLOCK_TEXT), is_not_null(_local_time(_on_a_day(value.copy()))))


def _on_a_day(value: Sql) -> Sql:
    """A time of day as one of the first day that Spark counts."""
    return call("concat", text_literal("1970-01-01T"), _trim(value))


@form
def parse_time(value: Sql) -> Sql:
    """The microseconds since midnight; 24 o'clock is midnight."""

    local = _local_time(_on_a_day(value))
    return said(
        "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', t) % 86400000000L", t=local
    )


@form
def zone_of_time(value: Sql) -> Sql:
    return zone_of(_on_a_day(value))


@form
def time_of_day(moment: Sql) -> Sql:
    """The microseconds since midnight of an instant."""

    return said("timestampdiff(MICROSECOND, CAST(CAST(t AS DATE) AS TIMESTAMP_NTZ), t)", t=moment)


@form
def zone_length(zone: Sql) -> Sql:
    """A zone as microseconds ahead of UTC; NULL if it is none."""

    minutes = _zone_minutes(zone.copy())
    return said("CASE WHEN z <> '' THEN m * 60000000L END", z=zone, m=minutes)


def _zone_minutes(zone: Sql) -> Sql:
    """The minutes that a zone is ahead of UTC."""
    hours = cast(call("substr", column("z"), exp.Var(this="2"), exp.Var(this="2")), "INT")
    minutes = cast(call("substr", column("z"), exp.Var(this="5"), exp.Var(this="2")), "INT")
    total = exp.Paren(
        this=exp.Add(this=exp.Mul(this=hours, expression=exp.Var(this="60")), expression=minutes)
    )
    body = case_(
        exp.In(this=column("z"), expressions=[text_literal(""), text_literal("Z")]),
        exp.Var(this="0"),
        call("startswith", column("z"), text_literal("-")),
        exp.Neg(this=total.copy()),
        total,
    )
    return let(zone, "z", body)


# times


@form
def instant(value: Sql) -> Sql:
    return cast(call("replace", value, text_literal("T"), text_literal(" ")), "TIMESTAMP_NTZ")


@form
def before_time() -> Sql:
    return exp.Var(this="TIMESTAMP_NTZ'0001-01-01 00:00:00'")


@form
def to_instant(value: Sql) -> Sql:
    return cast(value, "TIMESTAMP_NTZ")


@form
def to_date(value: Sql) -> Sql:
    return cast(value, "DATE")


@form
def time_text(value: Sql) -> Sql:
    return call("replace", cast(value, "STRING"), text_literal(" "), text_literal("T"))


@form
def in_zone(value: Sql, zone: Sql) -> Sql:
    return call("timestampadd", exp.Var(this="MINUTE"), _zone_minutes(zone), value)


@form
def out_of_zone(value: Sql, zone: Sql) -> Sql:
    return call("timestampadd", exp.Var(this="MINUTE"), exp.Neg(this=_zone_minutes(zone)), value)


@form
def zoned_time_text(value: Sql, zone: Sql) -> Sql:
    if isinstance(zone, exp.Var) and zone.this in ("''", "'Z'"):
        text = _without_plus(time_text(value))
        return text if zone.this == "''" else call("concat", text, zone)
    return call("concat", _without_plus(time_text(in_zone(value, zone))), zone.copy())


def _without_plus(text: Sql) -> Sql:
    """Spark has a sign before years of five digits."""
    return call("ltrim", text_literal("+"), text)


@form
def zoned_date_text(value: Sql, zone: Sql) -> Sql:
    return call("concat", _without_plus(cast(value, "STRING")), zone)


@form
def add_microseconds(moment: Sql, number: Sql) -> Sql:
    return call("timestampadd", exp.Var(this="MICROSECOND"), number, moment)


@form
def add_months(moment: Sql, number: Sql) -> Sql:
    return call("timestampadd", exp.Var(this="MONTH"), number, moment)


@form
def microseconds_between(first: Sql, last: Sql) -> Sql:
    return call("timestampdiff", exp.Var(this="MICROSECOND"), first, last)


@form
def year(value: Sql) -> Sql:
    return cast(call("year", value), "BIGINT")


@form
def month(value: Sql) -> Sql:
    return cast(call("month", value), "BIGINT")


@form
def day(value: Sql) -> Sql:
    return cast(call("day", value), "BIGINT")


@form
def hour(value: Sql) -> Sql:
    return cast(call("hour", value), "BIGINT")


@form
def minute(value: Sql) -> Sql:
    return cast(call("minute", value), "BIGINT")


@form
def second(value: Sql) -> Sql:
    return cast(call("second", value), "BIGINT")


@form
def month_name(value: Sql) -> Sql:
    """The English name of a month."""
    names = [text_literal(name) for name in _MONTHS.split()]
    return call("element_at", call("array", *names), call("month", value))


@form
def second_of(value: Sql) -> Sql:
    return cast(exp.Extract(this=exp.Var(this="SECOND"), expression=value), "DECIMAL(8, 6)")


@form
def parse_validity(value: Sql, otherwise: Sql) -> Sql:
    """A time as fragments write it: `now`, `start`, one-digit months and days, a date alone."""
    text = _trim(value)
    padded = call(
        "regexp_replace",
        call("regexp_replace", text, text_literal(r"-([0-9])(?=-|T|$)"), text_literal("-0$1")),
        text_literal(r"-([0-9])(?=-|T|$)"),
        text_literal("-0$1"),
    )
    whole = call(
        "regexp_replace",
        padded,
        text_literal(r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?$"),
        text_literal("$1T00:00:00$2"),
    )
    parsed = case_(is_dateTime_text(column("t")), parse_dateTime(column("t")), otherwise)
    return case_(
        is_null(value.copy()),
        exp.Null(),
        binary("=", text.copy(), text_literal("now")),
        exp.Placeholder(this="now"),
        binary("=", text.copy(), text_literal("start")),
        before_time(),
        let(whole, "t", parsed),
    )


@form
def lifespan_bound(value: Sql, symbol: Sql) -> Sql:
    return case_(binary("=", value, symbol), exp.Null(), parse_validity(value.copy(), exp.Null()))


@form
def overlaps(begin: Sql, end: Sql, first: Sql, last: Sql) -> Sql:
    """Whether a lifespan, with NULL for `start` and `now`, meets an interval."""
    begins = either(is_null(begin), binary("<=", begin.copy(), last))
    ends = binary(">=", call("coalesce", end, exp.Placeholder(this="now")), first)
    return both(begins, ends)


# strings


@form
def length_of_text(value: Sql) -> Sql:
    return cast(call("length", value), "BIGINT")


@form
def collapsed(value: Sql) -> Sql:
    return call("regexp_replace", _trim(value), text_literal(r"[ \t\r\n]+"), text_literal(" "))


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


# nodes


@form
def text_of_bytes(raw: Sql) -> Sql:
    return cast(raw, "STRING")


@form
def text_of_span(raw: Sql, start: Sql, length: Sql) -> Sql:
    return cast(
        call("substring", raw, exp.Add(this=start, expression=exp.Var(this="1")), length), "STRING"
    )


@form
def node_key(key: Sql, offset: Sql) -> Sql:
    return call("concat", key, four_bytes(offset))


@form
def key_after(key: Sql) -> Sql:
    return call("concat", key, constant(b"\xff"))


def four_bytes(number: Sql) -> Sql:
    """A number as four bytes, which compare as the numbers do."""
    return call("unhex", call("lpad", call("hex", number), exp.Var(this="8"), text_literal("0")))


def number_of_bytes(value: Sql) -> Sql:
    return cast(call("conv", call("hex", value), exp.Var(this="16"), exp.Var(this="10")), "INT")


@form
def key_below(key: Sql, name: Sql) -> Sql:
    return call("concat", key, cast(name, "BINARY"))


@form
def escape_text(value: Sql) -> Sql:
    if isinstance(value, exp.Var):
        return value
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#xD;")):
        value = call("replace", value, text_literal(sign), text_literal(written))
    return value


@form
def escape_attribute(value: Sql) -> Sql:
    for sign, written in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("\t", "&#x9;"),
        ("\n", "&#xA;"),
        ("\r", "&#xD;"),
    ):
        value = call("replace", value, text_literal(sign), text_literal(written))
    return value


def _name_of_tag(text: Sql) -> Sql:
    return call("regexp_extract", text, text_literal(_NAME_OF_TAG), exp.Var(this="0"))


def _after_name(text: Sql) -> Sql:
    return call("regexp_replace", text, text_literal(_NAME_OF_TAG), text_literal(""))


@form
def with_lifespan(text: Sql, namespaces: Sql, begin: Sql, end: Sql) -> Sql:
    return call(
        "concat",
        _name_of_tag(text),
        namespaces,
        text_literal(' vtFrom="'),
        begin,
        text_literal('" vtTo="'),
        end,
        text_literal('"'),
        _after_name(text.copy()),
    )


@form
def with_namespaces(text: Sql, namespaces: Sql) -> Sql:
    return case_(
        binary("=", namespaces, text_literal("")),
        text,
        call("concat", _name_of_tag(text.copy()), namespaces.copy(), _after_name(text.copy())),
    )


@form
def without_lifespan(text: Sql) -> Sql:
    for _ in range(2):
        text = call("regexp_replace", text, text_literal(_OLD_LIFESPAN), text_literal("$1"))
    return text


@form
def pieces(raw: Sql, holes: Sql, start: Sql, length: Sql) -> Sql:
    """The text between the holes in a span: positions of the holes before (-1: none), and text."""
    end = exp.Paren(this=exp.Add(this=start.copy(), expression=length))
    hole = column("hole")

    def of(what: Sql, name: str) -> Sql:
        return exp.Dot(this=what, expression=identifier(name))

    inside = lambda_(
        "hole",
        both(
            binary(">=", of(hole, "start"), start.copy()),
            binary("<", of(hole.copy(), "start"), end),
        ),
    )
    found = call("filter", holes, inside)

    def text(begin: Sql, finish: Sql) -> Sql:
        size_ = exp.Sub(this=finish, expression=begin.copy())
        return cast(
            call(
                "substring",
                raw.copy(),
                cast(exp.Add(this=begin, expression=exp.Var(this="1")), "INT"),
                cast(size_, "INT"),
            ),
            "STRING",
        )

    def piece(position: Sql, content: Sql) -> Sql:
        return call(
            "named_struct",
            text_literal("position"),
            cast(position, "INT"),
            text_literal("text"),
            content,
        )

    next_start = call(
        "coalesce",
        of(
            call("get", column("found"), exp.Add(this=column("i"), expression=exp.Var(this="1"))),
            "start",
        ),
        end.copy(),
    )
    after = exp.Paren(
        this=exp.Add(this=of(column("h"), "start"), expression=of(column("h"), "length"))
    )
    rest = call(
        "transform",
        column("found"),
        lambda_("h i", piece(of(column("h"), "start"), text(after, next_start))),
    )
    first_end = call(
        "coalesce", of(call("get", column("found"), exp.Var(this="0")), "start"), end.copy()
    )
    body = call(
        "concat",
        call("array", piece(exp.Var(this="-1"), text(exp.Paren(this=start.copy()), first_end))),
        rest,
    )
    return let(found, "found", body)


# what the evaluator gives


@form
def evaluator_item(kind: Sql, text: Sql) -> Sql:
    """An item as the evaluator takes and gives it."""
    return call("named_struct", text_literal("kind"), kind, text_literal("value"), text)


@form
def evaluate(name: Sql, *arguments: Sql) -> Sql:
    return call(name.this[1:-1], exp.Placeholder(this="now"), *arguments)


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


# the forms of some topics have modules of their own
for _topic in ("number_forms", "duration_forms", "text_forms", "namespace_forms", "inner_forms"):
    import_module(f"xcql.sql.{_topic}")
