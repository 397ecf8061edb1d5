"""What is known about an expression that the evaluator computes: its functions and its type.

Tests: tests/compile/library/test_isolation.py
"""

from __future__ import annotations

from typing import NamedTuple

from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.casts import SUPPORTED
from xcql.compile.library.sequence_types import XS
from xcql.compile.terms.scope import Scope
from xcql.evaluate.registry import lookup
from xcql.syntax.construct import (
    ComputedAttribute,
    ComputedNamespace,
    CurlyArray,
    MapConstructor,
    SquareArray,
    StringConstructor,
)
from xcql.syntax.control import If, Ordered, Quantified, Switch, TryCatch, Typeswitch
from xcql.syntax.flwor import Flwor
from xcql.syntax.functions import (
    ArgumentPlaceholder,
    DynamicCall,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
)
from xcql.syntax.literals import Sequence
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, SyntaxNode, walk
from xcql.syntax.operators import (
    Arrow,
    Binary,
    CastableAs,
    Comparison,
    InstanceOf,
    SimpleMap,
)
from xcql.syntax.path import Filter, Lookup, UnaryLookup
from xcql.syntax.prolog import FunctionDecl
from xcql.syntax.types import AtomicType

# a value of one of these may also have a derived type, which is computed with otherwise
_WITH_SUBTYPES = frozenset({"xs:decimal", "xs:anyURI"})
_COLLECTIONS = (f"{FUNCTIONS}/map", f"{FUNCTIONS}/array")
# functions on maps and arrays that return no map, array or other function
_PLAIN = frozenset({"size", "contains", "keys"})
# functions that return items of their arguments, or what functions among those return
_PASSING = name_set(
    "head tail subsequence reverse remove insert-before exactly-one zero-or-one one-or-more"
    " filter sort for-each for-each-pair fold-left fold-right trace unordered"
)


class ResultType(NamedTuple):
    """An atomic type, and how many values there may be: '', '?', '*' or '+'."""

    atomic: str
    occurrence: str = ""


def declared(node: SyntaxNode, scope: Scope) -> FunctionDecl | None:
    """The function declaration of the query that is called or referenced."""
    match node:
        case FunctionCall(name=name, arguments=arguments):
            arity = len(arguments)
        case Arrow(function=Name() as name, arguments=arguments):
            arity = len(arguments) + 1
        case NamedFunctionRef(name=name, arity=arity):
            pass
        case _:
            return None
    uri, local = scope.names.function_name(name)
    return scope.compilation.functions.get((uri or "", local, arity))


def called_functions(expr: Expr, scope: Scope) -> list[FunctionDecl]:
    """The query's own functions that an expression calls, directly or not."""
    pending: list[Expr] = [expr]
    found: dict[int, FunctionDecl] = {}
    while pending:
        for node in walk(pending.pop()):
            own = declared(node, scope)
            if own is not None and id(own) not in found:
                found[id(own)] = own
                if own.body is not None:
                    pending.append(own.body)
    return list(found.values())


def atomic_result(expr: Expr, scope: Scope) -> ResultType | None:
    """The type of an expression whose values are atomic; None if that is not certain."""
    match expr:
        case Arrow(base=base, function=Name() as name, arguments=arguments):
            return atomic_result(FunctionCall(name, (base, *arguments), span=expr.span), scope)
        case FunctionCall(arguments=arguments):
            if any(isinstance(one, ArgumentPlaceholder) for one in arguments):
                return None
            found = _result_of_call(expr, scope)
        case Comparison(op=op) if op in ("=", "!=", "<", "<=", ">", ">="):
            found = ResultType("xs:boolean")
        case InstanceOf() | CastableAs() | Quantified() | Binary(op="and" | "or"):
            found = ResultType("xs:boolean")
        case Binary(op="||") | StringConstructor():
            found = ResultType("xs:string")
        case _:
            return None
    if found is None or found.atomic not in SUPPORTED - _WITH_SUBTYPES:
        return None
    return found


def _result_of_call(call: FunctionCall, scope: Scope) -> ResultType | None:
    own = declared(call, scope)
    if own is not None:
        match own.result_type:
            case None:
                return None
            case type_ if isinstance(type_.item, AtomicType):
                name = type_.item.name
                uri = name.uri or scope.names.prefixes.get(name.prefix or "")
                return ResultType(f"xs:{name.local}", type_.occurrence) if uri == XS else None
        return None
    uri, local = scope.names.function_name(call.name)
    if local in scope.compilation.externals.functions:
        return None
    builtin = lookup(uri or "", local, len(call.arguments))
    if builtin is None:
        return None
    return ResultType(builtin.result.item, builtin.result.occurrence)


def may_not_pass(expr: Expr, scope: Scope) -> bool:
    """Whether the value may contain items that the evaluator cannot pass to SQL.

    These are maps, arrays and other functions; and new attributes, which belong to the tag of the
    constructor around them.
    """
    return _may_give(expr, scope, frozenset())


def _may_give(expr: Expr, scope: Scope, active: frozenset[int]) -> bool:
    def some(*parts: Expr) -> bool:
        return any(_may_give(one, scope, active) for one in parts)

    match expr:
        case MapConstructor() | SquareArray() | CurlyArray() | InlineFunction():
            return True
        case ComputedAttribute() | ComputedNamespace():
            return True
        case NamedFunctionRef() | Lookup() | UnaryLookup() | DynamicCall():
            return True
        case Arrow(function=Name() as name, base=base, arguments=arguments):
            return some(FunctionCall(name, (base, *arguments), span=expr.span))
        case Arrow():
            return True
        case Flwor(result=part) | SimpleMap(right=part) | Filter(base=part) | Ordered(body=part):
            return some(part)
        case If(then=then, otherwise=otherwise):
            return some(then, otherwise)
        case Sequence(items=parts):
            return some(*parts)
        case Switch(cases=cases, default=default):
            return some(default, *(one.result for one in cases))
        case Typeswitch(cases=branches, default=default):
            return some(default, *(one.result for one in branches))
        case TryCatch(body=body, catches=catches):
            return some(body, *(one.body for one in catches))
        case FunctionCall():
            return _call_may_give(expr, scope, active)
    return False


def _call_may_give(call: FunctionCall, scope: Scope, active: frozenset[int]) -> bool:
    if any(isinstance(one, ArgumentPlaceholder) for one in call.arguments):
        return True
    if atomic_result(call, scope) is not None:
        return False
    own = declared(call, scope)
    if own is not None:
        if own.body is None or id(own) in active:
            return False
        return _may_give(own.body, scope, active | {id(own)})
    uri, local = scope.names.function_name(call.name)
    if uri in _COLLECTIONS and local != "for-each":
        return local not in _PLAIN
    if local in _PASSING or uri in _COLLECTIONS:
        return uri == _COLLECTIONS[1] or any(
            _may_give(one.body if isinstance(one, InlineFunction) else one, scope, active)
            for one in call.arguments[uri in _COLLECTIONS :]
            if not isinstance(one, NamedFunctionRef)
        )
    return local in ("parse-json", "json-doc", "function-lookup", "apply")
