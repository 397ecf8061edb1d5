"""What streams, steps across holes, projections and time become in standard XQuery.

| XCQL | XQuery |
| --- | --- |
| `stream(x)` | `get_fillers($x, 0)`, or `$x` where that is the temporal view |
| `e/A` across holes | `get_fillers($x, e'/hole/@id)/A` |
| `stream(x)/.../A`, by tag | `get_fillers_by_tsid($x, "id of A")/A` |
| `e?[tb, te]` | `interval_projection(e', tb, te)` |
| `e#[vb, ve]` | `version_projection(e', vb, ve)` |
| `vtFrom(e)`, `vtTo(e)` | the same, of the library |
| `a before b` | `before(lifespan(a), lifespan(b))` |
| `id(v, e)` | `id(v, e, which attributes are identifiers)` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import replace

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT, PLAIN, Nodes, TagType
from xcql.analysis.walk_paths import is_anywhere, predicates
from xcql.analysis.walk_values import is_boolean
from xcql.analysis.walker import Env, NeedsView, Rules, Typed, Walker, then
from xcql.source import Span
from xcql.syntax.flwor import Flwor, Let
from xcql.syntax.functions import FunctionCall, InlineFunction, NamedFunctionRef
from xcql.syntax.literals import StringLiteral, VariableRef
from xcql.syntax.node import Expr, Name, SyntaxNode, Transformer, walk
from xcql.syntax.operators import Binary, SimpleMap
from xcql.syntax.path import AxisStep, NameTest, Path, Wildcard
from xcql.syntax.temporal import (
    AllenComparison,
    DateLiteral,
    DateTimeLiteral,
    DurationLiteral,
    IntervalProjection,
    LastVersion,
    Now,
    Start,
    TimeInterval,
    VersionProjection,
)
from xcql.syntax.types import AnyKindTest
from xcql.translate import emission as to
from xcql.translate.identifiers import identifier_lines


class FragmentRules(Rules):
    """The rules for one translation.

    `views` are the streams that are queried through their temporal view, all others through their
    fragments; `by_tag` says whether a path may go straight to fillers, as QaC+ does;
    `in_no_namespace` is "" where the names of holes need it.
    """

    def __init__(
        self,
        graphs: Mapping[str, TagGraph],
        variables: Mapping[str, str],
        views: frozenset[str],
        by_tag: bool,
        in_no_namespace: str | None,
        fresh: Callable[[str], str],
    ) -> None:
        self.graphs = graphs
        self.variables = variables
        self.views = views
        self.by_tag = by_tag
        self.in_no_namespace = in_no_namespace
        self.folded: list[tuple[str, Span, str]] = []
        # expressions that are evaluated once, outside all loops: expression -> variable, type, span
        self.shared: dict[Expr, tuple[str, TagType, Span]] = {}
        self._fresh = fresh

    # ------------------------------------------------------------------ streams and holes

    def stream(self, walker: Walker, name: str, call: FunctionCall, env: Env) -> Typed:
        if name in self.views:
            return Typed(
                to.variable(self.variables[name], call.span),
                super().stream(walker, name, call, env).type,
            )
        root = self.graphs[name].structure.root.id
        nodes = Nodes(name, frozenset({DOCUMENT}), frozenset(), frozenset({root}))
        tree = walker.new_tree(env)
        return Typed(
            to.root_fillers(self.variables[name], call.span), TagType((nodes,), one=True, tree=tree)
        )

    def cross(self, base: Expr, nodes: Nodes, step: AxisStep, each: bool) -> Expr:
        stream = self.variables[nodes.stream]
        if each:
            fillers = to.call(
                "get_fillers_list", to.variable(stream, step.span), base, span=step.span
            )
            return then(fillers, to.filler_step(self.in_no_namespace, step.span), step)
        ids = to.hole_ids(base, self.in_no_namespace)
        return then(to.get_fillers(stream, ids, base.span.to(step.span)), step)

    def fill(self, base: Expr, nodes: Nodes, tags: frozenset[str]) -> Expr:
        assert nodes.filled is not None
        return to.ToBeFilled(
            nodes.stream, base, nodes.tags, nodes.filled, wanted=tags, span=base.span
        )

    def whole(self, base: Expr, nodes: Nodes, origin: int | None = None) -> Expr:
        assert nodes.filled is not None
        if nodes.tags == {DOCUMENT}:
            view = to.ToBeFilled(nodes.stream, origin=origin, span=base.span)
            always = isinstance(base, VariableRef) or _is_library_call(base, "get_fillers")
            return view if always else SimpleMap(base, view, span=base.span)
        return to.ToBeFilled(
            nodes.stream, base, nodes.tags, nodes.filled, origin=origin, span=base.span
        )

    def needs_view(self, streams: frozenset[str], reason: str, span: Span) -> None:
        if not streams <= self.views:
            raise NeedsView(streams - self.views, reason, span)

    def fold(self, walker: Walker, steps: SequenceOf[Expr], env: Env) -> tuple[Typed, int] | None:
        """`stream(x)/.../A` -> `get_fillers_by_tsid($x, ids of A)/A`, where no step on the way
        has a predicate, and A occurs nowhere else and not inside itself"""
        name = self._stream_name(walker, steps[0], env) if self.by_tag else None
        if name is None or name in self.views:
            return None
        best = None
        for position, tags in self._reached(name, steps, env):
            step = steps[position]
            assert isinstance(step, AxisStep)
            nodes = Nodes(name, tags, frozenset(), tags)
            type_ = TagType((nodes,), tree=walker.new_tree(env))
            walked = predicates(walker, step, type_, env)
            types = walker.types
            if all(is_boolean(p, types.get(id(p), PLAIN)) for p in step.predicates):
                best = position, tags, walked, type_
        if best is None:
            return None
        position, tags, walked, type_ = best
        span = steps[0].span.to(steps[position].span)
        tsids = to.tsids(self.graphs[name], tags)
        self.folded.append((name, span, f"by tsid {', '.join(tsids)}"))
        fillers = to.call(
            "get_fillers_by_tsid",
            to.variable(self.variables[f"{name}-fragments"], span),
            to.strings(tsids, span),
            span=span,
        )
        return Typed(then(fillers, walked), type_), position + 1

    def share(self, walker: Walker, path: Path, env: Env) -> tuple[Typed, int] | None:
        """`stream(x)/.../A` in a loop -> a variable, as far as no step depends on the loop"""
        if env.names is not walker.globals.names:
            return None  # outside, its names could mean something else
        if env.depth == 0 or self._stream_name(walker, path.steps[0], env) in (None, *self.views):
            return None
        fixed = 1
        while fixed < len(path.steps) and not any(
            isinstance(part, VariableRef) for part in walk(path.steps[fixed])
        ):
            fixed += 1
        # not down to text or attributes, whose tags are unknown
        while fixed > 1 and not _leads_to_elements(path.steps[fixed - 1]):
            fixed -= 1
        if fixed == 1:
            return None
        typed = walker.walk(replace(path, steps=path.steps[:fixed]), Env(env.names))
        if len(typed.type.nodes) != 1 or not _finds_fillers(typed.expr):
            return None
        if typed.expr not in self.shared:
            (nodes,) = typed.type.nodes
            tag = self.graphs[nodes.stream].tag(min(nodes.tags)).name.local
            name = self._fresh(f"{self.variables[nodes.stream]}-{tag}")
            self.shared[typed.expr] = (name, typed.type, typed.expr.span)
        name, type_, _ = self.shared[typed.expr]
        return Typed(to.variable(name, typed.expr.span), type_), fixed

    def _stream_name(self, walker: Walker, first: Expr, env: Env) -> str | None:
        """The stream at the beginning of a path, if there is one."""
        if not isinstance(first, FunctionCall) or first.name.local != "stream":
            return None
        (nodes, *_) = walker.walk(first, env).type.nodes or (None,)
        return nodes.stream if nodes is not None else None

    def _reached(
        self, name: str, steps: SequenceOf[Expr], env: Env
    ) -> list[tuple[int, frozenset[str]]]:
        """The steps at which a path from a stream has reached fillers, with their tags."""
        graph = self.graphs[name]
        tags, anywhere, found = frozenset({DOCUMENT}), False, []
        for position, step in enumerate(steps[1:], start=1):
            if is_anywhere(step):
                anywhere = True
                continue
            if not isinstance(step, AxisStep) or step.axis != "child":
                break
            test = env.names.element_test(step.test)
            if test is None or isinstance(step.test, AnyKindTest):
                break
            if anywhere:
                tags |= frozenset().union(*(graph.below(tag) for tag in tags))
            tags = frozenset(
                child.id for tag in tags for child in graph.children(tag) if test(child)
            )
            anywhere = False
            if (
                tags
                and tags <= graph.fragmented - {graph.structure.root.id}
                and all(graph.has_one_place(tag) for tag in tags)
                and not graph.nest(tags)
            ):
                found.append((position, tags))
            if step.predicates:
                break
        return found

    def by_id(self, node: FunctionCall, arguments: tuple[Expr, ...]) -> Expr:
        declared = [
            line for graph in self.graphs.values() for line in identifier_lines(graph, node.span)
        ]
        name = "idref" if node.name.local == "idref" else "id"
        return to.call(name, *arguments, to.strings(declared, node.span), span=node.span)

    # ------------------------------------------------------------------ projections and time

    def interval_projection(
        self, node: IntervalProjection, base: Expr, begin: Expr, end: Expr | None
    ) -> Expr:
        first = _bound(node.interval.begin, begin)
        last = first if end is None else _bound(node.interval.end, end)
        return to.call("interval_projection", base, first, last, span=node.span)

    def version_projection(
        self, node: VersionProjection, base: Expr, first: Expr, last: Expr | None
    ) -> Expr:
        last = first if last is None else last
        if not any(
            isinstance(part, LastVersion) for bound in (first, last) for part in walk(bound)
        ):
            return to.call("version_projection", base, first, last, span=node.span)
        # e#[last] -> let $versions := e' return version_projection($versions, count($versions), …)
        name = Name(self.variables["#"], span=node.span)
        count = _CountVersions(name)
        projection = to.call(
            "version_projection",
            VariableRef(name, span=node.span),
            count.transform(first),
            count.transform(last),
            span=node.span,
        )
        return Flwor((Let(name, base, span=base.span),), projection, span=node.span)

    def temporal(self, node: Expr) -> Expr:
        span = node.span
        match node:
            case DateLiteral():
                return _constructor("date", node.text, span)
            case DateTimeLiteral():
                return _constructor("dateTime", node.text, span)
            case DurationLiteral():
                return _constructor(_duration_kind(node.text), node.text, span)
            case Now() | FunctionCall(name=Name(local="now")):
                return to.library_variable("now", span)
            case Start() | FunctionCall(name=Name(local="start")):
                return to.library_variable("start", span)
            case FunctionCall(name=Name(local="vtFrom" | "vtTo" as local)):
                return to.call(local, *node.arguments, span=span)
            case FunctionCall(name=Name(local="implicit-timezone")):
                return _constructor("dayTimeDuration", "PT0S", span)
            case FunctionCall(name=Name(local=local)):
                # the instant of the evaluation, as a dateTime, a date or a time
                instant = to.call("current-dateTime", span=span)
                if local == "current-dateTime":
                    return instant
                kind = local.removeprefix("current-")
                return to.standard_call(kind, instant, span=span, prefix="xs")
            case NamedFunctionRef(name=Name(local="now" | "start" as local)):
                body = to.library_variable(local, span)
                return InlineFunction((), (), None, body, span=span)
            case NamedFunctionRef():
                return replace(node, name=replace(node.name, prefix=to.PREFIX, uri=None))
            case Binary():
                name = "plus" if node.op == "+" else "minus"
                return to.call(name, node.left, node.right, span=span)
            case AllenComparison():
                left, right = _interval(node.left), _interval(node.right)
                return to.call(node.relation, left, right, span=span)
        return node


def _bound(written: Expr | None, walked: Expr) -> Expr:
    """A bound of an interval: a literal as its text, as the paper writes it."""
    if isinstance(written, DateLiteral | DateTimeLiteral):
        return StringLiteral(written.text, span=written.span)
    return walked


def _interval(operand: SyntaxNode) -> Expr:
    """An operand of one of Allen's relations: begin and end."""
    if isinstance(operand, TimeInterval):
        end = operand.begin if operand.end is None else operand.end
        return to.call("interval", operand.begin, end, span=operand.span)
    assert isinstance(operand, Expr)
    return to.call("lifespan", operand, span=operand.span)


