"""Functions that fill holes, generated from the Tag Structure: section 5.1 of the paper.

The Tag Structure says where holes can be and what replaces them, so a function for elements of a
tag is nested as deep as the tags are, and is not recursive:

    declare function local:temporalize-list($stream as map(*)) as document-node() {
      document {
        for $v1 in xcql:versions($stream, "0")
        let $e1 := $v1?element
        return
          element { fn:node-name($e1) } {
            xcql:namespaces($e1),
            xcql:attributes($v1),
            for $n1 in $e1/node()
            return
              typeswitch ($n1)
                case element(hole) return
                  for $v2 in xcql:versions($stream, $n1/@id)
                  return xcql:element($v2)
                default return $n1
          }
      }
    };

Only recursive tags (`ref`) use the library's recursive functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import Namespaces
from xcql.analysis.types import DOCUMENT
from xcql.analysis.walker import Walker, then
from xcql.model.fragments import ROOT_ID
from xcql.source import Span
from xcql.syntax.construct import ComputedDocument, ComputedElement
from xcql.syntax.control import If, Typeswitch, TypeswitchCase
from xcql.syntax.flwor import Flwor, For, Let
from xcql.syntax.functions import Parameter
from xcql.syntax.literals import Sequence, StringLiteral, VariableRef
from xcql.syntax.node import Expr, Name, SyntaxNode, Transformer
from xcql.syntax.operators import Comparison
from xcql.syntax.path import AxisStep, Lookup, NameTest, Wildcard
from xcql.syntax.prolog import FunctionDecl
from xcql.syntax.types import AnyItem, AnyKindTest, DocumentTest, ElementTest, MapTest, SequenceType
from xcql.translate import emission as to

# the depth of elements that one function makes: SaxonC's compile time for it doubles with
# each level
_MAX_NESTING = 5


@dataclass(frozen=True, slots=True)
class Filling:
    """What a function fills: elements of the tags `tops` of a stream.

    It takes a `version`, or any `items`, or elements that it returns `in order`, as children
    of one element, or only the stream, to build its `view`. `filled` are the tags whose
    fillers already replace their holes, `wanted` those that must do so afterwards.
    """

    stream: str
    given: Literal["view", "version", "items", "in order"]
    tops: frozenset[str]
    filled: frozenset[str]
    wanted: frozenset[str]


class Reconstruction:
    """The functions of one module that fill holes; `taken` are the names of its own functions."""

    def __init__(
        self,
        graphs: Mapping[str, TagGraph],
        names: Namespaces,
        in_no_namespace: str | None,
        taken: Iterable[str],
    ) -> None:
        self.graphs = graphs
        self.names = names
        self.in_no_namespace = in_no_namespace
        self._taken = set(taken)
        self._functions: dict[Filling, Name] = {}

    def call(self, filling: Filling, *arguments: Expr, span: Span) -> Expr:
        """A call of the function that fills these holes."""
        if filling not in self._functions:
            self._functions[filling] = self._name(filling, span)
        name = self._functions[filling]
        return to.standard_call(name.local, *arguments, span=span, prefix=name.prefix)

    def declarations(self) -> list[FunctionDecl]:
        """All functions that are called, from the query and from each other."""
        made: list[FunctionDecl] = []
        while len(made) < len(self._functions):
            filling, name = list(self._functions.items())[len(made)]
            made.append(_FunctionMaker(self, filling, name.span).function(name))
        return made

    def _name(self, filling: Filling, span: Span) -> Name:
        """`local:temporalize-A`, where A is the only tag at the top"""
        base = "temporalize"
        tops = filling.tops - {DOCUMENT}
        if len(tops) == 1:
            (top,) = tops
            base += f"-{self.graphs[filling.stream].tag(top).name.local}"
        local, number = base, 1
        while local in self._taken:
            number += 1
            local = f"{base}-{number}"
        self._taken.add(local)
        return Name(local, prefix="local", span=span)

    def view(self, stream: str, wanted: frozenset[str], fragments: Expr, span: Span) -> Expr:
        """The temporal view of a stream, with fillers of these tags."""
        root = frozenset({self.graphs[stream].structure.root.id})
        filling = Filling(stream, "view", root, frozenset(), wanted)
        return self.call(filling, fragments, span=span)


class FillHoles(Transformer):
    """Inserts the calls that fill holes, after the whole query has been walked."""

    def __init__(
        self, walker: Walker, reconstruction: Reconstruction, variables: Mapping[str, str]
    ) -> None:
        self._walker = walker
        self._reconstruction = reconstruction
        self._variables = variables

    def transform_ToBeFilled(self, target: to.ToBeFilled) -> SyntaxNode:
        stream = to.variable(self._variables[target.stream], target.span)
        wanted = target.wanted
        if wanted is None and target.origin is not None:
            wanted = looked_at(self._walker, target.origin, target.tops)
        elif wanted is None:
            wanted = self._walker.graphs[target.stream].fragmented_below(*target.tops)
        if target.elements is None:
            return self._reconstruction.view(target.stream, wanted, stream, target.span)
        if not wanted:
            return target.elements
        as_they_come = target.wanted is None and target.origin is None
        given: Literal["items", "in order"] = "items" if as_they_come else "in order"
        filling = Filling(target.stream, given, target.tops, target.filled, wanted)
        return self._reconstruction.call(filling, stream, target.elements, span=target.span)


def looked_at(
    walker: Walker, origin: int, tops: frozenset[str] = frozenset({DOCUMENT})
) -> frozenset[str]:
    """The tags of the fillers that trees of an origin need, below their tops: what the query
    reads, and what leads there."""
    graph = walker.graphs[walker.origin_streams[origin]]
    tags = walker.origins[origin]
    return (graph.above(tags) | tags) & graph.fragmented_below(*tops)


class _FunctionMaker:
    """Makes one function."""

    def __init__(self, functions: Reconstruction, filling: Filling, span: Span) -> None:
        self._functions = functions
        self._filling = filling
        self._graph = functions.graphs[filling.stream]
        self._span = span
        self._stream = self._variable("stream")
        self._tsids = to.strings(to.tsids(self._graph, filling.wanted), span)

    def function(self, name: Name) -> FunctionDecl:
        a_map = self._type(MapTest(span=self._span))
        items = SequenceType(AnyItem(span=self._span), "*", span=self._span)
        tops = self._filling.tops
        given: dict[str, SequenceType] = {"stream": a_map}
        match self._filling.given:
            case "view":
                result = self._type(DocumentTest(span=self._span))
                id = StringLiteral(ROOT_ID, span=self._span)
                body: Expr = ComputedDocument(self._versions(tops, id, 1), span=self._span)
            case "version":
                given["v1"] = a_map
                result = self._type(ElementTest(span=self._span))
                version, element = self._variable("v1"), self._variable("e1")
                made = self._version(tops, version, element, 1)
                body = Flwor((self._element_of(version, element),), made, span=self._span)
            case "items" | "in order":
                given["items"] = result = items
                body = self._items(tops)
        parameters = tuple(
            Parameter(self._name(name), type_, span=self._span) for name, type_ in given.items()
        )
        return FunctionDecl((), name, parameters, result, body, span=self._span)

    def _items(self, tops: frozenset[str]) -> Expr:
        """Items of these tags with their holes filled, others unchanged."""
        item = self._variable("item")
        cases = [
            self._case(name, self._in_place(tags, item, 1)) for name, tags in self._by_name(tops)
        ]
        each = Flwor(
            (For(item.name, self._variable("items"), span=self._span),),
            Typeswitch(item, tuple(cases), item, span=self._span),
            span=self._span,
        )
        if self._filling.given == "items":
            return each
        parent = ComputedElement(self._no_namespace("filler"), each, span=self._span)
        children = AxisStep("child", Wildcard(span=self._span), span=self._span)
        return then(parent, children)

    # ------------------------------------------------------------------ elements

    def _versions(self, tags: frozenset[str], id: Expr, level: int) -> Expr:
        """The elements of the versions of a filler, which have these tags."""
        version, element = self._variable(f"v{level}"), self._variable(f"e{level}")
        versions = self._call("versions", self._stream, id)
        clauses: list[For | Let] = [For(version.name, versions, span=self._span)]
        result = as_it_is = self._call("element", version)
        groups = self._by_name(tags)
        rebuilt = []
        for name, group in groups:
            if self._has_wanted(group) and self._is_recursive(group):
                rebuilt.append((name, self._call("whole", self._stream, version, self._tsids, id)))
            elif self._has_wanted(group) and level > _MAX_NESTING:
                rebuilt.append((name, self._by_function("version", group, version)))
            elif self._has_wanted(group):
                rebuilt.append((name, self._version(group, version, element, level)))
        if rebuilt and len(groups) == 1:
            ((_, result),) = rebuilt
        elif rebuilt:
            cases = tuple(self._case(name, made) for name, made in rebuilt)
            result = Typeswitch(element, cases, as_it_is, span=self._span)
        if isinstance(result, Typeswitch | ComputedElement):
            clauses.append(self._element_of(version, element))
        return Flwor(tuple(clauses), result, span=self._span)

    def _element_of(self, version: VariableRef, element: VariableRef) -> Let:
        key = StringLiteral("element", span=self._span)
        return Let(element.name, Lookup(version, key, span=self._span), span=self._span)

    def _version(self, tags: frozenset[str], version: Expr, element: Expr, level: int) -> Expr:
        start = (self._call("namespaces", element), self._call("attributes", version))
        return self._element(tags, element, start, level)

    def _in_place(self, tags: frozenset[str], element: Expr, level: int) -> Expr:
        """An element of these tags that is not a version, or one that is already built."""
        if not self._has_wanted(tags):
            return element
        if self._is_recursive(tags):
            return self._call("filled", self._stream, element, self._tsids)
        if level > _MAX_NESTING:
            return self._by_function("items", tags, element)
        wildcard = Wildcard(span=self._span)
        attributes = then(element, AxisStep("attribute", wildcard, span=self._span))
        start = (self._call("namespaces", element), attributes)
        return self._element(tags, element, start, level)

    def _by_function(
        self, given: Literal["version", "items"], tags: frozenset[str], argument: Expr
    ) -> Expr:
        """Elements that another function makes."""
        filling = replace(self._filling, given=given, tops=tags)
        return self._functions.call(filling, self._stream, argument, span=self._span)

    def _element(
        self, tags: frozenset[str], element: Expr, start: tuple[Expr, ...], level: int
    ) -> Expr:
        name = to.standard_call("node-name", element, span=self._span, prefix="fn")
        content = Sequence((*start, self._content(tags, element, level)), span=self._span)
        return ComputedElement(name, content, span=self._span)

    def _content(self, tags: frozenset[str], element: Expr, level: int) -> Expr:
        """The content of an element of these tags, with holes filled."""
        any_node = AxisStep("child", AnyKindTest(span=self._span), span=self._span)
        nodes = then(element, any_node)
        node = self._variable(f"n{level}")
        holes = self._graph.fragmented_children(*(tags - {DOCUMENT}))
        cases = []
        if holes & self._filling.wanted:
            hole = self._no_namespace("hole")
            cases.append(self._case(hole, self._at_hole(holes, node, level)))
        cases += [
            self._case(name, self._in_place(group, node, level + 1))
            for name, group in self._by_name(self._inside(tags))
            if self._has_wanted(group)
        ]
        if not cases:
            return nodes
        return Flwor(
            (For(node.name, nodes, span=self._span),),
            Typeswitch(node, tuple(cases), node, span=self._span),
            span=self._span,
        )

    def _at_hole(self, tags: frozenset[str], hole: VariableRef, level: int) -> Expr:
        """The replacement of a hole for fillers of these tags."""
        wanted = tags & self._filling.wanted
        id_test = NameTest(Name("id", span=self._span), span=self._span)
        id = then(hole, AxisStep("attribute", id_test, span=self._span))
        filled = self._versions(wanted, id, level + 1)
        if wanted == tags:
            return filled
        is_wanted = Comparison(
            "=",
            self._call("tsid", self._stream, id),
            to.strings(to.tsids(self._graph, wanted), self._span),
            span=self._span,
        )
        return If(is_wanted, filled, hole, span=self._span)

    # ------------------------------------------------------------------ tags

    def _inside(self, tags: frozenset[str]) -> frozenset[str]:
        """The tags of elements that are inline in elements of these tags, without holes."""
        return frozenset(
            child.id
            for tag in tags
            for child in self._graph.children(tag)
            if tag == DOCUMENT or not child.is_fragmented or child.id in self._filling.filled
        )

    def _has_wanted(self, tags: frozenset[str]) -> bool:
        return any(self._graph.below(tag) & self._filling.wanted for tag in tags)

    def _is_recursive(self, tags: frozenset[str]) -> bool:
        return any(tag in self._graph.below(tag) for tag in tags - {DOCUMENT})

    def _by_name(self, tags: frozenset[str]) -> list[tuple[Name, frozenset[str]]]:
        """The tags of each name; the document is a `filler`."""
        groups: dict[Name, set[str]] = {}
        for id in sorted(tags, key=lambda id: (len(id), id)):
            if id == DOCUMENT:
                name = self._no_namespace("filler")
            else:
                name = self._functions.names.name_of(self._graph.tag(id), self._span)
            groups.setdefault(name, set()).add(id)
        return [(name, frozenset(group)) for name, group in groups.items()]

    # ------------------------------------------------------------------ syntax

    def _name(self, local: str) -> Name:
        return Name(local, span=self._span)

    def _no_namespace(self, local: str) -> Name:
        return Name(local, uri=self._functions.in_no_namespace, span=self._span)

    def _variable(self, local: str) -> VariableRef:
        return VariableRef(self._name(local), span=self._span)

    def _type(self, item: MapTest | DocumentTest | ElementTest) -> SequenceType:
        return SequenceType(item, span=self._span)

    def _call(self, name: str, *arguments: Expr) -> Expr:
        return to.call(name, *arguments, span=self._span)

    def _case(self, name: Name, result: Expr) -> TypeswitchCase:
        test = ElementTest(name, span=self._span)
        return TypeswitchCase((self._type(test),), result, span=self._span)
