"""matches, replace, tokenize: with constant patterns that the dialect can match."""

from __future__ import annotations

from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import Column, Constant, Scalar, call
from xcql.compile.functions.strings import string, text
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions, supported
from xcql.compile.terms.values import Single, Value, boolean, each
from xcql.diagnostics import XcqlError
from xcql.evaluate.functions.regex import replacement_parts
from xcql.evaluate.regular_expressions import Regex, compile_regex

native = NativeFunctions()


@native("matches", 2, 3)
def _matches(site: CallSite) -> Value:
    _, pattern = _pattern(site, 2)
    return boolean(supported(call("text_matches", text(site, 0), *pattern), site))


@native("replace", 3, 4)
def _replace(site: CallSite) -> Value:
    regex, pattern = _pattern(site, 3)
    _not_of_nothing(site, regex)
    replacement = _constant(site, 2)
    try:
        if not regex.is_literal:
            replacement_parts(replacement, regex.pattern.groups)
    except XcqlError:
        raise NotNative("an invalid replacement", site.span) from None
    replaced = call("text_replaced", text(site, 0), *pattern, Constant(replacement))
    return string(supported(replaced, site))


@native("tokenize", 1)
def _words(site: CallSite) -> Value:
    return _tokens(site, call("collapsed", text(site, 0)), (Constant(" "), Constant("")))


@native("tokenize", 2, 3)
def _tokenize(site: CallSite) -> Value:
    regex, pattern = _pattern(site, 2)
    _not_of_nothing(site, regex)
    return _tokens(site, text(site, 0), pattern)


def _tokens(site: CallSite, subject: Scalar, pattern: tuple[Constant, Constant]) -> Value:
    fresh = site.compilation.fresh
    item, position = fresh("token"), fresh("token_at")
    array = supported(call("text_split", subject, *pattern), site)
    return each(Unnest(Unit(), array, item, position), Single(Atomic(Column(item), "xs:string")))


def _not_of_nothing(site: CallSite, regex: Regex) -> None:
    if regex.is_found_in(""):
        raise NotNative("a pattern that matches the empty string", site.span)


def _constant(site: CallSite, number: int) -> str:
    found = text(site, number)
    if not isinstance(found, Constant) or not isinstance(found.value, str):
        raise NotNative("a pattern that is computed", site.span)
    return found.value


def _pattern(site: CallSite, flags_at: int) -> tuple[Regex, tuple[Constant, Constant]]:
    """The pattern as the evaluator compiles it, and as written: pattern and flags."""
    flags = _constant(site, flags_at) if len(site.arguments) > flags_at else ""
    pattern = _constant(site, 1)
    try:
        return compile_regex(pattern, flags), (Constant(pattern), Constant(flags))
    except XcqlError:
        raise NotNative("an invalid pattern", site.span) from None
