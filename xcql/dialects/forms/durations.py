"""Durations in SQL: numbers of microseconds, and numbers of months."""

from __future__ import annotations

from xcql.dialects.forms import numbers
from xcql.dialects.forms.casts import DECIMAL, trimmed
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, matches

forms = Forms()


_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
_DAY_TIME = r"^-?P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]+)?S)?)?\z"
_YEAR_MONTH = r"^-?P(?=[0-9])([0-9]+Y)?([0-9]+M)?\z"


@forms
def day_time_text(value: Sql) -> Sql:
    """Microseconds as a duration: P1DT2H3M4.5S, PT0S."""
    seconds = numbers.forms["decimal_text"](
        template(f"CAST(abs(n) % {_MINUTE} AS DECIMAL(8, 0)) * 0.000001BD")
    )
    text = template(
        f"""CASE
          WHEN n IS NULL THEN NULL
          WHEN n = 0 THEN 'PT0S'
          ELSE concat(
            CASE WHEN n < 0 THEN '-P' ELSE 'P' END,
            CASE WHEN abs(n) >= {_DAY} THEN concat(CAST(abs(n) DIV {_DAY} AS STRING), 'D')
              ELSE '' END,
            CASE WHEN abs(n) % {_DAY} > 0 THEN 'T' ELSE '' END,
            CASE WHEN abs(n) % {_DAY} >= {_HOUR}
              THEN concat(CAST(abs(n) % {_DAY} DIV {_HOUR} AS STRING), 'H') ELSE '' END,
            CASE WHEN abs(n) % {_HOUR} >= {_MINUTE}
              THEN concat(CAST(abs(n) % {_HOUR} DIV {_MINUTE} AS STRING), 'M') ELSE '' END,
            CASE WHEN abs(n) % {_MINUTE} > 0 THEN concat(seconds, 'S') ELSE '' END)
        END""",
        seconds=seconds,
    )
    return let(value, "n", text)


@forms
def year_month_text(value: Sql) -> Sql:
    text = template(
        """CASE
          WHEN n IS NULL THEN NULL
          WHEN n = 0 THEN 'P0M'
          ELSE concat(
            CASE WHEN n < 0 THEN '-P' ELSE 'P' END,
            CASE WHEN abs(n) >= 12 THEN concat(CAST(abs(n) DIV 12 AS STRING), 'Y') ELSE '' END,
            CASE WHEN abs(n) % 12 > 0 THEN concat(CAST(abs(n) % 12 AS STRING), 'M') ELSE '' END)
        END"""
    )
    return let(value, "n", text)


def _fits(value: Sql, pattern: str) -> Sql:
    """Whether a text is a duration: it needs at least one part, and one more after a T."""
    return matches(trimmed(value), pattern)


@forms
def is_dayTimeDuration_text(value: Sql) -> Sql:
    return _fits(value, _DAY_TIME)


@forms
def is_yearMonthDuration_text(value: Sql) -> Sql:
    return _fits(value, _YEAR_MONTH)


def _part(letter: str) -> str:
    """The number before a letter, 0 if it is not there."""
    return (
        f"coalesce(CAST(nullif(regexp_extract(t, '([0-9]+){letter}', 1), '') AS DECIMAL(19, 0)), 0)"
    )


@forms
def parse_dayTimeDuration(value: Sql) -> Sql:
    """Microseconds; smaller fractions are rounded half to even."""
    seconds = (
        "bround(coalesce(CAST(nullif(regexp_extract(t, '([0-9]+([.][0-9]+)?)S', 1), '')"
        " AS DECIMAL(37, 18)), 0), 6)"
    )
    minutes = (
        r"coalesce(CAST(nullif(regexp_extract(t, 'T.*?([0-9]+)M', 1), '') AS DECIMAL(19, 0)), 0)"
    )
    return let(
        trimmed(value),
        "t",
        template(
            f"""CAST(CASE WHEN startswith(t, '-') THEN -1 ELSE 1 END * (
              {_part("D")} * {_DAY}BD + {_part("H")} * {_HOUR}BD + {minutes} * {_MINUTE}BD
              + {seconds} * 1000000BD) AS BIGINT)"""
        ),
    )


@forms
def parse_yearMonthDuration(value: Sql) -> Sql:
    return let(
        trimmed(value),
        "t",
        template(
            f"""CAST(CASE WHEN startswith(t, '-') THEN -1 ELSE 1 END
              * ({_part("Y")} * 12BD + {_part("M")}) AS BIGINT)"""
        ),
    )


@forms
def divided_half_even(x: Sql, y: Sql) -> Sql:
    """An integer divided by another, as an integer; halves round to even."""
    return _quotient(
        x,
        y,
        "2 * abs(q.x % q.y) > abs(q.y) OR (2 * abs(q.x % q.y) = abs(q.y) AND q.x DIV q.y % 2 <> 0)",
    )


