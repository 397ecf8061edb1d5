"""Steps to nodes of any kind and name, by joins with the table of nodes.

The other steps read columns by tag: fast, but each kind of node needs its own part of the plan.
Here, kinds are values in columns. A node is known by its filler's row and its offset in it:

    child            nodes with the same filler, and the offset of the node as their `parent`
    descendant       … with an offset inside the node; and all nodes of the fillers inside it
    parent           the node at the offset `parent`; for a filler's own element, the one around
                     its hole
    ancestor         the nodes around its offset; and those around the holes of the fillers above
    attribute, text  children of other kinds

A path says the names of all ancestors in the filler, so that most tests are a choice of paths when
the query is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from xcql.algebra.operators import (
    NODE_COLUMNS,
    ROW_COLUMNS,
    Aggregate,
    Extract,
    Join,
    Merge,
    Nest,
    NodeScan,
    Order,
    Plan,
    Project,
    Select,
    SortKey,
    Unit,
    Unnest,
    columns,
    identity,
    order,
    row_column,
)
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Constant,
    Nested,
    Scalar,
    call,
    conjunction,
    field,
)
from xcql.compile.library.access import end_key, node_key, own_lifespan, span_of
from xcql.compile.library.any_xml import any_string
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.node_paths import NodePath, NodePaths
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Inner,
    Item,
    Shape,
    StreamDocument,
    StreamElement,
    TextItem,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.node_paths import KINDS, read_path
from xcql.source import Span
from xcql.syntax.node import SyntaxNode
from xcql.syntax.types import CommentTest, ProcessingInstructionTest

# so many paths are named in the text of a query; more are told by their names alone
_FEW = 12

Paths = frozenset[NodePath]


def has_general_form(item: Item, scope: Scope) -> bool:
    """Whether steps from an item can go through the table of nodes."""
    match item:
        case AnyNode():
            return True
        case StreamDocument(window=None, tree=None):
            return paths_of(item.stream, scope) is not None
        case StreamElement(window=None, tree=None, is_copy=False, is_top=False, lifespan=None):
            return paths_of(item.stream, scope) is not None
        case Inner(owner=owner):
            return has_general_form(owner, scope)
    return False


def paths_of(stream: str, scope: Scope) -> NodePaths | None:
    """The paths of a stream's nodes, if its table of nodes can be used."""
    compilation = scope.compilation
    known = compilation.catalog.streams[stream]
    return known.paths if known.placed and compilation.by_place else None


