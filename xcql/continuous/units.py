"""Evaluates units: the query's body for each of them, over one partial view for all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from xcql.continuous.aggregates import COUNTING, as_part
from xcql.continuous.display import ALWAYS, AnswerUnit, Row
from xcql.continuous.partial import Found, PartialView
from xcql.continuous.parts import NODE, NODES, Access, NeedsWhole, hidden
from xcql.continuous.plan import UnitPlan
from xcql.continuous.sort_keys import grouping_key, sort_key
from xcql.continuous.state_file import optional_number, to_number
from xcql.continuous.tally_plan import tally_name
from xcql.diagnostics import XcqlError
from xcql.evaluate.api import external_values
from xcql.evaluate.context import QueryEvaluation
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.result import ResultItem
from xcql.evaluate.scope import compile_expression, plain_name
from xcql.evaluate.sequences import computed, zero_or_one_atomic
from xcql.evaluate.times import instant_of, lifespan_columns
from xcql.evaluate.values import atomize
from xcql.syntax.node import Expr, Name
from xcql.xdm.atomic import string_of
from xcql.xdm.functions import XdmArray
from xcql.xdm.nodes import DocumentNode

Views = Mapping[str, Callable[[], DocumentNode]]
Nodes = dict[int, list[Any]]


class UnitCode:
    """Expressions of a query that are evaluated for the units of an access."""

    def __init__(
        self,
        query: CompiledQuery,
        access: Access,
        variables: Mapping[str, Any],
        *exprs: Expr,
        bound: Sequence[Name] = (),
    ) -> None:
        """`bound` are variables of the expressions; by default the nodes of a unit."""
        self._query = query
        self._stream = access.stream
        self._variables = external_values(variables)
        names = bound or (hidden(NODES, access.head.span),)
        scope = query.scope.bind(*(plain_name(name, query.scope.static) for name in names))
        self._head = compile_expression(access.head, query.scope)
        self._codes = [compile_expression(expr, scope) for expr in exprs]

    def nodes(self, view: PartialView, now: datetime) -> Nodes:
        """The results of the path in each unit of a view, by the identity of the unit.

        Afterwards nothing above the units can be read.
        """
        found: Nodes = {}
        within = self.evaluation({self._stream: lambda: view.document}, now)
        for node in computed(self._head(None, within.initial)):
            unit = view.unit_of(node)
            if unit is not None:
                found.setdefault(id(unit), []).append(node)
        view.close()
        return found

    def evaluation(self, views: Views, now: datetime) -> QueryEvaluation:
        """A new evaluation of the expressions, given what they see of the streams."""
        evaluation = QueryEvaluation(now.replace(tzinfo=UTC), views, self._variables)
        self._query.begin(evaluation)
        return evaluation

    def value(self, number: int, *bound: Sequence[Any], within: QueryEvaluation) -> Any:
        """The value of one of the expressions, for the nodes of a unit or other bound values."""
        environment: Any = None
        for value in bound:
            environment = (value, environment)
        return self._codes[number](environment, within.initial)

    def texts(self, number: int, nodes: Sequence[Any], within: QueryEvaluation) -> set[str]:
        """Like `value`, but as the texts that a join compares."""
        return {string_of(atom) for atom in atomize(self.value(number, nodes, within=within))}

    def ranges(
        self, number: int, nodes: Sequence[Any], within: QueryEvaluation, now: datetime
    ) -> set[tuple[int, int]]:
        """The time ranges given by arrays of two bounds.

        If a bound cannot be computed, the range is all of time: the body may never need it.
        """
        found: set[tuple[int, int]] = set()
        try:
            for bounds in computed(self.value(number, nodes, within=within)):
                assert isinstance(bounds, XdmArray)
                ends = [zero_or_one_atomic(bounds.get(n), "a bound", None) for n in (1, 2)]
                if None not in ends:
                    begin, end = (to_number(instant_of(bound, now, None)) for bound in ends)
                    if begin <= end:
                        found.add((begin, end))
        except XcqlError:
            return {(0, to_number(datetime.max))}
        return found


class UnitQuery:
    """A query prepared for evaluation by units."""

    def __init__(self, query: CompiledQuery, plan: UnitPlan, variables: Mapping[str, Any]) -> None:
        self._query = query
        self.plan = plan
        more = [side.wanted for side in plan.sides]
        more += [] if plan.group is None else [plan.group.keys]
        self.code = UnitCode(query, plan.main, variables, plan.body, *more)
        self.sides = [
            UnitCode(query, side.access, variables, *([] if side.key is None else [side.key]))
            for side in plan.sides
        ]
        self.tallied: UnitCode | None = None
        self.tallies: UnitCode | None = None
        if plan.tallied is not None:
            span, found = plan.main.head.span, plan.tallied.tallies
            names = [tally_name(number, plan.main.head) for number in range(len(found))]
            self.tallied = UnitCode(
                query, plan.main, variables, plan.tallied.body, bound=(hidden(NODES, span), *names)
            )
            counted = [tally.values for tally in found]
            self.tallies = UnitCode(
                query, plan.main, variables, *counted, bound=(hidden(NODE, span),)
            )
        # the kind of value of each sort key
        self.kinds: dict[str, str] = {}
        # an instant, and the plan's `traces` at it
        self._traces: tuple[int, set[int], tuple[str, ...]] = (-1, set(), ())

    def evaluated(
        self, view: PartialView, nodes: Nodes, views: Views, now: datetime
    ) -> list[AnswerUnit]:
        """All units of a partial view as they are at `now`.

        `views` are what the body sees of the streams.
        """
        within = self.code.evaluation(views, now)
        return [
            self._unit(found, self.code.value(0, nodes.get(id(found), ()), within=within), now)
            for found in view.units
        ]

    def evaluated_with_tallies(
        self,
        units: Iterable[Found],
        nodes: Nodes,
        values: Mapping[int, list[tuple[Any, ...]]],
        views: Views,
        now: datetime,
    ) -> list[AnswerUnit]:
        """Some units as they are at `now`, given the values of the tallies for each."""
        code = self.tallied
        assert code is not None
        within = code.evaluation(views, now)
        return [
            self._unit(
                found,
                code.value(0, nodes.get(id(found), ()), *values[id(found)], within=within),
                now,
            )
            for found in units
        ]

    def _unit(self, found: Found, items: Any, now: datetime) -> AnswerUnit:
        rows: list[Row] = []
        for item in computed(items):
            self._add_rows(rows, found.place, item, 0, now)
        due = self._due(found, rows, to_number(now))
        return AnswerUnit(
            found.key, self.plan.main.stream, found.filler, found.time, tuple(rows), due
        )

    def _add_rows(
        self, rows: list[Row], place: bytes, item: Any, skipped: int, now: datetime
    ) -> None:
        """Add the body's result for one tuple: items, or an array of keys followed by the items."""
        order = self.plan.order
        keys = b""
        values: Sequence[Any] = (item,)
        if order or skipped:
            assert isinstance(item, XdmArray)
            keys = b"".join(
                self._sort_key(number, item.get(skipped + number + 1))
                for number in range(len(order))
            )
            values = item.get(skipped + len(order) + 1)
        for value in self._shown(values):
            rows.append(self._row(keys + place + len(rows).to_bytes(4), value, now))

    # ------------------------------------------------------------------ groups

    def groups_of(self, nodes: Sequence[Any], within: QueryEvaluation) -> list[str]:
        """The groups of a unit, in the order in which its tuples first reach them."""
        group = self.plan.group
        assert group is not None
        found: dict[str, None] = {}
        for keys in computed(self.code.value(len(self.plan.sides) + 1, nodes, within=within)):
            found[self._group_name(keys)] = None
        return list(found)

    def member(self, found: Found, now: datetime) -> AnswerUnit:
        """A unit without items of its own, and when its groups may change."""
        due = self._due(found, [], to_number(now))
        return AnswerUnit(found.key, self.plan.main.stream, found.filler, found.time, (), due)

    def _group_name(self, keys: Any) -> str:
        """A text that is equal for equal keys."""
        group = self.plan.group
        assert group is not None
        assert isinstance(keys, XdmArray)
        return json.dumps(
            [grouping_key(keys.get(number + 1), group.span) for number in range(group.size)]
        )

    def evaluated_groups(
        self, view: PartialView, nodes: Nodes, wanted: set[str], now: datetime
    ) -> list[AnswerUnit]:
        """Some groups as they are at `now`, given a view of all units in them."""
        group = self.plan.group
        assert group is not None
        within = self.code.evaluation({}, now)
        founds: dict[str, Found] = {}
        together: list[Any] = []
        for unit in view.units:
            mine = nodes.get(id(unit), [])
            together += mine
            for number, name in enumerate(self.groups_of(mine, within)):
                if name in wanted:
                    if name not in founds:
                        place = unit.place + number.to_bytes(4)
                        founds[name] = Found(name, place, "", 0, True, unit.element)
                    founds[name].spans += unit.spans
                    founds[name].has_own_times = founds[name].has_own_times or unit.has_own_times
        rows: dict[str, list[Row]] = {name: [] for name in founds}
        for item in computed(self.code.value(0, together, within=within)):
            name = self._group_name(item)
            if name in founds:
                self._add_rows(rows[name], founds[name].place, item, group.size, now)
        stream = self.plan.main.stream
        return [
            AnswerUnit(
                name, stream, "", 0, tuple(rows[name]),
                self._due(found, rows[name], to_number(now)),
            )
            for name, found in founds.items()
        ]  # fmt: skip

    # ------------------------------------------------------------------ rows

    def _shown(self, values: Iterable[Any]) -> Iterable[Any]:
        aggregate = self.plan.aggregate
        if aggregate is None or aggregate.name.local in COUNTING:
            return values
        return atomize(values)

    def _row(self, place: bytes, item: Any, now: datetime) -> Row:
        aggregate = self.plan.aggregate
        if aggregate is None:
            return Row(place, ResultItem(item).xml, *lifespan_columns(item, now))
        if aggregate.name.local in COUNTING:
            return Row(place, "", None, None)
        return Row(place, as_part(item), None, None)

    def _sort_key(self, number: int, items: Any) -> bytes:
        key = self.plan.order[number]
        kind, place = sort_key(items, key, self._query.scope.static)
        if kind and self.kinds.setdefault(str(number), kind) != kind:
            raise NeedsWhole("the values of a sort key are of several kinds", key.span)
        return place

    def _due(self, found: Found, rows: list[Row], now: int) -> int | None:
        """The next moment at which a unit may change by itself."""
        time = self.plan.time
        if time.always is not None:
            return ALWAYS
        is_open = any(end is None for _, end in found.spans)
        if time.open_ends and is_open:
            return ALWAYS
        if found.has_own_times and (time.windows or time.shows or time.open_ends):
            return ALWAYS
        if self._traces[0] != now:
            self._traces = (now, *time.traces(now))
        _, instants, texts = self._traces
        for row in rows:
            if any(text in row.text for text in texts):
                return ALWAYS
            if not instants.isdisjoint((optional_number(row.begins), optional_number(row.ends))):
                return ALWAYS
        return time.due(found.spans, now)
