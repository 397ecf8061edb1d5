"""Elements, texts and attributes inside mixed content, which is not shredded.

text/emph          unnest(inner_children(XML of text, 'emph'))
text/emph/@id      the same, and an XPath in the XML of each emph
text/emph/text()   unnest(the column with the texts on the path `emph` inside text)
text//emph/text()  XPath '/*//emph/text()' in the XML of text, as the query needs no node on the
                   path; XML that does not contain the tags is not parsed

As everywhere, the tag structure says to which tags a step can lead.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from functools import partial

from xcql.algebra.operators import Plan, Select, Unnest
from xcql.algebra.scalars import Call, Column, Constant, Lambda, Scalar, call, disjunction, field
from xcql.analysis.graph import TagGraph
from xcql.compile.library.access import inner_xml, uses_namespaces
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AttributeItem, Inner, InnerPath, Item, StreamElement, TextItem
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.shred.shape import WAYS
from xcql.source import Span
from xcql.syntax.node import SyntaxNode
from xcql.syntax.path import NameTest
from xcql.syntax.types import ElementTest

Holder = StreamElement | Inner


def elements_inside(
    leaf: Leaf,
    ids: Iterable[str],
    is_child: bool,
    test: SyntaxNode | None,
    scope: Scope,
    span: Span,
) -> list[Leaf]:
    """The elements with some tags in mixed content: its children, or all in the same filler."""
    tags = tuple(sorted(set(ids)))
    if not tags:
        return []
    holder = leaf.item
    assert isinstance(holder, Holder)
    owner = holder.owner if isinstance(holder, Inner) else holder
    item, position = scope.compilation.fresh("inner"), scope.compilation.fresh("inner_at")
    graph = scope.compilation.graphs[holder.stream]
    among = (
        {tag.id for id in holder.tags for tag in graph.children(id)}
        if is_child
        else inline_below(graph, holder.tags)
    )
    names = local_names(graph, tags, among, span)
    array = Call(
        "inner_children" if is_child else "inner_descendants", (_xml(holder, scope), *names)
    )
    plan = Unnest(leaf.plan, array, item, position, span=span)
    start = field(Column(item), "start")
    if isinstance(holder, Inner):
        start = call("+", holder.start, start)
    path = _path_by_names(leaf, plan, is_child, test, scope)
    inner = Inner(owner, Column(item), start, tags, holder if is_child else None, path)
    return [Leaf(plan, inner)]


def inner_ancestors(
    leaf: Leaf, ids: Iterable[str], only_parent: bool, scope: Scope, span: Span
) -> list[Leaf]:
    """The ancestors of an inner element that have some tags, inside its owner."""
    node = leaf.item
    assert isinstance(node, Inner)
    tags = tuple(sorted(set(ids)))
    if not tags:
        return []
    item, position = scope.compilation.fresh("inner"), scope.compilation.fresh("inner_at")
    graph = scope.compilation.graphs[node.stream]
    names = local_names(graph, tags, inline_below(graph, node.owner.tags), span)
    one = Column(".inner")
    start = field(one, "start")
    if only_parent:
        holds = call("=", start, parent_start(node))
    else:
        end = call("+", start, call("octet_length", field(one, "text")))
        holds = Call("and", (call("<", start, node.start), call("<", node.start, end)))
    every = Call("inner_descendants", (_xml(node.owner, scope), *names))
    array = call("filter", every, Lambda((".inner",), holds))
    plan = Unnest(leaf.plan, array, item, position, span=span)
    found = Inner(node.owner, Column(item), field(Column(item), "start"), tags)
    return [Leaf(plan, found)]


def parent_start(node: Inner) -> Scalar:
    """The offset of an inner element's parent in the owner's bytes; 0 for the owner itself."""
    own = field(node.struct, "start")
    parent = field(node.struct, "parent")
    return parent if node.start == own else call("+", call("-", node.start, own), parent)


def of_tags(leaf: Leaf, ids: Iterable[str], scope: Scope, span: Span) -> list[Leaf]:
    """The inner elements that have some of their tags."""
    node = leaf.item
    assert isinstance(node, Inner)
    tags = tuple(tag for tag in node.tags if tag in set(ids))
    if len(tags) in (0, len(node.tags)):
        return [leaf] if tags else []
    name = call("local_part", field(node.struct, "name"))
    names = local_names(scope.compilation.graphs[node.stream], tags, node.tags, span)
    fits = disjunction(*(call("=", name, one) for one in names))
    return [Leaf(Select(leaf.plan, fits), replace(node, tags=tags, inner_path=None))]


def texts_inside(leaf: Leaf, scope: Scope, span: Span) -> list[Leaf]:
    """The text nodes that are children of an element with mixed content."""
    holder = leaf.item
    assert isinstance(holder, Holder)
    graph = scope.compilation.graphs[holder.stream]
    element = holder.owner if isinstance(holder, Inner) else holder
    if graph.fragmented_children(*holder.tags) or element.shape.strays:
        # the texts before and after a hole are one node if the hole is empty
        raise NotNative("text around holes", span)
    path = _known_path(leaf)
    if path is not None:
        return _texts_on_path(leaf, path, scope)
    item, position = scope.compilation.fresh("text"), scope.compilation.fresh("text_at")
    array = call("inner_texts", _xml(holder, scope))
    plan = Unnest(leaf.plan, array, item, position, span=span)
    text = TextItem(field(Column(item), "text"), holder, field(Column(item), "start"))
    return [Leaf(plan, text)]


def attributes_inside(
    leaf: Leaf, names: Container[str] | None, scope: Scope, span: Span
) -> list[Leaf]:
    """The attributes of elements inside mixed content."""
    node = leaf.item
    assert isinstance(node, Inner)
    if not isinstance(names, frozenset) or not all(map(is_plain, names)):
        raise NotNative("such attributes inside mixed content", span)
    found: list[Leaf] = []
    for name in sorted(names):
        # a name alone would match attributes in any namespace
        step = f"@*[name()='{name}']"
        path = _known_path(leaf)
        if path is not None:
            make = partial(AttributeItem, name, within=node.owner)
            found += _by_xpath(leaf, path, step, scope, make)
            continue
        values = call("xpath", node.text, Constant(f"/*/{step}"))
        value = call("get", values, Constant(0))
        plan = Select(leaf.plan, call("is_not_null", value))
        found.append(Leaf(plan, AttributeItem(name, value, node)))
    return found


def local_names(
    graph: TagGraph, tags: Iterable[str], among: Iterable[str], span: Span
) -> tuple[Constant, ...]:
    """The names of tags, without prefixes, if the names are unique among the tags `among`.

    How prefixes are bound inside mixed content is not known.
    """
    wanted = {graph.tag(tag).name for tag in tags}
    local = {name.local for name in wanted}
    expanded = {(name.uri, name.local) for name in wanted}
    for id in among:
        name = graph.tag(id).name
        if name.local in local and (name.uri, name.local) not in expanded:
            raise NotNative("names in mixed content that differ only in their namespaces", span)
    if "hole" in local:
        raise NotNative("elements in mixed content with the name of holes", span)
    return tuple(Constant(name) for name in sorted(local))


def inline_below(graph: TagGraph, tops: Iterable[str]) -> frozenset[str]:
    """The tags below some tags that are in the same filler."""
    found: set[str] = set()
    pending = list(tops)
    while pending:
        for tag in graph.children(pending.pop()):
            if tag.id not in found and not graph.is_fragmented(tag.id):
                found.add(tag.id)
                pending.append(tag.id)
    return frozenset(found)


def is_plain(name: str) -> bool:
    return all(char.isalnum() or char in "_.-" for char in name)


def _xml(holder: Holder, scope: Scope) -> Scalar:
    return holder.text if isinstance(holder, Inner) else inner_xml(holder, scope)


# by names alone


def _path_by_names(
    leaf: Leaf, after: Plan, is_child: bool, test: SyntaxNode | None, scope: Scope
) -> InnerPath | None:
    name = _name(test, scope)
    holder = leaf.item
    assert isinstance(holder, Holder)
    if name is None or uses_namespaces(holder, scope):
        return None
    sign = "/" if is_child else "//"
    if isinstance(holder, StreamElement):
        return InnerPath(leaf.plan, after, f"/*{sign}{name}", (name,))
    before = _known_path(leaf)
    if before is None:
        return None
    return InnerPath(before.before, after, f"{before.xpath}{sign}{name}", (*before.names, name))


def _known_path(leaf: Leaf) -> InnerPath | None:
    """The path to the elements of a leaf, if its plan has not changed since."""
    path = leaf.item.inner_path if isinstance(leaf.item, Inner) else None
    return path if path is not None and path.after == leaf.plan else None


def without_inner_path(item: Item) -> Item:
    """The item, without its path if it is an inner element."""
    return replace(item, inner_path=None) if isinstance(item, Inner) else item


def _name(test: SyntaxNode | None, scope: Scope) -> str | None:
    match test:
        case NameTest(name=name) | ElementTest(name=name, type=None) if name is not None:
            uri, local = scope.names.element_name(name)
            return local if not uri and is_plain(local) else None
    return None


def _by_xpath(
    leaf: Leaf, path: InnerPath, step: str, scope: Scope, make: Callable[[Scalar], Item]
) -> list[Leaf]:
    assert isinstance(leaf.item, Inner)
    item, position = scope.compilation.fresh("text"), scope.compilation.fresh("position")
    text, xpath = inner_xml(leaf.item.owner, scope), Constant(f"{path.xpath}/{step}")
    array = call("inner_values", text, xpath, *map(Constant, path.names))
    return [Leaf(Unnest(path.before, array, item, position), make(Column(item)))]


def _texts_on_path(leaf: Leaf, path: InnerPath, scope: Scope) -> list[Leaf]:
    """The texts that are children of the elements at the end of a path, from a column if any."""
    assert isinstance(leaf.item, Inner)
    owner = leaf.item.owner
    ways = owner.shape.ways
    if ways is None or path.child_path is None or ways.get(path.child_path) is False:
        return _by_xpath(leaf, path, "text()", scope, partial(TextItem, within=owner))
    if path.child_path not in ways:
        return []
    scope.compilation.demand(owner, WAYS, path.child_path)
    item, position = scope.compilation.fresh("text"), scope.compilation.fresh("position")
    array = field(field(owner.struct, WAYS), path.child_path)
    text = TextItem(Column(item), within=owner)
    return [Leaf(Unnest(path.before, array, item, position), text)]