def general_axis(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """The nodes on an axis that pass a test; the leaf's item has a general form."""
    steps = _Steps(leaf.item.stream, test, scope, span)  # type: ignore[attr-defined]
    match axis:
        case "self":
            return steps.itself(leaf)
        case "child":
            return steps.children(leaf)
        case "descendant":
            return steps.descendants(leaf)
        case "descendant-or-self":
            return steps.one(leaf.plan, steps.itself(leaf) + steps.descendants(leaf))
        case "attribute":
            return steps.attributes(leaf)
        case "parent":
            return steps.parents(leaf)
        case "ancestor":
            return steps.ancestors(leaf)
        case "ancestor-or-self":
            return steps.one(leaf.plan, steps.itself(leaf) + steps.ancestors(leaf))
        case "following-sibling" | "preceding-sibling":
            return steps.siblings(leaf, axis)
        case "following" | "preceding":
            return steps.beyond(leaf, axis)
    raise NotNative(f"the axis {axis}", span)


def generalised(leaf: Leaf, stream: str, scope: Scope, span: Span) -> Leaf:
    """The same nodes in the general form."""
    return _Steps(stream, None, scope, span).as_any(leaf)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step starts: the row of a filler, and the range of bytes of an element in it.

    Without a range, the element is the filler's own.
    """

    plan: Plan
    filler: StreamElement
    span: tuple[Scalar, Scalar] | None
    paths: Paths

    @property
    def start(self) -> Scalar:
        return Constant(0) if self.span is None else self.span[0]


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps that end with a test; without one, every node passes."""

    stream: str
    test: SyntaxNode | None
    scope: Scope
    span: Span

    @property
    def paths(self) -> NodePaths:
        found = paths_of(self.stream, self.scope)
        assert found is not None
        return found

    # tests

    def passing(self, paths: Iterable[NodePath]) -> Paths:
        """The paths of nodes that pass the test."""
        return frozenset(path for path in paths if self._passes(path))

    def _passes(self, path: NodePath) -> bool:
        test = self.test
        if path.kind == "hole":
            return False
        if test is None or is_any_node(test):
            return True
        if is_text_test(test):
            return path.kind == "text"
        if isinstance(test, CommentTest):
            return path.kind == "comment"
        if isinstance(test, ProcessingInstructionTest):
            if test.target is not None:
                raise NotNative("processing instructions of one name", self.span)
            return path.kind == "processing-instruction"
        passes = self.scope.names.element_test(test)
        if passes is None or path.kind != "element":
            return False
        return passes(self.scope.compilation.graphs[self.stream].tag(path.tag))

    # rows and nodes

    def fillers(self, tags: Iterable[str]) -> StreamElement:
        """The elements of fillers with some tags, of which only the rows are known."""
        kept = tuple(sorted(tags))
        row = self.scope.compilation.fresh("filler")
        return self._filler(row, kept)

    def _filler(self, row: str, tags: tuple[str, ...]) -> StreamElement:
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
        return StreamElement(
            self.stream,
            row,
            tags,
            tags,
            shape,
            ("element",),
            Column(f"{row}.element"),
            is_filler=True,
            alone=True,
        )

    def scan(self, filler: StreamElement, paths: Paths, exact: bool) -> tuple[Plan, AnyNode]:
        """The nodes on some paths; only if `exact`, not on others with the same names, too."""
        tags = tuple(sorted({path.table for path in paths}))
        prefix = self.scope.compilation.fresh("node")
        nodes = NodeScan(self.stream, tags, tuple(f"{prefix}.{name}" for name in NODE_COLUMNS))
        plan = Select(nodes, self._on_paths(nodes, paths, exact))
        made = {name: nodes.column(name) for name in NODE_COLUMNS if name != "seq"}
        return plan, AnyNode(filler, **made, paths=paths)

    def _on_paths(self, nodes: NodeScan, paths: Paths, exact: bool) -> Scalar:
        """Whether a node is on one of some paths."""
        everything = frozenset(path for path in self.paths.all if path.table in nodes.tags)
        kinds = {path.kind for path in paths}
        names = {path.name for path in paths}
        alike = frozenset(path for path in everything if path.kind in kinds)
        conditions: list[Scalar] = [_among(nodes.column("kind"), {KINDS[kind] for kind in kinds})]
        if alike != paths and kinds <= {"element", "attribute"}:
            conditions.append(_among(nodes.column("name"), names))
            alike = frozenset(path for path in alike if path.name in names)
        texts, others = ({path.text for path in some} for some in (paths, alike - paths))
        if others and (exact or len(texts) <= _FEW):
            if len(others) < len(texts) and texts.isdisjoint(others):
                conditions.append(call("not", _among(nodes.column("path"), others)))
            else:
                conditions.append(_among(nodes.column("path"), texts))
        return conjunction(*conditions)

    def inside(
        self,
        place: _Place,
        paths: Paths,
        keys: Callable[[AnyNode], tuple[tuple[Scalar, Scalar], ...]] = lambda _: (),
        condition: Callable[[AnyNode], Scalar] = lambda _: TRUE,
        exact: bool = False,
        is_lookup: bool = False,
    ) -> Leaf:
        """The nodes on some paths in the filler of a place; with `is_lookup`, one at most."""
        scan, node = self.scan(place.filler, paths, exact)
        seq = scan.input.column("seq")  # type: ignore[attr-defined]
        pairs = ((place.filler.column("seq"), seq), *keys(node))
        plan = Join(place.plan, scan, pairs, condition(node), is_lookup=is_lookup, span=self.span)
        return Leaf(plan, node)

    def everywhere(self, plan: Plan, paths: Paths) -> Leaf:
        """All nodes of the stream on some paths."""
        filler = self.fillers({path.table for path in paths})
        rows = Extract(self.stream, filler.table, filler.row, plan, span=self.span)
        place = _Place(rows, filler, None, paths)
        return self._in_order(plan, self.inside(place, paths, exact=_has_texts(paths)))

    def _in_order(self, base: Plan, found: Leaf) -> Leaf:
        """Nodes in document order for each tuple of a plan, where fillers are nested."""
        node = found.item
        assert isinstance(node, AnyNode)
        if not self.scope.compilation.graphs[self.stream].nest(node.filler.table):
            return found
        key = node_key(node, self.scope)
        assert key is not None
        return Leaf(Order(found.plan, (*order(base), SortKey(key, "key"))), node)

    def place_of(self, leaf: Leaf) -> _Place:
        match leaf.item:
            case AnyNode() as node:
                is_top = all(path.is_top for path in node.paths)
                range_ = None if is_top else (node.start, node.length)
                return _Place(leaf.plan, node.filler, range_, node.paths)
            case StreamElement() as element:
                filler = self._filler(element.row, element.table)
                range_ = None if element.is_filler else span_of(element, self.scope)
                return _Place(leaf.plan, filler, range_, self._paths_of(element))
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
                filler = self._filler(owner.row, owner.table)
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
                        return self._below(above, paths, exact=True)
                start = span_of(inner, self.scope)[0]
                paths = frozenset(
                    one
                    for one in self.paths.all
                    if one.kind == "element" and one.table in owner.table and one.tag in tags
                )
                place = _Place(leaf.plan, filler, None, paths)
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
                if paths and not (name in ("vtFrom", "vtTo") and self._timed(place) is not None):
                    return self._only_child(place, paths)
            case TextItem(owner=StreamElement() as owner, place=None) if owner.shape.is_leaf:
                place = self.place_of(Leaf(leaf.plan, owner))
                below = self.paths.children(place.paths)
                texts = frozenset(path for path in below if path.kind == "text")
                if texts:
                    return self._only_child(place, texts)
        raise NotNative("nodes of such a kind among others", self.span)

    def _only_child(self, place: _Place, paths: Paths) -> Leaf:
        """The attribute of one name, or the text, of an element that has no other."""
        return self.inside(place, paths, lambda node: ((place.start, node.parent),), is_lookup=True)

    def _tops(self, place: _Place) -> Leaf:
        """The fillers' own elements."""
        tops = frozenset(
            path for path in self.paths.all if path.is_top and path.table in place.filler.table
        )
        return self.inside(place, tops, is_lookup=True)

    def one(self, base: Plan, found: Sequence[Leaf]) -> list[Leaf]:
        """Nodes that were found for the tuples of a plan, as one leaf; others stay apart."""
        general = [leaf for leaf in found if isinstance(leaf.item, AnyNode)]
        others = [leaf for leaf in found if not isinstance(leaf.item, AnyNode)]
        return others + ([self._united(base, general)] if general else [])

    def _united(self, base: Plan, found: Sequence[Leaf]) -> Leaf:
        return united(found, base, self.scope)

    # axes

    def itself(self, leaf: Leaf) -> list[Leaf]:
        match leaf.item:
            case StreamDocument():
                return [leaf] if self.test is None or is_any_node(self.test) else []
            case AnyNode() as node:
                paths = self.passing(node.paths)
                if not paths:
                    return []
                if paths == node.paths:
                    return [leaf]
                return [Leaf(Select(leaf.plan, _is_on(node, paths)), replace(node, paths=paths))]
        return self.itself(self.as_any(leaf))

    def children(self, leaf: Leaf) -> list[Leaf]:
        graph = self.scope.compilation.graphs[self.stream]
        if isinstance(leaf.item, StreamDocument):
            tops = frozenset(path for path in self.paths.all if path.is_top)
            root = frozenset(path for path in tops if path.table == graph.structure.root.id)
            kept = self.passing(root)
            return [self.everywhere(leaf.plan, kept)] if kept else []
        place = self.place_of(leaf)
        found: list[Leaf] = []
        below = self.paths.children(place.paths)
        inline = frozenset(path for path in self.passing(below) if path.kind != "attribute")
        found += self._with_runs(
            place.plan,
            lambda paths: self.inside(
                place, paths, lambda node: ((place.start, node.parent),), exact=_has_texts(inline)
            ),
            inline,
            below,
        )
        tags = {path.tag for path in place.paths if path.kind == "element"}
        wanted = self._top_paths(graph.fragmented_children(*tags))
        holes = frozenset(path for path in below if path.kind == "hole")
        if wanted and holes:
            hole = self.inside(place, holes, lambda node: ((place.start, node.parent),))
            found.append(self._in_holes(hole, wanted))
        return self.one(leaf.plan, found)

    def _with_runs(
        self, base: Plan, find: Callable[[Paths], Leaf], wanted: Paths, below: Paths
    ) -> list[Leaf]:
        """The nodes on some paths, as they are found for the tuples of a plan.

        Texts before and after a hole are one node if the hole is empty. `below` has all paths
        beside the wanted ones.
        """
        with_holes = {_element_of(path) for path in below if path.kind == "hole"}
        broken = frozenset(
            path
            for path in wanted
            if path.kind == "text"
            and any(_may_be_same(_element_of(path), one) for one in with_holes)
        )
        found = [find(wanted - broken)] if wanted - broken else []
        if broken:
            found.append(self._runs(base, find(broken), below))
        return found

    def _runs(self, base: Plan, texts: Leaf, below: Paths) -> Leaf:
        """Texts as they are in the view: those with only empty holes between them are one.

        They have the same number of other nodes before them.
        """
        text = texts.item
        assert isinstance(text, AnyNode)
        compilation = self.scope.compilation
        place = _Place(Unit(), text.filler, None, text.paths)

        def before(paths: Paths) -> Leaf:
            return self.inside(
                place,
                paths,
                lambda node: ((text.parent, node.parent),),
                lambda node: call("<", node.start, text.start),
            )

        parents = {_element_of(path) for path in text.paths}
        beside = frozenset(
            path
            for path in below
            if path.kind not in ("attribute", "text")
            and not path.is_top
            and any(_may_be_same(_parent_of(path), one) for one in parents)
        )
        holes = frozenset(path for path in beside if path.kind == "hole")
        counts: list[Scalar] = []
        if beside - holes:
            counts.append(Nested(before(beside - holes).plan, "count", TRUE))
        graph = compilation.graphs[self.stream]
        tags = graph.fragmented_children(*{path.tag for path in text.paths})
        tops = frozenset(path for path in self.paths.all if path.is_top and path.table in tags)
        if tops:
            filled = replace(self, test=None)._in_holes(before(holes), tops)
            counts.append(Nested(filled.plan, "count", TRUE))
        run = compilation.fresh("run")
        number = Call("+", tuple(counts)) if len(counts) > 1 else (*counts, Constant(0))[0]
        value = compilation.fresh("text")
        end = compilation.fresh("end")
        plan: Plan = Project(texts.plan, run, number)
        plan = Project(plan, value, any_string(text, self.scope))
        plan = Project(plan, end, call("+", text.start, text.length))
        prefix = compilation.fresh("node")
        row = compilation.fresh("filler")
        same: list[tuple[str, Scalar]] = [(name, Column(name)) for name in sorted(columns(base))]
        same += [(f"{row}.{name}", text.filler.column(name)) for name in ROW_COLUMNS]
        same += [(f"{prefix}.{name}", getattr(text, name)) for name in ("kind", "name", "path")]
        apart = [*identity(base), text.filler.column("key"), text.parent, Column(run)]
        keys = [(f"{prefix}.key{index}", one) for index, one in enumerate(apart)]
        first, last = Aggregate("min", text.start), Aggregate("max", Column(end))
        nest = Nest(
            plan,
            tuple(keys),
            (
                *((name, Aggregate("any", one)) for name, one in same),
                (f"{prefix}.parent", Aggregate("any", text.parent)),
                (f"{prefix}.start", first),
                (f"{prefix}.end", last),
                (f"{prefix}.value", Aggregate("join", Column(value))),
            ),
        )
        made = {
            name: Column(f"{prefix}.{name}")
            for name in ("kind", "name", "path", "parent", "start", "value")
        }
        length = call("-", Column(f"{prefix}.end"), Column(f"{prefix}.start"))
        valued = frozenset(replace(path, is_valued=True) for path in text.paths)
        node = AnyNode(self._filler(row, text.filler.table), **made, length=length, paths=valued)
        key = node_key(node, self.scope)
        assert key is not None
        return Leaf(Order(nest, (*order(base), SortKey(key, "key"))), node)

    def _top_paths(self, tags: Iterable[str]) -> Paths:
        """The paths of the own elements of fillers with some tags that pass the test."""
        known = set(tags)
        return self.passing(path for path in self.paths.all if path.is_top and path.table in known)

    def _in_holes(self, hole: Leaf, tops: Paths) -> Leaf:
        """The fillers in some holes."""
        node = hole.item
        assert isinstance(node, AnyNode)
        filler = self.fillers({path.table for path in tops})
        rows = Extract(self.stream, filler.table, filler.row, span=self.span)
        keys = (
            (node.filler.column("key"), filler.column("parent")),
            (node.start, filler.column("offset")),
        )
        plan = Join(hole.plan, rows, keys, TRUE, span=self.span)
        return self.inside(_Place(plan, filler, None, tops), tops)

    def descendants(self, leaf: Leaf) -> list[Leaf]:
        graph = self.scope.compilation.graphs[self.stream]
        if isinstance(leaf.item, StreamDocument):
            every = frozenset(path for path in self.paths.all if path.kind != "attribute")
            return self.one(leaf.plan, self._everywhere(leaf.plan, every))
        place = self.place_of(leaf)
        found: list[Leaf] = []
        below = self.paths.descendants(place.paths)
        inline = self.passing(below)
        found += self._with_runs(
            place.plan,
            lambda paths: self._below(place, paths, exact=_has_texts(inline)),
            inline,
            below,
        )
        tags = {path.tag for path in place.paths if path.kind == "element"}
        tables = graph.fragmented_below(*tags)
        within = frozenset(
            path for path in self.paths.all if path.table in tables and path.kind != "attribute"
        )
        wanted = self.passing(within)
        found += self._with_runs(
            place.plan, lambda paths: self._in_fillers_below(place, leaf, paths), wanted, within
        )
        return self.one(leaf.plan, found)

    def _everywhere(self, plan: Plan, every: Paths) -> list[Leaf]:
        """All nodes of the stream that pass the test, but no attributes."""
        return self._with_runs(
            plan, lambda paths: self.everywhere(plan, paths), self.passing(every), every
        )

    def _below(self, place: _Place, paths: Paths, exact: bool = False) -> Leaf:
        """The nodes on some paths inside an element, in its filler."""

        def is_inside(node: AnyNode) -> Scalar:
            if place.span is None:
                return call(">", node.start, Constant(0))
            start, length = place.span
            return conjunction(
                call(">", node.start, start), call("<", node.start, call("+", start, length))
            )

        return self.inside(place, paths, condition=is_inside, exact=exact)

    def _in_fillers_below(self, place: _Place, leaf: Leaf, paths: Paths) -> Leaf:
        """The nodes on some paths in the fillers inside an element, at any depth."""
        filler = self.fillers({path.table for path in paths})
        rows = Extract(self.stream, filler.table, filler.row, span=self.span)
        item = leaf.item
        assert isinstance(item, AnyNode | StreamElement | Inner)
        key = filler.column("key")
        first = node_key(item, self.scope)
        assert first is not None
        inside = conjunction(call(">", key, first), call("<", key, end_key(item, self.scope)))
        plan = Join(place.plan, rows, (), inside, span=self.span)
        found = self.inside(_Place(plan, filler, None, paths), paths, exact=_has_texts(paths))
        return self._in_order(place.plan, found)

    def attributes(self, leaf: Leaf) -> list[Leaf]:
        if isinstance(leaf.item, StreamDocument):
            return []
        assert self.test is not None
        names = attribute_test(self.test, self.scope)
        place = self.place_of(leaf)
        timed = self._timed(place)
        paths = frozenset(
            path
            for path in self.paths.children(place.paths)
            if path.kind == "attribute"
            and (names is None or path.name in names)
            # the stream sets the lifespans of fillers, whatever they came with
            and not (path.name in ("vtFrom", "vtTo") and timed is not None)
        )
        found: list[Leaf] = []
        if names is None and paths:
            one = self.inside(place, paths, lambda node: ((place.start, node.parent),))
            found.append(one)
        else:
            found += [self._attribute(name, leaf, place, paths) for name in _names(paths)]
        if timed is not None:
            found += self._lifespan_attributes(leaf, place, names, timed)
        return self.one(leaf.plan, found)

    def _attribute(self, name: str, leaf: Leaf, place: _Place, paths: Paths) -> Leaf:
        """An attribute as a value of its element, which has at most one with that name."""
        those = frozenset(path for path in paths if path.name == name)
        found = self.inside(
            replace(place, plan=Unit()),
            those,
            lambda node: ((place.start, node.parent),),
        )
        assert isinstance(found.item, AnyNode)
        value = Nested(found.plan, "first", found.item.value)
        owner = leaf.item
        assert isinstance(owner, AnyNode | StreamElement | Inner)
        plan = Select(place.plan, call("is_not_null", value))
        return Leaf(plan, AttributeItem(name, value, owner))

    def _timed(self, place: _Place) -> Scalar | None:
        """Whether an element is one with a lifespan, a filler's own; None if it never is."""
        graph = self.scope.compilation.graphs[self.stream]
        tops = [path for path in place.paths if path.is_top and graph.is_fragmented(path.table)]
        if not tops:
            return None
        if len(tops) == len(place.paths):
            return TRUE
        is_top = call("=", place.start, Constant(0))
        every = {path.table for path in place.paths if path.is_top}
        kept = {path.table for path in tops}
        if kept == every:
            return is_top
        return conjunction(is_top, _among(place.filler.column("tag"), kept))

    def _lifespan_attributes(
        self, leaf: Leaf, place: _Place, names: frozenset[str] | None, timed: Scalar
    ) -> list[Leaf]:
        wanted = [name for name in ("vtFrom", "vtTo") if names is None or name in names]
        if not wanted:
            return []
        if timed is not TRUE and any(
            path.name in ("vtFrom", "vtTo") for path in self.paths.children(place.paths)
        ):
            raise NotNative("lifespans in the data, on elements inside fillers", self.span)
        ends = own_lifespan(place.filler, self.scope)
        owner = leaf.item
        assert isinstance(owner, AnyNode | StreamElement | Inner)
        found: list[Leaf] = []
        plan = leaf.plan if timed == TRUE else Select(leaf.plan, timed)
        for name, end, open_ in zip(("vtFrom", "vtTo"), ends, ("start", "now"), strict=True):
            if name in wanted:
                text = call("coalesce", call("time_text", end), Constant(open_))
                item: Item = AttributeItem(name, text, owner)
                if names is None:
                    item = self._lifespan_attribute(name, text, place)
                found.append(Leaf(plan, item))
        return found

    def _lifespan_attribute(self, name: str, text: Scalar, place: _Place) -> AnyNode:
        """An attribute of a lifespan among others: behind them, where no node begins."""
        whole = call("text_of_bytes", place.filler.column("raw"))
        # in the normal form, only the end of the tag is written so
        end = call("octet_length", call("text_before", whole, Constant(">")))
        start = end if name == "vtTo" else call("-", end, Constant(1))
        paths = frozenset(
            NodePath(path.table, f"{path.text}/@{name}", "attribute", path.tag, name, True)
            for path in place.paths
            if path.is_top
        )
        kind = Constant(KINDS["attribute"])
        nowhere = Constant("")
        return AnyNode(
            place.filler,
            kind,
            Constant(name),
            nowhere,
            start,
            Constant(0),
            Constant(0),
            text,
            paths,
        )

    def parents(self, leaf: Leaf) -> list[Leaf]:
        if isinstance(leaf.item, StreamDocument):
            return []
        node = self.as_any(leaf)
        item = node.item
        assert isinstance(item, AnyNode)
        place = self.place_of(node)
        found: list[Leaf] = []
        inline = self.passing(self.paths.parents(item.paths))
        if inline:
            found.append(
                self.inside(
                    place,
                    inline,
                    lambda one: ((item.parent, one.start),),
                    is_lookup=True,
                )
            )
        tops = [path for path in item.paths if path.is_top]
        if tops:
            found += self._around(node, {path.table for path in tops})
            found += self._documents(node)
        return self.one(leaf.plan, found)

    def _around(self, node: Leaf, tables: Iterable[str]) -> list[Leaf]:
        """The parents of fillers' own elements: the elements around their holes."""
        item = node.item
        assert isinstance(item, AnyNode)
        graph = self.scope.compilation.graphs[self.stream]
        found: list[Leaf] = []
        above = {parent for table in tables for parent in graph.filler_parents(table)}
        holes = frozenset(
            path for path in self.paths.all if path.kind == "hole" and path.table in above
        )
        around = self.passing(self.paths.parents(holes))
        if around:
            filler = self.fillers({path.table for path in holes})
            rows = Extract(self.stream, filler.table, filler.row, span=self.span)
            is_top = call("=", item.start, Constant(0))
            plan = Select(node.plan, is_top) if not _are_tops(item.paths) else node.plan
            keys = ((item.filler.column("parent"), filler.column("key")),)
            plan = Join(plan, rows, keys, TRUE, is_lookup=True, span=self.span)
            offset = item.filler.column("offset")
            hole = self.inside(
                _Place(plan, filler, None, holes),
                holes,
                lambda one: ((offset, one.start),),
                is_lookup=True,
            )
            inner = hole.item
            assert isinstance(inner, AnyNode)
            place = _Place(hole.plan, filler, None, around)
            found.append(
                self.inside(
                    place,
                    around,
                    lambda one: ((inner.parent, one.start),),
                    is_lookup=True,
                )
            )
        return found

    def _documents(self, node: Leaf) -> list[Leaf]:
        """The document around the root element, if it passes the test."""
        item = node.item
        assert isinstance(item, AnyNode)
        root = self.scope.compilation.graphs[self.stream].structure.root.id
        roots = frozenset(path for path in item.paths if path.is_top and path.table == root)
        if not roots or not (self.test is None or is_any_node(self.test)):
            return []
        plan = node.plan if roots == item.paths else Select(node.plan, _is_on(item, roots))
        return [Leaf(plan, StreamDocument(self.stream))]

    def ancestors(self, leaf: Leaf) -> list[Leaf]:
        if isinstance(leaf.item, StreamDocument):
            return []
        node = self.as_any(leaf)
        item = node.item
        assert isinstance(item, AnyNode)
        place = self.place_of(node)
        found: list[Leaf] = []
        inline = self.passing(self.paths.ancestors(item.paths))
        if inline:
            found.append(
                self.inside(place, inline, condition=lambda one: _is_around(one, item.start))
            )
        graph = self.scope.compilation.graphs[self.stream]
        tables = {path.table for path in item.paths}
        above = (graph.above(tables) & graph.fragmented) | {graph.structure.root.id}
        holes = frozenset(
            path for path in self.paths.all if path.kind == "hole" and path.table in above
        )
        around = self.passing(self.paths.ancestors(holes))
        if around and tables != {graph.structure.root.id}:
            compilation = self.scope.compilation
            name, position = compilation.fresh("place"), compilation.fresh("place_at")
            places = call("places_above", item.filler.column("key"))
            plan: Plan = Unnest(node.plan, places, name, position, span=self.span)
            filler = self.fillers({path.table for path in around})
            rows = Extract(self.stream, filler.table, filler.row, span=self.span)
            keys = ((field(Column(name), "key"), filler.column("key")),)
            plan = Join(plan, rows, keys, TRUE, span=self.span)
            offset = field(Column(name), "offset")
            found.append(
                self.inside(
                    _Place(plan, filler, None, around),
                    around,
                    condition=lambda one: _is_around(one, offset),
                )
            )
        if self.test is None or is_any_node(self.test):
            found.append(Leaf(node.plan, StreamDocument(self.stream)))
        return self.one(leaf.plan, found)

    def siblings(self, leaf: Leaf, axis: str) -> list[Leaf]:
        if isinstance(leaf.item, StreamDocument):
            return []
        graph = self.scope.compilation.graphs[self.stream]
        node = self.as_any(leaf)
        item = node.item
        assert isinstance(item, AnyNode)
        if "attribute" in item.kinds:
            raise NotNative("siblings of nodes that may be attributes", self.span)
        sign = ">" if axis == "following-sibling" else "<"
        above = self.paths.parents(item.paths)
        tags = {path.tag for path in above}
        if not any(path.is_top for path in item.paths) and not self._top_paths(
            graph.fragmented_children(*tags)
        ):
            below = self.paths.children(above)
            paths = frozenset(path for path in self.passing(below) if path.kind != "attribute")
            place = self.place_of(node)
            every = self._with_runs(
                node.plan,
                lambda paths: self.inside(
                    place, paths, lambda one: ((item.parent, one.parent),), exact=_has_texts(paths)
                ),
                paths,
                below,
            )
            found = [
                Leaf(Select(one.plan, call(sign, one.item.start, item.start)), one.item)  # type: ignore[attr-defined]
                for one in every
            ]
            return self.one(leaf.plan, found)
        here = node_key(item, self.scope)
        assert here is not None
        found = []
        for parent in replace(self, test=None).parents(node):
            for one in self.children(parent):
                key = node_key(one.item, self.scope)
                assert key is not None
                found.append(Leaf(Select(one.plan, call(sign, key, here)), one.item))
        return found

    def beyond(self, leaf: Leaf, axis: str) -> list[Leaf]:
        """Nodes that start after an element has ended, or end before it starts."""
        if isinstance(leaf.item, StreamDocument):
            return []
        every = frozenset(path for path in self.paths.all if path.kind != "attribute")
        found: list[Leaf] = []
        for other in self._everywhere(Unit(), every):
            assert isinstance(other.item, AnyNode)
            item = leaf.item
            assert isinstance(item, AnyNode | StreamElement | Inner)
            first, last = (other.item, item) if axis == "preceding" else (item, other.item)
            key = node_key(last, self.scope)
            assert key is not None
            apart = call("<=", end_key(first, self.scope), key)
            plan = Join(leaf.plan, other.plan, (), apart, span=self.span)
            found.append(Leaf(plan, other.item))
        return self.one(leaf.plan, found)


def united(found: Sequence[Leaf], base: Plan, scope: Scope) -> Leaf:
    """The nodes of several leaves as those of one; the columns of `base` are kept."""
    if len(found) == 1:
        return found[0]
    nodes = [leaf.item for leaf in found]
    assert all(isinstance(one, AnyNode) for one in nodes)
    compilation = scope.compilation
    made: list[tuple[str, tuple[Scalar, ...]]] = [
        (name, (Column(name),) * len(found)) for name in sorted(columns(base))
    ]
    row = compilation.fresh("filler")
    made += [
        (f"{row}.{name}", tuple(row_column(one.filler.row, name) for one in nodes))  # type: ignore[attr-defined]
        for name in ROW_COLUMNS
    ]
    prefix = compilation.fresh("node")
    kept: dict[str, Scalar] = {}
    for name in NODE_COLUMNS:
        if name != "seq":
            kept[name] = Column(f"{prefix}.{name}")
            made.append((f"{prefix}.{name}", tuple(getattr(one, name) for one in nodes)))
    stream = nodes[0].stream  # type: ignore[attr-defined]
    tags = tuple(sorted({tag for one in nodes for tag in one.filler.table}))  # type: ignore[attr-defined]
    filler = _Steps(stream, None, scope, compilation.module.span)._filler(row, tags)
    paths = frozenset().union(*(one.paths for one in nodes))  # type: ignore[attr-defined]
    node = AnyNode(filler, **kept, paths=paths)
    key = compilation.fresh("order")
    made.append((key, tuple(node_key(one, scope) for one in nodes)))  # type: ignore[misc]
    by = (*order(base), SortKey(Column(key), "key"))
    plans = tuple(leaf.plan for leaf in found)
    return Leaf(Merge(plans, tuple(made), by, within=identity(base)), node)


def _is_on(node: AnyNode, paths: Paths) -> Scalar:
    """Whether a node is on some of its paths."""
    kinds = {path.kind for path in paths}
    alike = frozenset(path for path in node.paths if path.kind in kinds)
    conditions: list[Scalar] = []
    if alike != node.paths:
        conditions.append(_among(node.kind, {KINDS[kind] for kind in kinds}))
    if alike != paths:
        names = {path.name for path in paths}
        conditions.append(_among(node.name, names))
        if frozenset(path for path in alike if path.name in names) != paths:
            conditions.append(_among(node.path, {path.text for path in paths}))
    return conjunction(*conditions)


def _among(value: Scalar, values: Iterable[object]) -> Scalar:
    known = [Constant(one) for one in sorted(set(values))]  # type: ignore[type-var]
    return call("=", value, known[0]) if len(known) == 1 else Call("one_of", (value, *known))


def _is_around(node: AnyNode, offset: Scalar) -> Scalar:
    return conjunction(
        call("<", node.start, offset), call(">", call("+", node.start, node.length), offset)
    )


def _has_texts(paths: Paths) -> bool:
    """Whether some paths lead to texts, of which those around holes are found apart."""
    return any(path.kind == "text" for path in paths)


def _element_of(path: NodePath) -> tuple[str, str, str]:
    """The table, the tag, and the path of the parent of texts or holes; no path if it is vague."""
    return path.table, path.tag, "" if path.is_vague else path.above


def _parent_of(path: NodePath) -> tuple[str, str, str]:
    """The same for the parent of any node; no tag if it is the parent of an element."""
    if path.kind != "element":
        return _element_of(path)
    above = "" if path.is_vague else path.above
    return path.table, read_path(above)[1] if above else "", above


def _may_be_same(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    same_tag = one[1] == other[1] or not (one[1] and other[1])
    return one[0] == other[0] and same_tag and (one[2] == other[2] or not (one[2] and other[2]))


def _names(paths: Paths) -> list[str]:
    return sorted({path.name for path in paths})


def _are_tops(paths: Paths) -> bool:
    return all(path.is_top for path in paths)
