"""Constant folding of expressions that have no native form."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from elementpath import datatypes as ep

from xcql.algebra.scalars import Constant, call
from xcql.compile.library.casts import cast, is_writable
from xcql.compile.terms.items import Atomic, Dynamic, Item
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Concat, Single, Value, concat
from xcql.diagnostics import XcqlError
from xcql.evaluate.api import evaluate
from xcql.evaluate.result import ResultItem, carried_kind
from xcql.evaluate.times import lifespan_columns
from xcql.source import Span
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, walk
from xcql.syntax.node import SyntaxNode as AnyNode
from xcql.syntax.operators import Arrow
from xcql.syntax.prolog import MainModule, VariableDecl
from xcql.syntax.temporal import AllenComparison, IntervalProjection, Now, VersionProjection
from xcql.xdm.atomic import string_of, type_of
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import Node

# functions with side effects, or whose value depends on more than their arguments
_NOT_CONSTANT = name_set(
    "now current-dateTime current-date current-time currentDateTime currentDate vtFrom vtTo trace"
    " error random-number-generator environment-variable available-environment-variables stream doc"
    " doc-available json-doc collection uri-collection unparsed-text unparsed-text-lines"
    " unparsed-text-available"
    " function-lookup"  # it can find any of these
)
_LONGEST = 1000
_NOW = datetime(2000, 1, 1)
_PLAIN = {int: "xs:integer", float: "xs:double", Decimal: "xs:decimal", bool: "xs:boolean"}
_BY_TEXT = frozenset({"dateTime", "date", "dayTimeDuration", "yearMonthDuration"})


def folded(
    module: MainModule, variables: dict[str, Value], scope: Scope, span: Span
) -> Value | None:
    """The value of a module, given its external variables; None if it is not known.

    An expression that fails has no known value: it may never be needed.
    """
    scope.compilation.literals.look_at(module)
    given: dict[str, list[Any]] = {}
    for name, value in variables.items():
        items = _constants(value)
        if items is None:
            return None
        given[name] = items
    if scope.compilation.externals.functions or not all(_is_constant(one) for one in _code(module)):
        return None
    try:
        # the expression does not use the current time
        result = evaluate(module, variables=given, now=_NOW)
        found = list(islice(result.values, _LONGEST + 1))
    except XcqlError:
        return None
    if len(found) > _LONGEST or any(isinstance(one, XdmFunction) for one in found):
        return None
    return concat([Single(_item(one, scope, span)) for one in found])


def _code(module: MainModule) -> Iterable[Expr]:
    yield module.body
    for declaration in module.declarations:
        body = getattr(declaration, "body", None)
        if body is not None and not isinstance(declaration, VariableDecl):
            yield body


def _is_constant(expr: Expr) -> bool:
    return not any(
        # the lifespan of an element may end `now`
        isinstance(node, Now | IntervalProjection | VersionProjection | AllenComparison)
        or _named_function(node) in _NOT_CONSTANT
        for node in walk(expr)
    )


def _named_function(node: AnyNode) -> str | None:
    """The name of the function that is called or referenced by name."""
    match node:
        case FunctionCall(name=name) | NamedFunctionRef(name=name) | Arrow(function=Name() as name):
            return name.local
    return None


def _constants(value: Value) -> list[Any] | None:
    """The values of a sequence of constants, as the evaluator represents them."""
    match value:
        case Single(item=Atomic(scalar=Constant(value=known), type=type_)):
            if type_ == "xs:untypedAtomic":
                return [ep.UntypedAtomic(str(known))]
            if type_ == "xs:string" or _PLAIN.get(type(known)) == type_:
                return [known]
        case Concat(values=several, exclusive=False):
            found = [_constants(one) for one in several]
            if None not in found:
                return [item for one in found for item in one or ()]
    return None


def _item(value: Any, scope: Scope, span: Span) -> Item:
    """An item of the evaluator as an item of the compiler."""
    if isinstance(value, Node):
        return _dynamic(value, value.kind, ResultItem(value).xml)
    kind = type_of(value).name
    if type(value) in _PLAIN and is_writable(value):
        return Atomic(Constant(value), _PLAIN[type(value)])
    if kind in ("string", "untypedAtomic"):
        return Atomic(Constant(string_of(value)), f"xs:{kind}")
    if kind in _BY_TEXT:
        text = Atomic(Constant(string_of(value)), "xs:string")
        return cast(text, f"xs:{kind}", scope, span)
    return _dynamic(value, f"xs:{kind}", string_of(value))


def _dynamic(value: Any, kind: str, text: str) -> Dynamic:
    ends = map(Constant, lifespan_columns(value, _NOW))
    item = call("evaluator_item", Constant(carried_kind(value)), Constant(text), *ends)
    return Dynamic(item, f"a value of type {kind} has no native form")
