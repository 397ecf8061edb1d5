"""The walk over a query that finds the tag type of every expression, and rebuilds the query.

`Rules` decide what streams, steps across holes, and time become. The default rules change nothing,
so a walk with them is only an analysis. The modules `walk_*`, by topic, register with `@walks` how
each kind of expression is walked.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import Namespaces, PrologNames
from xcql.analysis.types import DOCUMENT, PLAIN, KnownTree, Nodes, TagType, join
from xcql.diagnostics import Diagnostic, error, warning
from xcql.source import Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import ContextItem
from xcql.syntax.node import Expr, Name, SyntaxNode, child_fields
from xcql.syntax.path import AxisStep, Path
from xcql.syntax.prolog import FunctionDecl, MainModule
from xcql.syntax.temporal import IntervalProjection, VersionProjection


class Typed(NamedTuple):
    """A rebuilt expression, and its type."""

    expr: Expr
    type: TagType


class NeedsView(Exception):
    """Fragments are not enough: the query needs the temporal view of these streams."""

    def __init__(self, streams: frozenset[str], reason: str, span: Span) -> None:
        super().__init__(reason)
        self.streams = streams
        self.reason = reason
        self.span = span


@dataclass(frozen=True, slots=True)
class Env:
    """What is known at one place of the query: variables, context item, loops, namespaces."""

    names: Namespaces
    variables: Mapping[str, TagType] = field(default_factory=dict)
    context: TagType = PLAIN
    depth: int = 0

    def bind(self, name: object, type_: TagType) -> Env:
        return replace(self, variables={**self.variables, str(name): type_})

    def inside(self) -> Env:
        """The same, in the body of one more loop."""
        return replace(self, depth=self.depth + 1)

    def focus(self, item: TagType) -> Env:
        """The same, with each of some items as the context item in turn."""
        return replace(self, context=item, depth=self.depth + 1)


class Rules:
    """What stream-related constructs become; by default, they are unchanged.

    The temporal view of each stream is one tree, and contains no holes.
    """

    def stream(self, walker: Walker, name: str, call: FunctionCall, env: Env) -> Typed:
        origin = walker.view_origin(name)
        nodes = Nodes(name, frozenset({DOCUMENT}), origin=origin)
        tree = KnownTree(-1 - sorted(walker.graphs).index(name), 0)
        return Typed(call, TagType((nodes,), one=True, tree=tree))

    def fold(self, walker: Walker, steps: Sequence[Expr], env: Env) -> tuple[Typed, int] | None:
        """A shorter form of the first steps of a path from a stream, and how many steps."""
        return None

    def share(self, walker: Walker, path: Path, env: Env) -> tuple[Typed, int] | None:
        """The first steps of a path in a loop, computed once outside it, and how many steps."""
        return None

    def cross(self, base: Expr, nodes: Nodes, step: AxisStep, each: bool) -> Expr:
        """A child step into fillers; `each`: separately for each element that it starts from."""
        raise AssertionError("there are no holes in the temporal view")

    def fill(self, base: Expr, nodes: Nodes, tags: frozenset[str]) -> Expr:
        """Elements with the holes filled that have fillers of these tags."""
        raise AssertionError("there are no holes in the temporal view")

    def whole(self, base: Expr, nodes: Nodes, origin: int | None = None) -> Expr:
        """Items with all holes filled, or only those that the query looks at in the origin."""
        raise AssertionError("there are no holes in the temporal view")

    def needs_view(self, streams: frozenset[str], reason: str, span: Span) -> None:
        """Called where only the temporal view gives the right answer."""

    def by_id(self, node: FunctionCall, arguments: tuple[Expr, ...]) -> Expr:
        """A call of fn:id or fn:idref on a stream; the arguments include the context item."""
        return replace(node, arguments=arguments)

    def interval_projection(
        self, node: IntervalProjection, base: Expr, begin: Expr, end: Expr | None
    ) -> Expr:
        return replace(node, base=base, interval=replace(node.interval, begin=begin, end=end))

    def version_projection(
        self, node: VersionProjection, base: Expr, first: Expr, last: Expr | None
    ) -> Expr:
        return replace(node, base=base, first=first, last=last)

    def temporal(self, node: Expr) -> Expr:
        """Time literals, Allen's relations, time functions and sums, with rebuilt parts."""
        return node


WalkFunction = Callable[["Walker", Any, Env], Typed]
_WALKS: dict[type, WalkFunction] = {}


def walks(*kinds: type) -> Callable[[WalkFunction], WalkFunction]:
    """Decorator: this function walks these kinds of expressions."""

    def register(function: WalkFunction) -> WalkFunction:
        for kind in kinds:
            _WALKS[kind] = function
        return function

    return register


@dataclass(slots=True)
class KnownCall:
    """What is known about calls of a function with arguments of certain types.

    `result` is None while the body is being walked; `calls_itself` says that it was called again
    meanwhile. `body` is that of a copy, under its own `name`.
    """

    declared: FunctionDecl
    name: Name
    is_copy: bool
    result: TagType | None = None
    calls_itself: bool = False
    body: Expr | None = None


