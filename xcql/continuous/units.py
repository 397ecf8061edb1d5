"""Evaluating units: the query's body for each of them, over one partial view for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from xcql.continuous.display import ALWAYS, Row, Unit
from xcql.continuous.partial import Found, PartialView
from xcql.continuous.plan import NODES, NeedsWhole, Plan, hidden
from xcql.continuous.sort_keys import sort_key
from xcql.continuous.state import optional_number, to_number
from xcql.diagnostics import XcqlError
from xcql.evaluate.api import external_values
from xcql.evaluate.context import Evaluation
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.result import ResultItem
from xcql.evaluate.scope import compile_expression, plain_name
from xcql.evaluate.sequences import computed, located
from xcql.evaluate.stack import too_nested, with_deep_stack
from xcql.evaluate.times import lifespan_columns
from xcql.xdm.functions import XdmArray
from xcql.xdm.nodes import ChildNode, DocumentNode, ElementNode

Views = Mapping[str, Callable[[], DocumentNode]]


class LeftUnit(Exception):
    """The query looks at what stands beside a unit: its units have to be larger."""


class _Above(ElementNode):
    """An element above units: what it holds is not all there, so nobody may look at it."""

    __slots__ = ()

    @property
    def children(self) -> list[ChildNode]:  # type: ignore[override]
        raise LeftUnit


class _Document(DocumentNode):
    """The document above units."""

    __slots__ = ()

    @property
    def children(self) -> list[ChildNode]:  # type: ignore[override]
        raise LeftUnit


class UnitQuery:
    """A query made ready to be evaluated by units."""

    def __init__(self, query: CompiledQuery, plan: Plan, variables: Mapping[str, Any]) -> None:
        self._query = query
        self.plan = plan
        self._variables = external_values(variables)
        # which kind of value each sort key has
        self.kinds: dict[str, str] = {}
        scope = query.scope
        nodes = plain_name(hidden(NODES, plan.body.span), scope.static)
        self._head = compile_expression(plan.main.head, scope)
        self._body = compile_expression(plan.body, scope.bind(nodes))

    def evaluated(self, view: PartialView, views: Views, now: datetime) -> list[Unit]:
        """All units of a partial view, as they are at `now`.

        `views` are what the body sees of the streams.
        """
        return with_deep_stack(lambda: self._evaluated(view, views, now))

    def _evaluated(self, view: PartialView, views: Views, now: datetime) -> list[Unit]:
        main = self.plan.main.stream
        instant = now.replace(tzinfo=UTC)
        try:
            above = Evaluation(instant, {**views, main: lambda: view.document}, self._variables)
            self._query.begin(above)
            nodes: dict[int, list[Any]] = {}
            for node in computed(self._head(None, above.initial)):
                unit = view.unit_of(node)
                if unit is not None:
                    nodes.setdefault(id(unit), []).append(node)
            _close(view)
            within = Evaluation(instant, views, self._variables)
            self._query.begin(within)
            return [
                self._unit(found, self._body((nodes.get(id(found), ()), None), within.initial), now)
                for found in view.units
            ]
        except XcqlError as problem:
            raise located(problem, self._query.span) from None
        except RecursionError:
            raise too_nested(self._query.span) from None

    def _unit(self, found: Found, items: Any, now: datetime) -> Unit:
        rows: list[Row] = []
        order = self.plan.order
        for item in computed(items):
            if not order:
                rows.append(_row(found.place + len(rows).to_bytes(4), item, now))
                continue
            assert isinstance(item, XdmArray)
            keys = b"".join(
                self._sort_key(number, item.get(number + 1)) for number in range(len(order))
            )
            rows += [
                _row(keys + found.place + (len(rows) + nth).to_bytes(4), value, now)
                for nth, value in enumerate(item.get(len(order) + 1))
            ]
        due = self._due(found, rows, to_number(now))
        return Unit(found.key, self.plan.main.stream, found.filler, found.time, tuple(rows), due)

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
        if found.is_odd and (time.windows or time.shows or time.open_ends):
            return ALWAYS
        instants, texts = time.traces(now)
        for row in rows:
            if any(text in row.text for text in texts):
                return ALWAYS
            if not instants.isdisjoint((optional_number(row.begins), optional_number(row.ends))):
                return ALWAYS
        return time.due(found.spans, now)


def _row(place: bytes, item: Any, now: datetime) -> Row:
    return Row(place, ResultItem(item).xml, *lifespan_columns(item, now))


def _close(view: PartialView) -> None:
    """Let nobody look at the content of what stands above units."""
    for unit in view.units:
        here = unit.element.parent
        while here is not None and not isinstance(here, (_Above, _Document)):
            here.__class__ = _Above if isinstance(here, ElementNode) else _Document
            here = here.parent
