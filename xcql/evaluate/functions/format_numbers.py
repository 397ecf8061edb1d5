"""fn:format-number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.arithmetic import calculate
from xcql.evaluate.casting import cast
from xcql.evaluate.functions.numbers import DECIMALS_WIDE
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import string_of
from xcql.xdm.names import QName


@dataclass(frozen=True, slots=True)
class DecimalFormat:
    """The characters that make up a picture and its result."""

    decimal_separator: str = "."
    grouping_separator: str = ","
    exponent_separator: str = "e"
    infinity: str = "Infinity"
    minus_sign: str = "-"
    NaN: str = "NaN"
    percent: str = "%"
    per_mille: str = "‰"
    zero_digit: str = "0"
    digit: str = "#"
    pattern_separator: str = ";"

    def is_digit(self, sign: str) -> bool:
        return 0 <= ord(sign) - ord(self.zero_digit) <= 9

    def is_active(self, sign: str) -> bool:
        return self.is_digit(sign) or sign in (
            self.decimal_separator,
            self.grouping_separator,
            self.digit,
        )


@dataclass(frozen=True, slots=True)
class _Picture:
    """One analysed sub-picture."""

    prefix: str
    suffix: str
    grouping: tuple[int, ...]
    interval: int
    fraction_grouping: tuple[int, ...]
    least_integer: int
    scaling: int
    least_fraction: int
    most_fraction: int
    least_exponent: int
    factor: int


@function("fn:format-number(xs:numeric?, xs:string, [xs:string?]) as xs:string")
def format_number(call: CallContext, value: Any, picture: str, name: str | None = None) -> str:
    return formatted(value, picture, _format(call, name))


def formatted(value: Any, picture: str, form: DecimalFormat) -> str:
    """A number, or NaN for none, by a picture."""
    pictures = _sub_pictures(picture, form)
    number = math.nan if value is None else value
    if isinstance(number, float) and math.isnan(number):
        return form.NaN
    negative = math.copysign(1, number) < 0 if isinstance(number, float) else number < 0
    chosen = pictures[0]
    if negative:
        chosen = (
            pictures[1]
            if len(pictures) > 1
            else replace(chosen, prefix=form.minus_sign + chosen.prefix)
        )
    number = calculate("*", number, chosen.factor)
    if isinstance(number, float) and math.isinf(number):
        return f"{chosen.prefix}{form.infinity}{chosen.suffix}"
    exact = _exact(number).copy_abs()
    return f"{chosen.prefix}{_written(exact, chosen, form)}{chosen.suffix}"


@lru_cache(maxsize=256)
def _sub_pictures(picture: str, form: DecimalFormat) -> tuple[_Picture, ...]:
    """The picture for numbers, and the one for negative numbers if there is one."""
    parts = picture.split(form.pattern_separator)
    if len(parts) > 2:
        raise _bad(picture, "it has more than two parts")
    return tuple(_analysed(part, form, picture) for part in parts)


def _exact(number: Any) -> Decimal:
    """The number as a decimal; for a double, the decimal that it is printed as."""
    if isinstance(number, ep.Float):
        return Decimal(string_of(number).replace("E", "e"))
    return Decimal(repr(float(number))) if isinstance(number, float) else Decimal(number)


def _format(call: CallContext, name: str | None) -> DecimalFormat:
    formats = call.static.decimal_formats
    if name is None:
        return make_format(formats.get(None, {}))
    try:
        # a name without a prefix is in no namespace, whatever the default namespace
        text = name.strip()
        if text.startswith("Q{"):
            uri, _, local = text[2:].partition("}")
            key = QName(uri, local)
        else:
            value = cast(text, "QName", call.static.namespaces)
            key = QName(value.uri or "", value.local_name)
    except XcqlError:
        raise error("FODF1280", f'"{name}" is not the name of a decimal format') from None
    if key not in formats:
        raise error(
            "FODF1280",
            f'there is no decimal format "{name}"',
            hints=[f"declare decimal-format {name} …;"],
        )
    return make_format(formats[key])


def make_format(properties: Mapping[str, str]) -> DecimalFormat:
    """A format from the properties of its declaration, such as `decimal-separator`."""
    return DecimalFormat(**{key.replace("-", "_"): value for key, value in properties.items()})


def _bad(picture: str, reason: str) -> XcqlError:
    return error("FODF1310", f'the picture "{picture[:60]}" cannot be used: {reason}')


def _analysed(part: str, form: DecimalFormat, picture: str) -> _Picture:
    exponent_at = _exponent_position(part, form)
    active = [index for index, sign in enumerate(part) if form.is_active(sign)]
    if exponent_at is not None:
        active.append(exponent_at)
    mantissa_end = len(part) if exponent_at is None else exponent_at
    if not any(form.is_digit(sign) or sign == form.digit for sign in part[:mantissa_end]):
        raise _bad(picture, "it has no place for a digit")
    first, last = min(active), max(active)
    prefix, body, suffix = part[:first], part[first : last + 1], part[last + 1 :]
    if len(active) != len(body):
        raise _bad(picture, "there is literal text between digits")
    scale_signs = [sign for sign in part if sign in (form.percent, form.per_mille)]
    if len(scale_signs) > 1 or (scale_signs and exponent_at is not None):
        raise _bad(picture, "there are too many percent, per-mille and exponent signs")
    factor = 1 if not scale_signs else 100 if scale_signs[0] == form.percent else 1000
    mantissa, exponent = body, ""
    if exponent_at is not None:
        mantissa = body[: exponent_at - first]
        exponent = body[exponent_at - first + 1 :]
        if not exponent or not all(map(form.is_digit, exponent)):
            raise _bad(picture, "an exponent can only contain digits")
    if mantissa.count(form.decimal_separator) > 1:
        raise _bad(picture, "it has two decimal separators")
    integer, separator, fraction = mantissa.partition(form.decimal_separator)
    _check_parts(integer, fraction, bool(separator), form, picture)
    return _sized(
        integer, fraction, exponent, exponent_at is not None, form, prefix, suffix, factor
    )


def _exponent_position(part: str, form: DecimalFormat) -> int | None:
    """The position of an exponent separator between active characters; elsewhere it is text."""
    for index, sign in enumerate(part):
        if (
            sign == form.exponent_separator
            and 0 < index < len(part) - 1
            and form.is_active(part[index - 1])
            and form.is_active(part[index + 1])
        ):
            return index
    return None


def _check_parts(
    integer: str, fraction: str, has_separator: bool, form: DecimalFormat, picture: str
) -> None:
    group = form.grouping_separator
    if group + group in integer or group + group in fraction:
        raise _bad(picture, "there are two adjacent grouping separators")
    if integer.endswith(group) or (has_separator and fraction.startswith(group)):
        raise _bad(picture, "a grouping separator is next to the decimal separator or at the end")
    if fraction.endswith(group):
        raise _bad(picture, "a grouping separator is at the end")
    digits = integer.replace(group, "")
    if form.digit in digits.lstrip(form.digit):
        raise _bad(picture, "an optional digit follows a mandatory one")
    if form.digit in fraction.replace(group, "").rstrip(form.digit):
        raise _bad(picture, "a mandatory digit follows an optional one")


def _sized(
    integer: str,
    fraction: str,
    exponent: str,
    has_exponent: bool,
    form: DecimalFormat,
    prefix: str,
    suffix: str,
    factor: int,
) -> _Picture:
    group = form.grouping_separator
    least_integer = scaling = sum(map(form.is_digit, integer))
    least_fraction = sum(map(form.is_digit, fraction))
    most_fraction = len(fraction.replace(group, ""))
    if least_integer == 0 and most_fraction == 0:
        if has_exponent:
            least_fraction = most_fraction = 1
        else:
            least_integer = 1
    if has_exponent and least_integer == 0 and form.digit in integer:
        least_integer = 1
    if least_integer == 0 and least_fraction == 0:
        least_fraction = 1
        most_fraction = max(most_fraction, 1)
    grouping = _positions_from_right(integer, group)
    return _Picture(
        prefix,
        suffix,
        grouping,
        _interval(grouping, len(integer.replace(group, ""))),
        _positions_from_left(fraction, group),
        least_integer,
        scaling,
        least_fraction,
        most_fraction,
        len(exponent),
        factor,
    )


def _positions_from_right(text: str, group: str) -> tuple[int, ...]:
    """The number of digits to the right of each grouping separator."""
    parts = text.split(group)
    return tuple(sum(map(len, parts[index:])) for index in range(len(parts) - 1, 0, -1))


def _positions_from_left(text: str, group: str) -> tuple[int, ...]:
    parts = text.split(group)
    return tuple(sum(map(len, parts[:index])) for index in range(1, len(parts)))


def _interval(positions: tuple[int, ...], digits: int) -> int:
    """The distance between regular grouping separators, otherwise 0."""
    if not positions:
        return 0
    first = positions[0]
    # a separator can also come before the first digit
    regular = (list(range(first, digits, first)), list(range(first, digits + 1, first)))
    return first if first and list(positions) in regular else 0


def _written(number: Decimal, part: _Picture, form: DecimalFormat) -> str:
    """A non-negative number, without prefix and suffix."""
    exponent = 0
    if part.least_exponent and number:
        exponent = number.adjusted() + 1 - part.scaling
        number = number.scaleb(-exponent, DECIMALS_WIDE)
    unit = Decimal(1).scaleb(-part.most_fraction)
    text = format(number.quantize(unit, ROUND_HALF_EVEN, DECIMALS_WIDE), "f")
    whole, _, fraction = text.partition(".")
    whole = whole.lstrip("0").rjust(part.least_integer, "0")
    fraction = fraction.rstrip("0").ljust(part.least_fraction, "0")
    result = _grouped(whole, part, form)
    if fraction:
        result += form.decimal_separator + _grouped_fraction(fraction, part, form)
    if part.least_exponent:
        digits = str(abs(exponent)).rjust(part.least_exponent, "0")
        sign = form.minus_sign if exponent < 0 else ""
        result += form.exponent_separator + sign + _in_digits(digits, form)
    return result


def _in_digits(text: str, form: DecimalFormat) -> str:
    return "".join(chr(ord(form.zero_digit) + int(digit)) for digit in text)


def _grouped(whole: str, part: _Picture, form: DecimalFormat) -> str:
    signs: list[str] = []
    for position, digit in enumerate(reversed(_in_digits(whole, form))):
        regular = part.interval and position % part.interval == 0
        if position and (regular or (not part.interval and position in part.grouping)):
            signs.append(form.grouping_separator)
        signs.append(digit)
    return "".join(reversed(signs))


def _grouped_fraction(fraction: str, part: _Picture, form: DecimalFormat) -> str:
    signs: list[str] = []
    for position, digit in enumerate(_in_digits(fraction, form)):
        if position in part.fraction_grouping:
            signs.append(form.grouping_separator)
        signs.append(digit)
    return "".join(signs)
