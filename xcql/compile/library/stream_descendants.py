"""Steps to the descendants of nodes of streams: inside their fillers, and through holes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xcql.algebra.operators import Order, SortKey, order
from xcql.algebra.rewriting.chains import covered, source
from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.compile.library.access import span_of
from xcql.compile.library.document_order import key_of, one_kind
from xcql.compile.library.inner import elements_inside, inline_below
from xcql.compile.library.node_lookup import has_general_form
from xcql.compile.library.node_tests import is_any_node, is_text_test
from xcql.compile.library.stream_rows import (
    follow,
    holes_below,
    in_document,
    inline,
    inside,
    new_row,
    root_filler,
    scanned,
    tables,
)
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Inner, Item, StreamDocument, StreamElement
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.shape import walk
from xcql.source import Span
from xcql.syntax.node import SyntaxNode


def descendants(leaf: Leaf, test: SyntaxNode, scope: Scope, span: Span) -> list[Leaf]:
    node = leaf.item
    assert isinstance(node, StreamElement | StreamDocument | Inner)
    if is_text_test(test) or is_any_node(test):
        raise NotNative("all nodes below", span)
    graph = scope.compilation.graphs[node.stream]
    passes = scope.names.element_test(test)
    if passes is None:
        slots = scope.compilation.catalog.streams[node.stream].slots.values()
        if any(one.commented or one.opaque for slot in slots for one in walk(slot)):
            raise NotNative("comments or processing instructions", span)
        return []
    tops = (DOCUMENT,) if isinstance(node, StreamDocument) else node.tags
    wanted = frozenset(id for top in tops for id in graph.below(top) if passes(graph.tag(id)))
    if not wanted:
        return []
    if isinstance(node, Inner):
        holes = holes_below(graph, node.tags)
        if any((graph.below(id) | {id}) & wanted for id in holes):
            raise NotNative("a step through holes in mixed content", span)
        return elements_inside(leaf, wanted, False, test, scope, span)
    descent = _Descent(wanted, test, scope, span)
    placed = scope.compilation.by_place and scope.compilation.catalog.streams[node.stream].placed
    on_the_way = _on_the_way(tops, wanted, graph)
    by_place = placed and not _is_chain(on_the_way, graph)
    if isinstance(node, StreamDocument) and by_place:
        return descent.everywhere(leaf, node)
    if isinstance(node, StreamElement) and by_place and graph.nest(on_the_way):
        if node.tree is None or node.tree.is_document:
            return descent.inside(leaf, node)
        if has_general_form(node, scope):
            # fillers between may be hidden
            raise NotNative("nested fillers in a projection", span)
    found = descent.below(leaf, frozenset())
    if not descent.is_recursive:
        return found
    # what is below a node need not come before what follows the nodes inside it
    return descent.in_order(leaf, found)


def from_document(leaf: Leaf, test: SyntaxNode, scope: Scope) -> Leaf:
    """The document, if its descendants that pass a test are those of some nodes; else the nodes."""
    node = leaf.item
    passes = scope.names.element_test(test)
    if passes is None or not isinstance(node, StreamElement) or node.is_copy:
        return leaf
    if node.window is not None or node.tree is not None:
        return leaf
    graph = scope.compilation.graphs[node.stream]
    tops = frozenset(node.tags)
    if not tops <= covered(leaf.plan, graph) or graph.nest(tops):
        return leaf
    if any(passes(graph.tag(id)) for id in tops | graph.beside(tops)):
        return leaf
    wanted = frozenset(id for id in graph.below(DOCUMENT) if passes(graph.tag(id)))
    if _is_chain(_on_the_way((DOCUMENT,), wanted, graph), graph):
        return leaf
    return Leaf(source(leaf.plan), StreamDocument(node.stream))


def _on_the_way(tops: Sequence[str], wanted: frozenset[str], graph: TagGraph) -> list[str]:
    """The tags of fillers below some tags that are wanted, or lead to what is wanted."""
    return [id for id in graph.fragmented_below(*tops) if (graph.below(id) | {id}) & wanted]


def _is_chain(tags: Sequence[str], graph: TagGraph) -> bool:
    """Whether each of some fillers is in the hole of one other at most: a rule folds the holes."""
    parents = [graph.filler_parents(tag) for tag in tags]
    return len(set(parents)) == len(tags) and all(len(above) == 1 for above in parents)


class _Descent:
    """The way down from a node to all elements with the wanted tags."""

    def __init__(self, wanted: frozenset[str], test: SyntaxNode, scope: Scope, span: Span) -> None:
        self.wanted = wanted
        self.test = test
        self.scope = scope
        self.span = span
        self.is_recursive = False

    def everywhere(self, leaf: Leaf, document: StreamDocument) -> list[Leaf]:
        """The wanted elements of a document, whose fillers are found by their tags alone."""
        graph = self.scope.compilation.graphs[document.stream]
        root = graph.structure.root.id
        holders = self._holders(graph.fragmented_below(root), graph)
        tops = root_filler(leaf, document, root, self.scope, self.span)
        for tags in tables(document.stream, holders, self.scope):
            tops.append(scanned(document, tags, leaf.plan, self.scope, self.span))
        return self._in_fillers(leaf, tops)

    def inside(self, leaf: Leaf, node: StreamElement) -> list[Leaf]:
        """The wanted elements below an element, whose fillers are found by their places."""
        graph = self.scope.compilation.graphs[node.stream]
        holders = self._holders(graph.fragmented_below(*node.tags), graph)
        tops = [
            self._scanned_inside(leaf, node, tags)
            for tags in tables(node.stream, holders, self.scope)
        ]
        return self._inline(leaf) + self.in_order(leaf, self._in_fillers(leaf, tops))

    def _scanned_inside(self, leaf: Leaf, node: StreamElement, tags: tuple[str, ...]) -> Leaf:
        """The fillers with some tags inside an element."""
        scope, span = self.scope, self.span
        shape = scope.compilation.shape(node.stream, tags)
        assert shape is not None
        row = new_row(node.stream, tags, shape, scope)
        within = None if node.is_filler else span_of(node, scope)
        plan = inside(leaf.plan, node, within, tags, row, scope, span)
        return in_document(plan, node, row, shape, scope)

    def _in_fillers(self, leaf: Leaf, fillers: list[Leaf]) -> list[Leaf]:
        """The wanted elements in some fillers."""
        found: list[Leaf] = []
        for one in fillers:
            node = one.item
            assert isinstance(node, StreamElement)
            if self.wanted & {*node.tags}:
                found.append(one)
            below = self._inline(one)
            # what is in a filler need not come before what is in the fillers inside it
            nests = self.scope.compilation.graphs[node.stream].nest(node.tags)
            found += self.in_order(leaf, below) if nests else below
        return found

    def _holders(self, tags: Iterable[str], graph: TagGraph) -> list[str]:
        """The tags of fillers, of some, that hold wanted elements or are wanted themselves."""
        return sorted(tag for tag in tags if self.wanted & {tag, *inline_below(graph, (tag,))})

    def in_order(self, leaf: Leaf, found: list[Leaf]) -> list[Leaf]:
        """Elements in document order for each tuple that they were found for."""

        def by(item: Item) -> tuple[SortKey, ...]:
            return *order(leaf.plan), SortKey(key_of(item, self.scope, self.span), "key")

        return [Leaf(Order(one.plan, by(one.item)), one.item) for one in found]

    def below(self, leaf: Leaf, passed: frozenset[str]) -> list[Leaf]:
        """The wanted elements below a node; nested fillers in `passed` are already found."""
        node = leaf.item
        assert isinstance(node, StreamElement | StreamDocument)
        graph = self.scope.compilation.graphs[node.stream]
        wanted = self.wanted

        def leads(id: str) -> bool:
            return bool(graph.below(id) & wanted)

        found: list[Leaf] = []
        if isinstance(node, StreamDocument):
            root = graph.structure.root.id
            for one in root_filler(leaf, node, root, self.scope, self.span):
                if root in wanted:
                    found.append(one)
                found += self.below(one, passed)
            return found
        found += self._inline(leaf)
        # then follow the holes, wherever in the element they are
        holes = holes_below(graph, node.tags)
        direct = tuple(sorted(id for id in holes if id in wanted))
        below = tuple(sorted(id for id in holes if leads(id)))
        ids = tuple(one for one in dict.fromkeys((*direct, *below)) if one not in passed)
        recursive = tuple(one for one in ids if one in graph.below(one))
        plain = tuple(one for one in ids if one not in recursive)
        deep = _nested_fillers(leaf, node, recursive, self.scope, self.span) if recursive else []
        self.is_recursive = self.is_recursive or bool(deep)
        passed = passed.union(*(one.item.tags for one in deep))  # type: ignore[attr-defined]
        for one in (*follow(leaf, plain, self.scope, self.span, is_child=False), *deep):
            tags = one.item.tags  # type: ignore[attr-defined]
            if any(tag in wanted for tag in tags):
                if not all(tag in wanted for tag in tags):
                    raise NotNative("a step that only some of these tags have", self.span)
                found.append(one)
            if any(leads(tag) for tag in tags):
                found += self.below(one, passed)
        return found

    def _inline(self, leaf: Leaf) -> list[Leaf]:
        """The wanted elements in the filler of an element."""
        node = leaf.item
        assert isinstance(node, StreamElement)
        graph = self.scope.compilation.graphs[node.stream]
        wanted = self.wanted
        if node.shape.opaque:
            inside = inline_below(graph, node.tags) & wanted
            return elements_inside(leaf, inside, False, self.test, self.scope, self.span)
        found: list[Leaf] = []
        for shape in node.shape.children:
            here = [tag for tag in shape.tags if tag in wanted]
            if here and len(here) < len(shape.tags):
                raise NotNative("a step that only some of these tags have", self.span)
            if here or any(inline_below(graph, (tag,)) & wanted for tag in shape.tags):
                inner = inline(leaf.plan, node, shape, self.scope, self.span)
                if here:
                    found.append(inner)
                found += self._inline(inner)
        return found


def _nested_fillers(
    leaf: Leaf, node: StreamElement, ids: tuple[str, ...], scope: Scope, span: Span
) -> list[Leaf]:
    """Fillers in the holes of an element that are nested in each other, on all levels.

    The store knows how deeply they are nested, so the recursion ends.
    """
    stream = scope.compilation.catalog.streams[node.stream]
    graph = scope.compilation.graphs[node.stream]
    if not stream.placed:
        raise NotNative("nested fillers of unknown depth", span)
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
            after += follow(one, inside, scope, span, is_child=False)
        for one in after:
            found.setdefault(one.item.table, []).append(one)  # type: ignore[attr-defined]
        level = after
    return [one_kind(several, scope, span, leaf.plan) for several in found.values()]
