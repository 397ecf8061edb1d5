"""Steps through the rows of a store: fields, arrays, and the holes of fillers, axis by axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xcql.algebra.operators import (
    Extract,
    Follow,
    Plan,
    Rise,
    Select,
    Unit,
    Unnest,
    columns,
    graft,
    present,
)
from xcql.algebra.scalars import Call, Column, Constant, Scalar, call, field
from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.compile.library.access import (
    attribute_names,
    attribute_of,
    element_text,
    end_key,
    is_fragmented,
    meets_window,
    node_key,
    span_of,
)
from xcql.compile.library.document_order import key_of, one_kind, root_of
from xcql.compile.library.inner import (
    around,
    attributes_inside,
    elements_inside,
    inline_below,
    of_tags,
    parent_start,
    texts_inside,
)
from xcql.compile.library.node_tests import attribute_test, is_any_node, is_text_test
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    AttributeItem,
    Inner,
    Item,
    Shape,
    StreamDocument,
    StreamElement,
    TextItem,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Each, Leaf, Single, apart, leaves
from xcql.model.tags import Tag
from xcql.shred.shape import walk
from xcql.source import Span
from xcql.syntax.node import SyntaxNode
from xcql.syntax.path import Wildcard


class StreamSteps:
    """The axes from nodes of streams."""

    def __init__(self, scope: Scope, test: SyntaxNode, span: Span) -> None:
        self.scope = scope
        self.test = test
        self.span = span
        self.compilation = scope.compilation
        self.passes = scope.names.element_test(test)

    def axis(self, leaf: Leaf, axis: str) -> list[Leaf]:
        match axis:
            case "self":
                return self.self_(leaf)
            case "child":
                return self.children(leaf)
            case "descendant":
                return self.descendants(leaf)
            case "descendant-or-self":
                return self.self_(leaf) + self.descendants(leaf)
            case "attribute":
                return self.attributes(leaf)
            case "parent":
                return [found for above in self.parents(leaf) for found in self.self_(above)]
            case "ancestor" | "ancestor-or-self":
                return self.ancestors(leaf, axis == "ancestor-or-self")
            case "following-sibling" | "preceding-sibling":
                return self.siblings(leaf, axis)
            case "following" | "preceding":
                return self.beyond(leaf, axis)
        raise NotNative(f"the axis {axis}", self.span)

    def graph(self, node: StreamElement | StreamDocument | Inner) -> TagGraph:
        return self.compilation.graphs[node.stream]

    def self_(self, leaf: Leaf) -> list[Leaf]:
        node = leaf.item
        if is_any_node(self.test):
            return [leaf]
        if isinstance(node, StreamDocument):
            return []
        assert isinstance(node, StreamElement | Inner)
        if self.passes is None:
            return []
        graph = self.graph(node)
        fitting = [tag for tag in node.tags if self.passes(graph.tag(tag))]
        if isinstance(node, Inner):
            return of_tags(leaf, fitting, self.scope, self.span)
        if len(fitting) == len(node.tags):
            return [leaf]
        if not fitting:
            return []
        raise NotNative("a test that only some of these tags pass", self.span)

    # downwards

    def children(self, leaf: Leaf) -> list[Leaf]:
        node = leaf.item
        assert isinstance(node, StreamElement | StreamDocument | Inner)
        if self.passes is None and not is_text_test(self.test):
            return self.markup(node)
        found: list[Leaf] = []
        if is_text_test(self.test) or is_any_node(self.test):
            found += self.texts(leaf, node)
        if self.passes is not None:
            ids = tuple(dict.fromkeys(tag.id for tag in self._child_tags(node) if self.passes(tag)))
            if isinstance(node, Inner) or (isinstance(node, StreamElement) and node.shape.opaque):
                found += self.mixed_children(leaf, node, ids)
            else:
                found += self.to_tags(leaf, ids)
        return found

    def mixed_children(
        self, leaf: Leaf, node: StreamElement | Inner, ids: tuple[str, ...]
    ) -> list[Leaf]:
        """The children with some tags of an element with mixed content."""
        graph = self.graph(node)
        inline = [id for id in ids if not graph.is_fragmented(id)]
        fillers = tuple(id for id in ids if graph.is_fragmented(id))
        found = elements_inside(leaf, inline, True, self.test, self.scope, self.span)
        if not fillers:
            return found
        below = inline_below(graph, node.tags)
        if isinstance(node, Inner) or graph.fragmented_children(*below) & set(fillers):
            # it is not known whether the hole is in the element itself or in one inside it
            raise NotNative("a step through holes in mixed content", self.span)
        return found + self.follow(leaf, fillers)

    def markup(self, node: StreamElement | StreamDocument | Inner) -> list[Leaf]:
        """Comments and processing instructions; native only if there are none."""
        if isinstance(node, Inner) or (
            isinstance(node, StreamElement) and (node.shape.commented or node.shape.opaque)
        ):
            raise NotNative("comments or processing instructions", self.span)
        return []

    def _child_tags(self, node: StreamElement | StreamDocument | Inner) -> Iterable[Tag]:
        graph = self.graph(node)
        if isinstance(node, StreamDocument):
            return graph.children(DOCUMENT)
        return [tag for id in node.tags for tag in graph.children(id)]

    def to_tags(self, leaf: Leaf, ids: tuple[str, ...]) -> list[Leaf]:
        """The children with some tags."""
        node = leaf.item
        graph = self.graph(node)  # type: ignore[arg-type]
        if isinstance(node, StreamDocument):
            return [one for id in ids for one in self.root(leaf, node, id)]
        assert isinstance(node, StreamElement)
        found: list[Leaf] = []
        inline = [id for id in ids if not graph.is_fragmented(id)]
        for shape in node.shape.children:
            tags = tuple(tag for tag in shape.tags if tag in inline)
            if tags:
                if len(tags) < len(shape.tags):
                    raise NotNative("a step that only some of these tags have", self.span)
                found.append(self.inline(leaf.plan, node, shape))
        found += self.follow(leaf, tuple(id for id in ids if graph.is_fragmented(id)))
        return found

    def root(self, leaf: Leaf, document: StreamDocument, id: str) -> list[Leaf]:
        stream = document.stream
        shape = self.compilation.shape(stream, (id,))
        if shape is None:
            return []
        row = self.new_row(stream, (id,), shape)
        plan: Plan = Extract(stream, (id,), row, leaf.plan, span=self.span)
        return [self.filler(plan, document, row, (id,), shape)]

    def new_row(self, stream: str, tags: tuple[str, ...], shape: Shape) -> str:
        self.compilation.demands.setdefault((stream, tags), set())
        return self.compilation.fresh(shape.name)

    def filler(
        self,
        plan: Plan,
        source: StreamElement | StreamDocument,
        row: str,
        tags: tuple[str, ...],
        shape: Shape,
        is_child: bool = True,
    ) -> Leaf:
        """The element of a filler's row; in a projection, only if its lifespan overlaps.

        `source` is a node of the same tree; it is the element's parent if `is_child`.
        """
        window = source.window
        node = StreamElement(
            source.stream,
            row,
            tags,
            tags,
            shape,
            ("element",),
            Column(f"{row}.element"),
            is_filler=True,
            alone=True,
            above=source if is_child else None,
            window=window,
            tree=source.tree,
        )
        graph = self.graph(node)
        if window is not None and any(graph.is_fragmented(tag) for tag in tags):
            plan = Select(plan, meets_window(replace(node, window=None), window, self.scope))
        return Leaf(plan, node)

    def inline(self, plan: Plan, node: StreamElement, shape: Shape) -> Leaf:
        """The child elements in one field of a struct."""
        struct = field(node.struct, shape.column)
        path = (*node.path, shape.column)
        self.compilation.demand(node, shape.column, "_start")
        alone = node.alone
        if shape.repeats:
            item = self.compilation.fresh(shape.name)
            position = self.compilation.fresh(f"{shape.name}_at")
            plan = Unnest(plan, struct, item, position, span=self.span)
            struct = Column(item)
            alone = False
        else:
            plan = Select(plan, present(struct), span=self.span)
        child = StreamElement(
            node.stream,
            node.row,
            node.table,
            shape.tags,
            shape,
            path,
            struct,
            is_filler=False,
            alone=alone,
            above=node,
            window=node.window,
            tree=node.tree,
        )
        return Leaf(plan, child)

    def follow(self, leaf: Leaf, ids: tuple[str, ...], is_child: bool = True) -> list[Leaf]:
        """Follow holes to the fillers with some tags."""
        node = leaf.item
        assert isinstance(node, StreamElement)
        found: list[Leaf] = []
        for tags in self.tables(node.stream, ids):
            shape = self.compilation.shape(node.stream, tags)
            assert shape is not None
            row = self.new_row(node.stream, tags, shape)
            within = None
            plan = leaf.plan
            if node.alone:
                plan = without_presence(plan, node)
            else:
                within = span_of(node, self.scope)
            plan = Follow(plan, node.stream, node.row, tags, row, within, span=self.span)
            found.append(self.filler(plan, node, row, tags, shape, is_child))
        return found

    def tables(self, stream: str, ids: Iterable[str]) -> list[tuple[str, ...]]:
        """The tags that have fillers, grouped if their tables are alike."""
        slots = self.compilation.catalog.streams[stream].slots
        groups: dict[str, list[str]] = {}
        found: list[tuple[str, ...]] = []
        for id in ids:
            if id in slots:
                graph = self.compilation.graphs[stream]
                name = graph.tag(id).name
                groups.setdefault(f"{name}|{graph.tag(id).kind}", []).append(id)
        for tags in groups.values():
            if self.compilation.shape(stream, tuple(tags)) is not None:
                found.append(tuple(tags))
            else:
                found += [(tag,) for tag in tags]
        return found

    def descendants(self, leaf: Leaf) -> list[Leaf]:
        node = leaf.item
        assert isinstance(node, StreamElement | StreamDocument | Inner)
        if is_text_test(self.test) or is_any_node(self.test):
            raise NotNative("all nodes below", self.span)
        graph = self.graph(node)
        if self.passes is None:
            slots = self.compilation.catalog.streams[node.stream].slots.values()
            if any(one.commented or one.opaque for slot in slots for one in walk(slot)):
                raise NotNative("comments or processing instructions", self.span)
            return []
        tops = (DOCUMENT,) if isinstance(node, StreamDocument) else node.tags
        wanted = frozenset(
            id for top in tops for id in graph.below(top) if self.passes(graph.tag(id))
        )
        if not wanted:
            return []
        if isinstance(node, Inner):
            holes = holes_below(graph, node.tags)
            if any((graph.below(id) | {id}) & wanted for id in holes):
                raise NotNative("a step through holes in mixed content", self.span)
            return elements_inside(leaf, wanted, False, self.test, self.scope, self.span)
        return self._below(leaf, wanted, frozenset())

    def _below(self, leaf: Leaf, wanted: frozenset[str], passed: frozenset[str]) -> list[Leaf]:
        node = leaf.item
        assert isinstance(node, StreamElement | StreamDocument)
        graph = self.graph(node)

        def leads(id: str) -> bool:
            return bool(graph.below(id) & wanted)

        found: list[Leaf] = []
        if isinstance(node, StreamDocument):
            for one in self.root(leaf, node, graph.structure.root.id):
                if graph.structure.root.id in wanted:
                    found.append(one)
                found += self._below(one, wanted, passed)
            return found
        found += self._inline_descendants(leaf, wanted)
        # then follow the holes, wherever in the element they are
        holes = holes_below(graph, node.tags)
        direct = tuple(sorted(id for id in holes if id in wanted))
        below = tuple(sorted(id for id in holes if leads(id)))
        ids = tuple(one for one in dict.fromkeys((*direct, *below)) if one not in passed)
        recursive = tuple(one for one in ids if one in graph.below(one))
        plain = tuple(one for one in ids if one not in recursive)
        deep = self.recursive_fillers(leaf, node, recursive) if recursive else []
        passed = passed.union(*(one.item.tags for one in deep))  # type: ignore[attr-defined]
        for one in (*self.follow(leaf, plain, is_child=False), *deep):
            tags = one.item.tags  # type: ignore[attr-defined]
            if any(tag in wanted for tag in tags):
                if not all(tag in wanted for tag in tags):
                    raise NotNative("a step that only some of these tags have", self.span)
                found.append(one)
            if any(leads(tag) for tag in tags):
                found += self._below(one, wanted, passed)
        return found

    def recursive_fillers(
        self, leaf: Leaf, node: StreamElement, ids: tuple[str, ...]
    ) -> list[Leaf]:
        """Fillers in the holes of an element that are nested in each other, on all levels.

        The store knows how deeply they are nested, so the recursion ends.
        """
        stream = self.compilation.catalog.streams[node.stream]
        graph = self.graph(node)
        if not stream.placed:
            raise NotNative("nested fillers of unknown depth", self.span)
        whole = Extract(node.stream, node.table, node.row)
        if leaf.plan == whole and node.window is None and graph.structure.root.id in node.tags:
            # all fillers of these tags
            several = sorted(
                {one for id in ids for one in graph.below(id) | {id}} & graph.fragmented
            )
            recursive = [one for one in several if one in graph.below(one)]
            return [self._scanned(node, tags) for tags in self.tables(node.stream, recursive)]
        depths = stream.depths
        tops = (depth for tag in node.table for depth in depths.get(tag, ()))
        top = min(tops, default=0)
        lowest = max((depth for id in graph.fragmented for depth in depths.get(id, ())), default=0)
        found: dict[tuple[str, ...], list[Leaf]] = {}
        level = [leaf]
        for _ in range(lowest - top):
            after: list[Leaf] = []
            for one in level:
                here = one.item
                assert isinstance(here, StreamElement)
                below = holes_below(graph, here.tags)
                inside = tuple(sorted(id for id in below if id in graph.below(id)))
                after += self.follow(one, inside, is_child=False)
            for one in after:
                found.setdefault(one.item.table, []).append(one)  # type: ignore[attr-defined]
            level = after
        return [one_kind(several, self.scope, self.span, leaf.plan) for several in found.values()]

    def _scanned(self, node: StreamElement, tags: tuple[str, ...]) -> Leaf:
        shape = self.compilation.shape(node.stream, tags)
        assert shape is not None
        row = self.new_row(node.stream, tags, shape)
        plan = Extract(node.stream, tags, row, span=self.span)
        return self.filler(plan, node, row, tags, shape, is_child=False)

    def _inline_descendants(self, leaf: Leaf, wanted: frozenset[str]) -> list[Leaf]:
        node = leaf.item
        assert isinstance(node, StreamElement)
        graph = self.graph(node)
        found: list[Leaf] = []
        if node.shape.opaque:
            inline = inline_below(graph, node.tags)
            return elements_inside(leaf, inline & wanted, False, self.test, self.scope, self.span)
        for shape in node.shape.children:
            here = [tag for tag in shape.tags if tag in wanted]
            if here and len(here) < len(shape.tags):
                raise NotNative("a step that only some of these tags have", self.span)
            if here or any(inline_below(graph, (tag,)) & wanted for tag in shape.tags):
                inner = self.inline(leaf.plan, node, shape)
                if here:
                    found.append(inner)
                found += self._inline_descendants(inner, wanted)
        return found

    def attributes(self, leaf: Leaf) -> list[Leaf]:
        node = leaf.item
        if isinstance(node, StreamDocument):
            return []
        names = attribute_test(self.test, self.scope)
        if isinstance(node, Inner):
            return attributes_inside(leaf, names, self.scope, self.span)
        assert isinstance(node, StreamElement)
        if names is None:
            wanted: Iterable[str] = attribute_names(node, self.scope)
        else:
            wanted = [name for name in attribute_names(node, self.scope) if name in names]
        found = []
        for name in wanted:
            scalar = attribute_of(node, name, self.scope)
            if scalar is not None:
                plan = leaf.plan
                if not (name in ("vtFrom", "vtTo") and is_fragmented(node, self.scope)):
                    plan = Select(plan, call("is_not_null", scalar))
                found.append(Leaf(plan, AttributeItem(name, scalar, node)))
        return found

    def texts(self, leaf: Leaf, node: StreamElement | StreamDocument | Inner) -> list[Leaf]:
        """The text nodes that are children of an element."""
        if isinstance(node, StreamDocument):
            return []
        if is_any_node(self.test) and (isinstance(node, Inner) or not node.shape.is_leaf):
            raise NotNative("all nodes below an element with elements", self.span)
        if isinstance(node, Inner):
            return texts_inside(leaf, self.scope, self.span)
        if not node.shape.has_text:
            if node.shape.commented or self._may_have_space(node):
                raise NotNative("white space between elements as text", self.span)
            return []
        if node.shape.opaque and not node.shape.is_leaf:
            if is_any_node(self.test):
                raise NotNative("all nodes of mixed content", self.span)
            return texts_inside(leaf, self.scope, self.span)
        if node.shape.commented:
            raise NotNative("text with comments in it", self.span)
        text = element_text(node, self.scope)
        return [Leaf(Select(leaf.plan, call("<>", text, Constant(""))), TextItem(text, node))]

    def _may_have_space(self, node: StreamElement) -> bool:
        slots = self.compilation.catalog.streams[node.stream].slots
        for tag in node.table:
            slot = slots.get(tag)
            for column in node.path[1:]:
                slot = (
                    next((one for one in slot.children if one.column == column), None)
                    if slot
                    else None
                )
            if slot is not None and (slot.spaced or slot.commented):
                return True
        return False

    # upwards

    def with_parent_key(self, leaf: Leaf) -> tuple[Leaf, Scalar]:
        """The leaf, and a scalar that identifies the parent of its element."""
        node = leaf.item
        if isinstance(node, Inner):
            return leaf, call("node_key", node.owner.column("key"), self._parent_place(node))
        assert isinstance(node, StreamElement)
        if node.above is not None:
            return leaf, key_of(node.above, self.scope, self.span)
        if node.is_filler and self._parent_is_of_row(node):
            return leaf, node.column("parent")
        above = self.parents(leaf)
        if len(above) != 1:
            raise NotNative("positions among the children of several kinds of nodes", self.span)
        return Leaf(above[0].plan, node), key_of(above[0].item, self.scope, self.span)

    def _parent_place(self, node: Inner) -> Scalar:
        """The byte offset in the filler of an inner element's parent."""
        return call("+", span_of(node.owner, self.scope)[0], parent_start(node))

    def _parent_is_of_row(self, node: StreamElement) -> bool:
        """Whether the row with a filler's hole also determines the element with the hole."""
        graph = self.graph(node)
        fillers = graph.fragmented | {graph.structure.root.id}
        for tag in node.tags:
            parents = graph.parents(tag)
            if not parents <= fillers and (
                len(parents) > 1 or not self._is_alone(node.stream, *parents)
            ):
                return False
        return True

    def _is_alone(self, stream: str, tag: str) -> bool:
        """Whether no filler has two elements of a tag."""
        graph = self.compilation.graphs[stream]
        slots = self.compilation.catalog.streams[stream].slots
        if graph.is_fragmented(tag) or tag == graph.structure.root.id:
            return True
        above = graph.parents(tag)
        if len(above) != 1:
            return False
        repeats = [one.repeats for slot in slots.values() for one in walk(slot) if one.tag == tag]
        # nothing is known about elements in mixed content
        return bool(repeats) and not any(repeats) and self._is_alone(stream, *above)

    def parents(self, leaf: Leaf) -> list[Leaf]:
        node = leaf.item
        if isinstance(node, StreamDocument):
            return []
        if isinstance(node, Inner):
            return self._around(leaf, node, only_parent=True)
        assert isinstance(node, StreamElement)
        if node.is_copy:
            raise NotNative("upwards from a copy in a constructed element", self.span)
        if node.is_top:
            return []
        if node.above is not None:
            return [Leaf(leaf.plan, node.above)]
        assert node.is_filler
        return self.rise(leaf, node)

    def _around(self, leaf: Leaf, node: Inner, only_parent: bool) -> list[Leaf]:
        """The ancestors of an inner element: its parent, or all up to and including its owner."""
        if node.owner.is_copy:
            raise NotNative("upwards from a copy in a constructed element", self.span)
        if only_parent and node.above is not None:
            return [Leaf(leaf.plan, node.above)]
        graph = self.graph(node)
        inline = inline_below(graph, node.owner.tags)
        fitting = [
            id
            for id in inline
            if graph.below(id) & set(node.tags)
            and (only_parent or self.passes is None or self.passes(graph.tag(id)))
        ]
        found = around(leaf, fitting, only_parent, self.scope, self.span)
        plan = leaf.plan
        if only_parent:
            plan = Select(plan, call("=", parent_start(node), Constant(0)))
        return [*found, Leaf(plan, node.owner)]

    def rise(self, leaf: Leaf, node: StreamElement) -> list[Leaf]:
        """The element that contains the hole of a filler."""
        graph = self.graph(node)
        if node.window is not None:
            raise NotNative("upwards in a projection", self.span)
        found: list[Leaf] = []
        if len(node.tags) != 1:
            raise NotNative("upwards from several tags", self.span)
        stream = self.compilation.catalog.streams[node.stream]
        if not stream.placed and graph.nest(graph.above(node.tags) & graph.fragmented):
            raise NotNative("nested fillers of unknown depth", self.span)
        for parent in sorted(graph.parents(node.tags[0])):
            if parent == DOCUMENT:
                found.append(Leaf(leaf.plan, StreamDocument(node.stream)))
                continue
            way = [parent]
            while not graph.is_fragmented(way[0]) and way[0] != graph.structure.root.id:
                above = sorted(graph.parents(way[0]))
                if len(above) != 1:
                    raise NotNative("upwards along several paths", self.span)
                way.insert(0, above[0])
            shape = self.compilation.shape(node.stream, (way[0],))
            if shape is None:
                continue
            row = self.new_row(node.stream, (way[0],), shape)
            plan: Plan = Rise(leaf.plan, node.stream, node.row, (way[0],), row, span=self.span)
            here = self.filler(plan, node, row, (way[0],), shape, is_child=False)
            for id in way[1:]:
                above_node = here.item
                assert isinstance(above_node, StreamElement)
                if above_node.shape.opaque:
                    raise NotNative("upwards from holes in mixed content", self.span)
                inner = above_node.shape.child(id)
                if inner is None:
                    break
                here = self.inline(here.plan, above_node, inner)
                if inner.repeats:
                    start, length = span_of(here.item, self.scope)  # type: ignore[arg-type]
                    offset = Column(f"{node.row}.offset")
                    inside = Call(
                        "and",
                        (call(">=", offset, start), call("<", offset, call("+", start, length))),
                    )
                    here = replace(here, plan=Select(here.plan, inside))
            else:
                found.append(here)
        return found

    def ancestors(self, leaf: Leaf, with_self: bool) -> list[Leaf]:
        found: list[Leaf] = self.self_(leaf) if with_self else []
        if isinstance(leaf.item, Inner):
            *inside, owner = self._around(leaf, leaf.item, only_parent=False)
            found += [one for above in inside for one in self.self_(above)]
            return found + self.ancestors(owner, with_self=True)
        assert isinstance(leaf.item, StreamElement | StreamDocument)
        depths = self.compilation.catalog.streams[leaf.item.stream].depths.values()
        # no node has more ancestor fillers than this
        lowest = max((depth for several in depths for depth in several), default=0)
        pending = [(leaf, 0)]
        while pending:
            here, rises = pending.pop(0)
            node = here.item
            if isinstance(node, StreamElement) and node.is_filler and node.above is None:
                rises += 1
            if rises > lowest and self._recurs(node):
                continue
            for above in self.parents(here):
                found += self.self_(above)
                pending.append((above, rises))
        return found

    def _recurs(self, node: Item) -> bool:
        """Whether an element can be nested in another one of its tag."""
        return isinstance(node, StreamElement) and self.graph(node).nest(node.tags)

    def siblings(self, leaf: Leaf, axis: str) -> list[Leaf]:
        node = leaf.item
        if isinstance(node, StreamDocument):
            return []
        here = node_key(node, self.scope)
        assert here is not None
        found: list[Leaf] = []
        for above in self.parents(leaf):
            if isinstance(above.item, StreamDocument):
                continue
            for one in self.children(above):
                key = node_key(one.item, self.scope)
                if key is None:
                    raise NotNative("the document order of these nodes is not known", self.span)
                sign = ">" if axis == "following-sibling" else "<"
                found.append(Leaf(Select(one.plan, call(sign, key, here)), one.item))
        return found

    def beyond(self, leaf: Leaf, axis: str) -> list[Leaf]:
        """Elements that start after an element has ended, or end before it starts."""
        node = leaf.item
        if isinstance(node, StreamDocument):
            return []
        assert isinstance(node, StreamElement | Inner)
        root = root_of(node, self.span)
        if not isinstance(root, StreamDocument):
            raise NotNative(f"the axis {axis} in a projected element", self.span)
        found: list[Leaf] = []
        taken = columns(leaf.plan) | self.scope.taken
        for kind in self.descendants(Leaf(Unit(), root)):
            (other,) = leaves(apart(Each(kind.plan, Single(kind.item)), taken))
            if not isinstance(other.item, StreamElement | Inner):
                raise NotNative("the document order of these nodes is not known", self.span)
            first, last = (other.item, node) if axis == "preceding" else (node, other.item)
            apart_ = call("<=", end_key(first, self.scope), key_of(last, self.scope, self.span))
            found.append(Leaf(Select(graft(other.plan, leaf.plan), apart_), other.item))
        return found


def holes_below(graph: TagGraph, tops: Iterable[str]) -> frozenset[str]:
    """The tags of fillers whose holes are below some elements, in the same filler."""
    return graph.fragmented_children(*inline_below(graph, tops), *tops)


def child_elements(node: StreamElement | StreamDocument, scope: Scope) -> list[Leaf]:
    """The child elements of a node, whatever their names."""
    span = scope.compilation.module.span
    return StreamSteps(scope, Wildcard(span=span), span).children(Leaf(Unit(), node))


def without_presence(plan: Plan, node: StreamElement) -> Plan:
    """The plan without presence tests on the path to a hole: the hole implies them."""
    wanted: set[Scalar] = set()
    here: StreamElement | StreamDocument | None = node
    while isinstance(here, StreamElement) and not here.is_filler:
        wanted.add(present(here.struct))
        here = here.above
    while isinstance(plan, Select) and plan.condition in wanted:
        plan = plan.input
    return plan
