"""How the answer of a query depends on `now`: through moving windows, or as a plain value.

If `now` occurs only in the bounds of projections, as `now` or `now - PT1H`, the answer changes
when an edge of a lifespan meets an edge of a window, and these moments can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.analysis.typing import TagTypes
from xcql.check import Checked
from xcql.continuous.display import ALWAYS
from xcql.continuous.state_file import to_instant, to_number
from xcql.diagnostics import XcqlError
from xcql.evaluate.casting import from_text
from xcql.model.time import format_time, parse_time
from xcql.source import Span
from xcql.syntax.functions import DynamicCall, FunctionCall, NamedFunctionRef
from xcql.syntax.literals import StringLiteral
from xcql.syntax.node import Expr, SyntaxNode, walk
from xcql.syntax.operators import Arrow, Binary
from xcql.syntax.path import AxisStep, NameTest
from xcql.syntax.prolog import FunctionDecl, MainModule
from xcql.syntax.temporal import (
    AllenComparison,
    DateLiteral,
    DateTimeLiteral,
    DurationLiteral,
    IntervalProjection,
    Now,
    Start,
    TimeInterval,
    VersionProjection,
)

_MICROSECOND = timedelta(microseconds=1)
_CLOCKS = frozenset(
    ["now", "current-dateTime", "current-date", "current-time", "currentDateTime", "currentDate"]
)
# functions that see the attributes of a tree without an attribute step
_LOOK_AT_ALL = frozenset(["deep-equal", "serialize", "function-lookup", "index-of"])


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a window: an instant, or an offset from `now` in microseconds."""

    microseconds: int
    moves: bool

    def at(self, now: int) -> int:
        return now + self.microseconds if self.moves else self.microseconds


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The interval of a projection."""

    begin: Bound
    end: Bound

    @property
    def moves(self) -> bool:
        return self.begin.moves or self.end.moves


@dataclass(frozen=True, slots=True)
class TimeUse:
    """How a query uses time.

    `always` is the place where the answer depends on every instant; `open_ends` is true if it does
    so for lifespans that end at `now`. `shows` is true if clipped lifespans may appear in the
    answer.
    """

    windows: tuple[TimeWindow, ...] = ()
    always: Span | None = None
    open_ends: bool = False
    shows: bool = False

    def due(self, spans: Iterable[tuple[int, int | None]], now: int) -> int | None:
        """The next moment after `now` at which these lifespans may look different in a window.

        Lifespans are given by begin and end, with None for an end at `now`.
        """
        # intervals are closed: a change may occur at the instant itself or right after it
        later = [at if at > now else at + 1 for at in self._moments(spans) if at >= now]
        first = min(later, default=None)
        return None if first is None or first > _LAST else first

    def _moments(self, spans: Iterable[tuple[int, int | None]]) -> Iterator[int]:
        """When edges of lifespans, or fixed bounds, meet moving bounds."""
        for window in self.windows:
            bounds = (window.begin, window.end)
            fixed = [bound.microseconds for bound in bounds if not bound.moves]
            moving = [bound.microseconds for bound in bounds if bound.moves]
            for by in moving:
                yield from (at - by for at in fixed)
            for begin, end in spans:
                if end is None:
                    yield from fixed
                for by in moving:
                    yield begin - by
                    if end is not None and end != begin:
                        yield end - by

    @property
    def is_none(self) -> bool:
        """Whether the answer depends on `now` only through the set of existing fillers."""
        return not (self.windows or self.always or self.open_ends or self.shows)

    def due_of_all(self, first_after: Callable[[int], int | None], now: int) -> int | None:
        """Like `due`, for all existing lifespans, which begin and end at validTimes.

        `first_after` returns the first validTime after an instant.
        """
        if self.always is not None:
            return ALWAYS
        edges: set[int] = set()
        for window in self.windows:
            for bound in (window.begin, window.end):
                if bound.moves:
                    for instant in (now + bound.microseconds - 1, now + bound.microseconds):
                        met = first_after(instant)
                        if met is not None:
                            edges.add(met)
        return self.due([(edge, None) for edge in edges], now)

    def traces(self, now: int) -> tuple[set[int], tuple[str, ...]]:
        """The instants that a projection may have put into an answer, and their text forms."""
        if not self.shows:
            return set(), ()
        instants = {now}
        for window in self.windows:
            instants |= {bound.at(now) for bound in (window.begin, window.end) if bound.moves}
        known = {at for at in instants if 0 <= at <= _LAST}
        return known, tuple(format_time(to_instant(at)) for at in known)


_LAST = to_number(datetime.max)


def time_use(query: Checked, calls_python: bool = False) -> TimeUse:
    """How a query depends on `now`.

    >>> from xcql.check import check
    >>> use = time_use(check('()?[now-PT1H, now]'))
    >>> use.windows[0].begin.microseconds // 1_000_000, use.always
    (-3600, None)
    """
    windows: list[TimeWindow] = []
    clipped = False
    always: list[Span] = []
    ends = False
    reads_attributes = calls_python
    reads_begin: list[Span] = []
    module, types, graphs = query.module, query.types, query.graphs
    plain = _PlainUses(module, types, graphs)
    for node in walk(module):
        match node:
            case IntervalProjection(interval=interval):
                clipped = True
                window = window_of(interval)
                if window is not None:
                    windows.append(window)
                elif id(node) not in plain.of_events:
                    always.append(interval.span)
                if _is_made(node.base, types):
                    always.append(interval.span)
            case VersionProjection():
                clipped = True
                if _is_made(node.base, types):
                    always.append(node.span)
            case AllenComparison(left=left, right=right):
                for operand in (left, right):
                    if isinstance(operand, Expr):
                        found = _ends_read(operand, types, graphs, plain)
                        ends = ends or found != "none"
                        if found == "all":
                            always.append(node.span)
                        reads_begin.append(node.span)
            case FunctionCall(name=name, arguments=arguments) if name.local in ("vtTo", "vtFrom"):
                reads_begin.append(node.span)
                if name.local == "vtTo" and arguments:
                    found = _ends_read(arguments[0], types, graphs, plain)
                    ends = ends or found != "none"
                    if found == "all":
                        always.append(node.span)
            case NamedFunctionRef(name=name) | Arrow(function=name) if getattr(
                name, "local", ""
            ) in ("vtTo", "vtFrom", *_CLOCKS):
                always.append(node.span)
            case AxisStep(axis="attribute", test=test):
                named = test.name.local if isinstance(test, NameTest) else "vtTo"
                reads_attributes = reads_attributes or named in ("vtTo", "vtFrom")
            case FunctionCall(name=name) if name.local in _LOOK_AT_ALL:
                reads_attributes = True
            case DynamicCall():
                reads_attributes = True
            case FunctionDecl(body=None):
                reads_attributes = True
    always += plain.spans
    moving = any(window.moves for window in windows)
    if moving and (reads_attributes or reads_begin):
        always.append(reads_begin[0] if reads_begin else module.body.span)
    if clipped and reads_attributes:
        ends = True
    return TimeUse(tuple(dict.fromkeys(windows)), always[0] if always else None, ends, clipped)


class _PlainUses:
    """Where a query reads the clock outside windows' bounds, and the nodes in its functions."""

    def __init__(self, module: MainModule, types: TagTypes, graphs: Mapping[str, TagGraph]) -> None:
        in_bounds: set[int] = set()
        self.in_functions: set[int] = set()
        # projections of events to intervals from the data, in which `now` occurs at most as the end
        self.of_events: set[int] = set()
        for node in walk(module):
            if isinstance(node, FunctionDecl):
                self.in_functions.update(id(part) for part in walk(node))
        for node in walk(module):
            if not isinstance(node, IntervalProjection):
                continue
            interval = node.interval
            if window_of(interval) is not None:
                in_bounds.update(id(part) for part in walk(interval))
            # no event in the view is after `now`
            elif (
                is_time(interval.begin)
                and not _reads_clock(interval.begin)
                and (isinstance(interval.end, Now) or not _reads_clock(interval))
                and (interval.end is None or is_time(interval.end))
                and _only_events(node.base, types, graphs, self)
            ):
                self.of_events.add(id(node))
                in_bounds.add(id(interval.end))
        self.spans = [node.span for node in _clock_readings(module) if id(node) not in in_bounds]