def _constructor(kind: str, text: str, span: Span) -> Expr:
    return to.standard_call(kind, StringLiteral(text, span=span), span=span, prefix="xs")


def _duration_kind(text: str) -> str:
    date_part = text.partition("T")[0]
    if "Y" not in date_part and "M" not in date_part:
        return "dayTimeDuration"
    return "duration" if "T" in text or "D" in text else "yearMonthDuration"


def _leads_to_elements(step: Expr) -> bool:
    return (
        isinstance(step, AxisStep)
        and step.axis != "attribute"
        and isinstance(step.test, NameTest | Wildcard)
    )


def _finds_fillers(expr: Expr) -> bool:
    """Whether an expression goes beyond the root's filler."""
    parts = list(walk(expr))
    calls = [p for p in parts if isinstance(p, FunctionCall) and p.name.prefix == to.PREFIX]
    by_tag = any(call.name.local == "get_fillers_by_tsid" for call in calls)
    return len(calls) > 1 or by_tag or any(isinstance(part, to.ToBeFilled) for part in parts)


def _is_library_call(expr: Expr, name: str) -> bool:
    return (
        isinstance(expr, FunctionCall) and expr.name.prefix == to.PREFIX and expr.name.local == name
    )


class _CountVersions(Transformer):
    """Writes `count($versions)` for the `last` of a version interval."""

    def __init__(self, versions: Name) -> None:
        self._versions = versions

    def transform_LastVersion(self, target: LastVersion) -> SyntaxNode:
        value = VariableRef(self._versions, span=target.span)
        return to.standard_call("count", value, span=target.span)