@forms
def divided_half_up(x: Sql, y: Sql) -> Sql:
    """An integer divided by another, as an integer; halves round up."""
    return _quotient(
        x,
        y,
        "2 * abs(q.x % q.y) > abs(q.y) OR 2 * abs(q.x % q.y) = abs(q.y) AND (q.x < 0) = (q.y < 0)",
    )


def _quotient(x: Sql, y: Sql, away: str) -> Sql:
    """The quotient rounded towards zero, or one more away from zero."""
    wide = "named_struct('x', CAST(a AS DECIMAL(38, 0)), 'y', CAST(b AS DECIMAL(38, 0)))"
    return let(
        template(wide, a=x, b=y),
        "q",
        template(
            f"""CAST(q.x DIV q.y + CASE WHEN {away}
              THEN CASE WHEN (q.x < 0) = (q.y < 0) THEN 1 ELSE -1 END ELSE 0 END AS BIGINT)"""
        ),
    )


# a decimal as an integer in units of its last digit, and half of one in these units
_LAST_DIGITS = (
    f"CAST(replace(ltrim('-', CAST(CAST(y AS {DECIMAL}) AS STRING)), '.', '') AS DECIMAL(37, 0))"
)
_HALF = "50000000000000000000BD"
_IS_ODD = "m.whole % 2 <> 0"
_IS_POSITIVE = "(m.x < 0) = (m.y < 0)"


@forms
def times_decimal_half_even(x: Sql, y: Sql) -> Sql:
    """An integer times a decimal, as an integer; halves round to even."""
    return _rounded(_product(x, y), _HALF, _IS_ODD)


@forms
def times_decimal_half_up(x: Sql, y: Sql) -> Sql:
    """An integer times a decimal, as an integer; halves round up."""
    return _rounded(_product(x, y), _HALF, _IS_POSITIVE)


@forms
def by_decimal_half_even(x: Sql, y: Sql) -> Sql:
    """An integer divided by a decimal, as an integer; halves round to even."""
    return _rounded(_long_division(x, y), "m.divisor - m.rest", _IS_ODD)


@forms
def by_decimal_half_up(x: Sql, y: Sql) -> Sql:
    """An integer divided by a decimal, as an integer; halves round up."""
    return _rounded(_long_division(x, y), "m.divisor - m.rest", _IS_POSITIVE)


def _rounded(made: Sql, half: str, up_at_half: str) -> Sql:
    """The whole part of a result, or one more away from zero."""
    return let(
        made,
        "m",
        template(
            f"""CAST(CASE WHEN {_IS_POSITIVE} THEN 1 ELSE -1 END * (m.whole + CASE
              WHEN m.rest > {half} OR m.rest = {half} AND {up_at_half} THEN 1 ELSE 0 END) AS BIGINT)
            """
        ),
    )


def _product(x: Sql, y: Sql) -> Sql:
    """The product of an integer and a decimal: its whole part, and 20 digits after the point.

    SQL has no room for a product of 56 digits, so the decimal is taken apart: its whole part, and
    twice ten digits.
    """
    unit = "10000000000BD"
    parts = template(
        f"""named_struct('x', x, 'y', y, 'size', CAST(abs(x) AS DECIMAL(19, 0)),
          'whole', CAST({_LAST_DIGITS} DIV 100000000000000000000BD AS DECIMAL(17, 0)),
          'first', CAST({_LAST_DIGITS} % 100000000000000000000BD DIV {unit} AS DECIMAL(10, 0)),
          'last', CAST({_LAST_DIGITS} % {unit} AS DECIMAL(10, 0)))""",
        x=x,
        y=y,
    )
    low = template(
        f"""named_struct('x', p.x, 'y', p.y, 'whole', p.size * p.whole,
          'middle', p.size * p.first + p.size * p.last DIV {unit},
          'last', p.size * p.last % {unit})"""
    )
    result = template(
        f"""named_struct('x', q.x, 'y', q.y, 'whole', q.whole + q.middle DIV {unit},
          'rest', CAST(q.middle % {unit} AS DECIMAL(10, 0)) * {unit} + q.last)"""
    )
    return let(parts, "p", let(low, "q", result))


def _long_division(x: Sql, y: Sql) -> Sql:
    """An integer divided by a decimal of 20 digits after the point, digit by digit."""
    step = """named_struct('whole', d.whole * 10 + d.rest * 10BD DIV n.divisor,
      'rest', CAST(d.rest * 10BD % n.divisor AS DECIMAL(37, 0)))"""
    begin = """named_struct('whole', abs(n.x) DIV n.divisor,
      'rest', CAST(CAST(abs(n.x) AS DECIMAL(19, 0)) % n.divisor AS DECIMAL(37, 0)))"""
    operands = template(f"named_struct('x', x, 'y', y, 'divisor', {_LAST_DIGITS})", x=x, y=y)
    divided = template(
        f"""aggregate(sequence(1, 20), {begin}, (d, i) -> {step},
          d -> named_struct('x', n.x, 'y', n.y, 'whole', d.whole, 'rest', d.rest,
            'divisor', n.divisor))"""
    )
    return let(operands, "n", divided)
