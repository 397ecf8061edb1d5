"""Casting: the table of the standard, and edge cases."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError
from xcql.evaluate.casting import cast, castable
from xcql.xdm.atomic import make_float, string_of, type_of

# one value of each primitive type, as text
SAMPLES = {
    "untypedAtomic": "1",
    "string": "1",
    "float": "1.5",
    "double": "1.5",
    "decimal": "1.5",
    "integer": "15",
    "duration": "P1Y2DT3H",
    "yearMonthDuration": "P1Y",
    "dayTimeDuration": "P2DT3H",
    "dateTime": "2004-02-29T12:00:00Z",
    "time": "12:00:00",
    "date": "2004-02-29",
    "gYearMonth": "2004-02",
    "gYear": "2004",
    "gMonthDay": "--02-29",
    "gDay": "---29",
    "gMonth": "--02",
    "boolean": "true",
    "base64Binary": "YWJj",
    "hexBinary": "616263",
    "anyURI": "http://x/",
}
_TEXTS = {"untypedAtomic", "string"}
_NUMBERS = {"float", "double", "decimal", "integer"}
_DURATIONS = {"duration", "yearMonthDuration", "dayTimeDuration"}
_PARTS = {"gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth"}
# the types that a value of a type can be cast to, besides its own and text
ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(_NUMBERS, _NUMBERS | {"boolean"}),
    **dict.fromkeys(_DURATIONS, _DURATIONS),
    "dateTime": {"date", "time", *_PARTS},
    "date": {"dateTime", *_PARTS},
    "boolean": _NUMBERS,
    "base64Binary": {"hexBinary"},
    "hexBinary": {"base64Binary"},
}


@pytest.mark.parametrize("source", sorted(set(SAMPLES) - _TEXTS))
@pytest.mark.parametrize("target", sorted(SAMPLES))
def test_table(source: str, target: str) -> None:
    value = cast(SAMPLES[source], source)
    if target == source or target in _TEXTS or target in ALLOWED.get(source, set()):
        assert type_of(cast(value, target)).name == target
    else:
        with pytest.raises(XcqlError) as raised:
            cast(value, target)
        assert raised.value.code == "XPTY0004"


@pytest.mark.parametrize(
    ("value", "target", "text"),
    [
        (" 12\n", "integer", "12"),
        ("+0012", "byte", "12"),
        (Decimal("-1.9"), "integer", "-1"),
        (True, "decimal", "1"),
        ("1e400", "double", "INF"),
        ("+INF", "float", "INF"),
        (make_float(0.1), "double", "0.10000000149011612"),
        (0.1, "float", "0.1"),
        (Decimal("0.0000001"), "double", "1.0E-7"),
        (16777217, "float", "1.6777216E7"),
        (math.nan, "boolean", "false"),
        ("-0", "double", "-0"),
        ("1999-12-31T24:00:00", "dateTime", "2000-01-01T00:00:00"),
        ("24:00:00", "time", "00:00:00"),
        ("12004-02-29", "date", "12004-02-29"),
        ("-10000-01-01", "date", "-10000-01-01"),
        ("0000-02-29", "date", "0000-02-29"),
        ("00:00:00.1000", "time", "00:00:00.1"),
        ("P13M", "duration", "P1Y1M"),
        ("-PT90M", "dayTimeDuration", "-PT1H30M"),
        ("P0Y", "yearMonthDuration", "P0M"),
        ("PT0S", "duration", "PT0S"),
        ("YW Jj", "base64Binary", "YWJj"),
        ("0aFf", "hexBinary", "0AFF"),
        ("  a \t b ", "token", "a b"),
        ("a\tb", "normalizedString", "a b"),
        ("é·1", "NCName", "é·1"),
        ("http://x/%zz {", "anyURI", "http://x/%zz {"),
        (b"abc".hex(), "hexBinary", "616263"),
    ],
)
def test_value(value: object, target: str, text: str) -> None:
    assert string_of(cast(value, target)) == text


@pytest.mark.parametrize(
    ("value", "target", "code"),
    [
        ("1.0", "integer", "FORG0001"),
        ("", "integer", "FORG0001"),
        ("１", "integer", "FORG0001"),
        ("\u00a01", "integer", "FORG0001"),
        ("1_000", "integer", "FORG0001"),
        ("128", "byte", "FORG0001"),
        (-1, "unsignedInt", "FORG0001"),
        ("1e5", "decimal", "FORG0001"),
        ("inf", "double", "FORG0001"),
        (math.inf, "integer", "FOCA0002"),
        (math.nan, "decimal", "FOCA0002"),
        ("TRUE", "boolean", "FORG0001"),
        ("2001-02-29", "date", "FORG0001"),
        ("2001-1-01", "date", "FORG0001"),
        ("02001-01-01", "date", "FORG0001"),
        ("24:00:01", "time", "FORG0001"),
        ("12:00:60", "time", "FORG0001"),
        ("12:00:00+14:01", "time", "FORG0001"),
        ("99999999999-01-01", "date", "FODT0001"),
        ("P", "duration", "FORG0001"),
        ("P1YT", "duration", "FORG0001"),
        ("P1M1Y", "duration", "FORG0001"),
        ("P1D", "yearMonthDuration", "FORG0001"),
        ("P1M", "dayTimeDuration", "FORG0001"),
        ("P" + "9" * 30 + "Y", "duration", "FODT0002"),
        ("abc", "hexBinary", "FORG0001"),
        ("YWJ", "base64Binary", "FORG0001"),
        ("1a", "NCName", "FORG0001"),
        ("a:b", "NCName", "FORG0001"),
        ("2000-01-01T00:00:00", "dateTimeStamp", "FORG0001"),
        ("p:a", "QName", "FONS0004"),
        (1, "error", "FORG0001"),
    ],
)
def test_error(value: object, target: str, code: str) -> None:
    with pytest.raises(XcqlError) as raised:
        cast(value, target)
    assert raised.value.code == code
    assert not castable(value, target)


def test_qname() -> None:
    name = cast("p:a", "QName", {"p": "urn:p", "": "urn:d"})
    assert isinstance(name, ep.QName)
    assert (name.uri, name.local_name, name.prefix) == ("urn:p", "a", "p")
    assert cast("a", "QName", {"": "urn:d"}).uri == "urn:d"
