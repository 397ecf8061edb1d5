"""NodeSteps to nodes of any kind and name, by joins with the table of nodes.

The other steps read columns by tag: fast, but each kind of node needs its own part of the plan.
Here, kinds are values in columns. A node is known by its filler's row and its offset in it:

    child            nodes with the same filler, and the offset of the node as their `parent`
    descendant       … with an offset inside the node; and all nodes of the fillers inside it
    parent           the node at the offset `parent`; for a filler's own element, the one around
                     its hole
    ancestor         the nodes around its offset; and those around the holes of the fillers above
    attribute, text  children of other kinds
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from xcql.algebra.operators import Extract, Join, Plan, Select, Unit, Unnest, free, row_column
from xcql.algebra.scalars import TRUE, Column, Constant, Nested, Scalar, call, conjunction, field
from xcql.compile.library.access import end_key, node_key, own_lifespan
from xcql.compile.library.node_lookup import (
    NodeLookup,
    NodePlace,
    Paths,
    has_general_form,
    has_texts,
    is_on,
    lookup_from,
    united,
)
from xcql.compile.library.node_names import instruction
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.library.stream_rows import filler, inside, new_row, tables
from xcql.compile.library.text_runs import in_holes, with_runs
from xcql.compile.node_paths import NodePath
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AnyNode,
    AttributeItem,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.node_paths import KINDS
from xcql.source import Span
from xcql.syntax.node import SyntaxNode
from xcql.syntax.types import CommentTest, ProcessingInstructionTest


def general_axis(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    """The nodes on an axis that pass a test; the leaf's item has a general form."""
    found = _axis(leaf, axis, test, scope, span)
    if isinstance(test, ProcessingInstructionTest) and test.target is not None:
        return [_of_target(one, test.target) for one in found]
    return found


def _of_target(leaf: Leaf, target: str) -> Leaf:
    """The processing instructions that have a target."""
    assert isinstance(leaf.item, AnyNode)
    return Leaf(
        Select(leaf.plan, call("=", instruction(leaf.item)[0], Constant(target))), leaf.item
    )


