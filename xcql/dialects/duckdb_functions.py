"""Operations that Python computes for DuckDB, because its SQL cannot compute them exactly.

Most are the evaluator's own functions, so the answers are the same. None stands for NULL.

Tests: tests/runtime/embedded, tests/algebra/test_operations.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any, TypeVar

import elementpath.datatypes as ep

from xcql.diagnostics import XcqlError
from xcql.dialects.forms.inner import NAME, TAG, TOKEN
from xcql.dialects.forms.nodes import EMPTY_PAIR, OLD_LIFESPAN
from xcql.evaluate import arithmetic, deep_equal, letter_case
from xcql.evaluate.api import evaluate, prepare
from xcql.evaluate.arithmetic import (
    Operator,
    calculate,
    duration_microseconds,
    seconds_duration,
)
from xcql.evaluate.casting import from_text
from xcql.evaluate.functions import format_dates, format_numbers
from xcql.evaluate.functions.numbers import DECIMALS_WIDE, rounded
from xcql.evaluate.functions.regex import replaced, replacement_parts
from xcql.evaluate.functions.strings import is_xml_character
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.registry import NAMESPACES, lookup
from xcql.evaluate.regular_expressions import compile_regex
from xcql.model.time import parse_time
from xcql.shred import namespaces
from xcql.xdm import atomic, serialize
from xcql.xdm.parse import parse_xml

Body = TypeVar("Body", bound=Callable[..., Any])

DECIMAL = "DECIMAL(37, 20)"
_MATH = NAMESPACES["math"]
_DECIMAL_FORMAT = format_numbers.DecimalFormat()
_UNIT = Decimal(1).scaleb(-20)
_MOST_DECIMAL = Decimal(10) ** 17
_MOST_INTEGER = 2**63 - 1
# the type of NULL, which fits any other type. A function of ours that fails is not volatile, as
# DuckDB's `error` is, which may be evaluated before a filter
NOTHING = "NULL"
_ELEMENTS = "STRUCT(start INTEGER, parent INTEGER, name VARCHAR, text VARCHAR)[]"
_TEXTS = "STRUCT(start INTEGER, text VARCHAR)[]"


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function with DuckDB's names for the types of its parameters and its result."""

    body: Callable[..., Any]
    parameters: tuple[str, ...]
    result: str


_declared: dict[str, PythonFunction] = {}


def _computed(*parameters: str, returns: str) -> Callable[[Body], Body]:
    """Declare a function of the operation's name; it is called with values only, not with None."""

    def declare(body: Body) -> Body:
        @wraps(body)
        def strict(*arguments: Any) -> Any:
            return None if None in arguments else fitting(body(*arguments))

        fitting = _FITTING.get(returns, _as_it_is)
        _declared[body.__name__] = PythonFunction(strict, parameters, returns)
        return body

    return declare


class BeyondSql(Exception):
    """A number that SQL cannot represent; the evaluator has to answer the query."""


def _as_it_is(value: Any) -> Any:
    return value


def _fitting_decimal(value: Decimal | None) -> Decimal | None:
    """A decimal with at most 20 digits after the point and 17 before it."""
    if value is None:
        return None
    if abs(value) >= _MOST_DECIMAL:
        raise BeyondSql
    exact = value.quantize(_UNIT, ROUND_HALF_EVEN, DECIMALS_WIDE)
    if exact != value:
        raise BeyondSql
    return exact


def _fitting_integer(value: int | None) -> int | None:
    if value is not None and abs(value) > _MOST_INTEGER:
        raise BeyondSql
    return value


_FITTING: dict[str, Callable[[Any], Any]] = {DECIMAL: _fitting_decimal, "BIGINT": _fitting_integer}


@_computed("BIGINT", returns=NOTHING)
def beyond_sql(value: int) -> None:
    raise BeyondSql(value)


class FailedAtSite(Exception):
    """An error at a place of the query: the number of the place, and the value that caused it."""


def _fail(site: int, value: str | None) -> None:
    """Fail even if there is no value."""
    raise FailedAtSite(f"XCQL|{site}|{value or ''}")


_declared["fail"] = PythonFunction(_fail, ("BIGINT", "VARCHAR"), NOTHING)


# texts


@_computed("VARCHAR", returns="VARCHAR")
def upper(text: str) -> str:
    return letter_case.upper(text)


@_computed("VARCHAR", returns="VARCHAR")
def lower(text: str) -> str:
    return letter_case.lower(text)


@_computed("VARCHAR", returns="VARCHAR")
def escape_text(text: str) -> str:
    return serialize.escape_text(text)


@_computed("VARCHAR", returns="VARCHAR")
def escape_attribute(text: str) -> str:
    return serialize.escape_attribute(text)


