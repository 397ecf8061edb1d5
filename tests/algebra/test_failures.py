"""Which expressions can fail, given what the plan says about its columns."""

from __future__ import annotations

import pytest

from xcql.algebra.failures import Failures, doubtful
from xcql.algebra.operators import Join, Nest, Number, Plan, Project, Select, Unit, Unnest
from xcql.algebra.scalars import (
    NULL,
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
)

TEXT = Column("text")
READ = call("parse_double", TEXT)
SITE = call("fail", Constant(0), TEXT)
PLAN: Plan = Project(Unit(), "number", case((call("is_double_text", TEXT), READ)))
PLAN = Project(PLAN, "checked", case((call("is_null", Column("number")), SITE)))
PLAN = Number(Unnest(PLAN, Column("xs"), "x", "x_at"), "position")


@pytest.mark.parametrize(
    ("scalar", "can_fail"),
    [
        (TEXT, False),
        (READ, True),
        (SITE, True),
        (case((call("is_double_text", TEXT), READ)), False),
        (case((call("is_double_text", Column("other")), READ)), True),
        (case((call("is_double_text", TEXT), Constant(1)), otherwise=READ), True),
        (case((call("is_null", SITE), NULL)), True),
        (Column("number"), False),
        (Column("checked"), True),
        (call("is_null", Column("checked")), True),
        # integers have 64 bits, but doubles have no limit, and positions are small
        (call("+", TEXT, Constant(1)), True),
        (call("*", Column("number"), Constant(2)), False),
        (call("-", call("size", Column("xs")), Constant(1)), False),
        (call("+", Column("position"), Column("x_at")), False),
        (call("*", Column("position"), Column("position")), True),
        (call("+", Column("position"), Constant(2**40)), True),
        (call("to_double", Constant(2)), False),
        (call("to_double", TEXT), True),
        (Call("transform", (Column("xs"), Lambda((".x",), call("upper", Column(".x"))))), False),
        (Call("transform", (Column("xs"), Lambda((".x",), SITE))), True),
        (Nested(Unit(), "count", Constant(1)), True),
    ],
)
def test_can_fail(scalar: Scalar, can_fail: bool) -> None:
    assert Failures(PLAN).can_fail(scalar) is can_fail


EVALUATION = call("evaluate", Constant("f"))
TUPLES = Unnest(Unit(), Column("xs"), "x", "x_at")


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Project(TUPLES, "a", SITE), set()),
        (Project(TUPLES, "a", EVALUATION), set()),
        (Select(TUPLES, SITE), set()),
        # tuples that nothing needs
        (Select(Project(TUPLES, "a", SITE), Column("a")), {0}),
        (Join(Unit(), Project(TUPLES, "a", SITE), (), TRUE, "left"), {0}),
        (Select(Join(Unit(), TUPLES, (), TRUE), SITE), {0}),
        (Project(Join(Unit(), TUPLES, (), TRUE), "a", SITE), set()),
        (Project(Unit(), "a", Nested(TUPLES, "sum", SITE)), {0}),
        (Nest(Project(TUPLES, "a", SITE), (), ()), set()),
        # engines compute evaluations in all branches
        (Project(TUPLES, "a", case((TEXT, SITE))), set()),
        (Project(TUPLES, "a", case((TEXT, EVALUATION))), {"f"}),
    ],
)
def test_errors_that_the_query_might_not_have(plan: Plan, expected: set[object]) -> None:
    assert doubtful(plan) == expected