def _axis(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    table = lookup_from(leaf.item, scope, span)
    steps = NodeSteps(table, test)
    if isinstance(leaf.item, Inner):
        # this may replace the plan that has found it, and with it the columns of the item
        leaf = table.as_any(leaf)
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


@dataclass(frozen=True, slots=True)
class NodeSteps:
    """NodeSteps that end with a test; without one, every node passes."""

    table: NodeLookup
    test: SyntaxNode | None

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
            return path.kind == "processing-instruction"
        passes = self.table.scope.names.element_test(test)
        if passes is None or path.kind != "element":
            return False
        return passes(self.table.scope.compilation.graphs[self.table.stream].tag(path.tag))

    def one(self, base: Plan, found: Sequence[Leaf]) -> list[Leaf]:
        """Nodes that were found for the tuples of a plan, as one leaf; others stay apart."""
        general = [leaf for leaf in found if isinstance(leaf.item, AnyNode)]
        others = [leaf for leaf in found if not isinstance(leaf.item, AnyNode)]
        return others + ([united(general, base, self.table.scope)] if general else [])

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
                return [Leaf(Select(leaf.plan, is_on(node, paths)), replace(node, paths=paths))]
        return self.itself(self.table.as_any(leaf))

    def children(self, leaf: Leaf) -> list[Leaf]:
        graph = self.table.scope.compilation.graphs[self.table.stream]
        if isinstance(leaf.item, StreamDocument):
            tops = frozenset(path for path in self.table.paths.all if path.is_top)
            root = frozenset(path for path in tops if path.table == graph.structure.root.id)
            kept = self.passing(root)
            return [self.table.everywhere(leaf.plan, kept)] if kept else []
        place = self.table.place_of(leaf)
        found: list[Leaf] = []
        below = self.table.paths.children(place.paths)
        inline = frozenset(path for path in self.passing(below) if path.kind != "attribute")
        found += with_runs(
            self.table,
            place.plan,
            lambda paths: self.table.inside(
                place, paths, lambda node: ((place.start, node.parent),), exact=has_texts(inline)
            ),
            inline,
            below,
        )
        tags = {path.tag for path in place.paths if path.kind == "element"}
        wanted = self.top_paths(graph.fragmented_children(*tags))
        holes = frozenset(path for path in below if path.kind == "hole")
        if wanted and holes:
            hole = self.table.inside(place, holes, lambda node: ((place.start, node.parent),))
            rows = None if found else self._rows_in_holes(hole, wanted)
            if rows is not None:
                return [rows]
            found.append(in_holes(self.table, hole, wanted))
        return self.one(leaf.plan, found)

    def _rows_in_holes(self, hole: Leaf, tops: Paths) -> Leaf | None:
        """The fillers in some holes with their columns; None if they are not of one kind."""
        node = hole.item
        assert isinstance(node, AnyNode)
        ids = sorted({path.table for path in tops})
        scope = self.table.scope
        if self.table.has_root or tables(self.table.stream, ids, scope) != [tuple(ids)]:
            return None
        shape = scope.compilation.shape(self.table.stream, tuple(ids))
        assert shape is not None
        row = new_row(self.table.stream, tuple(ids), shape, scope)
        rows = Extract(self.table.stream, tuple(ids), row, span=self.table.span)
        keys = (
            (node.filler.column("key"), row_column(row, "parent")),
            (node.start, row_column(row, "offset")),
        )
        plan = Join(hole.plan, rows, keys, TRUE, span=self.table.span)
        return filler(plan, node.filler, row, tuple(ids), shape, scope, is_child=False)

    def top_paths(self, tags: Iterable[str]) -> Paths:
        """The paths of the own elements of fillers with some tags that pass the test."""
        known = set(tags)
        return self.passing(
            path for path in self.table.paths.all if path.is_top and path.table in known
        )

    def descendants(self, leaf: Leaf) -> list[Leaf]:
        graph = self.table.scope.compilation.graphs[self.table.stream]
        if isinstance(leaf.item, StreamDocument):
            every = frozenset(path for path in self.table.paths.all if path.kind != "attribute")
            return self.one(leaf.plan, self._everywhere(leaf.plan, every))
        place = self.table.place_of(leaf)
        found: list[Leaf] = []
        below = self.table.paths.descendants(place.paths)
        inline = self.passing(below)
        found += with_runs(
            self.table,
            place.plan,
            lambda paths: self.table.below(place, paths, exact=has_texts(inline)),
            inline,
            below,
        )
        tags = {path.tag for path in place.paths if path.kind == "element"}
        tables = graph.fragmented_below(*tags)
        within = frozenset(
            path
            for path in self.table.paths.all
            if path.table in tables and path.kind != "attribute"
        )
        wanted = self.passing(within)
        found += with_runs(
            self.table,
            place.plan,
            lambda paths: self._in_fillers_below(place, leaf, paths),
            wanted,
            within,
        )
        return self.one(leaf.plan, found)

    def _everywhere(self, plan: Plan, every: Paths) -> list[Leaf]:
        """All nodes of the stream that pass the test, but no attributes."""
        return with_runs(
            self.table,
            plan,
            lambda paths: self.table.everywhere(plan, paths),
            self.passing(every),
            every,
        )

    def _in_fillers_below(self, place: NodePlace, leaf: Leaf, paths: Paths) -> Leaf:
        """The nodes on some paths in the fillers inside an element, at any depth."""
        filler = self.table.fillers({path.table for path in paths})
        plan = inside(
            place.plan,
            place.filler,
            place.span,
            filler.table,
            filler.row,
            self.table.scope,
            self.table.span,
        )
        key = node_key(leaf.item, self.table.scope)
        assert key is not None
        visible = self.table.is_visible_below(filler, place, key)
        if visible != TRUE:
            plan = Select(plan, visible)
        found = self.table.inside(
            NodePlace(plan, filler, None, paths), paths, exact=has_texts(paths)
        )
        return self.table.in_order(place.plan, found)

    def attributes(self, leaf: Leaf) -> list[Leaf]:
        if isinstance(leaf.item, StreamDocument):
            return []
        assert self.test is not None
        names = attribute_test(self.test, self.table.scope)
        place = self.table.place_of(leaf)
        timed = self.table.timed(place)
        paths = frozenset(
            path
            for path in self.table.paths.children(place.paths)
            if path.kind == "attribute"
            and (names is None or path.name in names)
            # the stream sets the lifespans of fillers, whatever they came with
            and not (path.name in ("vtFrom", "vtTo") and timed is not None)
        )
        found: list[Leaf] = []
        if not isinstance(names, frozenset) and paths:
            one = self.table.inside(place, paths, lambda node: ((place.start, node.parent),))
            found.append(one)
        else:
            found += [self._attribute(name, leaf, place, paths) for name in _names(paths)]
        if timed is not None:
            found += self._lifespan_attributes(leaf, place, names, timed)
        return self.one(leaf.plan, found)

    def _attribute(self, name: str, leaf: Leaf, place: NodePlace, paths: Paths) -> Leaf:
        """An attribute as a value of its element, which has at most one with that name."""
        those = frozenset(path for path in paths if path.name == name)
        found = self.table.inside(
            replace(place, plan=Unit()),
            those,
            lambda node: ((place.start, node.parent),),
            is_lookup=True,
        )
        assert isinstance(found.item, AnyNode)
        value = Nested(found.plan, "first", found.item.value)
        owner = leaf.item
        assert isinstance(owner, AnyNode | StreamElement | Inner)
        plan = Select(place.plan, call("is_not_null", value))
        return Leaf(plan, AttributeItem(name, value, owner))

    def _lifespan_attributes(
        self, leaf: Leaf, place: NodePlace, names: Container[str] | None, timed: Scalar
    ) -> list[Leaf]:
        wanted = [name for name in ("vtFrom", "vtTo") if names is None or name in names]
        if not wanted:
            return []
        if timed is not TRUE and any(
            path.name in ("vtFrom", "vtTo") for path in self.table.paths.children(place.paths)
        ):
            raise NotNative("lifespans in the data, on elements inside fillers", self.table.span)
        ends = own_lifespan(place.filler, self.table.scope)
        owner = leaf.item
        assert isinstance(owner, AnyNode | StreamElement | Inner)
        found: list[Leaf] = []
        plan = leaf.plan if timed == TRUE else Select(leaf.plan, timed)
        for name, end, open_ in zip(("vtFrom", "vtTo"), ends, ("start", "now"), strict=True):
            if name in wanted:
                text = call("coalesce", call("time_text", end), Constant(open_))
                item: Item = AttributeItem(name, text, owner)
                if not isinstance(names, frozenset):
                    item = self._lifespan_attribute(name, text, place)
                found.append(Leaf(plan, item))
        return found

    def _lifespan_attribute(self, name: str, text: Scalar, place: NodePlace) -> AnyNode:
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
            place.seq,
            self.table.root,
        )

    def _without_roots(self, leaf: Leaf) -> Leaf:
        """The nodes that are not the roots of projected trees: these have no parents."""
        if not self.table.has_root:
            return leaf
        key = node_key(leaf.item, self.table.scope)
        assert key is not None
        return Leaf(Select(leaf.plan, call("<>", key, self.table.key_of_root())), leaf.item)

    def _in_tree(self, found: list[Leaf]) -> list[Leaf]:
        """Those of the ancestors of a node that are in its projected tree."""
        if not self.table.has_root:
            return found
        root = self.table.key_of_root()
        keys = [node_key(one.item, self.table.scope) for one in found]
        return [
            Leaf(Select(one.plan, call(">=", key, root)), one.item)
            for one, key in zip(found, keys, strict=True)
            if key is not None
        ]

    def parents(self, leaf: Leaf) -> list[Leaf]:
        if _has_no_parent(leaf.item):
            return []
        leaf = self._without_roots(leaf)
        if self._is_filler_below(leaf.item):
            assert isinstance(leaf.item, StreamElement)
            return self.one(leaf.plan, self._around(leaf.plan, leaf.item, leaf.item.tags))
        node = self.table.as_any(leaf)
        item = node.item
        assert isinstance(item, AnyNode)
        place = self.table.place_of(node)
        found: list[Leaf] = []
        inline = self.passing(self.table.paths.parents(item.paths))
        if inline:
            found.append(
                self.table.inside(
                    place,
                    inline,
                    lambda one: ((item.parent, one.start),),
                    is_lookup=True,
                )
            )
        tops = [path for path in item.paths if path.is_top]
        if tops:
            plan = node.plan
            if not _are_tops(item.paths):
                plan = Select(plan, call("=", item.start, Constant(0)))
            found += self._around(plan, item.filler, {path.table for path in tops})
            found += self._documents(node)
        return self.one(leaf.plan, found)

    def _is_filler_below(self, item: Item) -> bool:
        """Whether an item is the own element of a filler, but not of the root's."""
        root = self.table.scope.compilation.graphs[self.table.stream].structure.root.id
        is_own = isinstance(item, StreamElement) and item.is_filler and root not in item.tags
        return is_own and has_general_form(item, self.table.scope)

    def _around(self, plan: Plan, inner: StreamElement, tables: Iterable[str]) -> list[Leaf]:
        """The parents of the own elements of fillers: the elements around their holes."""
        graph = self.table.scope.compilation.graphs[self.table.stream]
        found: list[Leaf] = []
        above = {parent for table in tables for parent in graph.filler_parents(table)}
        holes = frozenset(
            path for path in self.table.paths.all if path.kind == "hole" and path.table in above
        )
        around = self.passing(self.table.paths.parents(holes))
        if around:
            filler = self.table.fillers({path.table for path in holes})
            rows = Extract(self.table.stream, filler.table, filler.row, span=self.table.span)
            keys = ((inner.column("parent"), filler.column("key")),)
            plan = Join(plan, rows, keys, TRUE, is_lookup=True, span=self.table.span)
            offset = inner.column("offset")
            hole = self.table.inside(
                NodePlace(plan, filler, None, holes),
                holes,
                lambda one: ((offset, one.start),),
                is_lookup=True,
            )
            there = hole.item
            assert isinstance(there, AnyNode)
            place = NodePlace(hole.plan, filler, None, around, there.seq)
            found.append(
                self.table.inside(
                    place,
                    around,
                    lambda one: ((there.parent, one.start),),
                    is_lookup=True,
                )
            )
        return found

    def _documents(self, node: Leaf) -> list[Leaf]:
        """The document around the root element, if it passes the test."""
        item = node.item
        assert isinstance(item, AnyNode)
        root = self.table.scope.compilation.graphs[self.table.stream].structure.root.id
        roots = frozenset(path for path in item.paths if path.is_top and path.table == root)
        if self.table.has_root or not roots or not (self.test is None or is_any_node(self.test)):
            return []
        plan = node.plan if roots == item.paths else Select(node.plan, is_on(item, roots))
        return [Leaf(plan, self._document)]

    @property
    def _document(self) -> StreamDocument:
        return StreamDocument(self.table.stream, self.table.window, self.table.tree)

    def ancestors(self, leaf: Leaf) -> list[Leaf]:
        if _has_no_parent(leaf.item):
            return []
        place = self.table.place_of(self._without_roots(leaf))
        found: list[Leaf] = []
        inline = self.passing(self.table.paths.ancestors(place.paths))
        if inline:
            found.append(
                self.table.inside(place, inline, condition=lambda one: _is_around(one, place.start))
            )
        graph = self.table.scope.compilation.graphs[self.table.stream]
        tables = {path.table for path in place.paths}
        above = (graph.above(tables) & graph.fragmented) | {graph.structure.root.id}
        holes = frozenset(
            path for path in self.table.paths.all if path.kind == "hole" and path.table in above
        )
        around = self.passing(self.table.paths.ancestors(holes))
        if around and tables != {graph.structure.root.id}:
            compilation = self.table.scope.compilation
            name, position = compilation.fresh("place"), compilation.fresh("place_at")
            places = call("places_above", place.filler.column("key"))
            plan: Plan = Unnest(place.plan, places, name, position, span=self.table.span)
            filler = self.table.fillers({path.table for path in around})
            rows = Extract(self.table.stream, filler.table, filler.row, span=self.table.span)
            keys = ((field(Column(name), "key"), filler.column("key")),)
            plan = Join(plan, rows, keys, TRUE, span=self.table.span)
            offset = field(Column(name), "offset")
            found.append(
                self.table.inside(
                    NodePlace(plan, filler, None, around),
                    around,
                    condition=lambda one: _is_around(one, offset),
                )
            )
        found = self._in_tree(found)
        if not self.table.has_root and (self.test is None or is_any_node(self.test)):
            found.append(Leaf(place.plan, self._document))
        return self.one(leaf.plan, found)

    def siblings(self, leaf: Leaf, axis: str) -> list[Leaf]:
        if _has_no_parent(leaf.item):
            return []
        leaf = self._without_roots(leaf)
        graph = self.table.scope.compilation.graphs[self.table.stream]
        node = self.table.as_any(leaf)
        item = node.item
        assert isinstance(item, AnyNode)
        if "attribute" in item.kinds:
            raise NotNative("siblings of nodes that may be attributes", self.table.span)
        sign = ">" if axis == "following-sibling" else "<"
        above = self.table.paths.parents(item.paths)
        tags = {path.tag for path in above}
        if not any(path.is_top for path in item.paths) and not self.top_paths(
            graph.fragmented_children(*tags)
        ):
            below = self.table.paths.children(above)
            paths = frozenset(path for path in self.passing(below) if path.kind != "attribute")
            place = self.table.place_of(node)
            every = with_runs(
                self.table,
                node.plan,
                lambda paths: self.table.inside(
                    place, paths, lambda one: ((item.parent, one.parent),), exact=has_texts(paths)
                ),
                paths,
                below,
            )
            found = [
                Leaf(Select(one.plan, call(sign, one.item.start, item.start)), one.item)  # type: ignore[attr-defined]
                for one in every
            ]
            return self.one(leaf.plan, found)
        here = node_key(item, self.table.scope)
        assert here is not None
        found = []
        for parent in replace(self, test=None).parents(node):
            for one in self.children(parent):
                key = node_key(one.item, self.table.scope)
                assert key is not None
                found.append(Leaf(Select(one.plan, call(sign, key, here)), one.item))
        return found

    def beyond(self, leaf: Leaf, axis: str) -> list[Leaf]:
        """Nodes that start after an element has ended, or end before it starts."""
        if isinstance(leaf.item, StreamDocument):
            return []
        if self.table.has_root:
            raise NotNative(f"the axis {axis} in a projected element", self.table.span)
        every = frozenset(path for path in self.table.paths.all if path.kind != "attribute")
        found: list[Leaf] = []
        for other in self._everywhere(Unit(), every):
            assert isinstance(other.item, AnyNode)
            if free(other.plan):
                raise NotNative(f"the axis {axis} in a projection in a loop", self.table.span)
            item = leaf.item
            assert isinstance(item, AnyNode | StreamElement | Inner)
            first, last = (other.item, item) if axis == "preceding" else (item, other.item)
            key = node_key(last, self.table.scope)
            assert key is not None
            apart = call("<=", end_key(first, self.table.scope), key)
            plan = Join(leaf.plan, other.plan, (), apart, span=self.table.span)
            found.append(Leaf(plan, other.item))
        return self.one(leaf.plan, found)


def _has_no_parent(item: Item) -> bool:
    return isinstance(item, StreamDocument) or (
        isinstance(item, StreamElement | AnyNode) and item.is_top
    )


def _is_around(node: AnyNode, offset: Scalar) -> Scalar:
    return conjunction(
        call("<", node.start, offset), call(">", call("+", node.start, node.length), offset)
    )


def _names(paths: Paths) -> list[str]:
    return sorted({path.name for path in paths})


def _are_tops(paths: Paths) -> bool:
    return all(path.is_top for path in paths)
