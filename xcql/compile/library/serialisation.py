"""Items as text: their string values, and their XML."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xcql.algebra.scalars import (
    FALSE,
    TRUE,
    Call,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
    field,
    negation,
)
from xcql.compile.library.access import element_text, has_holes, inner_xml
from xcql.compile.library.any_xml import any_string, any_xml
from xcql.compile.library.casts import STRINGS, to_string
from xcql.compile.library.node_names import written_attribute
from xcql.compile.library.stream_xml import element_xml, stream_xml
from xcql.compile.result import NotNative
from xcql.compile.terms import items, values
from xcql.compile.terms.scope import Scope
from xcql.shred.namespaces import declaring
from xcql.shred.node_paths import KINDS
from xcql.xdm.serialize import escape_attribute, escape_text


def string_value(item: items.Item, scope: Scope) -> Scalar:
    """The string value of a node, or an atomic value as a string."""
    match item:
        case items.Atomic():
            return to_string(item)
        case items.StreamElement():
            if item.shape.has_text and not has_holes(item, scope):
                return element_text(item, scope)
            return call("string_of_xml", element_xml(item, scope))
        case items.StreamDocument():
            raise NotNative("the text of a whole stream")
        case items.AttributeItem(scalar=scalar) | items.TextItem(scalar=scalar):
            return scalar
        case items.Element():
            return constructed_string(item, scope)
        case items.Markup(value=value):
            return value
        case items.Inner():
            return call("string_of_xml", inner_xml(item, scope))
        case items.AnyNode():
            return any_string(item, scope)
        case items.Dynamic(attribute=(_, value)):
            return value
        case items.Dynamic(known_kind="element"):
            return call("string_of_xml", item.part("value"))
        case items.Dynamic():
            return _dynamic_string(item.part("kind"), item.part("value"), scope)
    raise NotNative("a function as text")


def _dynamic_string(kind: Scalar, text: Scalar, scope: Scope) -> Scalar:
    """The string value of an item whose kind is known only when the query runs."""
    place = scope.compilation.module.body.span
    within_tag = call("concat", Constant("<a>"), text, Constant("</a>"))
    return case(
        (call("startswith", kind, Constant("xs:")), text),
        (call("=", kind, Constant("element")), call("string_of_xml", text)),
        (call("=", kind, Constant("text")), call("string_of_xml", within_tag)),
        otherwise=scope.compilation.limit(place, "the text of a rare kind of node"),
    )


def serialised(item: items.Item, scope: Scope) -> Scalar:
    """The item as text, by the xml output method."""
    match item:
        case items.Atomic(type=type_) if type_ not in STRINGS:
            # numbers, times and the like have no characters to escape
            return string_value(item, scope)
        case items.Atomic() | items.TextItem():
            text = string_value(item, scope)
            if isinstance(text, Constant) and isinstance(text.value, str):
                return Constant(escape_text(text.value))
            return call("escape_text", text)
        case items.AttributeItem(name=name, scalar=scalar, prefix=prefix):
            if prefix:
                name = qualified(prefix, name)
            elif name.startswith("Q{"):
                return written_attribute(item, scope, scope.compilation.module.body.span)
            return call(
                "concat", Constant(f'{name}="'), call("escape_attribute", scalar), Constant('"')
            )
        case items.StreamElement() | items.StreamDocument() | items.Inner():
            return stream_xml(item, scope)
        case items.AnyNode():
            return any_xml(item, scope)
        case items.Element():
            return constructed_xml(item, scope)
        case items.Markup(text=text):
            return text
        case items.Dynamic(known_kind="element" | "attribute"):
            return item.part("value")
        case items.Dynamic(scalar=scalar):
            return call("dynamic_text", scalar)
        case items.Failure(scalar=scalar):
            return scalar
    raise NotNative("a function as XML")


def constructed_xml(
    element: items.Element,
    scope: Scope,
    name: Scalar | None = None,
    others: Sequence[Scalar] = (),
) -> Scalar:
    """The text of a constructed element.

    `name` is its name if only the data tell it, and `others` are texts of more attributes.
    """
    if element.is_document:
        return _flat_concat([content_xml(value, scope) for value in element.content])
    name = name or Constant(qualified(element.prefix, element.name))
    declared = declaring({one: escape_attribute(uri) for one, uri in element.namespaces})
    start: list[Scalar] = [_flat_concat([Constant("<"), name, Constant(declared)])]
    for attribute in element.attributes:
        text = call("escape_attribute", attribute.scalar)
        if isinstance(attribute.scalar, Constant):
            text = Constant(escape_attribute(str(attribute.scalar.value)))  # type: ignore[assignment]
        own = qualified(attribute.prefix, attribute.name)
        written = call("concat", Constant(f' {own}="'), text, Constant('"'))
        start.append(
            call("coalesce", written, Constant("")) if may_be_null(attribute.scalar) else written
        )
    start += others
    content = [content_xml(value, scope) for value in element.content]
    if dict(element.namespaces).get("") and content:
        content = [call("out_of_default", _flat_concat(content))]
    whole = _around(start, content, name)
    return call("declared_once", whole) if element.namespaces else whole


def qualified(prefix: str, name: str) -> str:
    """A name as it is written with a prefix."""
    local = name.rpartition("}")[2]
    return f"{prefix}:{local}" if prefix else local


def _around(start: list[Scalar], content: list[Scalar], name: Scalar) -> Scalar:
    """A start tag without its `>`, the content, and the end tag."""
    if not content:
        return _flat_concat([*start, Constant("/>")])
    end = _flat_concat([Constant("</"), name, Constant(">")])
    inside = _flat_concat(content)
    if is_never_blank(inside):
        return _flat_concat([*start, Constant(">"), *content, end])
    return call("element_around", _flat_concat(start), inside, end)


def is_never_blank(text: Scalar) -> bool:
    """Whether a text certainly has at least one character."""
    match text:
        case Constant(value=str() as value):
            return bool(value)
        case Call(function="concat", arguments=arguments):
            return any(map(is_never_blank, arguments))
        case Call(function="element_around" | "with_lifespan" | "with_namespaces"):
            return True
    return False


def may_be_null(scalar: Scalar) -> bool:
    """Whether a text may be NULL; true if that is not known."""
    match scalar:
        case Constant(value=value):
            return value is None
        case Call(function="coalesce", arguments=arguments):
            return all(map(may_be_null, arguments))
        case Call(function="concat", arguments=arguments):
            return any(map(may_be_null, arguments))
        case Call(function="join_texts"):
            return False
    return True


def _flat_concat(parts: list[Scalar]) -> Scalar:
    flat: list[Scalar] = []
    for part in parts:
        several = (
            part.arguments if isinstance(part, Call) and part.function == "concat" else (part,)
        )
        for one in several:
            if (
                flat
                and isinstance(one, Constant)
                and isinstance(flat[-1], Constant)
                and isinstance(one.value, str)
                and isinstance(flat[-1].value, str)
            ):
                flat[-1] = Constant(flat[-1].value + one.value)
            else:
                flat.append(one)
    return flat[0] if len(flat) == 1 else Call("concat", tuple(flat))


def content_xml(value: values.Value, scope: Scope) -> Scalar:
    """The text of a sequence as the content of an element; never NULL."""
    found = values.leaves(value)
    if not found:
        return Constant("")
    atoms = [isinstance(leaf.item, items.Atomic) for leaf in found]
    if all(atoms):
        text = joined_text(value, scope)
        if isinstance(text, Constant):
            return Constant(escape_text(str(text.value)))
        if not any(leaf.item.type in STRINGS for leaf in found):  # type: ignore[attr-defined]
            return text
        return call("escape_text", text)
    if any(atoms) or any(_is_atomic(leaf.item) is None for leaf in found):
        return _mixed_xml(value, scope)
    if any(
        isinstance(leaf.item, items.AttributeItem) or items.is_attribute_of_any_name(leaf.item)
        for leaf in found
    ):
        raise NotNative("attributes among other content")
    return node_xml(value, scope)


def node_xml(value: values.Value, scope: Scope) -> Scalar:
    """The text of a sequence of nodes."""
    return joined(value, lambda item: serialised(item, scope))


def joined(value: values.Value, read: Callable[[items.Item], Scalar]) -> Scalar:
    """The texts of the items, one after the other."""
    match value:
        case values.Single(item=item):
            return read(item)
        case values.Concat(values=several, exclusive=False):
            return _flat_concat([joined(one, read) for one in several])
        case values.Concat(values=several):
            return case(
                *((values.exists(one), joined(one, read)) for one in several),
                otherwise=Constant(""),
            )
        case values.Each(plan=plan, value=inner):
            if values.is_optional(plan):
                condition, known = values.condition_of(plan)
                text = values.replaced(joined(inner, read), known)
                return case((condition, text), otherwise=Constant(""))
            return Nested(plan, "join", joined(inner, read))
        case values.Merged():
            return call("join_texts", values.gather(value, read), Constant(""))
    raise AssertionError(value)


def _mixed_xml(value: values.Value, scope: Scope) -> Scalar:
    """The text of nodes and atomic values; atomic values need a space between them."""
    match value:
        case values.Single(item=items.Dynamic(scalar=scalar)):
            return _as_content(scalar, call("dynamic_text", scalar), scope)
        case values.Single(item=item):
            return serialised(item, scope)
        case values.Concat(values=several, exclusive=True):
            return case(
                *((values.exists(one), content_xml(one, scope)) for one in several),
                otherwise=Constant(""),
            )
        case values.Concat(values=several):
            texts = _apart_by_blanks(several, scope)
            if texts is not None:
                return _flat_concat(texts)
        case values.Each(plan=plan, value=inner):
            if values.is_optional(plan):
                condition, known = values.condition_of(plan)
                text = values.replaced(content_xml(inner, scope), known)
                return case((condition, text), otherwise=Constant(""))
    return _as_pairs(value, scope)


def _as_pairs(value: values.Value, scope: Scope) -> Scalar:
    """The text of items whose kinds are known only at run time."""

    def read(item: items.Item) -> Scalar:
        pair = as_pair(item, scope)
        return _as_content(pair, pair, scope)

    return call("dynamic_content", values.gather(value, read))


def _as_content(pair: Scalar, result: Scalar, scope: Scope) -> Scalar:
    """The result for an item of the evaluator that does not belong into the tag around it."""
    match pair:
        case Call(function="evaluator_item", arguments=(Constant(value=str() as kind), *_)):
            if kind.startswith(("attribute", "namespace")):
                raise NotNative("attributes or namespaces among other content")
            return result
    kind_ = field(pair, "kind")
    in_tag = [call("startswith", kind_, Constant(one)) for one in ("attribute", "namespace")]
    place = scope.compilation.module.body.span
    limit = scope.compilation.limit(place, "attributes or namespaces among other content")
    return case((disjunction(*in_tag), limit), otherwise=result)


def _apart_by_blanks(several: Sequence[values.Value], scope: Scope) -> list[Scalar] | None:
    """The texts of consecutive values, with a space where two atomic values meet.

    None if that is known only at run time.
    """
    texts: list[Scalar] = []
    # whether the previous item is atomic
    after_atomic: Scalar = FALSE
    for value in several:
        if value == values.EMPTY:
            continue
        here = values.exists(value)
        kinds = {_is_atomic(leaf.item) for leaf in values.leaves(value)}
        if kinds == {True}:
            blank = case((conjunction(after_atomic, here), Constant(" ")), otherwise=Constant(""))
            if after_atomic != FALSE:
                texts.append(Constant(" ") if after_atomic == here == TRUE else blank)
            after_atomic = disjunction(after_atomic, here)
        elif kinds == {False}:
            after_atomic = conjunction(after_atomic, negation(here))
        else:
            return None
        texts.append(content_xml(value, scope))
    return texts


def _is_atomic(item: items.Item) -> bool | None:
    """Whether the item is atomic; None if that is known only at run time."""
    if isinstance(item, items.Dynamic):
        return False if item.known_kind == "element" else None
    return isinstance(item, items.Atomic)


def as_pair(item: items.Item, scope: Scope) -> Scalar:
    """The item as the evaluator takes it: its kind and its text."""
    match item:
        case items.Dynamic(scalar=scalar):
            return scalar
        case items.Atomic(type="xs:QName"):
            raise NotNative("a value of type xs:QName")
        case items.Atomic(type=type_):
            return _struct(type_, to_string(item))
        case items.Element(is_document=True) | items.StreamDocument():
            raise NotNative("a document among other items")
        case items.StreamElement() | items.AnyNode() if _is_seen_otherwise(item, scope):
            raise NotNative("fillers with different namespaces inside of others")
        case items.StreamElement() | items.Inner() | items.Element():
            return _struct("element", serialised(item, scope))
        case items.AttributeItem(name=name) if not name.startswith("Q{"):
            return _struct("attribute", serialised(item, scope))
        case items.AttributeItem():
            raise NotNative("an attribute in a namespace by itself")
        case items.AnyNode(paths=paths) if any(
            path.kind == "attribute" and path.name.startswith("Q{") for path in paths
        ):
            raise NotNative("an attribute in a namespace by itself")
        case items.TextItem():
            return _struct("text", serialised(item, scope))
        case items.AnyNode(kinds=kinds):
            branches = [
                (call("=", item.kind, Constant(KINDS[one])), Constant(one)) for one in kinds
            ]
            kind_text = case(*branches) if len(kinds) > 1 else branches[0][1]
            return call("evaluator_item", kind_text, serialised(item, scope))
        case items.Markup(kind=kind):
            return _struct(kind, serialised(item, scope))
    raise NotNative("a function as a value")


def _is_seen_otherwise(node: items.StreamElement | items.AnyNode, scope: Scope) -> bool:
    """Whether fillers inside would inherit namespaces from their ancestors once parsed."""
    stream = scope.compilation.catalog.streams[node.stream]
    return stream.declared is None and has_holes(node, scope)


def _struct(kind: str, text: Scalar) -> Scalar:
    return call("evaluator_item", Constant(kind), text)


def constructed_string(element: items.Element, scope: Scope) -> Scalar:
    """The string value of a constructed element."""
    texts: list[Scalar] = []
    for value in element.content:
        found = values.leaves(value)
        if not found:
            continue
        if all(isinstance(leaf.item, items.Atomic) for leaf in found):
            texts.append(joined_text(value, scope))
        elif all(
            items.is_node(leaf.item) and not isinstance(leaf.item, items.Markup) for leaf in found
        ):
            gathered = values.gather(value, lambda item: string_value(item, scope))
            texts.append(call("join_texts", gathered, Constant("")))
        else:
            raise NotNative("the text of nodes and atomic values")
    return concatenated(texts)


def joined_text(value: values.Value, scope: Scope) -> Scalar:
    """The string values of the items, separated by spaces; never NULL."""
    if value == values.EMPTY:
        return Constant("")
    if isinstance(value, values.Single):
        return string_value(value.item, scope)
    if values.at_most_one(value):
        text = values.single_scalar(value, lambda item: string_value(item, scope))
        return call("coalesce", text, Constant(""))
    return call(
        "join_texts", values.gather(value, lambda item: string_value(item, scope)), Constant(" ")
    )


def concatenated(texts: list[Scalar]) -> Scalar:
    if not texts:
        return Constant("")
    return texts[0] if len(texts) == 1 else Call("concat", tuple(texts))
