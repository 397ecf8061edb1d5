"""What can be read of nodes: values, text, order, lifespans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.algebra.operators import Order, Plan, Unit
from xcql.algebra.scalars import (
    NOW,
    NULL,
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
from xcql.compile.library.casts import STRINGS, to_string
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    Attribute,
    Dynamic,
    Element,
    Failure,
    Inner,
    Item,
    Markup,
    StreamDocument,
    StreamElement,
    Text,
    Window,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf, Value, leaves
from xcql.model.time import START as START_OF_TIME
from xcql.source import Span
from xcql.xdm.serialize import escape_text

START = Constant(START_OF_TIME)
# stands for `now` where the latest of several ends is looked for
FOR_EVER = call("instant", Constant("9999-12-31T23:59:59.999999"))

Lifespan = tuple[Scalar, Scalar]
ALWAYS: Lifespan = (NULL, NULL)


def has_holes(node: StreamElement | StreamDocument | Inner, scope: Scope) -> bool:
    """Whether fillers can stand below the node."""
    graph = scope.compilation.graphs[node.stream]
    if isinstance(node, StreamDocument):
        return True
    return bool(graph.fragmented_below(*node.tags))


def is_written_whole(node: StreamElement | Inner, scope: Scope) -> bool:
    """Whether the bytes of an element are those of its view: there is no hole in them."""
    element = node.owner if isinstance(node, Inner) else node
    return not has_holes(node, scope) and not element.shape.strays


def is_fragmented(node: StreamElement, scope: Scope) -> bool:
    graph = scope.compilation.graphs[node.stream]
    return node.is_filler and all(graph.is_fragmented(tag) for tag in node.tags)


def span_of(node: StreamElement | Inner, scope: Scope) -> tuple[Scalar, Scalar]:
    """Where in the filler's bytes the element stands: start and length."""
    if isinstance(node, Inner):
        start, _ = span_of(node.owner, scope)
        return call("+", start, node.start), call("octet_length", node.text)
    if node.is_filler:
        return Constant(0), call("octet_length", node.column("raw"))
    scope.compilation.demand(node, "_start")
    scope.compilation.demand(node, "_length")
    return field(node.struct, "_start"), field(node.struct, "_length")


def node_key(item: Item, scope: Scope) -> Scalar | None:
    """What identifies a node, and orders it as its document does; None where nothing does."""
    match item:
        case StreamDocument():
            return Constant(b"")
        case StreamElement(is_filler=True):
            return item.column("key")
        case StreamElement():
            scope.compilation.demand(item, "_start")
            return call("node_key", item.column("key"), field(item.struct, "_start"))
        case Inner():
            return call("node_key", item.owner.column("key"), span_of(item, scope)[0])
        case Text(owner=StreamElement() | Inner() as owner, place=Scalar() as place):
            row = owner.owner if isinstance(owner, Inner) else owner
            start = call("+", span_of(owner, scope)[0], place)
            return call("node_key", row.column("key"), start)
        case Attribute(name=name, owner=Inner() as inner):
            above = node_key(inner, scope)
            assert above is not None
            return call("key_below", above, Constant(f"\0\0\0\0{name}"))
        case Attribute(name=name, owner=StreamElement() as owner):
            above = node_key(owner, scope)
            assert above is not None
            from xcql.compile.library.stream_steps import attribute_names

            number = attribute_names(owner, scope).index(name)
            # after the element, but before all that stands at a place in it
            return call("key_below", above, Constant(f"\0\0\0\0{number:04}"))
        case Text(owner=StreamElement() as owner):
            above = node_key(owner, scope)
            assert above is not None
            return call("key_below", above, Constant("\0text"))
    return None


def end_key(node: StreamElement | Inner, scope: Scope) -> Scalar:
    """What is greater than the keys of all nodes in an element, but not than any that follow."""
    if isinstance(node, StreamElement) and node.is_filler:
        # no place in a filler begins with this byte
        return call("key_after", node.column("key"))
    start, length = span_of(node, scope)
    row = node.owner if isinstance(node, Inner) else node
    return call("node_key", row.column("key"), call("+", start, length))


# text


def element_text(node: StreamElement, scope: Scope) -> Scalar:
    """The string value of an element that has it in a column."""
    scope.compilation.demand(node, "_text")
    return field(node.struct, "_text")


