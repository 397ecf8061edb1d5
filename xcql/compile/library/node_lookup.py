"""The table of nodes in plans: nodes of any kind and name, found by their fillers and offsets.

A node is known by its filler's row and its offset in it. A path says the names of all ancestors in
the filler, so that most tests are a choice of paths when the query is compiled.

Tests: tests/compile/library/test_any_axes.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xcql.algebra.operators import (
    NODE_COLUMNS,
    ROW_COLUMNS,
    Extract,
    Join,
    Merge,
    NodeScan,
    Order,
    Plan,
    Select,
    SortKey,
    Unit,
    Unnest,
    columns,
    identity,
    order,
    row_column,
    used,
)
from xcql.algebra.scalars import (
    NULL,
    TRUE,
    Call,
    Column,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    field,
)
from xcql.compile.library.access import node_key, own_lifespan, span_of, timed_element
from xcql.compile.library.trees import one_tree
from xcql.compile.node_paths import NodePath, NodePaths
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Inner,
    Item,
    ProjectionWindow,
    Root,
    Shape,
    StreamDocument,
    StreamElement,
    TextItem,
    Tree,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.node_paths import KINDS
from xcql.source import Span

# so many paths are named in the text of a query; more are told by their names alone
_FEW = 12

Paths = frozenset[NodePath]


def has_general_form(item: Item, scope: Scope) -> bool:
    """Whether steps from an item can go through the table of nodes."""
    match item:
        case AnyNode():
            return True
        case StreamDocument() | StreamElement(is_copy=False):
            is_copied = item.tree is not None and not (item.tree.tops or item.tree.is_document)
            return not is_copied and paths_of(item.stream, scope) is not None
        case Inner(owner=owner):
            return has_general_form(owner, scope)
    return False


def paths_of(stream: str, scope: Scope) -> NodePaths | None:
    """The paths of a stream's nodes, if its table of nodes can be used."""
    compilation = scope.compilation
    known = compilation.catalog.streams[stream]
    return known.paths if known.placed and compilation.by_place else None


def lookup_from(item: Item, scope: Scope, span: Span) -> NodeLookup:
    """The table of the nodes in the tree of a node."""
    match item:
        case AnyNode(filler=row, root=root):
            return NodeLookup(item.stream, scope, span, row.window, row.tree, root)
        case StreamElement(window=window, tree=tree):
            return NodeLookup(item.stream, scope, span, window, tree, _root_of(item, scope))
        case StreamDocument(window=window, tree=tree):
            return NodeLookup(item.stream, scope, span, window, tree)
        case (
            Inner(owner=owner)
            | TextItem(owner=StreamElement() | Inner() as owner)
            | AttributeItem(owner=StreamElement() | Inner() | AnyNode() as owner)
        ):
            return lookup_from(owner, scope, span)
    raise NotNative("nodes that the table of nodes does not have", span)


def _root_of(element: StreamElement, scope: Scope) -> Root | None:
    """The root of the projected tree of an element; None if it is not known."""
    here: StreamElement | StreamDocument | None = element
    while isinstance(here, StreamElement):
        if here.is_top:
            key = node_key(here, scope)
            return None if key is None else Root(key, here.lifespan)
        here = here.above
    return None


