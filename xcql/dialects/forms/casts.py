"""Values of one type read as another, and read from text."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, call, text_literal

forms = Forms()

# decimals have 20 digits after the point and 17 before it
DECIMAL = "DECIMAL(37, 20)"
BLANKS = r"[ \t\r\n]*"
_TRIMMED = r"^[ \t\r\n]+|[ \t\r\n]+\z"
_DIGITS = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"

forms.casts(
    to_double="DOUBLE",
    to_decimal=DECIMAL,
    to_integer="BIGINT",
    to_int="INT",
    to_string="STRING",
    to_instant="TIMESTAMP_NTZ",
    to_date="DATE",
    text_of_bytes="STRING",
)
forms.patterns(
    is_integer_text=rf"^{BLANKS}[+-]?[0-9]+{BLANKS}\z",
    is_decimal_text=rf"^{BLANKS}{_DIGITS}{BLANKS}\z",
    is_double_text=rf"^{BLANKS}({_DIGITS}([eE][+-]?[0-9]+)?|[+-]?INF|NaN){BLANKS}\z",
    is_plain_name=r"^[A-Za-z_][A-Za-z0-9_.-]*\z",
    is_boolean_text=rf"^{BLANKS}(true|false|1|0){BLANKS}\z",
)


@forms
def trimmed(value: Sql) -> Sql:
    return call("regexp_replace", value, text_literal(_TRIMMED), text_literal(""))


@forms
def parse_boolean(value: Sql) -> Sql:
    return template("t IN ('true', '1')", t=trimmed(value))
