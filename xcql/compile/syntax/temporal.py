"""Time: projections, lifespans, Allen's relations, time literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xcql.algebra.operators import Number, Plan, Select, Unit
from xcql.algebra.scalars import (
    NULL,
    TRUE,
    Call,
    Column,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    negation,
)
from xcql.compile.library.access import (
    START,
    Lifespan,
    check_lifespans,
    clipped,
    has_holes,
    is_fragmented,
    node_key,
    own_lifespan,
    timed_element,
)
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import INTEGERS, NUMBERS, STRINGS, cast, on_time_line
from xcql.compile.library.document_order import is_sorted, may_nest
from xcql.compile.library.lifespans import lifespan, lifespan_bound
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.library.trees import apart_in, new_tree
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    Atomic,
    AttributeItem,
    Dynamic,
    Element,
    Function,
    Inner,
    Item,
    ProjectionWindow,
    Root,
    StreamDocument,
    StreamElement,
    TextItem,
    Tree,
)
from xcql.compile.terms.mapping import mapped, mapped_items
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Single,
    Value,
    at_most_one,
    each,
    guarded,
    leaves,
    merged,
)
from xcql.diagnostics import XcqlError
from xcql.history.predicates import ALLEN_CONDITIONS, ALLEN_INVERSES
from xcql.model.time import parse_time
from xcql.shred.node_paths import KINDS
from xcql.source import Span
from xcql.syntax import temporal
from xcql.syntax.node import Expr, SyntaxNode, walk
from xcql.syntax.temporal import LastVersion


def _literal(expr: temporal.DateTimeLiteral | temporal.DateLiteral, scope: Scope) -> Value:
    text = expr.text
    type_ = "xs:dateTime" if isinstance(expr, temporal.DateTimeLiteral) else "xs:date"
    zone = text[19:].lstrip(".0123456789") if type_ == "xs:dateTime" else text[10:]
    zone = "Z" if zone in ("+00:00", "-00:00") else zone
    moment = parse_time(text)
    if type_ == "xs:date":
        if zone not in ("", "Z"):
            # `parse_time` returns the instant, but a date is stored as it reads
            moment = parse_time(text[:10])
        return Single(Atomic(call("to_date", Constant(moment)), type_, Constant(zone)))
    return Single(Atomic(Constant(moment), type_, Constant(zone)))


def _duration(expr: temporal.DurationLiteral, scope: Scope) -> Value:
    from elementpath import datatypes as ep

    text = expr.text
    try:
        if "T" in text or "D" in text:
            duration = ep.DayTimeDuration.fromstring(text)
            return Single(Atomic(Constant(int(duration.seconds * 1_000_000)), "xs:dayTimeDuration"))
        months = ep.YearMonthDuration.fromstring(text)
        return Single(Atomic(Constant(int(months.months)), "xs:yearMonthDuration"))
    except (ValueError, TypeError) as problem:
        raise NotNative("such a duration", expr.span) from problem


def _now(expr: temporal.Now, scope: Scope) -> Value:
    return Single(Atomic(scope.now, "xs:dateTime", Constant("")))


def _start(expr: temporal.Start, scope: Scope) -> Value:
    return Single(Atomic(START, "xs:dateTime", Constant("")))


def instant(expr: Expr, scope: Scope) -> Scalar:
    """A bound of an interval as an instant; NULL if it is an empty sequence."""
    value = value_of(expr, scope)
    item = one_atomic(value, scope, expr.span)
    if item is None:
        return NULL
    if item.type == "xs:dateTime":
        return item.scalar
    if item.type == "xs:date":
        match item.scalar:
            case Call(function="to_date", arguments=(Constant() as midnight,)):
                return midnight
        return on_time_line(item)
    if item.type in STRINGS:
        if isinstance(item.scalar, Constant):
            text = str(item.scalar.value).strip()
            if text in ("now", "start"):
                return scope.now if text == "now" else START
            try:
                return Constant(parse_time(text))
            except (ValueError, XcqlError):
                pass
        bad = scope.compilation.error("XCQL0002", "'{}' is not a time", expr.span, item.scalar)
        return call("parse_validity", item.scalar, bad)
    raise NotNative(f"{item.type} as a time", expr.span)


def interval(bounds: temporal.TimeInterval, scope: Scope) -> tuple[Scalar, Scalar]:
    begin = instant(bounds.begin, scope)
    return begin, begin if bounds.end is None else instant(bounds.end, scope)


def _interval_projection(expr: temporal.IntervalProjection, scope: Scope) -> Value:
    base = value_of(expr.base, scope)
    begin, end = interval(expr.interval, scope)
    return projected(base, begin, end, scope, expr.span)


def projected(base: Value, begin: Scalar, end: Scalar, scope: Scope, span: Span) -> Value:
    """`base?[begin, end]`"""
    window = ProjectionWindow(begin, end)
    tree = new_tree(scope, tops=True)

    def change(item: Item, own: Tree) -> Value:
        return _projected(item, window, own, scope, span)

    result = _in_trees(base, tree, change, scope)
    # this also requires that both are present
    ordered = (
        TRUE if begin == end and begin == scope.now else call("is_true", call("<=", begin, end))
    )
    if all(isinstance(one, Constant) for one in (begin, end)):
        holds = begin.value <= end.value if begin != NULL and end != NULL else False  # type: ignore[attr-defined]
        ordered = Constant(holds)
    return guarded(ordered, result)


def _in_trees(
    base: Value, tree: Tree, change: Callable[[Item, Tree], Value], scope: Scope
) -> Value:
    """The value with what is made from each item, in a tree of its own."""
    if at_most_one(base):
        return mapped(base, lambda item: change(item, tree), is_path=True)
    if is_sorted(base):
        nests = may_nest(base, scope)

        def own(item: Item) -> Tree:
            return apart_in(Unit(), item, tree, is_path=True, nests=nests, scope=scope)

        return mapped(base, lambda item: change(item, own(item)), is_path=True)
    parts = []
    for leaf in leaves(base):
        own_tree = apart_in(leaf.plan, leaf.item, tree, is_path=False, nests=False, scope=scope)
        parts.append(each(leaf.plan, change(leaf.item, own_tree)))
    return merged(parts)


def _projected(item: Item, window: ProjectionWindow, tree: Tree, scope: Scope, span: Span) -> Value:
    match item:
        case StreamDocument(window=before):
            check_lifespans(item.stream, scope, span)
            whole = replace(tree, tops=False, is_document=True)
            return Single(replace(item, window=_both(before, window), tree=whole))
        case StreamElement():
            check_lifespans(item.stream, scope, span)
            new = replace(
                item,
                window=_both(item.window, window),
                above=None,
                is_top=True,
                lifespan=None,
                tree=tree,
            )
            if not is_fragmented(item, scope):
                return Single(new)
            own = own_lifespan(item, scope)
            if item.lifespan is not None:
                new = replace(new, lifespan=clipped(own, window))
            condition = call("overlaps", *own, window.begin, window.end)
            return guarded(condition, Single(new))
        case Element(attributes=attributes, content=content):
            if any(one.name in ("vtFrom", "vtTo") for one in attributes):
                raise NotNative("a projection of an element with a lifespan of its own", span)
            parts = tuple(
                mapped(one, lambda inner: _projected(inner, window, tree, scope, span))
                for one in content
            )
            return Single(replace(item, content=parts, tree=tree))
        case AttributeItem() | TextItem():
            begin, end = lifespan(item, scope)
            meets = call("overlaps", begin, end, window.begin, window.end)
            return guarded(meets, Single(_alone(item)))
        case AnyNode():
            return _any_projected(item, window, tree, scope, span)
        case Inner():
            raise NotNative("a projection of elements inside mixed content", span)
        case Dynamic() | Function():
            raise NotNative("a projection of an expression without a native form", span)
    return Single(item)


def _any_projected(
    node: AnyNode, window: ProjectionWindow, tree: Tree, scope: Scope, span: Span
) -> Value:
    """A node of any kind and name, if it is valid in an interval."""
    own = own_lifespan(node.filler, scope)
    # an element without a lifespan of its own stays, even if its content is dropped
    timed = timed_element(node.paths, node.start, node.filler, scope)
    holds: Scalar = TRUE
    if timed is not None:
        meets = call("overlaps", *own, window.begin, window.end)
        holds = disjunction(negation(timed), meets)
    others = frozenset(path for path in node.paths if path.kind != "element")
    if others:
        begin, end = lifespan(replace(node, paths=others), scope)
        meets = call("overlaps", begin, end, window.begin, window.end)
        is_element = call("=", node.kind, Constant(KINDS["element"]))
        holds = meets if others == node.paths else case((is_element, holds), otherwise=meets)
    is_whole = node.root is None or node.root.lifespan is None
    kept = None if is_whole else clipped(own, window)
    both = _both(node.filler.window, window)
    return guarded(holds, Single(_any_root(node, both, kept, tree, scope, span)))


def _any_root(
    node: AnyNode,
    window: ProjectionWindow | None,
    own: Lifespan | None,
    tree: Tree,
    scope: Scope,
    span: Span,
) -> AnyNode:
    """A node of any kind and name as the root of a projected tree."""
    check_lifespans(node.stream, scope, span)
    if node.kinds & {"comment", "processing-instruction"}:
        raise NotNative("comments or processing instructions in a projection", span)
    key = node_key(node, scope)
    assert key is not None
    filler = replace(node.filler, window=window, tree=tree, lifespan=own)
    return replace(node, filler=filler, root=Root(key, own), is_top=True)


def _alone(leaf: AttributeItem | TextItem) -> Item:
    """An attribute or a text as a projection returns it: without a parent element."""
    alone: Item = replace(leaf, owner=None, within=None)
    return replace(alone, place=None) if isinstance(alone, TextItem) else alone


def _both(before: ProjectionWindow | None, window: ProjectionWindow) -> ProjectionWindow:
    if before is None:
        return window
    begin = call("greatest", before.begin, window.begin)
    end = call("least", before.end, window.end)
    # if the bounds have crossed, move the end so far back that nothing overlaps
    return ProjectionWindow(
        begin, case((call("<=", begin, end), end), otherwise=call("before_time"))
    )


def _version_projection(expr: temporal.VersionProjection, scope: Scope) -> Value:
    base = value_of(expr.base, scope)
    if base == EMPTY:
        return EMPTY
    below, value = as_one_kind(base, scope, expr.span)
    bounds = [expr.first, expr.first if expr.last is None else expr.last]
    asks_total = any(isinstance(node, LastVersion) for bound in bounds for node in walk(bound))
    compilation = scope.compilation
    name = compilation.fresh("version")
    total = compilation.fresh("versions") if asks_total else None
    if (expr.last is None or expr.first == expr.last) and isinstance(expr.first, LastVersion):
        # the last version is the first from the end
        numbered = Number(below, name, (), backwards=True)
        condition: Scalar = call("=", Column(name), Constant(1))
    else:
        numbered = Number(below, name, (), total=total)
        inside = scope
        if total is not None:
            inside = scope.bind(_LAST, Single(Atomic(Column(total), "xs:integer")))
        first, last = (_version(bound, inside) for bound in bounds)
        condition = conjunction(call(">=", Column(name), first), call("<=", Column(name), last))
        if first == last:
            condition = call("=", Column(name), first)
        condition = call("is_true", condition)
    plan: Plan = Select(numbered, condition)
    inside = scope.within(plan)
    tree, is_path = new_tree(scope, tops=True), is_sorted(base)
    nests = is_path and not at_most_one(base) and may_nest(base, scope)

    def version(item: Item) -> Item:
        own = apart_in(below, item, tree, is_path=is_path, nests=nests, scope=scope)
        return _version_of(item, own, inside, expr.span)

    return each(plan, mapped_items(value, version), is_path=is_path)


def _version_of(item: Item, tree: Tree, scope: Scope, span: Span) -> Item:
    """An item of a version projection: its content is clipped to its own lifespan."""
    if isinstance(item, AnyNode):
        own = lifespan(item, scope)
        return _any_root(item, _window_of(item.filler.window, own, scope), own, tree, scope, span)
    if isinstance(item, Element | StreamDocument | Inner | Dynamic | Function):
        raise NotNative("versions of such items", span)
    if isinstance(item, AttributeItem | TextItem):
        return _alone(item)
    if not isinstance(item, StreamElement):
        return item
    check_lifespans(item.stream, scope, span)
    own = lifespan(item, scope)
    new = replace(item, above=None, is_top=True, tree=tree)
    if is_fragmented(item, scope):
        new = replace(new, lifespan=own)
    if has_holes(item, scope):
        new = replace(new, window=_window_of(item.window, own, scope))
    return new


def _window_of(before: ProjectionWindow | None, own: Lifespan, scope: Scope) -> ProjectionWindow:
    """The window of the content of a version that has a lifespan."""
    begin, end = own
    window = ProjectionWindow(call("coalesce", begin, START), call("coalesce", end, scope.now))
    return _both(before, window)


# `last` is bound like a variable, under a name that no query can use
_LAST = "#last"


def _last(expr: LastVersion, scope: Scope) -> Value:
    return scope.variable(_LAST, expr.span)


def _version(expr: Expr, scope: Scope) -> Scalar:
    item = one_atomic(value_of(expr, scope), scope, expr.span)
    if item is None:
        return NULL
    if item.type == "xs:untypedAtomic":
        item = cast(item, "xs:integer", scope, expr.span)
    if item.type in INTEGERS:
        return item.scalar
    if item.type in NUMBERS:
        raise NotNative(f"{item.type} as the number of a version", expr.span)
    return scope.compilation.error(
        "XPTY0004", f"a version number must be an integer, not {item.type}", expr.span
    )


def _allen(expr: temporal.AllenComparison, scope: Scope) -> Value:
    a = _operand(expr.left, scope, expr.span)
    b = _operand(expr.right, scope, expr.span)
    if a is None or b is None:
        return EMPTY
    name = expr.relation
    if name in ALLEN_INVERSES:
        a, b, name = b, a, ALLEN_INVERSES[name]
    bounds = {"a1": a[0], "a2": a[1], "b1": b[0], "b2": b[1]}
    condition = conjunction(
        *(call(test, bounds[left], bounds[right]) for left, test, right in ALLEN_CONDITIONS[name])
    )
    scalars_ = (*a, *b)
    item = Single(Atomic(condition, "xs:boolean"))
    if all(_is_certain(one) for one in scalars_):
        return item
    return guarded(
        conjunction(*(call("is_not_null", one) for one in scalars_ if not _is_certain(one))), item
    )


def _is_certain(scalar: Scalar) -> bool:
    """Whether a bound is certainly present."""
    return isinstance(scalar, Constant) or (
        isinstance(scalar, Call)
        and scalar.function == "coalesce"
        and not any(isinstance(one, Constant) and one.value is None for one in scalar.arguments)
    )


def _operand(operand: SyntaxNode, scope: Scope, span: Span) -> Lifespan | None:
    if isinstance(operand, temporal.TimeInterval):
        begin, end = interval(operand, scope)
        return begin, end
    value = value_of(operand, scope)  # type: ignore[arg-type]
    if value == EMPTY:
        return None
    return lifespan_bound(value, 0, scope, span), lifespan_bound(value, 1, scope, span)


EXPRESSIONS: Mapping[type, CompileExpression] = {
    temporal.DateTimeLiteral: _literal,
    temporal.DateLiteral: _literal,
    temporal.DurationLiteral: _duration,
    temporal.Now: _now,
    temporal.Start: _start,
    temporal.IntervalProjection: _interval_projection,
    temporal.VersionProjection: _version_projection,
    LastVersion: _last,
    temporal.AllenComparison: _allen,
}
