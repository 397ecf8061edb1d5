"""The XML text of a stream's content: bytes as they arrived, with the holes filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.algebra.operators import Unit
from xcql.algebra.scalars import (
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    field,
)
from xcql.compile.library.access import (
    inner_xml,
    is_fragmented,
    is_written_whole,
    own_lifespan,
    span_of,
    uses_namespaces,
)
from xcql.compile.library.stream_children import child_elements
from xcql.compile.library.stream_rows import follow, holes_below
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode, Inner, StreamDocument, StreamElement
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.namespaces import NO_DEFAULT


def stream_xml(node: StreamDocument | StreamElement | Inner, scope: Scope) -> Scalar:
    """The XML of a node of a stream, on its own."""
    match node:
        case StreamDocument():
            tops = child_elements(node, scope)
            if len(tops) != 1:
                raise NotNative("a stream without a root")
            root = tops[0].item
            assert isinstance(root, StreamElement)
            return Nested(tops[0].plan, "join", stream_xml(root, scope))
        case StreamElement():
            return _declared_once(node, element_xml(node, scope), scope)
        case Inner():
            text = inner_xml(node, scope)
            whole = call("with_namespaces", text, _namespaces_around(node, text, scope))
            return _declared_once(node, whole, scope)


def element_xml(node: StreamElement, scope: Scope) -> Scalar:
    """The XML of an element; fillers in it may repeat their ancestors' declarations."""
    if is_written_whole(node, scope):
        return _start_completed(node, inner_xml(node, scope), scope)
    return with_holes_filled(node, lambda text: _start_completed(node, text, scope), scope)


def _start_completed(node: StreamElement, text: Scalar, scope: Scope) -> Scalar:
    """The text of an element with its start tag completed: namespaces in scope, lifespan."""
    around = _namespaces_around(node, text, scope)
    if is_fragmented(node, scope):
        begin, end = own_lifespan(node, scope)
        own = node.shape.attributes
        if "vtFrom" in own or "vtTo" in own:
            text = call("without_lifespan", text)
        return call(
            "with_lifespan",
            text,
            around,
            call("coalesce", call("time_text", begin), Constant("start")),
            call("coalesce", call("time_text", end), Constant("now")),
        )
    return call("with_namespaces", text, around)


def _namespaces_around(node: StreamElement | Inner, text: Scalar, scope: Scope) -> Scalar:
    """The declarations that an element needs where it is written, as text."""
    is_nested = bool(scope.compilation.serialising)
    declared = _declared_around(node, scope)
    if declared is not None:
        # an answer is not inside a default namespace that would have to be undeclared
        return Constant("" if is_nested else declared.replace(NO_DEFAULT, ""))
    around = _namespaces_inside(node, text, scope)
    return around if is_nested else call("without_no_default", around)


def _declared_around(node: StreamElement | Inner, scope: Scope) -> str | None:
    """The namespaces in scope at every such element, as text; None if they differ."""
    stream = scope.compilation.catalog.streams[node.stream]
    row = node.owner if isinstance(node, Inner) else node
    is_inside = node is not row or not row.is_filler
    if is_inside and any(stream.slots[tsid].declares for tsid in row.table if tsid in stream.slots):
        return None
    return stream.declared


def _declared_once(node: StreamElement | Inner, text: Scalar, scope: Scope) -> Scalar:
    """An answer without the declarations that fillers inside repeat, as the serialiser writes it.

    If the namespaces of fillers differ, the text has to be read to tell which are repeated.
    """
    if _declared_around(node, scope) is not None:
        return text
    return declared_once(text, scope)


def declared_once(text: Scalar, scope: Scope) -> Scalar:
    """The text of an answer without declarations that are in scope already."""
    compilation = scope.compilation
    if compilation.serialising:
        return text
    if has_form("declared_once", scope):
        return call("declared_once", text)
    item = call("evaluator_item", Constant("element"), text)
    problem = NotNative("fillers with different namespaces")
    identity = "declare variable $node external; $node"
    written = compilation.evaluation(identity, ("node",), (call("array", item),), problem)
    return field(call("get", written, Constant(0)), "value")


def _namespaces_inside(node: StreamElement | Inner, text: Scalar, scope: Scope) -> Scalar:
    """The declarations in scope at an element, from its filler and from inside it, as text."""
    row = node.owner if isinstance(node, Inner) else node
    around = row.column("namespaces")
    if not uses_namespaces(node, scope) or (node is row and row.is_filler):
        return around
    if has_form("namespaces_at", scope):
        start, _ = span_of(node, scope)
        return call("namespaces_at", row.column("raw"), around, start)
    starts: list[Scalar] = []
    here: StreamElement | Inner = node
    while isinstance(here, Inner) or not here.is_filler:
        above = here.above
        if isinstance(here, Inner) and above is None:
            raise NotNative("namespaces that elements in mixed content may declare")
        if not isinstance(above, StreamElement | Inner):
            break
        starts.insert(0, span_of(above, scope)[0])
        here = above
    return Call("namespaces_inside", (row.column("raw"), around, text, *starts))


