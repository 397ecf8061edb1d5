"""Which expressions are NULL if a value inside them is."""

from __future__ import annotations

import pytest

from xcql.algebra.nulls import is_null_with
from xcql.algebra.scalars import NULL, Call, Column, Constant, Scalar, call, case, field

PRICE = Column("price")
TEXT = field(PRICE, "_text")
NUMBER = case(
    (call("is_double_text", TEXT), call("to_double", TEXT)),
    (call("is_not_null", TEXT), call("fail", TEXT)),
)


@pytest.mark.parametrize(
    ("scalar", "is_null"),
    [
        (PRICE, True),
        (NULL, True),
        (call("=", TEXT, Constant("3")), True),
        (call(">", call("least_if_nan", NUMBER), Constant(3)), True),
        (Column("other"), False),
        (call("=", call("coalesce", TEXT, Constant("")), Constant("")), False),
        (call("=", call("is_null", TEXT), Constant(True)), False),
        (case((call("is_not_null", TEXT), TEXT), otherwise=Constant("none")), False),
        (case((Column("other"), Constant(1))), False),
        (case((Call("and", (Column("other"), call("present", PRICE))), Constant(1))), True),
        (Call("or", (call("=", TEXT, Constant("3")), Column("other"))), False),
    ],
)
def test_null_with_a_value(scalar: Scalar, is_null: bool) -> None:
    assert is_null_with(scalar, PRICE) is is_null
