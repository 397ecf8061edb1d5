"""Values of one type read as another, and read from text."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, call, cast, matches, text_literal

forms = Forms()

BLANKS = r"[ \t\r\n]*"
_TRIMMED = r"^[ \t\r\n]+|[ \t\r\n]+\z"
_DIGITS = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_INTEGER = rf"^{BLANKS}[+-]?[0-9]+{BLANKS}\z"
_DECIMAL = rf"^{BLANKS}{_DIGITS}{BLANKS}\z"
_DOUBLE = rf"^{BLANKS}({_DIGITS}([eE][+-]?[0-9]+)?|[+-]?INF|NaN){BLANKS}\z"
_BOOLEAN = rf"^{BLANKS}(true|false|1|0){BLANKS}\z"


@forms
def to_double(value: Sql) -> Sql:
    return cast(value, "DOUBLE")


@forms
def to_integer(value: Sql) -> Sql:
    return cast(value, "BIGINT")


@forms
def to_int(value: Sql) -> Sql:
    return cast(value, "INT")


@forms
def to_string(value: Sql) -> Sql:
    return cast(value, "STRING")


@forms
def trimmed(value: Sql) -> Sql:
    return call("regexp_replace", value, text_literal(_TRIMMED), text_literal(""))


@forms
def is_double_text(value: Sql) -> Sql:
    return matches(value, _DOUBLE)


@forms
def is_integer_text(value: Sql) -> Sql:
    return matches(value, _INTEGER)


@forms
def is_decimal_text(value: Sql) -> Sql:
    return matches(value, _DECIMAL)


@forms
def is_boolean_text(value: Sql) -> Sql:
    return matches(value, _BOOLEAN)


@forms
def parse_boolean(value: Sql) -> Sql:
    return template("t IN ('true', '1')", t=trimmed(value))