def are_declared_alike(stream: str, scope: Scope) -> bool:
    """Whether the same namespaces are in scope at all elements of a stream."""
    known = scope.compilation.catalog.streams[stream]
    return known.declared is not None and not any(slot.declares for slot in known.slots.values())


def declared_for_any(node: AnyNode, scope: Scope) -> Scalar:
    """The namespaces to declare at an element of any name."""
    is_nested = bool(scope.compilation.serialising)
    if are_declared_alike(node.stream, scope):
        declared = scope.compilation.catalog.streams[node.stream].declared or ""
        return Constant("" if is_nested else declared.replace(NO_DEFAULT, ""))
    if not has_form("namespaces_at", scope):
        raise NotNative("namespaces that differ between nodes of any name")
    row = node.filler
    around = call("namespaces_at", row.column("raw"), row.column("namespaces"), node.start)
    return around if is_nested else call("without_no_default", around)


def has_form(operation: str, scope: Scope) -> bool:
    """Whether the engine can compute an operation."""
    return operation in scope.compilation.dialect.forms


def with_holes_filled(
    node: StreamElement | AnyNode, completed_start: Callable[[Scalar], Scalar], scope: Scope
) -> Scalar:
    """The text with the holes filled: pieces between holes and children, concatenated.

    The first piece, with the start tag, is completed by a function. The children are collected by
    parent filler, wherever in it they are: so the texts can be built once for all fillers, from the
    leaves up.
    """
    row = node.filler if isinstance(node, AnyNode) else node
    is_top = isinstance(node, StreamElement) and node.is_filler
    start, length = span_of(node, scope)
    pieces = call("pieces", row.column("raw"), row.column("holes"), start, length)
    piece = Column(".piece")
    position, text = field(piece, "position"), field(piece, "text")
    first = call("=", position, Constant(-1))
    completed = case((first, completed_start(text)), otherwise=text)
    parts: list[Scalar] = [
        call(
            "transform",
            pieces,
            Lambda((".piece",), _part(position, Constant(1), Constant(0), completed)),
        )
    ]
    around = scope.compilation.serialising
    around.append(row.table)
    for leaf in _filler_children(row, node.tags, scope):
        child = leaf.item
        assert isinstance(child, StreamElement)
        own = _part(
            child.column("offset"), Constant(0), child.column("number"), stream_xml(child, scope)
        )
        children: Scalar = Nested(leaf.plan, "collect", own)
        if not is_top:
            offset = field(Column(".child"), "position")
            inside = conjunction(
                call(">=", offset, start), call("<", offset, call("+", start, length))
            )
            children = call("filter", children, Lambda((".child",), inside))
        parts.append(children)
    around.pop()
    ordered = call("sort_array", Call("concat_arrays", tuple(parts)))
    texts = call("transform", ordered, Lambda((".part",), field(Column(".part"), "text")))
    joined = call("join_texts", texts, Constant(""))
    # the fillers inside are already completed, but they are part of the text
    slots = scope.compilation.catalog.streams[node.stream].slots.values()
    return call("empty_elements", joined, Constant(any(slot.commented for slot in slots)))


def _part(position: Scalar, part: Scalar, number: Scalar, text: Scalar) -> Scalar:
    """A part of an element's text: the filling of a hole comes before what follows the hole."""
    return call(
        "named_struct",
        Constant("position"),
        call("to_int", position),
        Constant("part"),
        call("to_int", part),
        Constant("number"),
        call("to_int", number),
        Constant("text"),
        text,
    )


def _filler_children(row: StreamElement, tags: tuple[str, ...], scope: Scope) -> list[Leaf]:
    """The fillers in the holes of an element with some tags, at any depth; `row` has its filler."""
    graph = scope.compilation.graphs[row.stream]
    span = scope.compilation.module.span
    holes = [id for id in holes_below(graph, tags) if not _is_deepest(row, id, scope)]
    anywhere = Leaf(Unit(), replace(row, alone=True))
    return follow(anywhere, tuple(sorted(holes)), scope, span, is_child=False)


def _is_deepest(node: StreamElement, id: str, scope: Scope) -> bool:
    """Whether fillers of a tag cannot be nested deeper in each other than this one is."""
    graph = scope.compilation.graphs[node.stream]
    if id not in graph.below(id):
        return False
    stream = scope.compilation.catalog.streams[node.stream]
    if not stream.placed:
        raise NotNative("nested fillers of unknown depth")
    around = scope.compilation.serialising
    known = (depth for several in stream.depths.values() for depth in several)
    if len(around) > max(known, default=0):
        return True
    depths = stream.depths.get(id, ())
    levels = max(depths) - min(depths) + 1 if depths else 0
    # a filler of several tags may be of another one
    return sum(tags == (id,) for tags in around) >= levels
