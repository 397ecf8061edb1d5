"""Elements by their identifiers, and references to them, as paths to the declared attributes.

    id($words, $node)      =>      root($node)//person[normalize-space(@id) = $words]
                                   | root($node)//item[normalize-space(@id) = $words]

Tests: tests/compile/test_identifiers.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import FUNCTIONS, Namespaces
from xcql.analysis.types import DOCUMENT
from xcql.compile.functions.sequences import argument_or_context
from xcql.compile.library.document_order import root_of
from xcql.compile.result import NotNative
from xcql.compile.terms.items import StreamDocument
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.scope import native as native_value
from xcql.compile.terms.values import EMPTY, Single, Value
from xcql.model.tags import Tag
from xcql.source import Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.node import Expr, Name
from xcql.syntax.operators import Binary, Comparison, SimpleMap
from xcql.syntax.path import AxisStep, NameTest, Path
from xcql.xdm.names import XML_NAMESPACE, QName

native = NativeFunctions()

# no query can name such variables
_DOCUMENT, _VALUES = "#document", "#values"
_XML_ID = QName(XML_NAMESPACE, "id")

# the name of an element, after that of its parent if others have the same name
Names = tuple[QName | None, ...]
# the end of a path: a step to elements, and what is asked of their attribute
Last = Callable[[AxisStep, QName], Expr]


@native("id", 1, 2)
@native("element-with-id", 1, 2)
def _id(site: CallSite) -> Value:
    document, scope = _document(site)
    span = site.span
    values = _variable(_VALUES, span)
    words = SimpleMap(values, _call("tokenize", ContextItem(span=span)), span=span)

    def element(step: AxisStep, attribute: QName) -> Expr:
        own = AxisStep("attribute", _test(attribute, span), span=span)
        is_one = Comparison("=", _call("normalize-space", own), values, span=span)
        return replace(step, predicates=(is_one,))

    found = [*_declared(document, {"ID"}, site), *_with_xml_id(document, site)]
    return _united(found, element, scope.bind(_VALUES, native_value(words, scope)), site)


@native("idref", 1, 2)
def _idref(site: CallSite) -> Value:
    document, scope = _document(site)
    span = site.span

    def attributes(step: AxisStep, attribute: QName) -> Expr:
        words = _call("tokenize", ContextItem(span=span))
        is_one = Comparison("=", words, _variable(_VALUES, span), span=span)
        own = AxisStep("attribute", _test(attribute, span), (is_one,), span=span)
        return Path(False, (step, own), span=span)

    return _united(_declared(document, {"IDREF", "IDREFS"}, site), attributes, scope, site)


def _document(site: CallSite) -> tuple[StreamDocument, Scope]:
    """The document that is searched, and a scope with it and the values that are looked for."""
    value = argument_or_context(replace(site, arguments=site.arguments[1:]))
    if not isinstance(value, Single):
        raise NotNative("identifiers in the documents of several nodes", site.span)
    document = root_of(value.item, site.span)
    if not isinstance(document, StreamDocument):
        raise NotNative("identifiers in a tree without a document", site.span)
    outer = site.scope
    scope = Scope(site.compilation, Namespaces.of(()), {}, taken=outer.taken, loops=outer.loops)
    scope = scope.bind(_DOCUMENT, Single(document)).bind(_VALUES, site.arguments[0])
    return document, scope


def _declared(
    document: StreamDocument, types: Collection[str], site: CallSite
) -> list[tuple[Names, QName]]:
    """The declared attributes of some types, and the elements that have them."""
    graph = site.compilation.graphs[document.stream]
    return list(
        dict.fromkeys(
            (names, attribute)
            for tag in graph.structure
            for attribute in sorted(_attributes(tag, types), key=str)
            for names in _told_apart(tag, attribute, types, graph, site.span)
        )
    )


def _attributes(tag: Tag, types: Collection[str]) -> frozenset[QName]:
    return frozenset(one.name for one in tag.attributes if one.type in types)


def _told_apart(
    tag: Tag, attribute: QName, types: Collection[str], graph: TagGraph, span: Span
) -> Iterator[Names]:
    """The names that tell the elements of a tag from those without its attribute."""
    others = [
        one
        for one in graph.structure
        if one.name == tag.name and attribute not in _attributes(one, types)
    ]
    if not others:
        yield (tag.name,)
        return
    above = _parents(tag, graph)
    if above & frozenset().union(*(_parents(one, graph) for one in others)):
        raise NotNative("identifiers of only some elements of one name", span)
    for parent in sorted(above, key=str):
        yield (parent, tag.name)


def _parents(tag: Tag, graph: TagGraph) -> frozenset[QName | None]:
    """The names of a tag's parents; None for the document."""
    ids = graph.parents(tag.id)
    return frozenset(None if id == DOCUMENT else graph.tag(id).name for id in ids)


def _with_xml_id(document: StreamDocument, site: CallSite) -> list[tuple[Names, QName]]:
    """The elements that have `xml:id`, which is always an identifier."""
    paths = site.compilation.catalog.streams[document.stream].paths
    if paths is None:
        raise NotNative("identifiers where the paths to attributes are not known", site.span)
    graph = site.compilation.graphs[document.stream]
    tags = {
        path.tag for path in paths.all if path.kind == "attribute" and path.name == _XML_ID.clark
    }
    return [((name,), _XML_ID) for name in sorted({graph.tag(id).name for id in tags}, key=str)]


def _united(
    found: Sequence[tuple[Names, QName]], last: Last, scope: Scope, site: CallSite
) -> Value:
    """The nodes that a last step finds for each of some elements of the document."""
    span = site.span
    paths: list[Expr] = []
    for (*above, name), attribute in found:
        steps: list[Expr] = [_variable(_DOCUMENT, span)]
        if above and above[0] is not None:
            steps.append(AxisStep("descendant", _test(above[0], span), span=span))
        axis = "child" if above else "descendant"
        assert name is not None
        steps.append(last(AxisStep(axis, _test(name, span), span=span), attribute))
        paths.append(Path(False, tuple(steps), span=span))
    if not paths:
        return EMPTY
    return native_value(reduce(partial(_union, span), paths), scope)


def _union(span: Span, one: Expr, other: Expr) -> Expr:
    return Binary("union", one, other, span=span)


def _variable(name: str, span: Span) -> VariableRef:
    return VariableRef(Name(name, span=span), span=span)


def _call(name: str, argument: Expr) -> FunctionCall:
    span = argument.span
    return FunctionCall(Name(name, uri=FUNCTIONS, span=span), (argument,), span=span)


def _test(name: QName, span: Span) -> NameTest:
    return NameTest(Name(name.local, uri=name.uri, span=span), span=span)