def string_value(item: Item, scope: Scope) -> Scalar:
    """The string value of a node, or an atomic value as a string."""
    match item:
        case Atomic():
            return to_string(item)
        case StreamElement():
            if item.shape.has_text and not has_holes(item, scope):
                return element_text(item, scope)
            return call("string_of_xml", serialised(item, scope))
        case StreamDocument():
            raise NotNative("the text of a whole stream")
        case Attribute(scalar=scalar) | Text(scalar=scalar):
            return scalar
        case Element():
            from xcql.compile.syntax.constructed import constructed_string

            return constructed_string(item, scope)
        case Markup(value=value):
            return value
        case Inner():
            return call("string_of_xml", inner_xml(item, scope))
        case Dynamic(reason=reason):
            raise NotNative(reason)
    raise NotNative("a function as text")


def attribute_of(node: StreamElement, name: str, scope: Scope) -> Scalar | None:
    """The value of an attribute, NULL where an element has none; None where none has."""
    if name in ("vtFrom", "vtTo") and is_fragmented(node, scope):
        begin, end = own_lifespan(node, scope)
        if name == "vtFrom":
            return call("coalesce", call("time_text", begin), Constant("start"))
        return call("coalesce", call("time_text", end), Constant("now"))
    column = node.shape.attributes.get(name)
    if column is None:
        return None
    scope.compilation.demand(node, column)
    return field(node.struct, column)


def inner_xml(node: StreamElement | Inner, scope: Scope) -> Scalar:
    """The bytes of an element as text, with nothing added."""
    if isinstance(node, Inner):
        if not is_written_whole(node, scope):
            raise NotNative("the text of elements with holes inside of mixed content")
        return node.text
    if node.is_filler:
        return call("text_of_bytes", node.column("raw"))
    start, length = span_of(node, scope)
    return call("text_of_span", node.column("raw"), start, length)


def serialised(item: Item, scope: Scope) -> Scalar:
    """The item as text, by the xml output method."""
    match item:
        case Atomic(type=type_) if type_ not in STRINGS:
            # numbers, times and the like have no sign that would have to be escaped
            return string_value(item, scope)
        case Atomic() | Text():
            text = string_value(item, scope)
            if isinstance(text, Constant) and isinstance(text.value, str):
                return Constant(escape_text(text.value))
            return call("escape_text", text)
        case Attribute(name=name, scalar=scalar):
            if name.startswith("Q{"):
                raise NotNative("an attribute in a namespace by itself")
            return call(
                "concat", Constant(f'{name}="'), call("escape_attribute", scalar), Constant('"')
            )
        case StreamElement():
            return _element_xml(item, scope)
        case StreamDocument():
            tops = below_document(item, scope)
            if len(tops) != 1:
                raise NotNative("a stream without a root")
            leaf = tops[0]
            return Nested(leaf.plan, "join", serialised(leaf.item, scope))
        case Element():
            from xcql.compile.syntax.constructed import constructed_xml

            return constructed_xml(item, scope)
        case Markup(text=text):
            return text
        case Dynamic(scalar=scalar):
            return call("dynamic_text", scalar)
        case Failure(scalar=scalar):
            return scalar
        case Inner():
            text = inner_xml(item, scope)
            return call("with_namespaces", text, _declared_around(item, text, scope))
    raise NotNative("a function as XML")


def below_document(document: StreamDocument, scope: Scope) -> list[Leaf]:
    from xcql.compile.syntax.paths import axis_from
    from xcql.syntax.path import Wildcard

    span = scope.compilation.module.span
    return axis_from(Leaf(Unit(), document), "child", Wildcard(span=span), scope, span)


def uses_namespaces(node: StreamElement | Inner, scope: Scope) -> bool:
    """Whether any name in the stream is in a namespace."""
    tags = scope.compilation.catalog.streams[node.stream]
    if any(tag.name.uri for tag in tags.tags):
        return True
    from xcql.shred.shape import walk

    return any(
        attribute.name.startswith("Q{")
        for slot in tags.slots.values()
        for one in walk(slot)
        for attribute in one.attributes
    )


def _element_xml(node: StreamElement, scope: Scope) -> Scalar:
    if is_written_whole(node, scope):
        text = inner_xml(node, scope)
        return _start_completed(node, text, scope)
    return _with_holes_filled(node, scope)


def _start_completed(node: StreamElement, text: Scalar, scope: Scope) -> Scalar:
    """The text of an element with what its start tag lacks: namespaces around, its lifespan."""
    around = node.column("namespaces")
    if not scope.compilation.serialising:
        # an answer stands in no default namespace that it could come into
        around = call("without_no_default", around)
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
    return call("with_namespaces", text, _declared_around(node, text, scope))


