"""Functions that are defined in XQuery: a call is compiled as the body of its definition."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from xcql.analysis.names import Namespaces
from xcql.compile.result import NotNative
from xcql.compile.terms.items import NODES
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.scope import native as native_value
from xcql.compile.terms.values import Value, leaves
from xcql.parser import parse
from xcql.source import Span
from xcql.syntax.node import SyntaxNode, child_fields
from xcql.syntax.prolog import FunctionDecl

_DEFINITIONS = """
declare function local:innermost($nodes) { $nodes except $nodes/ancestor::node() };

declare function local:outermost($nodes) {
  $nodes except (
    for $node in $nodes
    where exists($node/ancestor::node() intersect $nodes)
    return $node)
};

declare function local:lang($wanted, $node) {
  let $language := lower-case(string($wanted))
  return exists(
    ($node/ancestor-or-self::*[@xml:lang])[last()]/@xml:lang[
      lower-case(.) = $language or starts-with(lower-case(.), $language || "-")])
};

declare function local:path($node) {
  for $one in $node
  return if (empty($one/..)) then "/" else string-join(
    for $at in $one/ancestor-or-self::node()
    return typeswitch ($at)
      case document-node() return ""
      case element() return "/Q{" || namespace-uri($at) || "}" || local-name($at) || "["
        || 1 + count($at/preceding-sibling::*[
          local-name() = local-name($at) and namespace-uri() = namespace-uri($at)]) || "]"
      case attribute() return "/@" || (
        if (namespace-uri($at) = "") then "" else "Q{" || namespace-uri($at) || "}")
        || local-name($at)
      case text() return "/text()[" || 1 + count($at/preceding-sibling::text()) || "]"
      case comment() return "/comment()[" || 1 + count($at/preceding-sibling::comment()) || "]"
      default return "/processing-instruction(" || name($at) || ")["
        || 1 + count($at/preceding-sibling::processing-instruction()[name() = name($at)]) || "]")
};
()
"""

native = NativeFunctions()


@cache
def _definitions() -> dict[str, FunctionDecl]:
    declared = parse(_DEFINITIONS).declarations
    return {one.name.local: one for one in declared if isinstance(one, FunctionDecl)}


def _called(name: str, site: CallSite) -> Value:
    """The body of a definition; its last parameter may be the context item."""
    definition = _definitions()[name]
    arguments = list(site.arguments)
    if len(arguments) < len(definition.parameters):
        if site.scope.context is None:
            raise NotNative("there is no context item", site.span)
        arguments.append(site.scope.context)
    nodes = leaves(arguments[-1])
    if not all(isinstance(leaf.item, NODES) for leaf in nodes):
        raise NotNative("a function of nodes for other items", site.span)
    compilation = site.compilation
    inside = Scope(
        compilation, Namespaces.of(()), {}, taken=site.scope.taken, loops=site.scope.loops
    )
    for parameter, argument in zip(definition.parameters, arguments, strict=True):
        inside = inside.bind(parameter.name, argument)
    assert definition.body is not None
    return native_value(_placed(definition.body, site.span), inside)


def _placed(node: Any, span: Span) -> Any:
    """A tree with all of its nodes at one place of the query, where errors belong."""
    if isinstance(node, tuple):
        return tuple(_placed(one, span) for one in node)
    if not isinstance(node, SyntaxNode):
        return node
    changes = {name: _placed(getattr(node, name), span) for name in child_fields(type(node))}
    return replace(node, **changes, span=span)


for _name, _arities in {
    "innermost": (1,),
    "outermost": (1,),
    "lang": (1, 2),
    "path": (0, 1),
}.items():
    native(_name, *_arities)(partial(_called, _name))
