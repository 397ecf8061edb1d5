"""The nodes that lie beside others, as tuples of their own, whatever node they lie beside.

`$a/following::x[2]` is the second of all `x` from `$a` on, `$a/preceding-sibling::x[1]` the last
one before `$a` of those with the same parent. So it is enough to bring all `x` in order once; pairs
are never built.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xcql.algebra.operators import Extract, Join, Nearest, Plan, Project, Select, Unit, columns
from xcql.algebra.scalars import TRUE, Column, Comparison, Constant, Scalar, call, case, disjunction
from xcql.analysis.types import DOCUMENT
from xcql.compile.library.access import end_key
from xcql.compile.library.any_axes import NodeSteps, general_axis
from xcql.compile.library.document_order import key_of, root_of
from xcql.compile.library.node_lookup import (
    NodeLookup,
    NodePlace,
    Paths,
    has_general_form,
    lookup_from,
    united,
)
from xcql.compile.library.node_tests import is_any_node
from xcql.compile.library.stream_parents import row_has_parent
from xcql.compile.library.stream_rows import scanned, tables
from xcql.compile.library.stream_steps import stream_axis
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode, Inner, StreamDocument, StreamElement
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Each, Leaf, Single, apart, leaves
from xcql.source import Span
from xcql.syntax.node import SyntaxNode

_SIGNS: dict[str, Comparison] = {
    "following": "<=",
    "following-sibling": "<",
    "preceding": ">=",
    "preceding-sibling": ">",
}


@dataclass(frozen=True, slots=True)
class Beside:
    """Nodes, and the nodes that may lie beside them: those of which the `keys` are equal.

    One of them does if `here` compares with its `value`, which grows in document order; if they
    are `nested` in each other, it only does so for those that none of the others is in.
    """

    plan: Plan
    others: Leaf
    keys: tuple[tuple[Scalar, Scalar], ...]
    here: Scalar
    value: Scalar
    comparison: Comparison
    nested: bool = False


def beside(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> Beside | None:
    """The nodes on an axis as those of the whole stream; None if there is no such form."""
    if axis not in _SIGNS or not isinstance(leaf.item, StreamElement | Inner | AnyNode):
        return None
    if not _is_of_whole_stream(leaf.item):
        return None
    try:
        if axis in ("following", "preceding"):
            found = _beyond(leaf, leaf.item, axis, test, scope, span)
        else:
            found = _sibling_fillers(leaf, axis, test, scope, span)
            if found is None and _is_general(leaf, axis, test, scope, span):
                found = _siblings(leaf, axis, test, scope, span)
    except NotNative:
        return None
    return found


def _is_general(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> bool:
    """Whether siblings are found in the table of nodes, not among those in the same row."""
    if not has_general_form(leaf.item, scope):
        return False
    if isinstance(leaf.item, StreamElement) and leaf.item.is_filler:
        return True
    found = stream_axis(leaf, axis, test, scope, span)
    return bool(found) and all(isinstance(one.item, AnyNode) for one in found)


def _is_of_whole_stream(node: StreamElement | Inner | AnyNode) -> bool:
    match node:
        case Inner(owner=owner) | AnyNode(filler=owner):
            return _is_of_whole_stream(owner)
        case StreamElement(window=None, tree=None, is_copy=False, is_top=False, lifespan=None):
            return True
    return False


def _beyond(
    leaf: Leaf,
    node: StreamElement | Inner | AnyNode,
    axis: str,
    test: SyntaxNode,
    scope: Scope,
    span: Span,
) -> Beside | None:
    root = root_of(node, span)
    assert isinstance(root, StreamDocument)
    everywhere = Leaf(Unit(), root)
    found = stream_axis(everywhere, "descendant", test, scope, span)
    if len(found) > 1 and has_general_form(root, scope):
        found = general_axis(everywhere, "descendant", test, scope, span)
    if len(found) != 1:
        return None
    (other,) = leaves(
        apart(Each(found[0].plan, Single(found[0].item)), columns(leaf.plan) | scope.taken)
    )
    if not isinstance(other.item, StreamElement | Inner | AnyNode):
        return None
    if axis == "following":
        here, value = end_key(node, scope), key_of(other.item, scope, span)
        return Beside(leaf.plan, other, (), here, value, _SIGNS[axis])
    here, value = key_of(node, scope, span), end_key(other.item, scope)
    nested = _may_nest(other.item, scope)
    return Beside(leaf.plan, other, (), here, value, _SIGNS[axis], nested)


def innermost(nodes: Leaf, scope: Scope) -> Leaf:
    """Those of some nodes of one stream that none of the others is in."""
    own = Each(nodes.plan, Single(nodes.item))
    (other,) = leaves(apart(own, columns(nodes.plan) | scope.taken))
    assert isinstance(nodes.item, StreamElement | Inner | AnyNode)
    here, there = key_of(nodes.item, scope, None), key_of(other.item, scope, None)
    plan = Nearest(nodes.plan, other.plan, (), "<", (here, there), kind="left")
    is_outside = call("<=", end_key(nodes.item, scope), there)
    alone = disjunction(call("is_null", there), is_outside)
    return Leaf(Select(plan, alone), nodes.item)


def _may_nest(node: StreamElement | Inner | AnyNode, scope: Scope) -> bool:
    if isinstance(node, AnyNode) and len(node.kinds) > 1:
        return True
    return scope.compilation.graphs[node.stream].nest(node.tags)


def _sibling_fillers(
    leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span
) -> Beside | None:
    """Siblings that are all fillers, each with its parent in its row."""
    node = leaf.item
    passes = scope.names.element_test(test)
    if not isinstance(node, StreamElement) or not node.is_filler or passes is None:
        return None
    if is_any_node(test):
        return None
    graph = scope.compilation.graphs[node.stream]
    parents = {parent for tag in node.tags for parent in graph.parents(tag)}
    if DOCUMENT in parents or not row_has_parent(node, scope):
        return None
    wanted = {tag.id for one in parents for tag in graph.children(one) if passes(tag)}
    if not wanted <= graph.fragmented:
        return None
    groups = tables(node.stream, sorted(wanted), scope)
    if len(groups) != 1:
        return None
    other = scanned(node, groups[0], Unit(), scope, span)
    assert isinstance(other.item, StreamElement)
    if not row_has_parent(other.item, scope):
        return None
    keys: list[tuple[Scalar, Scalar]] = [(node.column("parent"), other.item.column("parent"))]
    if len(parents) > 1:
        # one row may hold the parents of several tags
        if any(len(graph.parents(tag)) > 1 for tag in (*node.tags, *other.item.tags)):
            return None
        keys.append((_parent_tag(node, scope), _parent_tag(other.item, scope)))
    here, value = node.column("key"), other.item.column("key")
    return Beside(leaf.plan, other, tuple(keys), here, value, _SIGNS[axis])


def _parent_tag(node: StreamElement, scope: Scope) -> Scalar:
    """The tag of the parent of a filler whose tag has only one."""
    graph = scope.compilation.graphs[node.stream]
    above = {tag: Constant(next(iter(graph.parents(tag)))) for tag in node.tags}
    if len(above) == 1:
        return above[node.tags[0]]
    tag = node.column("tag")
    return case(*((call("=", tag, Constant(one)), parent) for one, parent in above.items()))


def _siblings(leaf: Leaf, axis: str, test: SyntaxNode, scope: Scope, span: Span) -> Beside | None:
    """Siblings of any kind and name; the byte offset of the parent identifies it in its filler."""
    stream = leaf.item.stream  # type: ignore[attr-defined]
    table = lookup_from(leaf.item, scope, span)
    graph = scope.compilation.graphs[stream]
    node = table.as_any(leaf)
    item = node.item
    assert isinstance(item, AnyNode)
    root = graph.structure.root.id
    if "attribute" in item.kinds or any(one.is_top and one.table == root for one in item.paths):
        return None
    steps = NodeSteps(table, test)
    above = table.paths.parents(item.paths)
    tops = {path.table for path in item.paths if path.is_top}
    above |= table.paths.parents(_holes(table, tops))
    inline = steps.passing(table.paths.children(above))
    inline = frozenset(path for path in inline if path.kind != "attribute")
    if any(path.kind == "text" for path in inline):
        # those around empty holes are one
        return None
    tags = {path.tag for path in above if path.kind == "element"}
    wanted = inline | steps.top_paths(graph.fragmented_children(*tags))
    if not wanted:
        return None
    key, start = scope.compilation.fresh("around"), scope.compilation.fresh("around_at")
    every = [table.everywhere(Unit(), paths) for paths in (inline, wanted - inline) if paths]
    others = _with_parents(table, every, Unit(), key, start)
    nodes = _with_parents(table, _tops_apart(node), leaf.plan, f"{key}.here", f"{start}.here")
    if not isinstance(others.item, AnyNode) or not isinstance(nodes.item, AnyNode):
        return None
    here, value = key_of(nodes.item, scope, span), key_of(others.item, scope, span)
    keys = ((Column(f"{key}.here"), Column(key)), (Column(f"{start}.here"), Column(start)))
    return Beside(nodes.plan, others, keys, here, value, _SIGNS[axis])


def _holes(table: NodeLookup, tops: Collection[str]) -> Paths:
    """The paths of the holes that fillers of some tags may be in."""
    graph = table.scope.compilation.graphs[table.stream]
    above = {parent for tag in tops for parent in graph.filler_parents(tag)}
    return frozenset(
        path for path in table.paths.all if path.kind == "hole" and path.table in above
    )


def _tops_apart(leaf: Leaf) -> list[Leaf]:
    """The nodes that are fillers' own elements, and those that are not."""
    node = leaf.item
    assert isinstance(node, AnyNode)
    tops = frozenset(path for path in node.paths if path.is_top)
    if tops in (frozenset(), node.paths):
        return [leaf]
    is_top = call("=", node.start, Constant(0))
    return [
        Leaf(Select(leaf.plan, is_top), replace(node, paths=tops)),
        Leaf(Select(leaf.plan, call("not", is_top)), replace(node, paths=node.paths - tops)),
    ]