def is_time(expr: Expr) -> bool:
    """Whether a bound is certainly a time, and not a text, which may be `now`."""
    match expr:
        case DateLiteral() | DateTimeLiteral() | Start() | Now():
            return True
        case FunctionCall(name=name):
            return name.local in ("vtFrom", "vtTo", "dateTime", "date", "start")
        case Binary(op="+" | "-", left=left):
            return is_time(left)
    return False


def _reads_clock(node: SyntaxNode) -> bool:
    return next(_clock_readings(node), None) is not None


def _clock_readings(top: SyntaxNode) -> Iterator[SyntaxNode]:
    for node in walk(top):
        if isinstance(node, Now) or (isinstance(node, FunctionCall) and node.name.local in _CLOCKS):
            yield node


def window_of(interval: TimeInterval) -> TimeWindow | None:
    begin = _bound(interval.begin)
    end = begin if interval.end is None else _bound(interval.end)
    return None if begin is None or end is None else TimeWindow(begin, end)


def _bound(expr: Expr) -> Bound | None:
    match expr:
        case Now():
            return Bound(0, True)
        case FunctionCall(name=name, arguments=()) if name.local in ("now", "current-dateTime"):
            return Bound(0, True)
        case Start():
            return Bound(0, False)
        case DateLiteral(text=text) | DateTimeLiteral(text=text):
            try:
                return Bound(to_number(parse_time(text)), False)
            except XcqlError:
                return None
        case Binary(op="+" | "-" as op, left=left, right=right):
            base, length = _bound(left), _length(right)
            if base is None or length is None:
                return None
            return Bound(base.microseconds + (length if op == "+" else -length), base.moves)
    return None


