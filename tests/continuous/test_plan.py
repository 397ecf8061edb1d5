"""Which units the answer of a query is maintained by, or why it is recomputed as a whole."""

from __future__ import annotations

import pytest

from tests.continuous.credit import TAGS
from xcql.check import check
from xcql.continuous.explanation import explained
from xcql.continuous.plan import UnitPlan, Whole, plan_query

S = 'stream("credit")'
STREAMS = {"credit": TAGS, "other": TAGS}


def plan_of(query: str) -> UnitPlan | Whole:
    return plan_query(check(query, STREAMS))


@pytest.mark.parametrize(
    ("query", "units"),
    [
        (f"{S}//transaction", {"5"}),
        (f"for $a in {S}//account return $a/customer", {"2"}),
        (f"{S}//account/transaction[amount > 1]/vendor", {"5"}),
        (f"{S}//account[customer = 'Ann']/transaction", {"2"}),
        (f"{S}/creditAccounts/account/transaction[1]", {"2"}),
        (f"{S}//customer", {"2"}),
        (f"{S}//(account|transaction)", None),
        (f"for $x in {S}//* return name($x)", None),
        (f"count({S}//transaction[amount > 1])", {"5"}),
        (f"for $t in {S}//transaction?[now-PT1H, now] return $t/amount", {"5"}),
        (f"for $a in {S}//account order by $a/customer return $a/@id", {"2"}),
        (f"for $a in {S}//account group by $c := $a/customer return $c", {"2"}),
        (f"let $n := 3 for $a in {S}//account where $a/@id = $n return $a", {"2"}),
        (f'for $a in {S}//account, $b in stream("other")//account where $a/@id = $b/@id return 1',
         {"2"}),
        (f'for $a in {S}//account, $t in stream("other")//transaction?[vtFrom($a), vtTo($a)+PT1S]'
         " where $t/amount > $a/@id return $t", {"2"}),
        (f'for $a in {S}//account, $t in stream("other")//transaction?[$a/@vtFrom, $a/@vtTo]'
         " return $t", None),
        (f'for $a in {S}//account return stream("other")//account[@id = $a/@id]/customer', {"2"}),
    ],
)  # fmt: skip
def test_units(query: str, units: set[str] | None) -> None:
    plan = plan_of(query)
    assert (plan.main.units if isinstance(plan, UnitPlan) else None) == units


@pytest.mark.parametrize(
    ("query", "reason", "place"),
    [
        (f"{S}//transaction[3]", "the path has a step to any depth", "transaction[3]"),
        (f"{S}//account//*/vendor[1]", "a path continues", ""),
        (f"({S}//transaction)[3]", "the query uses a position among all items", "3"),
        (f"{S}//account#[1]", "this is not a downward path", f"{S}//account#[1]"),
        (f"for $a at $n in {S}//account return $n", "positions are counted", ""),
        (f"for $a in {S}//account count $n return $n", "the clause count", "count $n"),
        (f'for $a in {S}//account return count(stream("other")//account)', "without a key",
         'stream("other")//account'),
        (f"<all>{{{S}//account}}</all>", "this is not a downward path", ""),
        (f"declare function local:f() {{ {S} }}; for $a in {S}//account return local:f()",
         "a declaration reads a stream", S),
        (f"{S}/creditAccounts", "the root's own content", ""),
        ("1 + 1", "this is not a downward path", ""),
        (f"for $a in {S}//account where every $b in {S}//account satisfies $b/@id = $a/@id "
         "return 1", "without a key", ""),
    ],
)  # fmt: skip
def test_the_whole_with_its_reason(query: str, reason: str, place: str) -> None:
    plan = plan_of(query)
    assert isinstance(plan, Whole)
    assert reason in plan.reason.reason
    assert plan.reason.span is not None
    if place:
        assert plan.reason.span.text == place


def told(query: str) -> str:
    checked = check(query, STREAMS)
    return str(explained(plan_query(checked), checked))


def test_bounded_and_unbounded_state() -> None:
    windowed = told(f"for $a in {S}//account return sum($a/transaction?[now-PT1H, now]/amount)")
    assert "those before now - 3600 s are not read again" in windowed
    assert "unbounded" not in windowed
    for query in (
        f"for $a in {S}//account return sum($a/transaction/amount)",
        f"for $a in {S}//account return ($a/transaction?[now-PT1H, now], $a)",
        f"for $a in {S}//account return $a/transaction[1]?[now-PT1H, now]",
    ):
        assert "unbounded state: events /creditAccounts/account/transaction" in told(query)


def test_what_is_told_of_time() -> None:
    assert "edge of [now - 3600 s, now]" in told(f"{S}//transaction?[now-PT1H, now]/amount")
    assert "at every instant (line 1" in told(f"for $a in {S}//account return now()")
    assert "ends" not in told(f"for $t in {S}//transaction return vtTo($t)")
    assert "lifespans that end at `now`" in told(f"for $a in {S}//account return vtTo($a)")


def test_a_reason_is_shown_with_its_place() -> None:
    assert "whole: the clause count sees all tuples (line 1, column 37)" in told(
        f"for $a in {S}//account count $n return $n"
    )