def _with_parents(
    table: NodeLookup, leaves_: Sequence[Leaf], base: Plan, key: str, start: str
) -> Leaf:
    """The nodes with the places of their parents: the key of a filler's row, and an offset in it.

    Each of the leaves has only fillers' own elements, or none; the columns of `base` are kept.
    """
    found: list[Leaf] = []
    for here in leaves_:
        item = here.item
        assert isinstance(item, AnyNode)
        plan, place = here.plan, (item.filler.column("key"), item.parent)
        if all(path.is_top for path in item.paths):
            holes = _holes(table, {path.table for path in item.paths})
            filler = table.fillers({path.table for path in holes})
            rows = Extract(table.stream, filler.table, filler.row, span=table.span)
            keys = ((item.filler.column("parent"), filler.column("key")),)
            around = Join(plan, rows, keys, TRUE, is_lookup=True, span=table.span)
            offset = item.filler.column("offset")
            hole = table.inside(
                NodePlace(around, filler, None, holes),
                holes,
                lambda one, offset=offset: ((offset, one.start),),  # type: ignore[misc]
                is_lookup=True,
            )
            assert isinstance(hole.item, AnyNode)
            plan, place = hole.plan, (item.filler.column("parent"), hole.item.parent)
        plan = Project(Project(plan, key, place[0]), start, place[1])
        found.append(replace(here, plan=plan))
    return united(found, base, table.scope, (key, start))