def generalised(leaf: Leaf, scope: Scope, span: Span) -> Leaf:
    """The same nodes in the general form."""
    return lookup_from(leaf.item, scope, span).as_any(leaf)


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a step starts: the row of a filler, and the range of bytes of an element in it.

    Without a range, the element is the filler's own. `node_seq` is the filler's version as the row
    of a node has it, if that is where the step starts.
    """

    plan: Plan
    filler: StreamElement
    span: tuple[Scalar, Scalar] | None
    paths: Paths
    node_seq: Scalar | None = None

    @property
    def seq(self) -> Scalar:
        return self.filler.column("seq") if self.node_seq is None else self.node_seq

    @property
    def start(self) -> Scalar:
        return Constant(0) if self.span is None else self.span[0]


@dataclass(frozen=True, slots=True)
class NodeLookup:
    """The table of the nodes of one stream; `span` is the step that looks into it.

    Of a projection's tree, only the visible nodes count. `root` is the root of that tree, if it is
    a projected node and known.
    """

    stream: str
    scope: Scope
    span: Span
    window: ProjectionWindow | None = None
    tree: Tree | None = None
    root: Root | None = None

    @property
    def paths(self) -> NodePaths:
        found = paths_of(self.stream, self.scope)
        assert found is not None
        return found

    def fillers(self, tags: Iterable[str]) -> StreamElement:
        """The elements of fillers with some tags, of which only the rows are known."""
        kept = tuple(sorted(tags))
        row = self.scope.compilation.fresh("filler")
        return self.filler(row, kept)

    def filler(self, row: str, tags: tuple[str, ...]) -> StreamElement:
        compilation = self.scope.compilation
        compilation.demands.setdefault((self.stream, tags), set())
        slots = compilation.catalog.streams[self.stream].slots
        shape = Shape(
            tags,
            "node",
            "element",
            is_leaf=False,
            opaque=True,
            repeats=False,
            commented=any(slots[tag].commented for tag in tags if tag in slots),
            strays=any(slots[tag].strays for tag in tags if tag in slots),
            attributes={},
            ways=None,
            children=(),
        )
        element = StreamElement(
            self.stream,
            row,
            tags,
            tags,
            shape,
            ("element",),
            Column(f"{row}.element"),
            is_filler=True,
            alone=True,
            window=self.window,
            tree=self.tree,
        )
        if self.root is None or self.root.lifespan is None:
            return element
        is_root = call("=", element.column("key"), self.root.key)
        inside = own_lifespan(element, self.scope)
        begin, end = (
            case((is_root, one), otherwise=other)
            for one, other in zip(self.root.lifespan, inside, strict=True)
        )
        return replace(element, lifespan=(begin, end))

    @property
    def has_root(self) -> bool:
        """Whether the nodes are in trees that have a projected node as the root."""
        return self.tree is not None and self.tree.tops

    def key_of_root(self) -> Scalar:
        if self.root is None:
            raise NotNative("upwards in a projection", self.span)
        return self.root.key

    def is_visible(self, filler: StreamElement) -> Scalar:
        """Whether a filler is in a projection that its parent is in."""
        return self._meets(filler, ("vtFrom", "vtTo"))

    def _meets(self, filler: StreamElement, *ends: tuple[str, str]) -> Scalar:
        """Whether some intervals of a filler meet the window; those of the root always do.

        A root without a lifespan is even in the projection to a time to come.
        """
        graph = self.scope.compilation.graphs[self.stream]
        timed = {tag for tag in filler.table if graph.is_fragmented(tag)}
        if self.window is None or not timed:
            return TRUE
        window = (self.window.begin, self.window.end)
        meets = conjunction(
            *(call("overlaps", filler.column(a), filler.column(b), *window) for a, b in ends)
        )
        if len(timed) == len(filler.table):
            return meets
        return disjunction(among(filler.column("tag"), {*filler.table} - timed), meets)

    def is_visible_below(self, filler: StreamElement, place: NodePlace, key: Scalar) -> Scalar:
        """Whether a filler at any depth below a node with a key is in the node's projection."""
        own = self.is_visible(filler)
        if own == TRUE:
            return TRUE
        if not self.has_root:
            # all fillers around it have to be valid
            return self._meets(filler, ("vtFrom", "vtTo"), ("pathFrom", "pathTo"))
        graph = self.scope.compilation.graphs[self.stream]
        tags = {path.tag for path in place.paths if path.kind == "element"}
        between = {
            tag
            for tag in graph.fragmented_below(*tags)
            if graph.fragmented_below(tag) & {*filler.table}
        }
        if not between:
            return own
        around = self.fillers(between)
        fresh = self.scope.compilation.fresh
        above, position = fresh("place"), fresh("place_at")
        places = call("places_above", filler.column("key"))
        pairs = Join(
            Unnest(Unit(), places, above, position, span=self.span),
            Extract(self.stream, around.table, around.row, span=self.span),
            ((field(Column(above), "key"), around.column("key")),),
            TRUE,
            is_lookup=True,
            span=self.span,
        )
        hidden = conjunction(
            call(">", around.column("key"), key), call("not", self.is_visible(around))
        )
        return conjunction(own, call("not", Nested(Select(pairs, hidden), "exists", TRUE)))

    def scan(self, filler: StreamElement, paths: Paths, exact: bool) -> tuple[Plan, AnyNode]:
        """The nodes on some paths; only if `exact`, not on others with the same names, too."""
        tags = tuple(sorted({path.table for path in paths}))
        prefix = self.scope.compilation.fresh("node")
        nodes = NodeScan(self.stream, tags, tuple(f"{prefix}.{name}" for name in NODE_COLUMNS))
        plan = Select(nodes, self._on_paths(nodes, paths, exact))
        made: dict[str, Any] = {name: nodes.column(name) for name in NODE_COLUMNS}
        return plan, AnyNode(filler, **made, paths=paths, root=self.root)

    def _on_paths(self, nodes: NodeScan, paths: Paths, exact: bool) -> Scalar:
        """Whether a node is on one of some paths."""
        everything = frozenset(path for path in self.paths.all if path.table in nodes.tags)
        kinds = {path.kind for path in paths}
        names = {path.name for path in paths}
        alike = frozenset(path for path in everything if path.kind in kinds)
        conditions: list[Scalar] = [among(nodes.column("kind"), {KINDS[kind] for kind in kinds})]
        if alike != paths and kinds <= {"element", "attribute"}:
            conditions.append(among(nodes.column("name"), names))
            alike = frozenset(path for path in alike if path.name in names)
        texts, others = ({path.text for path in some} for some in (paths, alike - paths))
        if others and (exact or len(texts) <= _FEW):
            if len(others) < len(texts) and texts.isdisjoint(others):
                conditions.append(call("not", among(nodes.column("path"), others)))
            else:
                conditions.append(among(nodes.column("path"), texts))
        return conjunction(*conditions)

    def inside(
        self,
        place: NodePlace,
        paths: Paths,
        keys: Callable[[AnyNode], tuple[tuple[Scalar, Scalar], ...]] = lambda _: (),
        condition: Callable[[AnyNode], Scalar] = lambda _: TRUE,
        exact: bool = False,
        is_lookup: bool = False,
    ) -> Leaf:
        """The nodes on some paths in the filler of a place; with `is_lookup`, one at most."""
        scan, node = self.scan(place.filler, paths, exact)
        pairs = ((place.seq, node.seq), *keys(node))
        plan = Join(place.plan, scan, pairs, condition(node), is_lookup=is_lookup, span=self.span)
        return Leaf(plan, node)

    def everywhere(self, plan: Plan, paths: Paths) -> Leaf:
        """All nodes of the document on some paths."""
        filler = self.fillers({path.table for path in paths})
        rows: Plan = Extract(self.stream, filler.table, filler.row, plan, span=self.span)
        place = NodePlace(rows, filler, None, paths)
        visible = self.is_visible_below(filler, place, NULL)
        if visible != TRUE:
            place = replace(place, plan=Select(rows, visible))
        return self.in_order(plan, self.inside(place, paths, exact=has_texts(paths)))

    def in_order(self, base: Plan, found: Leaf) -> Leaf:
        """Nodes in document order for each tuple of a plan, where fillers are nested."""
        node = found.item
        assert isinstance(node, AnyNode)
        if not self.scope.compilation.graphs[self.stream].nest(node.filler.table):
            return found
        key = node_key(node, self.scope)
        assert key is not None
        return Leaf(Order(found.plan, (*order(base), SortKey(key, "key"))), node)

    def place_of(self, leaf: Leaf) -> NodePlace:
        match leaf.item:
            case AnyNode() as node:
                is_top = all(path.is_top for path in node.paths)
                range_ = None if is_top else (node.start, node.length)
                return NodePlace(leaf.plan, node.filler, range_, node.paths, node.seq)
            case StreamElement() as element:
                filler = self.filler(element.row, element.table)
                range_ = None if element.is_filler else span_of(element, self.scope)
                return NodePlace(leaf.plan, filler, range_, self._paths_of(element))
            case Inner() as inner:
                any_ = self.as_any(leaf)
                assert isinstance(any_.item, AnyNode), inner
                return self.place_of(any_)
        raise AssertionError(leaf.item)

    def _paths_of(self, element: StreamElement) -> Paths:
        """The paths that a shredded element can be on."""
        depth = len(element.path) - 1
        return frozenset(
            path
            for path in self.paths.all
            if path.kind == "element"
            and path.table in element.table
            and path.tag in element.tags
            and (path.is_vague or path.text.count("/") == depth)
        )

    def as_any(self, leaf: Leaf) -> Leaf:
        """The same nodes in the general form."""
        owner = getattr(leaf.item, "owner", None) or leaf.item
        if not has_general_form(owner, self.scope):
            raise NotNative("nodes that the table of nodes does not have", self.span)
        match leaf.item:
            case AnyNode():
                return leaf
            case StreamElement():
                place = self.place_of(leaf)
                if place.span is None:
                    return self._tops(place)
                return self.inside(
                    place, place.paths, lambda node: ((place.start, node.start),), is_lookup=True
                )
            case Inner(owner=owner, tags=tags, inner_path=path) as inner:
                filler = self.filler(owner.row, owner.table)
                if path is not None and path.after == leaf.plan and path.child_path is not None:
                    above = self.place_of(Leaf(path.before, owner))
                    paths = above.paths
                    for name in path.names:
                        paths = frozenset(
                            one
                            for one in self.paths.children(paths)
                            if one.kind == "element" and one.name == name
                        )
                    if not any(one.is_vague for one in paths):
                        return self.below(above, paths, exact=True)
                start = span_of(inner, self.scope)[0]
                paths = frozenset(
                    one
                    for one in self.paths.all
                    if one.kind == "element" and one.table in owner.table and one.tag in tags
                )
                place = NodePlace(leaf.plan, filler, None, paths)
                return self.inside(
                    place, paths, lambda node: ((start, node.start),), is_lookup=True
                )
            case AttributeItem(owner=AnyNode() | StreamElement() | Inner() as owner, name=name):
                place = self.place_of(Leaf(leaf.plan, owner))
                paths = frozenset(
                    path
                    for path in self.paths.children(place.paths)
                    if path.kind == "attribute" and path.name == name
                )
                if paths and not (name in ("vtFrom", "vtTo") and self.timed(place) is not None):
                    return self._only_child(place, paths)
            case TextItem(owner=StreamElement() as owner, place=None) if owner.shape.is_leaf:
                place = self.place_of(Leaf(leaf.plan, owner))
                below = self.paths.children(place.paths)
                texts = frozenset(path for path in below if path.kind == "text")
                if texts:
                    return self._only_child(place, texts)
        raise NotNative("nodes of such a kind among others", self.span)

    def _tops(self, place: NodePlace) -> Leaf:
        """The fillers' own elements."""
        tops = frozenset(
            path for path in self.paths.all if path.is_top and path.table in place.filler.table
        )
        return self.inside(place, tops, is_lookup=True)

    def _only_child(self, place: NodePlace, paths: Paths) -> Leaf:
        """The attribute of one name, or the text, of an element that has no other."""
        return self.inside(place, paths, lambda node: ((place.start, node.parent),), is_lookup=True)

    def timed(self, place: NodePlace) -> Scalar | None:
        """Whether an element is one with a lifespan; None if it never is."""
        return timed_element(place.paths, place.start, place.filler, self.scope)

    def below(self, place: NodePlace, paths: Paths, exact: bool = False) -> Leaf:
        """The nodes on some paths inside an element, in its filler."""

        def is_inside(node: AnyNode) -> Scalar:
            if place.span is None:
                return call(">", node.start, Constant(0))
            start, length = place.span
            return conjunction(
                call(">", node.start, start), call("<", node.start, call("+", start, length))
            )

        return self.inside(place, paths, condition=is_inside, exact=exact)


