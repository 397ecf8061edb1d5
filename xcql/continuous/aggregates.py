"""Aggregates over a whole query, such as `count(for …)`, combined from the values of its units.

`count`, `exists` and `empty` need one number. `sum` and `avg` need a second one, as long as all
values are integers, because then the order of additions makes no difference. Otherwise the values
are added again in order; `min` and `max` also use all values.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from elementpath.datatypes import UntypedAtomic

from xcql.continuous.display import KEEP_UNIT, AnswerUnit, Row
from xcql.continuous.parts import hidden, hidden_ref
from xcql.continuous.whole import WHOLE
from xcql.diagnostics import XcqlError
from xcql.evaluate.arithmetic import calculate
from xcql.evaluate.casting import from_text
from xcql.evaluate.context import QueryEvaluation
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.result import ResultItem
from xcql.evaluate.scope import compile_expression, plain_name
from xcql.evaluate.sequences import computed
from xcql.evaluate.times import lifespan_columns
from xcql.syntax.functions import FunctionCall
from xcql.xdm.atomic import string_of, type_of

# aggregates that need only the number of values
COUNTING = ("count", "exists", "empty")
_VALUES = "values"
# integers up to this are exact as doubles
_EXACT = 1 << 53


def as_part(atom: Any) -> str:
    """An atomic value in the form that is stored.

    >>> as_value(as_part(1.5))
    1.5
    """
    return json.dumps([str(type_of(atom)), string_of(atom)])


def as_value(text: str) -> Any:
    kind, value = json.loads(text)
    return UntypedAtomic(value) if kind == "xs:untypedAtomic" else from_text(value, kind[3:])


class AggregateState:
    """The values that units contribute to an aggregate, stored in a state, and their result."""

    def __init__(self, state: sqlite3.Connection, query: CompiledQuery, call: FunctionCall) -> None:
        self._state = state
        self._query = query
        self._name = call.name.local
        values = plain_name(hidden(_VALUES, call.span), query.scope.static)
        argument = hidden_ref(_VALUES, call.span)
        self._code = compile_expression(
            replace(call, arguments=(argument,)), query.scope.bind(values)
        )
        self._totals: dict[str, int] = {"count": 0, "sum": 0, "size": 0, "odd": 0}
        kept = state.execute("SELECT value FROM meta WHERE name = 'totals'").fetchone()
        if kept is not None:
            self._totals = json.loads(kept[0])

    def change(self, gone: Iterable[str], units: Iterable[AnswerUnit], now: datetime) -> AnswerUnit:
        """Replace the contributions of units; return the aggregate as it is now."""
        write = self._state.executemany
        kept: list[tuple[str, str, str, int, int | None]] = []
        dropped = [(key,) for key in gone]
        known = list(units)
        # first drop all old values: a new value may have the place of another unit's old one
        for key in (*(key for (key,) in dropped), *(unit.key for unit in known)):
            self._drop(key)
        for unit in known:
            self._count((row.text for row in unit.rows), 1)
            write(
                "INSERT INTO parts VALUES (?, ?, ?)",
                [(row.place, unit.key, row.text) for row in unit.rows],
            )
            if unit.rows or unit.due is not None:
                kept.append((unit.key, unit.stream, unit.filler, unit.time, unit.due))
            else:
                dropped.append((unit.key,))
        write("DELETE FROM units WHERE key = ?", dropped)
        write(KEEP_UNIT, kept)
        totals = json.dumps(self._totals)
        self._state.execute("INSERT OR REPLACE INTO meta VALUES ('totals', ?)", (totals,))
        rows = tuple(
            Row(number.to_bytes(4), ResultItem(item).xml, *lifespan_columns(item, now))
            for number, item in enumerate(self._value(now))
        )
        return AnswerUnit(WHOLE, "", "", 0, rows, None)

    def _drop(self, unit: str) -> None:
        rows = self._state.execute(
            "DELETE FROM parts WHERE unit = ? RETURNING value", (unit,)
        ).fetchall()
        self._count((value for (value,) in rows), -1)

    def _count(self, values: Iterable[str], sign: int) -> None:
        totals = self._totals
        for value in values:
            totals["count"] += sign
            if self._name in COUNTING:
                continue
            number = _whole_number(value)
            if number is None:
                totals["odd"] += sign
            else:
                totals["sum"] += sign * number
                totals["size"] += sign * abs(number)

    def _value(self, now: datetime) -> Iterable[Any]:
        totals = self._totals
        match self._name:
            case "count":
                return (totals["count"],)
            case "exists":
                return (totals["count"] > 0,)
            case "empty":
                return (totals["count"] == 0,)
        is_exact = totals["count"] and not totals["odd"] and totals["size"] < _EXACT
        if is_exact and self._name == "sum":
            return (float(totals["sum"]),)
        if is_exact and self._name == "avg":
            return (calculate("div", float(totals["sum"]), totals["count"]),)
        rows = self._state.execute("SELECT value FROM parts ORDER BY place")
        values = [as_value(value) for (value,) in rows]
        evaluation = QueryEvaluation(now.replace(tzinfo=UTC))
        self._query.begin(evaluation)
        return list(computed(self._code((values, None), evaluation.initial)))


_DOUBLES = ("xs:untypedAtomic", "xs:double")


def _whole_number(part: str) -> int | None:
    kind, value = json.loads(part)
    return whole_number(value) if kind in _DOUBLES else None


def whole_number(text: str) -> int | None:
    """The integer value of a text when it is added as a double; None if it is not an integer.

    >>> whole_number(" 1e3 "), whole_number("1_000")
    (1000, None)
    """
    try:
        number = from_text(text, "double")
    except XcqlError:
        return None
    if not math.isfinite(number) or not number.is_integer():
        return None
    # negative zero is not the zero that a sum begins with
    if number == 0 and math.copysign(1, number) < 0:
        return None
    return int(number)