@_computed("VARCHAR", "VARCHAR", "VARCHAR", returns="VARCHAR")
def translate(text: str, signs: str, replacements: str) -> str:
    table: dict[int, str | None] = {}
    for index, sign in enumerate(signs):
        table.setdefault(ord(sign), replacements[index] if index < len(replacements) else None)
    return text.translate(table)


@_computed("VARCHAR", "VARCHAR", "VARCHAR", returns="BOOLEAN")
def text_matches(text: str, pattern: str, flags: str) -> bool:
    return compile_regex(pattern, flags).is_found_in(text)


@_computed("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", returns="VARCHAR")
def text_replaced(text: str, pattern: str, flags: str, replacement: str) -> str:
    regex = compile_regex(pattern, flags)
    parts: list[str | int] = (
        [replacement] if regex.is_literal else replacement_parts(replacement, regex.pattern.groups)
    )
    return replaced(text, regex, parts)


@_computed("VARCHAR", "VARCHAR", "VARCHAR", returns="VARCHAR[]")
def text_split(text: str, pattern: str, flags: str) -> list[str]:
    if not text:
        return []
    pieces, position = [], 0
    for match in compile_regex(pattern, flags).found_in(text, "where"):
        pieces.append(text[position : match.start()])
        position = match.end()
    return [*pieces, text[position:]]


@_computed("VARCHAR", returns="BIGINT[]")
def codepoints(text: str) -> list[int]:
    return list(map(ord, text))


@_computed("BIGINT[]", returns="VARCHAR")
def text_of_codepoints(codes: list[int]) -> str | None:
    return "".join(map(chr, codes)) if all(map(is_xml_character, codes)) else None


# numbers


@_computed("DOUBLE", returns="VARCHAR")
def double_text(value: float) -> str:
    return atomic.double_text(value)


@_computed("VARCHAR", "DOUBLE", "DOUBLE", returns="DOUBLE")
def mathematics(name: str, x: float, y: float) -> Any:
    """A function of the math namespace, of one number or of two."""
    found = lookup(_MATH, name, 1) or lookup(_MATH, name, 2)
    assert found is not None
    return found.body(None, *(x, y)[: found.arity])


@_computed("DOUBLE", "BIGINT", returns="DOUBLE")
def round_digits(value: float, digits: int) -> float:
    return float(rounded(value, digits, half_even=False))


@_computed("DOUBLE", "BIGINT", returns="DOUBLE")
def round_half_even(value: float, digits: int) -> float:
    return float(rounded(value, digits, half_even=True))


@_computed(DECIMAL, "BIGINT", returns=DECIMAL)
def decimal_round(value: Decimal, digits: int) -> Decimal:
    return Decimal(rounded(value, digits, half_even=False))


@_computed(DECIMAL, "BIGINT", returns=DECIMAL)
def decimal_round_half_even(value: Decimal, digits: int) -> Decimal:
    return Decimal(rounded(value, digits, half_even=True))


@_computed(DECIMAL, DECIMAL, returns=DECIMAL)
def decimal_multiply(x: Decimal, y: Decimal) -> Decimal:
    return DECIMALS_WIDE.multiply(x, y)


def _divided(operation: Operator, x: Decimal, y: Decimal) -> Any:
    """A division by the evaluator, of decimals without the zeros that SQL adds to them.

    DuckDB may divide by zero where the query does not use the quotient.
    """
    return calculate(operation, *map(DECIMALS_WIDE.normalize, (x, y))) if y else None


@_computed(DECIMAL, DECIMAL, returns=DECIMAL)
def decimal_divide(x: Decimal, y: Decimal) -> Any:
    return _divided("div", x, y)


@_computed(DECIMAL, DECIMAL, returns="BIGINT")
def decimal_idiv(x: Decimal, y: Decimal) -> Any:
    return _divided("idiv", x, y)


@_computed(DECIMAL, DECIMAL, returns=DECIMAL)
def decimal_modulo(x: Decimal, y: Decimal) -> Any:
    return _divided("mod", x, y)


@_computed("VARCHAR", "VARCHAR", "BOOLEAN", returns="VARCHAR")
def formatted_number(text: str, picture: str, is_double: bool) -> str:
    number = float(text) if is_double else Decimal(text)
    return format_numbers.formatted(number, picture, _DECIMAL_FORMAT)


@_computed("BIGINT", "BIGINT", returns=DECIMAL)
def integer_divide(x: int, y: int) -> Decimal | None:
    return arithmetic.decimal_divide(x, y) if y else None


@_computed("BIGINT", "BIGINT", returns=DECIMAL)
def duration_ratio(x: int, y: int) -> Decimal | None:
    return arithmetic.decimal_divide(x, y, 20) if y else None


