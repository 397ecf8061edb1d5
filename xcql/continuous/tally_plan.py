"""Finds the tallies of a query: its counts and sums over events that are in a unit.

    for $a in stream("credit")//account
    where sum($a/transaction/amount) > 100      what each filler of transactions adds to the sum
    return $a/customer                          is stored; no transaction is read again

What the events of a filler contribute to such an aggregate does not depend on their position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xcql.analysis.names import FUNCTIONS
from xcql.check import Checked
from xcql.continuous.parts import NODE, Access, hidden, hidden_ref
from xcql.continuous.windowed import is_downward_step, looked_at, reads_other_nodes
from xcql.syntax.construct import NamespaceDeclaration
from xcql.syntax.functions import FunctionCall, Parameter
from xcql.syntax.literals import Sequence, VariableRef
from xcql.syntax.node import Expr, N, Name, SyntaxNode, Transformer, walk
from xcql.syntax.path import AxisStep, NameTest, Path, Wildcard
from xcql.syntax.prolog import MainModule, VariableDecl
from xcql.syntax.types import AnyKindTest, ElementTest, TextTest

# aggregates that can be combined from those of fillers, and updated by subtraction
TALLIED = ("count", "exists", "empty", "sum", "avg")
_OF_VALUES = ("sum", "avg")
# tests of nodes with untyped values, which are added as doubles
_UNTYPED = (NameTest, Wildcard, ElementTest, TextTest)
_BINDING = ("variable", "position", "item", "previous", "next", "default_variable")


@dataclass(frozen=True, slots=True)
class UnitTally:
    """An aggregate over the events that are in a unit.

    `places` are pairs of the tag of the element with the holes and the tag of the events; `values`
    is what counts in one event, which is in the variable `NODE`.
    """

    name: str
    places: frozenset[tuple[str, str]]
    values: Expr

    @property
    def events(self) -> frozenset[str]:
        """The tags of the events."""
        return frozenset(event for _, event in self.places)


@dataclass(frozen=True, slots=True)
class Tallied:
    """A query's body with variables for its tallies, and what it still reads of each stream."""

    tallies: tuple[UnitTally, ...]
    body: Expr
    looked_at: Mapping[str, frozenset[str]]


def tally_name(number: int, node: SyntaxNode) -> Name:
    """The variable that stands for a tally."""
    return hidden(f"tally-{number}", node.span)


def tallied(query: Checked, body: Expr, variable: Name, main: Access) -> Tallied | None:
    """The body of a plan without its tallies; None if it has none.

    `variable` is bound to the elements of the units, one per unit.
    """
    module = query.module
    if not _is_bound_once(module, variable) or any(
        isinstance(part, NamespaceDeclaration) for part in walk(module)
    ):
        return None
    finder = _Finder(query, variable, main)
    rest = finder.transform(body)
    if not finder.found:
        return None
    left = looked_at(_Without(finder).transform(module), query.graphs)
    return Tallied(tuple(finder.found), rest, left)


def _is_bound_once(module: MainModule, variable: Name) -> bool:
    """Whether a name means the same variable wherever it occurs."""
    bindings = 0
    for node in walk(module):
        if isinstance(node, (Parameter, VariableDecl)):
            bindings += node.name == variable
        bindings += sum(getattr(node, field, None) == variable for field in _BINDING)
    return bindings == 1


class _Finder(Transformer):
    """Replaces tallies by variables."""

    def __init__(self, query: Checked, variable: Name, main: Access) -> None:
        self._names = query.names.namespaces
        self._variable = variable
        self._units = main.units
        self._types = query.types
        self._graph = query.graphs[main.stream]
        self.found: list[UnitTally] = []

    def transform(self, target: N) -> N:
        tally = self.tally(target) if isinstance(target, FunctionCall) else None
        if tally is None:
            return super().transform(target)
        if tally not in self.found:
            self.found.append(tally)
        number = self.found.index(tally)
        return VariableRef(tally_name(number, target), span=target.span)  # type: ignore[return-value]

    def tally(self, call: FunctionCall) -> UnitTally | None:
        uri, local = self._names.function_name(call.name)
        if uri != FUNCTIONS or local not in TALLIED or len(call.arguments) != 1:
            return None
        match call.arguments[0]:
            case Path(absolute=False, steps=(VariableRef(name=name), *steps)) if (
                name == self._variable
            ):
                return self._of_steps(local, steps)
        return None

    def _of_steps(self, name: str, steps: list[Expr]) -> UnitTally | None:
        """The tally of a path from a unit: down to events, then inside of them."""
        tags = self._units
        for index, step in enumerate(steps):
            if not isinstance(step, AxisStep) or step.axis != "child":
                return None
            places = self._children(tags, step)
            tags = frozenset(child for _, child in places)
            kinds = {self._graph.tag(tag).kind for tag in tags}
            if kinds == {"event"}:
                values = self._values(name, tags, step, steps[index + 1 :])
                return None if values is None else UnitTally(name, places, values)
            # tags cannot distinguish elements that may be nested in each other
            if kinds != {"snapshot"} or step.predicates or self._are_recursive(tags):
                return None
        return None

    def _values(
        self, name: str, tags: frozenset[str], event: AxisStep, steps: list[Expr]
    ) -> Expr | None:
        """What counts in one event; None if that is not in its own filler."""
        itself = AxisStep("self", AnyKindTest(span=event.span), event.predicates, span=event.span)
        if not self._is_of_one_event(itself):
            return None
        if event.predicates and self._graph.fragmented_below(*tags):
            return None
        for step in steps:
            if not isinstance(step, AxisStep) or not self._is_of_one_event(step):
                return None
            if step.axis == "attribute":
                tags = frozenset()
            elif step.axis == "child" and not step.predicates:
                tags = frozenset(child for _, child in self._children(tags, step))
                if any(self._graph.is_fragmented(tag) for tag in tags):
                    return None
            elif self._graph.fragmented_below(*tags):
                return None
        if name in _OF_VALUES:
            last = steps[-1] if steps else event
            assert isinstance(last, AxisStep)
            if self._graph.fragmented_below(*tags) or not isinstance(last.test, _UNTYPED):
                return None
        return Path(False, (hidden_ref(NODE, event.span), itself, *steps), span=event.span)

    def _is_of_one_event(self, step: AxisStep) -> bool:
        """Whether a step depends only on the event, and does not lead out of it."""
        leads_down = is_downward_step(step, self._types) or (
            step.axis == "attribute" and not step.predicates
        )
        return (
            leads_down
            and not reads_other_nodes(step)
            and not any(isinstance(part, VariableRef) for part in walk(step))
        )

    def _children(self, tags: frozenset[str], step: AxisStep) -> frozenset[tuple[str, str]]:
        test = self._names.element_test(step.test)
        return frozenset(
            (tag, child.id)
            for tag in tags
            for child in self._graph.children(tag)
            if test is not None and test(child)
        )

    def _are_recursive(self, tags: frozenset[str]) -> bool:
        return any(tag in self._graph.below(tag) for tag in tags)


class _Without(Transformer):
    """A query without its tallies."""

    def __init__(self, finder: _Finder) -> None:
        self._finder = finder

    def transform(self, target: N) -> N:
        if isinstance(target, FunctionCall) and self._finder.tally(target) is not None:
            return Sequence((), span=target.span)  # type: ignore[return-value]
        return super().transform(target)