def united(found: Sequence[Leaf], base: Plan, scope: Scope, kept_too: Collection[str] = ()) -> Leaf:
    """The nodes of several leaves as those of one; the columns of `base` and others are kept."""
    if len(found) == 1:
        return found[0]
    nodes = [leaf.item for leaf in found if isinstance(leaf.item, AnyNode)]
    assert len(nodes) == len(found)
    compilation = scope.compilation
    kept = frozenset({*columns(base), *kept_too})
    made: list[tuple[str, tuple[Scalar, ...]]] = [
        (name, (Column(name),) * len(found)) for name in sorted(kept)
    ]
    row = compilation.fresh("filler")
    made += [
        (f"{row}.{name}", tuple(row_column(one.filler.row, name) for one in nodes))
        for name in ROW_COLUMNS
    ]
    prefix = compilation.fresh("node")
    own: dict[str, Any] = {}
    for name in NODE_COLUMNS:
        own[name] = Column(f"{prefix}.{name}")
        made.append((f"{prefix}.{name}", tuple(getattr(one, name) for one in nodes)))

    def shared(*scalars: Scalar) -> Scalar:
        """What the leaves have in common: a column, unless it is the same for all of them."""
        if len(set(scalars)) == 1 and used(scalars[0]) <= kept:
            return scalars[0]
        name = compilation.fresh("shared")
        made.append((name, scalars))
        return Column(name)

    tree, turns = one_tree(found, kept, compilation.fresh)
    made += turns
    table = NodeLookup(
        nodes[0].stream,
        scope,
        compilation.module.span,
        _one_window([one.filler.window for one in nodes], shared),
        tree,
        _one_root([one.root for one in nodes], shared),
    )
    tags = tuple(sorted({tag for one in nodes for tag in one.filler.table}))
    paths = frozenset().union(*(one.paths for one in nodes))
    is_top = all(one.is_top for one in nodes)
    node = AnyNode(table.filler(row, tags), **own, paths=paths, root=table.root, is_top=is_top)
    key = compilation.fresh("order")
    made.append((key, tuple(node_key(one, scope) for one in nodes)))  # type: ignore[misc]
    own_turns = {name for name, _ in turns}
    ways = () if tree is None or tree.each is None else tree.loop.then(tree.each).order
    by = (
        *order(base),
        *(one for one in ways if used(one.scalar) & own_turns),
        SortKey(Column(key), "key"),
    )
    plans = tuple(leaf.plan for leaf in found)
    return Leaf(Merge(plans, tuple(made), by, within=identity(base)), node)