@_computed("BIGINT", "BIGINT", returns="BIGINT")
def integer_round(value: int, power: int) -> int:
    return (2 * value + power) // (2 * power) * power


# durations, as numbers of microseconds or months


def _half_even(value: Fraction) -> int:
    return round(value)


def _half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


@_computed("DOUBLE", "BIGINT", returns="BIGINT")
def times_rounded(factor: float, value: int) -> int:
    return _half_even(value * Fraction(factor))


@_computed("BIGINT", "BIGINT", returns="BIGINT")
def divided_half_even(x: int, y: int) -> int | None:
    return _half_even(Fraction(x, y)) if y else None


@_computed("BIGINT", "BIGINT", returns="BIGINT")
def divided_half_up(x: int, y: int) -> int | None:
    return _half_up(Fraction(x, y)) if y else None


@_computed("BIGINT", DECIMAL, returns="BIGINT")
def times_decimal_half_even(x: int, y: Decimal) -> int:
    return _half_even(x * Fraction(y))


@_computed("BIGINT", DECIMAL, returns="BIGINT")
def times_decimal_half_up(x: int, y: Decimal) -> int:
    return _half_up(x * Fraction(y))


@_computed("BIGINT", DECIMAL, returns="BIGINT")
def by_decimal_half_even(x: int, y: Decimal) -> int | None:
    return _half_even(x / Fraction(y)) if y else None


@_computed("BIGINT", DECIMAL, returns="BIGINT")
def by_decimal_half_up(x: int, y: Decimal) -> int | None:
    return _half_up(x / Fraction(y)) if y else None


@_computed("BIGINT", returns="VARCHAR")
def day_time_text(microseconds: int) -> str:
    return atomic.string_of(seconds_duration(microseconds))


@_computed("VARCHAR", returns="BOOLEAN")
def is_dayTimeDuration_text(text: str) -> bool:
    return _is_valid(text, "dayTimeDuration")


@_computed("VARCHAR", returns="BOOLEAN")
def is_yearMonthDuration_text(text: str) -> bool:
    return _is_valid(text, "yearMonthDuration")


def _duration(text: str, type_: str) -> Any:
    """A duration; None for another text: the optimizer may read it before its form is tested."""
    return from_text(text, type_) if _is_valid(text, type_) else None


@_computed("VARCHAR", returns="BIGINT")
def parse_dayTimeDuration(text: str) -> int | None:
    value: ep.DayTimeDuration | None = _duration(text, "dayTimeDuration")
    return None if value is None else duration_microseconds(value)


@_computed("VARCHAR", returns="BIGINT")
def parse_yearMonthDuration(text: str) -> int | None:
    value: ep.YearMonthDuration | None = _duration(text, "yearMonthDuration")
    return None if value is None else value.months


def _is_valid(text: str, type_: str) -> bool:
    """Whether a text is a value of a type; some are valid, but out of the evaluator's range."""
    try:
        from_text(text, type_)
    except XcqlError as problem:
        if problem.code == "FORG0001":
            return False
        raise BeyondSql from None
    return True


# times


@_computed("VARCHAR", "VARCHAR", returns="BOOLEAN")
def is_other_time(text: str, type_: str) -> bool:
    """False for a text that is not a date or time; a valid one is one that SQL cannot read."""
    if _is_valid(text, type_):
        raise BeyondSql
    return False


@_computed("VARCHAR", "VARCHAR", "VARCHAR", returns="VARCHAR")
@lru_cache(maxsize=4096)
def formatted_time(text: str, type_: str, picture: str) -> str:
    return format_dates.formatted(from_text(text, type_), picture, type_)


@_computed("VARCHAR", "TIMESTAMP", returns="TIMESTAMP")
def parse_validity(text: str, now: datetime) -> datetime | None:
    try:
        return parse_time(text, now)
    except XcqlError:
        return None


@_computed("VARCHAR", "VARCHAR", "TIMESTAMP", returns="TIMESTAMP")
def lifespan_bound(text: str, symbol: str, now: datetime) -> datetime | None:
    return None if text == symbol else parse_validity(text, now)


# XML text


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """The tokens of some XML text, with their places in its bytes."""
    place = 0
    for match in TOKEN.finditer(text):
        token = match[0]
        yield place, token
        place += len(token.encode())


