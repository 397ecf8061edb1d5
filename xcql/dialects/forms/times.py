"""Dates, times and instants in SQL: how they are read, computed with, and written."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.forms.casts import BLANKS, trimmed
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import (
    Sql,
    binary,
    both,
    call,
    case_,
    cast,
    column,
    either,
    is_not_null,
    is_null,
    matches,
    number,
    text_literal,
)

forms = Forms()

forms.templates(
    {
        "before_time": "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        "instant value": "CAST(replace(value, 'T', ' ') AS TIMESTAMP_NTZ)",
        "time_text value": "replace(CAST(value AS STRING), ' ', 'T')",
        # Spark has a sign before years of five digits
        "zoned_date_text value zone": "concat(ltrim('+', CAST(value AS STRING)), zone)",
        "microseconds_between first last": "timestampdiff(MICROSECOND, first, last)",
        # the microseconds since midnight
        "time_of_day t": "timestampdiff(MICROSECOND, CAST(CAST(t AS DATE) AS TIMESTAMP_NTZ), t)",
        # of two instants, the later one has no smaller number
        "seconds_of m": "timestampdiff(SECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', m)",
        # `counts_at` and `known_end` of `xcql.history.predicates`
        "counts_at since until now": """(since IS NULL OR since <= now)
          AND (until IS NULL OR until > now)""",
        "known_end end_ now": "CASE WHEN end_ <= now THEN end_ END",
        "second_of value": "CAST(date_part('SECOND', value) AS DECIMAL(8, 6))",
        **{
            f"{part} value": f"CAST({part}(value) AS BIGINT)"
            for part in ("year", "month", "day", "hour", "minute", "second")
        },
    }
)


_MONTHS = "January February March April May June July August September October November December"
_ZONE = r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE_TEXT = rf"^[ \t\r\n]*{_DATE}{_ZONE}[ \t\r\n]*\z"
_TIME_TEXT = rf"^[ \t\r\n]*{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}[ \t\r\n]*\z"


def _added(unit: str, count: Sql, moment: Sql) -> Sql:
    return call("timestampadd", exp.Var(this=unit), count, moment)


@forms
def is_date_text(value: Sql) -> Sql:
    day = call("substr", trimmed(value), number(1), number(10))
    return both(
        matches(value, _DATE_TEXT),
        is_not_null(exp.TryCast(this=day, to=exp.DataType.build("DATE"), safe=True)),
    )


@forms
def parse_date(value: Sql) -> Sql:
    return cast(call("substr", trimmed(value), number(1), number(10)), "DATE")


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
        template(
            """CASE WHEN regexp_like(l, 'T24:00:00([.]0+)?$')
            THEN timestampadd(DAY, 1, try_cast(substr(l, 1, 10) AS TIMESTAMP_NTZ))
            ELSE try_cast(regexp_replace(l, '([.][0-9]{6})[0-9]+$', '$1') AS TIMESTAMP_NTZ) END"""
        ),
    )


@forms
def is_dateTime_text(value: Sql) -> Sql:
    return both(matches(value, _TIME_TEXT), is_not_null(_local_time(value)))


@forms
def parse_dateTime(value: Sql) -> Sql:
    """The instant in UTC."""
    minutes = _zone_minutes(zone_of(value))
    return _added("MINUTE", exp.Neg(this=minutes), _local_time(value))


@forms
def zone_of(value: Sql) -> Sql:
    found = call(
        "regexp_extract",
        value,
        text_literal(rf"^{BLANKS}{_DATE}(?:T[0-9:.]+)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?{BLANKS}\z"),
        number(1),
    )
    return call("regexp_replace", found, text_literal(r"^[+-]00:00$"), text_literal("Z"))


_CLOCK_TEXT = rf"^{BLANKS}[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?{_ZONE}{BLANKS}\z"


@forms
def is_time_text(value: Sql) -> Sql:
    return both(matches(value, _CLOCK_TEXT), is_not_null(_local_time(_on_a_day(value))))


def _on_a_day(value: Sql) -> Sql:
    """A time of day as one of the first day that Spark counts."""
    return call("concat", text_literal("1970-01-01T"), trimmed(value))


@forms
def parse_time(value: Sql) -> Sql:
    """The microseconds since midnight; 24 o'clock is midnight."""

    local = _local_time(_on_a_day(value))
    return template(
        "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', t) % 86400000000L", t=local
    )


