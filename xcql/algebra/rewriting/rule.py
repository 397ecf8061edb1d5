"""What a rule is, and which facts rules may use besides the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import signature

from xcql.algebra.operators import Plan
from xcql.algebra.rewriting.chains import Depths
from xcql.analysis.graph import TagGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What rules may use besides the plan.

    `wanted` are the columns of the answer; `fresh` makes a column name that no other column has.
    `graphs`, `depths` and `rows` are by stream: the graph of its tags and, by tag, the levels and
    the number of its fillers. `settled` are the streams that do not change after `now`.
    """

    strategy: str
    wanted: frozenset[str]
    fresh: Callable[[str], str]
    graphs: Mapping[str, TagGraph]
    depths: Mapping[str, Depths]
    rows: Mapping[str, Mapping[str, int]]
    settled: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A function from a plan to a plan with the same tuples, and a sentence that describes it.

    The function's parameters after the plan are names of facts; it gets those facts.
    """

    rewrite: Callable[..., Plan]
    says: str

    @property
    def name(self) -> str:
        return self.rewrite.__name__

    def __call__(self, plan: Plan, facts: Facts) -> Plan:
        return self.rewrite(plan, **{name: getattr(facts, name) for name in _needed(self.rewrite)})


@cache
def _needed(rewrite: Callable[..., Plan]) -> tuple[str, ...]:
    """The facts that a function takes."""
    _, *needed = signature(rewrite).parameters
    return tuple(needed)