class Walker:
    """One walk over one query; holds what it finds."""

    def __init__(
        self,
        module: MainModule,
        names: PrologNames,
        graphs: Mapping[str, TagGraph],
        rules: Rules | None = None,
    ) -> None:
        self.module = module
        self.graphs = graphs
        self.rules = rules or Rules()
        self.types: dict[int, TagType] = {}
        self.warnings: dict[tuple[int, str], Diagnostic] = {}
        # what the query looks at in trees that need not hold anything else: tags by origin
        self.origins: dict[int, set[str]] = {}
        self.origin_streams: dict[int, str] = {}
        self.origins_of_views: dict[str, int] = {}
        self.functions = names.functions
        # calls of the query's functions, by the function and the types of the arguments
        self.calls: dict[tuple[object, ...], KnownCall] = {}
        self.called_as_declared: set[int] = set()
        self.prolog_is_known = False
        self.globals = Env(names.namespaces)
        self.open_calls = 0
        self._numbers = count()

    def walk(self, expr: Expr, env: Env) -> Typed:
        function = _WALKS.get(type(expr))
        typed = function(self, expr, env) if function else self.looked_into(expr, env)
        self.types[id(expr)] = typed.type
        return typed

    def looked_into(self, expr: Expr, env: Env) -> Typed:
        """An expression that looks inside the values of its parts and returns something new."""
        return Typed(self.rebuilt(expr, env), PLAIN)

    def rebuilt(self, node: Any, env: Env) -> Any:
        """A node with all expressions in it walked and made whole."""
        changes: dict[str, Any] = {}
        for name in child_fields(type(node)):
            value = getattr(node, name)
            new: Any = value
            if isinstance(value, SyntaxNode):
                new = self.part(value, env)
            elif isinstance(value, tuple) and any(isinstance(item, SyntaxNode) for item in value):
                new = tuple(
                    self.part(item, env) if isinstance(item, SyntaxNode) else item for item in value
                )
                if all(a is b for a, b in zip(new, value, strict=True)):
                    new = value
            if new is not value:
                changes[name] = new
        return replace(node, **changes) if changes else node

    def part(self, node: SyntaxNode, env: Env) -> Any:
        return self.value(node, env) if isinstance(node, Expr) else self.rebuilt(node, env)

    def value(self, expr: Expr, env: Env) -> Expr:
        """An expression whose value is inspected, kept or shown."""
        return self.whole(self.walk(expr, env)).expr

    # ------------------------------------------------------------------ holes

    def missing(self, nodes: Nodes, tags: frozenset[str]) -> frozenset[str]:
        """The tags of fillers that have not replaced their holes; records the look."""
        if nodes.filled is None:
            self.look(nodes, tags)
            return frozenset()
        return tags - nodes.filled

    def look(self, nodes: Nodes, tags: Iterable[str]) -> None:
        """Record that the query looks at fillers of these tags."""
        if nodes.origin is not None:
            self.origins[nodes.origin] |= frozenset(tags)

    def look_everywhere(self, streams: Iterable[str]) -> None:
        """Record that the query may look at anything in these streams."""
        known = set(streams)
        for origin, stream in self.origin_streams.items():
            if stream in known:
                self.origins[origin] |= self.graphs[stream].fragmented

    def missing_below(self, nodes: Nodes) -> frozenset[str]:
        graph = self.graphs[nodes.stream]
        return self.missing(nodes, graph.fragmented_below(*nodes.tags))

    def has_holes(self, type_: TagType) -> bool:
        """Whether items can contain holes, at any depth, or a wrapper for the document."""
        return any(
            self.missing_below(nodes) or (DOCUMENT in nodes.tags and nodes.filled is not None)
            for nodes in type_.nodes
        )

    def has_holes_unseen(self, type_: TagType) -> bool:
        """Like `has_holes`, but without recording that the query looks at the fillers."""
        return self.has_holes(
            replace(type_, nodes=tuple(n for n in type_.nodes if n.filled is not None))
        )

    def whole(self, typed: Typed, origin: int | None = None) -> Typed:
        """The same items with their holes filled: copies, if they can contain holes."""
        type_ = typed.type
        if not self.has_holes(type_):
            return typed
        holey = [nodes for nodes in type_.nodes if self.has_holes(TagType((nodes,)))]
        if len(holey) > 1 or (DOCUMENT in holey[0].tags and len(holey[0].tags) > 1):
            self.rules.needs_view(
                type_.streams, "nodes of several kinds or streams are mixed here", typed.expr.span
            )
            return typed
        self.not_inside_itself(holey[0], self.missing_below(holey[0]), typed.expr.span)
        expr = self.rules.whole(typed.expr, holey[0], origin)
        if origin is None:
            copied = tuple(Nodes(n.stream, n.tags, None, n.tags) for n in type_.nodes)
        else:
            copied = tuple(Nodes(n.stream, n.tags, None, origin=origin) for n in type_.nodes)
        return Typed(expr, replace(type_, nodes=copied, tree=None))

    def not_inside_itself(self, nodes: Nodes, tags: frozenset[str], span: Span) -> None:
        """Check that the fillers fetched for holes in the nodes cannot also contain the nodes: such
        a filler is left out, and only the view knows which fillers contain the nodes."""
        graph = self.graphs[nodes.stream]
        if tags & (nodes.tags | graph.above(nodes.tags)):
            self.rules.needs_view(
                frozenset({nodes.stream}), "a filler of a recursive tag may contain itself", span
            )

    def joined(self, parts: Sequence[Typed]) -> tuple[list[Expr], TagType]:
        """Values combined into one; made whole if their nodes are not all of one kind."""
        type_ = join(part.type for part in parts)
        if (
            len(parts) > 1
            and self.has_holes_unseen(type_)
            and (len(type_.nodes) > 1 or type_.plain)
        ):
            parts = [self.whole(part) for part in parts]
            type_ = join(part.type for part in parts)
        return [part.expr for part in parts], type_

    # ------------------------------------------------------------------ trees and origins

    def new_tree(self, env: Env) -> KnownTree:
        return KnownTree(next(self._numbers), env.depth)

    def new_origin(self, stream: str) -> int:
        """A new origin, for trees of a stream that need only hold what the query looks at."""
        origin = next(self._numbers)
        self.origins[origin] = set()
        self.origin_streams[origin] = stream
        return origin

    def view_origin(self, stream: str) -> int:
        """The origin for the temporal view of a stream."""
        if stream not in self.origins_of_views:
            self.origins_of_views[stream] = self.new_origin(stream)
        return self.origins_of_views[stream]

    def item_of(self, type_: TagType, env: Env) -> TagType:
        """The type of one item of a value, inside the loop over the items."""
        return replace(type_, one=True, tree=type_.tree or self.new_tree(env.inside()))

    @staticmethod
    def left(type_: TagType, env: Env) -> TagType:
        """The type of a loop's result: a tree built in its body is not the only one."""
        tree = type_.tree if type_.tree is not None and type_.tree.depth <= env.depth else None
        return replace(type_, one=False, tree=tree)

    def ordered(self, typed: Typed, span: Span) -> None:
        """Check the start of a path: the order of its nodes must be that of the view."""
        type_ = typed.type
        if type_.unknown:
            self.anything(span, "the first nodes of the path are unknown")
        elif type_.of_streams and not type_.one and type_.tree is None:
            self.rules.needs_view(
                type_.streams, "the first nodes of the path come from several places", span
            )

    def anything(self, span: Span, reason: str) -> None:
        """Require the view of all streams: nodes of any stream may be meant."""
        self.rules.needs_view(frozenset(self.graphs), reason, span)
        self.look_everywhere(self.graphs)

    def place(self, type_: TagType, reason: str, span: Span) -> None:
        """Require the view where the position of nodes in their tree matters."""
        if type_.unknown:
            self.anything(span, reason)
        elif type_.of_streams:
            self.rules.needs_view(type_.streams, reason, span)

    # ------------------------------------------------------------------ diagnostics

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.warnings.setdefault(
            (span.start, message), warning(code, message, span, hints=[hint] if hint else ())
        )

    def no_match(self, step: AxisStep, tags: Iterable[tuple[str, str]], below: bool) -> None:
        """Warn that a step can match nothing, and suggest what it could have been."""
        places = sorted(tags)
        known: set[str] = set()
        for stream, tag in places:
            graph = self.graphs[stream]
            inside = graph.below(tag) if below else [child.id for child in graph.children(tag)]
            known |= {str(graph.tag(id).name) for id in inside}
        written = step.test.span.text
        where = " or ".join(sorted({self.tag_name(*place) for place in places})[:3])
        near = difflib.get_close_matches(written, sorted(known), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        self.warn("XCQL0401", f"no '{written}' below '{where}'{hint}", step.span)

    def tag_name(self, stream: str, tag: str) -> str:
        if tag == DOCUMENT:
            return f'stream("{stream}")'
        return str(self.graphs[stream].tag(tag).name)

    def unknown_stream(self, name: str, span: Span) -> Exception:
        near = difflib.get_close_matches(name, list(self.graphs), n=1)
        return error(
            "XCQL0004",
            f'there is no stream "{name}"',
            span,
            notes=[f"streams: {', '.join(self.graphs) or 'none'}"],
            hints=[f'did you mean stream("{near[0]}")?'] if near else (),
        )


def then(base: Expr, *steps: Expr) -> Expr:
    """A path that continues from a base; from the context item, it is a relative path."""
    span = base.span.to(steps[-1].span) if base.span.source is steps[-1].span.source else base.span
    if isinstance(base, Path):
        return Path(base.absolute, base.steps + steps, span=span)
    if isinstance(base, ContextItem):
        return Path(False, steps, span=span) if len(steps) > 1 else steps[0]
    return Path(False, (base, *steps), span=span)
