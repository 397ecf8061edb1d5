"""Dates, times and instants in SQL: how they are read, computed with, and written."""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import (
    BLANKS,
    Sql,
    binary,
    both,
    call,
    case_,
    cast,
    column,
    either,
    form,
    is_not_null,
    is_null,
    let,
    matches_pattern,
    text_literal,
    trimmed,
)
from xcql.sql.templates import said

_MONTHS = "January February March April May June July August September October November December"
_ZONE = r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE_TEXT = rf"^[ \t\r\n]*{_DATE}{_ZONE}[ \t\r\n]*\z"
_TIME_TEXT = rf"^[ \t\r\n]*{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}[ \t\r\n]*\z"


@form
def is_date_text(value: Sql) -> Sql:
    day = call("substr", trimmed(value), exp.Var(this="1"), exp.Var(this="10"))
    return both(
        matches_pattern(value.copy(), _DATE_TEXT),
        is_not_null(exp.TryCast(this=day, to=exp.DataType.build("DATE"), safe=True)),
    )


@form
def parse_date(value: Sql) -> Sql:
    return cast(call("substr", trimmed(value), exp.Var(this="1"), exp.Var(this="10")), "DATE")


def _local_time(value: Sql) -> Sql:
    """The time as it is written; 24 o'clock is the next day, and finer than microseconds is cut."""

    local = call(
        "regexp_replace",
        trimmed(value),
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
    return both(matches_pattern(value, _TIME_TEXT), is_not_null(_local_time(value.copy())))


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
        text_literal(rf"^{BLANKS}{_DATE}(?:T[0-9:.]+)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?{BLANKS}\z"),
        exp.Var(this="1"),
    )
    return call("regexp_replace", found, text_literal(r"^[+-]00:00$"), text_literal("Z"))


_CLOCK_TEXT = rf"^{BLANKS}[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}{BLANKS}\z"


@form
def is_time_text(value: Sql) -> Sql:
    return both(
        matches_pattern(value, _CLOCK_TEXT), is_not_null(_local_time(_on_a_day(value.copy())))
    )


def _on_a_day(value: Sql) -> Sql:
    """A time of day as one of the first day that Spark counts."""
    return call("concat", text_literal("1970-01-01T"), trimmed(value))


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
    if isinstance(zone, exp.Literal) and zone.this in ("", "Z"):
        text = _without_plus(time_text(value))
        return text if not zone.this else call("concat", text, zone)
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
    text = trimmed(value)
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


# buckets of time are so many powers of 16 seconds long; the largest holds all times
_SIZES = 10


@form
def seconds_of(moment: Sql) -> Sql:
    """An instant as a whole number: of two, the later one has no smaller number."""
    return said("timestampdiff(SECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', m)", m=moment)


@form
def time_buckets(first: Sql, last: Sql, is_left: Sql) -> Sql:
    """The buckets that an interval is in, from its seconds: their numbers, and which are the first.

    The smallest size that is not shorter than the interval is its own. A left one is in buckets of
    its own size for right ones of no larger size, and in larger ones for right ones that own them.
    """
    own = said(
        f"int(least({_SIZES}, ceil(log(16D, double(greatest(l - f, 1L))))))", f=first, l=last
    )

    def entries(size: str, role: str) -> str:
        return (
            f"transform(sequence(shiftright(f, 4 * {size}), shiftright(l, 4 * {size})), n ->"
            f" named_struct('bucket', n * 32 + {size} * 2 + {role},"
            f" 'first', n = shiftright(f, 4 * {size})))"
        )

    def larger(role: str) -> str:
        return f"flatten(transform(sequence(o, {_SIZES}), k -> {entries('k', role)}))"

    text = (
        larger("if(k = o, 1, 0)")
        if is_left == exp.Boolean(this=True)
        else f"concat({larger('1')}, {entries('o', '0')})"
    )
    return said(text, f=first, l=last, o=own)


@form
def overlaps(begin: Sql, end: Sql, first: Sql, last: Sql) -> Sql:
    """Whether a lifespan, with NULL for `start` and `now`, has an `overlap` with an interval.

    The meaning is that of `overlap` in `xcql.history.predicates`.
    """
    begins = either(is_null(begin), binary("<=", begin.copy(), last))
    ends = binary(">=", call("coalesce", end, exp.Placeholder(this="now")), first)
    return both(begins, ends)
