"""Numbers in SQL, exactly as XQuery has them.

Integers are BIGINT: what does not fit fails. Decimals have 20 digits after the point and 17 before
it (`DECIMAL`); an operation whose exact result has more fails, too, and is never rounded unseen.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from sqlglot import exp

from xcql.algebra.scalars import Constant, Scalar
from xcql.dialects.forms.casts import DECIMAL, trimmed
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, call, cast, constant, integer_value, number

forms = Forms()


_INFINITY, _MINUS_INFINITY = "CAST('Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"
# doubles from here on are integers, and so are their doubles
_WHOLE = "4503599627370496.0D"


forms.calls(is_nan="isnan", square_root="sqrt")
forms.templates(
    {
        "negative value": "-value",
        "idiv x y": "x DIV y",
        "is_finite x": f"NOT isnan(x) AND abs(x) < {_INFINITY}",
        "double_modulo x y": """CASE WHEN y <> 0.0D THEN x % y
          WHEN x IS NOT NULL AND y = 0.0D THEN CAST('NaN' AS DOUBLE) END""",
        # an integer as a multiple of a power of ten; halves go up
        "integer_round x p": """CAST(floor((2 * CAST(x AS DECIMAL(20, 0)) + p) / (2 * p)) * p
          AS BIGINT)""",
        # in this type it has a decimal point, so only zeros after it are removed
        "decimal_text x": f"rtrim('.', rtrim('0', CAST(CAST(x AS {DECIMAL}) AS STRING)))",
        "decimal_add x y": f"CAST(x + y AS {DECIMAL})",
        "decimal_subtract x y": f"CAST(x - y AS {DECIMAL})",
        # a difference: Spark's own minus sign and `abs` round to 34 digits
        "decimal_negative x": f"CAST(0BD - x AS {DECIMAL})",
        "decimal_abs x": f"CASE WHEN x < 0 THEN CAST(0 - x AS {DECIMAL}) ELSE x END",
        "decimal_floor x": f"CAST(floor(x) AS {DECIMAL})",
        "decimal_ceiling x": f"CAST(ceil(x) AS {DECIMAL})",
        "from_millionths x": f"CAST(CAST(x AS DECIMAL(19, 0)) * 0.000001BD AS {DECIMAL})",
        "array_sum_decimals xs": f"""aggregate(filter(xs, x -> x IS NOT NULL),
          CAST(0 AS {DECIMAL}), (total, x) -> CAST(total + CAST(x AS {DECIMAL}) AS {DECIMAL}))""",
        # Spark reads `Infinity`, XQuery `INF`; it trims more than blanks, but only these are here
        "parse_double x": "CAST(replace(x, 'INF', 'Infinity') AS DOUBLE)",
        # with zeros in front, so that it has at least so many digits
        "padded_integer x n": """concat(CASE WHEN x < 0 THEN '-' ELSE '' END,
          repeat('0', n - length(replace(CAST(x AS STRING), '-', ''))),
          replace(CAST(x AS STRING), '-', ''))""",
    }
)


def _let(text: str, **parts: Sql) -> Sql:
    """A template whose first part is computed once, because it is used often."""
    (name, value), *rest = parts.items()
    return let(value, name, template(text, **dict(rest)))


# doubles


@forms
def least_if_nan(value: Sql) -> Sql:
    """The number, or a value less than any number."""
    return call("nanvl", value, -math.inf)


@forms
def double_text(value: Sql) -> Sql:
    """A double as XQuery writes it: 100000, 1.0E6, 0.000001, 1.0E-7, INF."""
    long = let(
        _shortest(),
        "s",
        template(
            """CASE WHEN abs(d) >= 0.000001D AND abs(d) < 1000000.0D
            THEN regexp_replace(CAST(CAST(s AS DECIMAL(38, 25)) AS STRING), '[.]?0+$', '')
            ELSE regexp_replace(regexp_replace(s, '[.]?0*e', 'e'), '^(-?[0-9])e', '$1.0e')
            END"""
        ),
    )
    return _let(
        f"""CASE
          WHEN d IS NULL THEN NULL
          WHEN isnan(d) THEN 'NaN'
          WHEN d = {_INFINITY} THEN 'INF'
          WHEN d = {_MINUS_INFINITY} THEN '-INF'
          WHEN d = 0.0D OR abs(d) >= 0.001D AND abs(d) < 1000000.0D
            AND length(CAST(d AS STRING)) < 17
          THEN regexp_replace(CAST(d AS STRING), '[.]0$', '')
          ELSE regexp_replace(long, 'e[+]?(-?)0*', 'E$1')
        END""",
        d=value,
        long=long,
    )


def _shortest() -> Sql:
    """The shortest text with an exponent for the double `d`.

    Java before 19 writes up to three digits too many for some numbers (2E23 is
    1.9999999999999998E23, 1.09007199254741E17 is 1.09007199254740992E17); then a text with fewer
    digits stands for the same number.
    """
    digits = "length(regexp_replace(CAST(abs(d) AS STRING), '^[0.]+|[.]0$|[.]|E.*$', ''))"
    written = "format_string(concat('%.', CAST(greatest(k - fewer, 0) AS STRING), 'e'), d)"
    texts = f"transform(array(4, 3, 2, 1), fewer -> {written})"
    choice = f"get(filter({texts}, shorter -> CAST(shorter AS DOUBLE) = d), 0)"
    return let(template(digits), "k", template(choice))


@forms
def double_divide(x: Sql, y: Sql) -> Sql:
    """Division of doubles by zero is infinite, or not a number."""
    if isinstance(y, exp.Cast) and isinstance(y.this, exp.Literal) and float(y.this.this):
        return template("x / y", x=x, y=y)
    return template(
        f"""CASE
          WHEN y <> 0.0D THEN x / y
          WHEN isnan(x) OR x = 0.0D THEN CAST('NaN' AS DOUBLE)
          WHEN y = 0.0D AND (x > 0.0D) = (CAST(y AS STRING) = '0.0') THEN {_INFINITY}
          WHEN y = 0.0D THEN {_MINUS_INFINITY}
        END""",
        x=x,
        y=y,
    )


@forms
def double_floor(value: Sql) -> Sql:
    return _let(_with_sign("CAST(floor(d) AS DOUBLE)"), d=value)


@forms
def double_ceiling(value: Sql) -> Sql:
    return _let(_with_sign("CAST(ceil(d) AS DOUBLE)"), d=value)


def _with_sign(rounded: str, limit: str = _WHOLE) -> str:
    """A rounded double; NaN, infinities, integers and zeros stay, and zero keeps its sign."""
    return f"""CASE
      WHEN isnan(d) OR abs(d) >= {limit} OR d = 0.0D THEN d
      WHEN d < 0.0D THEN -abs({rounded})
      ELSE {rounded}
    END"""


@forms
def round_half_up(value: Sql) -> Sql:
    """Halves round up, below zero too."""
    rounded = "CAST(floor(d) AS DOUBLE) + CASE WHEN d - floor(d) >= 0.5D THEN 1.0D ELSE 0.0D END"
    return _let(_with_sign(rounded), d=value)


@forms
def mathematics(name: Sql, *numbers: Sql) -> Sql:
    """A function that is called as in XQuery; dialects have limits for what it returns."""
    return call(name.this, *numbers)


@forms
def round_digits(value: Sql, digits: Sql) -> Sql:
    """Rounding to some digits after the point, by the exact value: 1.005 is a bit less than that.

    `p + e` is the exact product with a power of ten; what matters is on which side of a half it is.
    """
    power = 10.0 ** integer_value(digits)
    product = let(
        _exact_product(exp.column("d"), constant(power)),
        "m",
        template(
            """CASE WHEN abs(m.p) >= 9007199254740992.0D THEN d
            ELSE (CAST(floor(m.p) AS DOUBLE) + CASE
              WHEN m.p - floor(m.p) > 0.5D OR (m.p - floor(m.p) = 0.5D AND m.e >= 0.0D)
                OR (m.p = floor(m.p) AND m.e >= 0.5D) THEN 1.0D ELSE 0.0D END) / c END""",
            c=constant(power),
        ),
    )
    return let(
        value, "d", template(_with_sign("product", f"{2.0**53 / power!r}D"), product=product)
    )


def _exact_product(x: Sql, y: Sql) -> Sql:
    """The product of two doubles as a struct: `p`, rounded, and `e`, the rounding error."""
    # both factors in halves of 26 bits, whose products are exact
    split = "named_struct('h', v * 134217729.0D - (v * 134217729.0D - v), 'v', v)"
    halves = template(
        """named_struct('p', a.v * b.v, 'e',
          ((a.h * b.h - a.v * b.v) + a.h * (b.v - b.h) + (a.v - a.h) * b.h)
          + (a.v - a.h) * (b.v - b.h))"""
    )
    return let(template(split, v=x), "a", let(template(split, v=y), "b", halves))


@forms
def round_half_even(value: Sql, digits: Sql) -> Sql:
    """Halves go to the even neighbour; a double counts as the decimal that it is written as."""
    return let(value, "d", template(_with_sign(f"bround(d, {integer_value(digits)})", _INFINITY)))


@forms
def times_rounded(factor: Sql, number: Sql) -> Sql:
    """A BIGINT times a double, exactly, then as a BIGINT again; halves go to the even number."""
    return let(
        _exact_product(factor, cast(number, "DOUBLE")),
        "m",
        template(
            """CASE WHEN abs(m.p) >= 4503599627370496.0D
              THEN CAST(m.p AS DECIMAL(20, 0)) + CAST(bround(m.e, 0) AS DECIMAL(20, 0))
            ELSE floor(m.p) + CASE
              WHEN m.p - floor(m.p) > 0.5D
                OR m.p - floor(m.p) = 0.5D AND (m.e > 0.0D OR m.e = 0.0D AND floor(m.p) % 2 <> 0)
              THEN 1 ELSE 0 END END"""
        ),
    )


# decimals


_SHORT = "DECIMAL(18, 6)"


@forms
def decimal_multiply(x: Sql, y: Sql, too_long: Sql) -> Sql:
    """A product of decimals, if all of its digits certainly fit."""
    return template(
        f"""CASE
          WHEN x IS NULL OR y IS NULL THEN NULL
          WHEN try_cast(x AS {_SHORT}) = x AND try_cast(y AS {_SHORT}) = y
          THEN CAST(CAST(x AS {_SHORT}) * CAST(y AS {_SHORT}) AS {DECIMAL})
          WHEN try_cast(x AS DECIMAL(29, 20)) = x AND try_cast(y AS DECIMAL(8, 0)) = y
          THEN CAST(CAST(x AS DECIMAL(29, 20)) * CAST(y AS DECIMAL(8, 0)) AS {DECIMAL})
          WHEN try_cast(y AS DECIMAL(29, 20)) = y AND try_cast(x AS DECIMAL(8, 0)) = x
          THEN CAST(CAST(y AS DECIMAL(29, 20)) * CAST(x AS DECIMAL(8, 0)) AS {DECIMAL})
          ELSE too_long
        END""",
        x=x,
        y=y,
        too_long=too_long,
    )


def _millionths(x: Sql, too_long: Sql) -> Sql:
    """A decimal with few digits as a number of millionths."""
    return template(
        f"""CASE
          WHEN x IS NULL THEN NULL
          WHEN try_cast(x AS {_SHORT}) = x THEN CAST(CAST(x AS {_SHORT}) * 1000000BD AS BIGINT)
          ELSE too_long
        END""",
        x=x,
        too_long=too_long,
    )


@forms
def integer_divide(x: Sql, y: Sql) -> Sql:
    """A quotient of integers, with 18 digits after the point; halves are rounded down."""
    return _quotient(x, y, 9)


@forms
def decimal_divide(x: Sql, y: Sql, too_long: Sql) -> Sql:
    return integer_divide(_millionths(x, too_long), _millionths(y, too_long))


@forms
def decimal_idiv(x: Sql, y: Sql, too_long: Sql) -> Sql:
    return forms["idiv"](_millionths(x, too_long), _millionths(y, too_long))


@forms
def decimal_modulo(x: Sql, y: Sql, too_long: Sql) -> Sql:
    rest = template("x % y", x=_millionths(x, too_long), y=_millionths(y, too_long))
    return forms["from_millionths"](rest)


@forms
def duration_ratio(x: Sql, y: Sql) -> Sql:
    """A quotient of durations, with 20 digits after the point; halves are rounded down."""
    return _quotient(x, y, 10)


def _quotient(x: Sql, y: Sql, digits: int) -> Sql:
    """Long division: the whole part, then twice the given number of digits, then the remainder."""
    power = f"1{'0' * digits}BD"
    unit = f"0.{'0' * (digits - 1)}1BD"
    wide = "CAST({} AS DECIMAL(20, 0))"
    first = template(
        f"""named_struct('x', q.x, 'y', q.y,
          'f', {wide.format("abs(q.x % q.y)")} * {power} DIV {wide.format("abs(q.y)")},
          'r', {wide.format("abs(q.x % q.y)")} * {power} % {wide.format("abs(q.y)")})"""
    )
    second = f"{wide.format('a.r')} * {power}"
    result = template(
        f"""CAST(CAST(a.x DIV a.y AS DECIMAL(17, 0))
          + CASE WHEN (a.x < 0) <> (a.y < 0) THEN -1BD ELSE 1BD END
          * (CAST(a.f AS DECIMAL(11, 0)) * {unit}
            + CAST(CAST({second} DIV {wide.format("abs(a.y)")} AS DECIMAL(11, 0)) +
              CASE WHEN 2 * ({second} % {wide.format("abs(a.y)")}) > {wide.format("abs(a.y)")}
              THEN 1 ELSE 0 END AS DECIMAL(11, 0)) * {unit} * {unit})
        AS {DECIMAL})"""
    )
    operands = template(
        "named_struct('x', CAST(m AS DECIMAL(19, 0)), 'y', CAST(n AS DECIMAL(19, 0)))", m=x, n=y
    )
    return let(operands, "q", let(first, "a", result))


@forms
def decimal_round(value: Sql, digits: Sql) -> Sql:
    """Halves round up, below zero too."""
    places = integer_value(digits)
    if places >= 20:
        return value
    half = constant(Decimal(5).scaleb(-places - 1))
    places_ = number(places)
    shifted = template(f"CAST(x AS {DECIMAL}) + CAST(half AS DECIMAL(36, 20))", x=value, half=half)
    return cast(call("floor", shifted, places_), DECIMAL)


@forms
def decimal_round_half_even(value: Sql, digits: Sql) -> Sql:
    return cast(call("bround", value, number(integer_value(digits))), DECIMAL)


# mathematics


# numbers from text


@forms
def parse_integer(value: Sql, too_large: Sql) -> Sql:
    return _let(
        "coalesce(try_cast(t AS BIGINT), too_large)",
        t=trimmed(value),
        too_large=too_large,
    )


@forms
def parse_decimal(value: Sql, too_long: Sql) -> Sql:
    """No digit of the text may be lost."""
    return _let(
        f"""CASE WHEN regexp_like(t, '[.][0-9]{{20}}0*[1-9]') THEN too_long
          ELSE coalesce(try_cast(t AS {DECIMAL}), too_long) END""",
        t=trimmed(value),
        too_long=too_long,
    )


# numbers as people write them


_PICTURE = re.compile(r"(?:#,##|#*)0(?:\.(?=[0#])(?P<least>0*)(?P<more>#*))?")
_MOST_DIGITS = 10


def picture_limit(value: Scalar, picture: Scalar, is_double: Scalar) -> str | None:
    """Why a number cannot be written by a picture with functions of SQL; None if it can."""
    assert isinstance(picture, Constant)
    form = _PICTURE.fullmatch(str(picture.value))
    if form is None:
        return "a picture that is not simple"
    digits = (form["least"] or "") + (form["more"] or "")
    return "so many digits" if len(digits) > _MOST_DIGITS else None


@forms
def formatted_number(value: Sql, picture: Sql, is_double: Sql) -> Sql:
    """A number by a picture such as #,##0.0#."""
    form = _PICTURE.fullmatch(picture.this)
    assert form is not None
    fewest = len(form["least"] or "")
    digits = fewest + len(form["more"] or "")
    exact = f"CAST(ltrim('-', CAST(x AS STRING)) AS {DECIMAL})"
    rounded = template(f"format_number(bround({exact}, {digits}), {digits})")
    text = rounded if "," in picture.this else template("replace(t, ',', '')", t=rounded)
    if fewest < digits:
        kept = f"([.][0-9]{{{fewest}}}[0-9]*?)0+$"
        text = template(f"regexp_replace(regexp_replace(t, '{kept}', '$1'), '[.]$', '')", t=text)
    sign = "CASE WHEN startswith(CAST(x AS STRING), '-') THEN '-' ELSE '' END"
    whole = template(f"concat({sign}, t)", t=text)
    if is_double.this:
        whole = template(
            f"CASE WHEN isnan(x) THEN 'NaN' WHEN abs(x) = {_INFINITY} "
            f"THEN concat({sign}, 'Infinity') ELSE t END",
            t=whole,
        )
    return let(value, "x", template("coalesce(t, 'NaN')", t=whole))


@forms
def filled_up(value: Sql, digits: Sql) -> Sql:
    """An integer with zeros in front, up to some digits."""
    if integer_value(digits) == 1:
        return cast(value, "STRING")
    return template(
        f"CASE WHEN length(CAST(x AS STRING)) >= {integer_value(digits)} THEN CAST(x AS STRING) "
        f"ELSE lpad(CAST(x AS STRING), {integer_value(digits)}, '0') END",
        x=value,
    )