def _one_window(
    windows: Sequence[ProjectionWindow | None], shared: Callable[..., Scalar]
) -> ProjectionWindow | None:
    """The window of nodes of one tree."""
    known = [one for one in windows if one is not None]
    if not known:
        return None
    if len(known) < len(windows):
        # a projection to an element's lifespan clips nothing if the element always exists
        raise NotNative("projections of which only some have an interval")
    both = zip(*((one.begin, one.end) for one in known), strict=True)
    begin, end = (shared(*several) for several in both)
    return ProjectionWindow(begin, end)


def _one_root(roots: Sequence[Root | None], shared: Callable[..., Scalar]) -> Root | None:
    """The root of nodes of one tree; None if that of some is not known."""
    known = [one for one in roots if one is not None]
    if not known or len(known) < len(roots):
        return None
    key = shared(*(one.key for one in known))
    lifespans = [one.lifespan for one in known if one.lifespan is not None]
    if not lifespans:
        return Root(key)
    if len(lifespans) < len(known):
        raise NotNative("roots of projections, of which some have their whole lifespans")
    begin, end = (shared(*ends) for ends in zip(*lifespans, strict=True))
    return Root(key, (begin, end))


def is_on(node: AnyNode, paths: Paths) -> Scalar:
    """Whether a node is on some of its paths."""
    kinds = {path.kind for path in paths}
    alike = frozenset(path for path in node.paths if path.kind in kinds)
    conditions: list[Scalar] = []
    if alike != node.paths:
        conditions.append(among(node.kind, {KINDS[kind] for kind in kinds}))
    if alike != paths:
        names = {path.name for path in paths}
        conditions.append(among(node.name, names))
        if frozenset(path for path in alike if path.name in names) != paths:
            conditions.append(among(node.path, {path.text for path in paths}))
    return conjunction(*conditions)


def among(value: Scalar, values: Iterable[object]) -> Scalar:
    known = [Constant(one) for one in sorted(set(values))]  # type: ignore[type-var]
    return call("=", value, known[0]) if len(known) == 1 else Call("one_of", (value, *known))


def has_texts(paths: Paths) -> bool:
    """Whether some paths lead to texts, of which those around holes are found apart."""
    return any(path.kind == "text" for path in paths)
