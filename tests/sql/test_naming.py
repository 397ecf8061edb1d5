"""Names for values inside of scalars, in SQL that is short enough to read."""

from __future__ import annotations

from xcql.algebra.failures import Failures
from xcql.algebra.operators import Plan, Project, Unit, Unnest, scalars
from xcql.algebra.printing import plan_text
from xcql.algebra.scalars import Call, Column, Constant, Lambda, Scalar, call, case, field
from xcql.algebra.unique import UniqueScalars
from xcql.dialects.duckdb import DUCKDB
from xcql.sql.naming import with_names


def _named(plan: Plan) -> tuple[Plan, frozenset[str]]:
    known = UniqueScalars()
    return with_names(plan, Failures(plan), known, DUCKDB, lambda _: "field.1")


def _scalar(scalar: Scalar) -> Scalar:
    plan, _ = _named(Project(Unit(), "x", scalar))
    (only,) = scalars(plan)
    return only


def _parsed(text: Scalar) -> Scalar:
    return case((call("is_dateTime_text", text), call("parse_dateTime", text)))


# fails, and its SQL is long
_TIME = call("parse_dateTime", call("concat", Column("a"), call("fail", Constant(0), Column("a"))))


def test_a_value_that_fails_is_named_where_it_is_always_computed() -> None:
    scalar = _scalar(call("microseconds_between", _TIME, call("greatest", _TIME, _TIME)))
    match scalar:
        case Call(function="with_name", arguments=(value, Lambda((name,), body))):
            assert value == _TIME
            one = Column(name)
            assert body == call("microseconds_between", one, call("greatest", one, one))
        case _:
            raise AssertionError(scalar)


def test_a_value_that_fails_stays_in_a_branch() -> None:
    twice = call("microseconds_between", _TIME, call("greatest", _TIME, _TIME))
    other = call("microseconds_between", call("greatest", _TIME, _TIME), _TIME)
    scalar = case((Column("c"), twice), (Column("d"), other), otherwise=Constant(0))
    match _scalar(scalar):
        case Call(function="case", arguments=(_, first, _, second, Constant(0))):
            for one in (first, second):
                assert isinstance(one, Call)
                assert one.function == "with_name"
        case other_form:
            raise AssertionError(other_form)


def test_a_value_in_one_branch_only_gets_its_name_there() -> None:
    safe = _parsed(call("concat", Column("a"), Column("b")))
    twice = call("microseconds_between", safe, call("greatest", safe, safe))
    match _scalar(case((Column("c"), twice), otherwise=Constant(0))):
        case Call(function="case", arguments=(Column("c"), Call(function="with_name"), _)):
            pass
        case other_form:
            raise AssertionError(other_form)


def test_short_values_are_repeated() -> None:
    short = call("+", Column("a"), Constant(1))
    scalar = call("*", short, short)
    assert _scalar(scalar) == scalar


def test_functions_look_at_columns_instead_of_fields() -> None:
    path = field(field(Column("p.element"), "a"), "_text")
    body = call("concat", Column(".e"), path)
    plan = Unnest(Unit(), call("transform", Column("xs"), Lambda((".e",), body)), "i", "at")
    after, made = _named(plan)
    assert made == {"field.1"}
    assert plan_text(after) == (
        "unnest i at at: transform($xs, (.e) -> concat($.e, $field.1))\n"
        "  project field.1 := $p.element.a._text\n"
        "    unit"
    )
