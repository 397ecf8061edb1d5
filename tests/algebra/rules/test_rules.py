"""Each rule on small plans: before and after it, and what every rule must have.

`XCQL_WRITE_GOLDEN=1` rewrites the specs; review the diff.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import fields
from inspect import getdoc, getmodule, signature
from itertools import count
from pathlib import Path

import pytest

from tests.algebra.rules.plans import CASES
from xcql.algebra import rules
from xcql.algebra.operators import Plan
from xcql.algebra.printing import plan_text
from xcql.algebra.rewriting.rule import Facts, Rule
from xcql.algebra.rules import RULES
from xcql.analysis.graph import TagGraph
from xcql.model.tags import parse_tags

HERE = Path(__file__).parent
BY_NAME = {rule.name: rule for rule in RULES}
TAGS = parse_tags(
    """<structure><tag type="snapshot" id="1" name="bank">
         <tag type="temporal" id="2" name="account">
           <tag type="event" id="3" name="payment"/></tag></tag></structure>"""
)


def _facts(**given: object) -> Facts:
    numbers = count(1)
    usual: dict[str, object] = {
        "strategy": "qac+",
        "wanted": frozenset(),
        "fresh": lambda hint: f"{hint}{next(numbers)}",
        "graphs": {"s": TagGraph(TAGS)},
        "depths": {},
        "rows": {},
        "settled": frozenset(),
    }
    facts = {**usual, **given}
    for name in ("wanted", "settled"):
        facts[name] = frozenset(facts[name])  # type: ignore[call-overload]
    return Facts(**facts)  # type: ignore[arg-type]


def _spec(rule: Rule) -> str:
    """The plans of a rule before and after it, each under its title."""
    parts = []
    for title, case in CASES[rule.name].items():
        plan, given = (case, {}) if isinstance(case, Plan) else case
        after = rule(plan, _facts(**given))
        became = "(the same)" if after == plan else plan_text(after)
        head = [f"# {title}", *(f"# {name}: {fact}" for name, fact in given.items())]
        parts.append("\n".join([*head, plan_text(plan), "=>", became, ""]))
    return "\n".join(parts)


@pytest.mark.parametrize("name", BY_NAME)
def test_plans_before_and_after(name: str) -> None:
    spec = HERE / f"{name}.spec"
    found = _spec(BY_NAME[name])
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        spec.write_text(found)
    assert found == spec.read_text()


@pytest.mark.parametrize("rule", BY_NAME.values(), ids=BY_NAME)
def test_no_rule_lacks_anything(rule: Rule) -> None:
    module = getmodule(rule.rewrite)
    assert module is not None
    assert module.__name__ == f"{rules.__name__}.{rule.name}", "a module of its own, of its name"
    assert "=>" in (getdoc(module) or ""), "a plan before and after, in the docstring"
    assert rule.says
    spec = (HERE / f"{rule.name}.spec").read_text()
    assert spec.count("\n(the same)") < spec.count("\n=>"), "plans that it changes"
    _, *needed = signature(rule.rewrite).parameters
    assert set(needed) <= {one.name for one in fields(Facts)}


def test_every_module_is_a_rule_that_runs() -> None:
    assert {one.name for one in pkgutil.iter_modules(rules.__path__)} == set(BY_NAME)
    assert set(CASES) == set(BY_NAME)
    assert {spec.stem for spec in HERE.glob("*.spec")} == set(BY_NAME)
