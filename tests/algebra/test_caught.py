"""Errors of scalars as values."""

from __future__ import annotations

import pytest

from xcql.algebra.caught import Caught, Unknown, certain
from xcql.algebra.operators import Select, Unit
from xcql.algebra.scalars import NULL, Call, Column, Constant, Lambda, Nested, Scalar, call, case

A, B = Column("a"), Column("b")
FAIL = call("fail", Constant(3), A)
ONE = case((call("is_integer_text", A), call("parse_integer", A, NULL)), otherwise=FAIL)
ERROR = case((call("is_integer_text", A), NULL), otherwise=Constant(3))


@pytest.mark.parametrize(
    ("scalar", "error"),
    [
        (A, NULL),
        (FAIL, Constant(3)),
        (call("fail", Constant(4), A), NULL),
        (ONE, ERROR),
        (call("+", B, ONE), ERROR),
        (call("coalesce", B, ONE), case((call("is_null", B), ERROR))),
        (Nested(Unit(), "sum", ONE), Nested(Unit(), "min", ERROR)),
    ],
)
def test_error(scalar: Scalar, error: Scalar) -> None:
    assert Caught({3}).error(scalar) == error


@pytest.mark.parametrize(
    "scalar",
    [
        Nested(Select(Unit(), ONE), "sum", A),
        Nested(Unit(), "exists", ONE),
        call("transform", A, Lambda((".x",), FAIL)),
        call("evaluate", Constant("e"), A),
        Nested(Unit(), "sum", call("+", FAIL, call("fail", Constant(4), A))),
    ],
)
def test_errors_that_cannot_be_told(scalar: Scalar) -> None:
    with pytest.raises(Unknown):
        Caught({3, 4}).error(scalar)


def test_without() -> None:
    found = Caught({3}).without(call("+", ONE, call("fail", Constant(4), A)))
    assert isinstance(found, Call)
    assert not Caught({3}).raises(found)
    assert Caught({4}).raises(found)


def test_failures_outside_of_names() -> None:
    named = Call("with_name", (A, Lambda((".x",), call("fail", Constant(3), Column(".x")))))
    assert list(Caught({3}).failures(named)) == [FAIL]


def test_certain() -> None:
    assert ONE in set(certain(call("+", B, ONE)))
    assert ONE not in set(certain(call("coalesce", B, ONE)))
    assert ONE not in set(certain(case((B, ONE))))
    assert ONE in set(certain(case((call("is_true", ONE), B))))