@forms
def zone_of_time(value: Sql) -> Sql:
    return zone_of(_on_a_day(value))


@forms
def zone_length(zone: Sql) -> Sql:
    """A zone as microseconds ahead of UTC; NULL if there is none."""

    minutes = _zone_minutes(zone)
    return template("CASE WHEN z <> '' THEN m * 60000000L END", z=zone, m=minutes)


def _zone_minutes(zone: Sql) -> Sql:
    """The minutes that a zone is ahead of UTC."""
    total = "(CAST(substr(z, 2, 2) AS INT) * 60 + CAST(substr(z, 5, 2) AS INT))"
    minutes = (
        f"CASE WHEN z IN ('', 'Z') THEN 0 WHEN startswith(z, '-') THEN -{total} ELSE {total} END"
    )
    return let(zone, "z", template(minutes))


# times


@forms
def in_zone(value: Sql, zone: Sql) -> Sql:
    return _added("MINUTE", _zone_minutes(zone), value)


@forms
def out_of_zone(value: Sql, zone: Sql) -> Sql:
    return _added("MINUTE", exp.Neg(this=_zone_minutes(zone)), value)


@forms
def zoned_time_text(value: Sql, zone: Sql) -> Sql:
    if isinstance(zone, exp.Literal) and zone.this in ("", "Z"):
        text = _without_plus(forms["time_text"](value))
        return text if not zone.this else call("concat", text, zone)
    return call("concat", _without_plus(forms["time_text"](in_zone(value, zone))), zone)


def _without_plus(text: Sql) -> Sql:
    """Spark has a sign before years of five digits."""
    return call("ltrim", text_literal("+"), text)


@forms
def add_microseconds(moment: Sql, count: Sql) -> Sql:
    return _added("MICROSECOND", count, moment)


@forms
def add_months(moment: Sql, count: Sql) -> Sql:
    return _added("MONTH", count, moment)


@forms
def month_name(value: Sql) -> Sql:
    """The English name of a month."""
    names = [text_literal(name) for name in _MONTHS.split()]
    return call("element_at", call("array", *names), call("month", value))


@forms
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
        is_null(value),
        exp.Null(),
        binary("=", text, text_literal("now")),
        exp.Placeholder(this="now"),
        binary("=", text, text_literal("start")),
        forms["before_time"](),
        let(whole, "t", parsed),
    )


@forms
def lifespan_bound(value: Sql, symbol: Sql) -> Sql:
    return case_(binary("=", value, symbol), exp.Null(), parse_validity(value, exp.Null()))


# buckets of time are so many powers of 16 seconds long; the largest holds all times
_SIZES = 10


@forms
def time_buckets(first: Sql, last: Sql, is_left: Sql) -> Sql:
    """The buckets that an interval is in, from its seconds: their numbers, and which are the first.

    The smallest size that is not shorter than the interval is its own. A left one is in buckets of
    its own size for right ones of no larger size, and in larger ones for right ones that own them.
    """
    own = template(
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
    return template(text, f=first, l=last, o=own)


@forms
def overlaps(begin: Sql, end: Sql, first: Sql, last: Sql) -> Sql:
    """Whether a lifespan, with NULL for `start` and `now`, has an `overlap` with an interval.

    The meaning is that of `overlap` in `xcql.history.predicates`.
    """
    begins = either(is_null(begin), binary("<=", begin, last))
    ends = binary(">=", call("coalesce", end, exp.Placeholder(this="now")), first)
    return both(begins, ends)