def _elements(text: str, names: list[str], is_child: bool) -> list[dict[str, Any]]:
    data = text.encode()
    found: list[dict[str, Any]] = []
    opened: list[tuple[int, str]] = []
    for place, token in _tokens(text):
        is_tag = token[0] == "<" and token[1] not in "!?"
        if not is_tag:
            continue
        end = place + len(token.encode())
        if token[1] == "/":
            start, name = opened.pop()
        else:
            start, name = place, NAME.match(token)[1]  # type: ignore[index]
            if not token.endswith("/>"):
                opened.append((start, name))
                continue
        depth = len(opened)
        if (depth == 1 or (depth > 1 and not is_child)) and name.rpartition(":")[2] in names:
            inner = data[start:end].decode()
            found.append({"start": start, "parent": opened[-1][0], "name": name, "text": inner})
    return sorted(found, key=lambda one: one["start"])


@_computed("VARCHAR", "VARCHAR[]", returns=_ELEMENTS)
def inner_children(text: str, names: list[str]) -> list[dict[str, Any]]:
    return _elements(text, names, is_child=True)


@_computed("VARCHAR", "VARCHAR[]", returns=_ELEMENTS)
def inner_descendants(text: str, names: list[str]) -> list[dict[str, Any]]:
    return _elements(text, names, is_child=False)


@_computed("VARCHAR", returns=_TEXTS)
def inner_texts(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    depth, run, start = 0, "", 0
    for place, token in _tokens(text):
        if _is_text(token) and depth == 1:
            start = start if run else place
            run += token
            continue
        if run:
            found.append({"start": start, "text": _string(f"<x>{run}</x>")})
            run = ""
        if token[0] == "<" and token[1] not in "!?":
            depth += -1 if token[1] == "/" else 0 if token.endswith("/>") else 1
    return [one for one in found if one["text"]]


@_computed("VARCHAR", returns="VARCHAR")
def string_of_xml(text: str) -> str:
    # without the tags, because prefixes may be declared outside
    if "<!" in text or "<?" in text:
        written = "".join(token for _, token in _tokens(text) if _is_text(token))
    else:
        written = TAG.sub("", text)
    has_reference = "&" in written
    # CDATA sections, line ends and references to other characters
    if "<" in written or "\r" in written or (has_reference and _OTHER_REFERENCE.search(written)):
        return _string(f"<x>{written}</x>")
    if has_reference:
        for sign, reference in _REFERENCES:
            written = written.replace(reference, sign)
    return written


_OTHER_REFERENCE = re.compile(r"&(?!(?:lt|gt|quot|amp);)")
# the ampersand comes last, because it may be that of a text such as `&amp;lt;`
_REFERENCES = (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("&", "&amp;"))


def _is_text(token: str) -> bool:
    return token[0] != "<" or token.startswith("<![CDATA[")


def _string(text: str) -> str:
    return parse_xml(text, "<text>").string_value()


@_computed("VARCHAR", "VARCHAR", returns="VARCHAR[]")
def xpath(text: str, path: str) -> list[str]:
    found = evaluate(_prepared(path), context=parse_xml(text, "<text>"))
    return [item.string_value() for item in found.values]


@_computed("VARCHAR", "VARCHAR", returns="BOOLEAN")
def xpath_boolean(text: str, path: str) -> bool:
    (found,) = evaluate(_prepared(f"boolean({path})"), context=parse_xml(text, "<text>")).values
    return bool(found)


@lru_cache(maxsize=256)
def _prepared(path: str) -> CompiledQuery:
    # paths of ours match elements by their local names
    return prepare(re.sub(r"(?<=/)([\w.-]+)(?=/|\[|$)", r"*[local-name() = '\1']", path))


_computed("BLOB", "VARCHAR", "BIGINT", returns="VARCHAR")(namespaces.namespaces_at)
_computed("VARCHAR", returns="VARCHAR")(namespaces.declared_once)
_computed("VARCHAR", returns="VARCHAR")(namespaces.out_of_default)


@_computed("VARCHAR", returns="VARCHAR")
def deep_text(text: str) -> str:
    element = parse_xml(text, "<text>").document_element
    assert element is not None
    return deep_equal.deep_text(element)


_EMPTY_PAIR, _OLD_LIFESPAN = re.compile(EMPTY_PAIR), re.compile(OLD_LIFESPAN)
_COMMENTS = re.compile(r"(?s)(<!--.*?-->|<\?.*?\?>)")


@_computed("VARCHAR", returns="VARCHAR")
def empty_elements(text: str) -> str:
    parts = _COMMENTS.split(text)
    parts[::2] = [_EMPTY_PAIR.sub(r"\1/>", one) for one in parts[::2]]
    return "".join(parts)


@_computed("VARCHAR", returns="VARCHAR")
def without_lifespan(text: str) -> str:
    for _ in range(2):
        text = _OLD_LIFESPAN.sub(r"\1", text)
    return text


FUNCTIONS = MappingProxyType(_declared)


def function_name(operation: str) -> str:
    """What the function of an operation is called in SQL."""
    return f"xcql_{operation}"
