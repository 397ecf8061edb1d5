"""matches, replace, tokenize: with constant patterns that mean the same in Java."""

from __future__ import annotations

import re

from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import Column, Constant, Scalar, call
from xcql.compile.functions.strings import string, text
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import Single, Value, boolean, each
from xcql.diagnostics import XcqlError
from xcql.evaluate.character_ranges import Ranges, minus
from xcql.evaluate.functions.regex import replacement_parts
from xcql.evaluate.regex_parts import leading_run, search_growth
from xcql.evaluate.regular_expressions import Regex, class_text, compile_regex

native = NativeFunctions()

# the most paths through a pattern's options, as a power of two; above it, the evaluator matches
_MOST_BITS = 12
_SURROGATES = ((0xD800, 0xDFFF),)
_CODE = re.compile(r"\\U([0-9a-f]{8})")
# regex syntax that differs between the evaluator and Java, outside of classes
_JAVA = {r"(?:\A)": r"\A", r"(?:\Z)": r"\z", "(?s:.)": r"[\x{0}-\x{10ffff}]"}


@native("matches", 2, 3)
def _matches(site: CallSite) -> Value:
    _, pattern = _pattern(site, 2)
    return boolean(call("text_matches", text(site, 0), Constant(pattern)))


@native("replace", 3, 4)
def _replace(site: CallSite) -> Value:
    regex, pattern = _pattern(site, 3)
    _not_of_nothing(site, regex)
    written = _constant(site, 2)
    try:
        parts = [written] if regex.is_literal else replacement_parts(written, regex.pattern.groups)
    except XcqlError:
        raise NotNative("an invalid replacement", site.span) from None
    # a digit after a group number would be read as part of the number if it were not escaped
    replacement = "".join(
        f"\\{text_}" if text_[:1].isdigit() and isinstance(before, int) else text_
        for before, text_ in zip([None, *parts], map(_quoted, parts), strict=False)
    )
    return string(call("text_replaced", text(site, 0), Constant(pattern), Constant(replacement)))


def _quoted(part: str | int) -> str:
    """Text as written in a Java replacement, or a group number."""
    if isinstance(part, int):
        return f"${part}"
    return part.replace("\\", "\\\\").replace("$", "\\$")


@native("tokenize", 1)
def _words(site: CallSite) -> Value:
    return _tokens(site, call("collapsed", text(site, 0)), " ")


@native("tokenize", 2, 3)
def _tokenize(site: CallSite) -> Value:
    regex, pattern = _pattern(site, 2)
    _not_of_nothing(site, regex)
    return _tokens(site, text(site, 0), pattern)


def _tokens(site: CallSite, subject: Scalar, pattern: str) -> Value:
    fresh = site.compilation.fresh
    item, position = fresh("token"), fresh("token_at")
    array = call("text_split", subject, Constant(pattern))
    return each(Unnest(Unit(), array, item, position), Single(Atomic(Column(item), "xs:string")))


def _not_of_nothing(site: CallSite, regex: Regex) -> None:
    if regex.is_found_in(""):
        raise NotNative("a pattern that matches the empty string", site.span)


def _constant(site: CallSite, number: int) -> str:
    found = text(site, number)
    if not isinstance(found, Constant) or not isinstance(found.value, str):
        raise NotNative("a pattern that is computed", site.span)
    return found.value


def _pattern(site: CallSite, flags_at: int) -> tuple[Regex, str]:
    """The pattern as the evaluator compiles it, and in Java's syntax."""
    flags = _constant(site, flags_at) if len(site.arguments) > flags_at else ""
    try:
        regex = compile_regex(_constant(site, 1), flags)
    except XcqlError:
        raise NotNative("an invalid pattern", site.span) from None
    return regex, _in_java(regex, flags, site)


def _in_java(regex: Regex, flags: str, site: CallSite) -> str:
    effort = search_growth(regex.part, from_runs=True)
    if regex.part.takes_stack or effort.rate or effort.degree > 1 or effort.bits > _MOST_BITS:
        raise NotNative("a pattern that may take Java very long, or overflow its stack", site.span)
    written = regex.pattern.pattern
    if "m" in flags or "(?(" in written:
        raise NotNative("a pattern with another meaning in Java", site.span)
    if "i" in flags and not written.isascii():
        raise NotNative("a pattern with another meaning in Java", site.span)
    for python, java in _JAVA.items():
        written = written.replace(python, java)
    if (run := leading_run(regex.part)) and effort != regex.growth:
        # Java tries every position of a run unless told that the first one is enough
        written = rf"(?:(?<!{_behind(run, flags)})|\G){written}"
    written = _CODE.sub(lambda code: f"\\x{{{int(code[1], 16):x}}}", written)
    return f"(?iu){written}" if "i" in flags else written


def _behind(characters: Ranges, flags: str) -> str:
    """A character class as written in a Java look-behind.

    There, Java sees surrogates for characters beyond 65535, unless the pattern has one literally.
    """
    written = class_text(minus(characters, _SURROGATES), ignore_case="i" in flags)
    return _CODE.sub(
        lambda code: chr(int(code[1], 16)) if int(code[1], 16) > 0xFFFF else code[0], written
    )
