"""Functions on strings."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from xcql.diagnostics import error
from xcql.evaluate import letter_case
from xcql.evaluate.casting import make_binary
from xcql.evaluate.collations import CODEPOINT
from xcql.evaluate.functions.numbers import round_half_up
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import text_of_item
from xcql.xdm.atomic import string_of

_SPACE = " \t\r\n"
_FORMS: dict[str, Literal["NFC", "NFD", "NFKC", "NFKD"]] = {
    "NFC": "NFC",
    "NFD": "NFD",
    "NFKC": "NFKC",
    "NFKD": "NFKD",
}


@function("fn:codepoints-to-string(xs:integer*) as xs:string")
def codepoints_to_string(call: CallContext, codepoints: Iterable[int]) -> str:
    return "".join(_character(codepoint) for codepoint in codepoints)


def _character(codepoint: int) -> str:
    if not is_xml_character(codepoint):
        raise error("FOCH0001", f"{codepoint} is not the code point of an XML character")
    return chr(codepoint)


def is_xml_character(codepoint: int) -> bool:
    return (
        0x20 <= codepoint <= 0xD7FF
        or codepoint in (9, 10, 13)
        or 0xE000 <= codepoint <= 0xFFFD
        or 0x10000 <= codepoint <= 0x10FFFF
    )


@function("fn:string-to-codepoints(xs:string?) as xs:integer*")
def string_to_codepoints(call: CallContext, text: str | None) -> Iterator[int]:
    return map(ord, text or "")


@function("fn:compare(xs:string?, xs:string?, [xs:string]) as xs:integer?")
def compare(
    call: CallContext, left: str | None, right: str | None, collation: str | None = None
) -> int | None:
    rules = call.collation(collation)
    return None if left is None or right is None else rules.compare(left, right)


@function("fn:codepoint-equal(xs:string?, xs:string?) as xs:boolean?")
def codepoint_equal(call: CallContext, left: str | None, right: str | None) -> bool | None:
    return None if left is None or right is None else left == right


@function("fn:collation-key(xs:string, [xs:string]) as xs:base64Binary")
def collation_key(call: CallContext, text: str, collation: str | None = None) -> Any:
    key = call.collation(collation).key(text)
    written = key if isinstance(key, str) else repr(key)
    return make_binary(written.encode("utf-32-be", "surrogatepass"), "base64Binary")


@function("fn:contains-token(xs:string*, xs:string, [xs:string]) as xs:boolean")
def contains_token(
    call: CallContext, texts: Iterable[str], token: str, collation: str | None = None
) -> bool:
    rules = call.collation(collation)
    wanted = token.strip(_SPACE)
    if not wanted:
        return False
    return any(rules.compare(part, wanted) == 0 for text in texts for part in xml_split(text))


def xml_split(text: str) -> list[str]:
    """The words of a text, split at XML white space."""
    for sign in "\t\r\n":
        text = text.replace(sign, " ")
    return [part for part in text.split(" ") if part]


@function("fn:concat(xs:anyAtomicType?, xs:anyAtomicType?, ...) as xs:string")
def concat(call: CallContext, *values: Any) -> str:
    return "".join(string_of(value) for value in values if value is not None)


@function("fn:string-join(xs:anyAtomicType*, [xs:string]) as xs:string")
def string_join(call: CallContext, values: Iterable[Any], separator: str = "") -> str:
    return separator.join(string_of(value) for value in values)


@function("fn:substring(xs:string?, xs:double, [xs:double]) as xs:string")
def substring(
    call: CallContext, text: str | None, start: float, length: float | None = None
) -> str:
    first, last = rounded_range(start, length)
    if text is None or first is None:
        return ""
    return text[first:last]


def rounded_range(start: float, length: float | None) -> tuple[int | None, int | None]:
    """The Python slice for the positions of `substring` and `subsequence`.

    Both numbers are rounded; without a length, the range is open. The start is None if the range
    is empty, the end is None if it is open.
    """
    begin = round_half_up(start)
    end = math.inf if length is None else begin + round_half_up(length)
    if math.isnan(begin) or math.isnan(end) or begin == math.inf or end <= 1:
        return None, None
    first = 0 if begin == -math.inf else max(int(begin) - 1, 0)
    return first, None if end == math.inf else int(end) - 1


@function("fn:string-length([xs:string?]) as xs:integer")
def string_length(call: CallContext, *text: str | None) -> int:
    return len(_or_context(call, text))


@function("fn:normalize-space([xs:string?]) as xs:string")
def normalize_space(call: CallContext, *text: str | None) -> str:
    return " ".join(xml_split(_or_context(call, text)))


def _or_context(call: CallContext, text: tuple[str | None, ...]) -> str:
    """The argument, or without one, the string value of the context item."""
    return (text[0] or "") if text else text_of_item(call.item())


@function("fn:normalize-unicode(xs:string?, [xs:string]) as xs:string")
def normalize_unicode(call: CallContext, text: str | None, form: str = "NFC") -> str:
    form = form.strip(_SPACE).upper()
    if form == "":
        return text or ""
    if form == "FULLY-NORMALIZED":
        normal = unicodedata.normalize("NFC", text or "")
        # a text that begins with a combining character is not fully normalized
        return f" {normal}" if normal and unicodedata.combining(normal[0]) else normal
    if form not in _FORMS:
        raise error(
            "FOCH0003",
            f'unknown normalization form "{form}"',
            hints=["the known forms are NFC, NFD, NFKC, NFKD and FULLY-NORMALIZED"],
        )
    return unicodedata.normalize(_FORMS[form], text or "")


@function("fn:upper-case(xs:string?) as xs:string")
def upper_case(call: CallContext, text: str | None) -> str:
    return letter_case.upper(text or "")


@function("fn:lower-case(xs:string?) as xs:string")
def lower_case(call: CallContext, text: str | None) -> str:
    return letter_case.lower(text or "")


@function("fn:translate(xs:string?, xs:string, xs:string) as xs:string")
def translate(call: CallContext, text: str | None, signs: str, replacements: str) -> str:
    table: dict[int, str | None] = {}
    for index, sign in enumerate(signs):
        table.setdefault(ord(sign), replacements[index] if index < len(replacements) else None)
    return (text or "").translate(table)


@function("fn:contains(xs:string?, xs:string?, [xs:string]) as xs:boolean")
def contains(
    call: CallContext, text: str | None, part: str | None, collation: str | None = None
) -> bool:
    rules = call.collation(collation)
    if rules is CODEPOINT:
        return (part or "") in (text or "")
    return rules.find(text or "", part or "") is not None


@function("fn:starts-with(xs:string?, xs:string?, [xs:string]) as xs:boolean")
def starts_with(
    call: CallContext, text: str | None, part: str | None, collation: str | None = None
) -> bool:
    return call.collation(collation).find(text or "", part or "", anchored="start") is not None


@function("fn:ends-with(xs:string?, xs:string?, [xs:string]) as xs:boolean")
def ends_with(
    call: CallContext, text: str | None, part: str | None, collation: str | None = None
) -> bool:
    return call.collation(collation).find(text or "", part or "", anchored="end") is not None


@function("fn:substring-before(xs:string?, xs:string?, [xs:string]) as xs:string")
def substring_before(
    call: CallContext, text: str | None, part: str | None, collation: str | None = None
) -> str:
    found = call.collation(collation).find(text or "", part or "")
    return (text or "")[: found[0]] if found else ""


@function("fn:substring-after(xs:string?, xs:string?, [xs:string]) as xs:string")
def substring_after(
    call: CallContext, text: str | None, part: str | None, collation: str | None = None
) -> str:
    found = call.collation(collation).find(text or "", part or "")
    return (text or "")[found[1] :] if found else ""