def _declared_around(node: StreamElement | Inner, text: Scalar, scope: Scope) -> Scalar:
    """What an answer, or what stands inside of one, has to declare."""
    around = _namespaces_around(node, text, scope)
    return around if scope.compilation.serialising else call("without_no_default", around)


def _namespaces_around(node: StreamElement | Inner, text: Scalar, scope: Scope) -> Scalar:
    """The declarations that an element needs to stand anywhere else, as text."""
    row = node.owner if isinstance(node, Inner) else node
    around = row.column("namespaces")
    if not uses_namespaces(node, scope) or (node is row and row.is_filler):
        return around
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


def _with_holes_filled(node: StreamElement, scope: Scope) -> Scalar:
    """The text with what stands in the holes: pieces between holes and children, put together.

    The children are gathered by the filler they stand in, wherever in it that is: so they can be
    put together once for all fillers, from the leaves up.
    """
    start, length = span_of(node, scope)
    pieces = call("pieces", node.column("raw"), node.column("holes"), start, length)
    piece = Column(".piece")
    position, text = field(piece, "position"), field(piece, "text")
    first = call("=", position, Constant(-1))
    completed = case((first, _start_completed(node, text, scope)), otherwise=text)
    parts: list[Scalar] = [
        call(
            "transform",
            pieces,
            Lambda((".piece",), _part(position, Constant(1), Constant(0), completed)),
        )
    ]
    around = scope.compilation.serialising
    around.append(node.table)
    for leaf in filler_children(node, scope):
        child = leaf.item
        assert isinstance(child, StreamElement)
        own = _part(
            child.column("offset"), Constant(0), child.column("number"), serialised(child, scope)
        )
        children: Scalar = Nested(leaf.plan, "collect", own)
        if not node.is_filler:
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
    # what the fillers inside hold has been looked at already, but it is part of the text
    slots = scope.compilation.catalog.streams[node.stream].slots.values()
    whole = call("empty_elements", joined, Constant(any(slot.commented for slot in slots)))
    if scope.compilation.serialising:
        return whole
    return call("declared_once", whole, node.column("namespaces"))


def _part(position: Scalar, part: Scalar, number: Scalar, text: Scalar) -> Scalar:
    """A part of an element's text: what fills a hole comes before what follows it."""
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


def filler_children(node: StreamElement, scope: Scope) -> list[Leaf]:
    """The fillers in the holes of an element, wherever below it the holes stand."""
    from xcql.compile.library.stream_steps import StreamSteps
    from xcql.syntax.path import Wildcard

    graph = scope.compilation.graphs[node.stream]
    span = scope.compilation.module.span
    steps = StreamSteps(scope, Wildcard(span=span), span)
    holes: frozenset[str] = frozenset().union(
        *(steps._holes_below(graph, tag) for tag in node.tags)
    )
    holes = frozenset(id for id in holes if not _is_deepest(node, id, scope))
    anywhere = Leaf(Unit(), replace(node, alone=True))
    return steps.follow(anywhere, tuple(sorted(holes)), is_child=False)


def _is_deepest(node: StreamElement, id: str, scope: Scope) -> bool:
    """Whether fillers of a tag cannot stand any deeper inside others of it than was come to."""
    graph = scope.compilation.graphs[node.stream]
    if id not in graph.below(id):
        return False
    stream = scope.compilation.catalog.streams[node.stream]
    if not stream.placed:
        raise NotNative("fillers inside of each other, whose depth is not known")
    depths = stream.depths.get(id, ())
    levels = max(depths) - min(depths) + 1 if depths else 0
    return sum(id in tags for tags in scope.compilation.serialising) >= levels


# lifespans: begin and end, NULL for `start` and `now`


def own_lifespan(node: StreamElement, scope: Scope) -> Lifespan:
    """The lifespan of a filler's element, clipped to what it was projected to."""
    if node.lifespan is not None:
        return node.lifespan
    begin, end = node.column("vtFrom"), node.column("vtTo")
    return (begin, end) if node.window is None else clipped((begin, end), node.window)


def clipped(lifespan: Lifespan, window: Window) -> Lifespan:
    begin, end = lifespan
    clipped_begin = call("greatest", call("coalesce", begin, START), window.begin)
    return (
        call("nullif", clipped_begin, START),
        call("least", call("coalesce", end, NOW), window.end),
    )


def check_lifespans(stream: str, scope: Scope, span: Span | None = None) -> None:
    """Refuse to tell of time in a stream in which not only fillers have lifespans."""
    if scope.compilation.catalog.streams[stream].has_lifespans_inside:
        raise NotNative("lifespans that elements inside of fillers came with", span)