def _length(expr: Expr) -> int | None:
    """A duration of days or smaller units, in microseconds; months have no fixed length."""
    match expr:
        case DurationLiteral(text=text):
            pass
        case FunctionCall(name=name, arguments=(StringLiteral(value=text),)) if (
            name.local == "dayTimeDuration"
        ):
            pass
        case _:
            return None
    try:
        seconds = from_text(text, "dayTimeDuration").seconds
    except XcqlError:
        return None
    return int(seconds * 1_000_000)


def _only_events(
    base: Expr, types: TagTypes, graphs: Mapping[str, TagGraph], plain: _PlainUses
) -> bool:
    """Whether a value is only events that contain nothing with a lifespan."""
    type_ = types[base]
    if id(base) in plain.in_functions or type_.plain or type_.unknown or not type_.nodes:
        return False
    for nodes in type_.nodes:
        graph = graphs[nodes.stream]
        for tag in nodes.tags:
            if tag == DOCUMENT or graph.tag(tag).kind != "event" or graph.fragmented_below(tag):
                return False
    return True


def _is_made(base: Expr, types: TagTypes) -> bool:
    """Whether a value may be constructed by the query, with arbitrary lifespans."""
    return types[base].plain or types[base].unknown


def _ends_read(
    expr: Expr, types: TagTypes, graphs: Mapping[str, TagGraph], plain: _PlainUses
) -> str:
    """Which ends of lifespans depend on `now` when a value's end is read: none, open, all."""
    type_ = types[expr]
    if id(expr) in plain.in_functions or type_.plain or type_.unknown or not type_.nodes:
        return "all"
    kinds = {
        "snapshot" if tag == DOCUMENT else graphs[nodes.stream].tag(tag).kind
        for nodes in type_.nodes
        for tag in nodes.tags
    }
    if "snapshot" in kinds or type_.leaves:
        return "all"
    return "open" if "temporal" in kinds else "none"
