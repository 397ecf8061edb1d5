"""Regular expressions of XPath in Java's syntax, which Spark's functions match.

Tests: tests/compile/test_functions.py
"""

from __future__ import annotations

import re

from xcql.algebra.scalars import Constant, Scalar
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, text_literal
from xcql.evaluate.character_ranges import Ranges, minus
from xcql.evaluate.functions.regex import replacement_parts
from xcql.evaluate.regex_parts import leading_run, search_growth
from xcql.evaluate.regular_expressions import class_text, compile_regex

forms = Forms()

# the most paths through a pattern's options, as a power of two; above it, the evaluator matches
_MOST_BITS = 12
_SURROGATES = ((0xD800, 0xDFFF),)
_CODE = re.compile(r"\\U([0-9a-f]{8})")
# regex syntax that differs between the evaluator and Java, outside of classes
_JAVA = {r"(?:\A)": r"\A", r"(?:\Z)": r"\z", "(?s:.)": r"[\x{0}-\x{10ffff}]"}


class _Unmatched(Exception):
    """Why Java cannot match a pattern."""


def pattern_limit(text: Scalar, pattern: Scalar, flags: Scalar, *rest: Scalar) -> str | None:
    """Why Java cannot match a pattern; None if it can."""
    assert isinstance(pattern, Constant)
    assert isinstance(flags, Constant)
    try:
        _java_pattern(str(pattern.value), str(flags.value))
    except _Unmatched as problem:
        return str(problem)
    return None


@forms
def text_matches(value: Sql, pattern: Sql, flags: Sql) -> Sql:
    return template("regexp_like(x, p)", x=value, p=_pattern(pattern, flags))


@forms
def text_replaced(value: Sql, pattern: Sql, flags: Sql, replacement: Sql) -> Sql:
    regex = compile_regex(pattern.this, flags.this)
    written = replacement.this
    parts = [written] if regex.is_literal else replacement_parts(written, regex.pattern.groups)
    # a digit after a group number would be read as part of the number if it were not escaped
    java = "".join(
        f"\\{text}" if text[:1].isdigit() and isinstance(before, int) else text
        for before, text in zip([None, *parts], map(_quoted, parts), strict=False)
    )
    return template(
        "regexp_replace(x, p, r)", x=value, p=_pattern(pattern, flags), r=text_literal(java)
    )


@forms
def text_split(value: Sql, pattern: Sql, flags: Sql) -> Sql:
    """The parts between what matches; an empty text has none."""
    parts = template(
        "CASE WHEN t = '' THEN slice(array(''), 1, 0) ELSE split(t, p, -1) END",
        p=_pattern(pattern, flags),
    )
    return let(value, "t", parts)


def _pattern(pattern: Sql, flags: Sql) -> Sql:
    return text_literal(_java_pattern(pattern.this, flags.this))


def _quoted(part: str | int) -> str:
    """Text as written in a Java replacement, or a group number."""
    if isinstance(part, int):
        return f"${part}"
    return part.replace("\\", "\\\\").replace("$", "\\$")


def _java_pattern(pattern: str, flags: str) -> str:
    regex = compile_regex(pattern, flags)
    effort = search_growth(regex.part, from_runs=True)
    if regex.part.takes_stack or effort.rate or effort.degree > 1 or effort.bits > _MOST_BITS:
        raise _Unmatched("a pattern that may take Java very long, or overflow its stack")
    written = regex.pattern.pattern
    if "m" in flags or "(?(" in written:
        raise _Unmatched("a pattern with another meaning in Java")
    if "i" in flags and not written.isascii():
        raise _Unmatched("a pattern with another meaning in Java")
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