def lifespan(item: Item, scope: Scope) -> Lifespan:
    """The lifespan of an item: its own, or what covers its elements'."""
    match item:
        case StreamElement():
            if is_fragmented(item, scope):
                return own_lifespan(item, scope)
            check_lifespans(item.stream, scope)
            if not has_holes(item, scope):
                return ALWAYS
            from xcql.compile.syntax.paths import axis_from
            from xcql.syntax.path import Wildcard

            span = scope.compilation.module.span
            below = axis_from(Leaf(Unit(), item), "child", Wildcard(span=span), scope, span)
            return cover(below, scope)
        case Inner():
            if has_holes(item, scope):
                raise NotNative("the lifespan of elements with holes inside of mixed content")
            check_lifespans(item.stream, scope)
            return ALWAYS
        case Attribute(owner=owner, within=within) | Text(owner=owner, within=within):
            return _lifespan_of_leaves(owner or within, scope)
        case StreamDocument():
            return cover(below_document(item, scope), scope)
        case Element(content=content):
            own = constructed_lifespan(item)
            if own is not None:
                return own
            found = [leaf for value in content for leaf in leaves(value)]
            return cover(
                [
                    leaf
                    for leaf in found
                    if isinstance(leaf.item, Element | StreamElement | StreamDocument | Inner)
                ],
                scope,
            )
    return ALWAYS


def constructed_lifespan(element: Element) -> Lifespan | None:
    """The lifespan that the attributes of a constructed element give it."""
    own = {attribute.name: attribute.scalar for attribute in element.attributes}
    if "vtFrom" not in own or "vtTo" not in own:
        return None
    return (
        call("lifespan_bound", own["vtFrom"], Constant("start")),
        call("lifespan_bound", own["vtTo"], Constant("now")),
    )


def _lifespan_of_leaves(
    owner: StreamElement | StreamDocument | Element | Inner | None, scope: Scope
) -> Lifespan:
    """The lifespan of attributes and text of an element: of the nearest that has its own."""
    match owner:
        case Element(around=around):
            return constructed_lifespan(owner) or around or ALWAYS
        case Inner(owner=outer):
            if outer.is_copy:
                raise NotNative("the lifespan of text or attributes in a copy of mixed content")
            check_lifespans(owner.stream, scope)
            return _lifespan_of_leaves(outer, scope)
        case StreamElement(above=above):
            if is_fragmented(owner, scope):
                return own_lifespan(owner, scope)
            check_lifespans(owner.stream, scope)
            if owner.is_top or owner.is_copy:
                return owner.around or ALWAYS
            return _lifespan_of_leaves(above, scope)
    return ALWAYS


def cover(found: Sequence[Leaf], scope: Scope) -> Lifespan:
    """The smallest interval that covers the lifespans of all these; always, if there are none."""
    begins: list[Scalar] = []
    ends: list[Scalar] = []
    spans = [lifespan(leaf.item, scope) for leaf in found]
    if all(span == ALWAYS for span in spans):
        return ALWAYS
    for leaf, (begin, end) in zip(found, spans, strict=True):
        begin = START if begin == NULL else call("coalesce", begin, START)
        end = FOR_EVER if end == NULL else call("coalesce", end, FOR_EVER)
        if _is_one(leaf.plan):
            begins.append(begin)
            ends.append(end)
        else:
            begins.append(Nested(leaf.plan, "min", begin))
            ends.append(Nested(leaf.plan, "max", end))
    if START in begins and FOR_EVER in ends:
        return ALWAYS
    begin = begins[0] if len(begins) == 1 else Call("least", tuple(begins))
    end = ends[0] if len(ends) == 1 else Call("greatest", tuple(ends))
    return call("nullif", begin, START), call("nullif", end, FOR_EVER)


def _is_one(plan: Plan) -> bool:
    """Whether the plan is the tuple that it is evaluated for, put in a place."""
    while isinstance(plan, Order):
        plan = plan.input
    return isinstance(plan, Unit)


def atomized(item: Item, scope: Scope) -> Atomic:
    """The typed value of an item."""
    match item:
        case Atomic():
            return item
        case Attribute(scalar=scalar, type=type_):
            return Atomic(scalar, type_)
        case Markup(value=value):
            return Atomic(value, "xs:string")
    return Atomic(string_value(item, scope), "xs:untypedAtomic")


def data(value: Value, scope: Scope) -> Value:
    """The value atomized."""
    from xcql.compile.terms.mapping import mapped_items

    return mapped_items(value, lambda item: atomized(item, scope))
