"""Sub-expressions without a native form: the reference evaluator answers them, row by row.

Expressions get copies of the nodes that they use. So an expression that uses a node's ancestors, or
compares node identity, cannot be moved out of the query; then the enclosing expression must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import Column, Constant, Scalar, call
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.access import has_holes, is_fragmented
from xcql.compile.library.casts import to_string
from xcql.compile.library.folding import folded
from xcql.compile.library.serialisation import serialised
from xcql.compile.result import NotNative
from xcql.compile.terms import items
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Each, Single, Value, gather, leaves
from xcql.syntax.construct import CurlyArray, MapConstructor, SquareArray
from xcql.syntax.functions import (
    ArgumentPlaceholder,
    DynamicCall,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
)
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, SyntaxNode, children, walk
from xcql.syntax.operators import Arrow, Comparison, SimpleMap
from xcql.syntax.path import (
    REVERSE_AXES,
    AxisStep,
    Filter,
    Lookup,
    NameTest,
    Path,
    UnaryLookup,
    Wildcard,
)
from xcql.syntax.prolog import FunctionDecl, MainModule, VariableDecl
from xcql.syntax.temporal import (
    AllenComparison,
    IntervalProjection,
    LastVersion,
    TimeInterval,
    VersionProjection,
)
from xcql.syntax.types import ElementTest

# functions that depend on more than their arguments
_UNSAFE = name_set(
    "stream doc collection root path generate-id id idref position last uri-collection"
    " unparsed-text innermost outermost has-children"
)
_CONTEXT = "xcql-context"


def evaluated(expr: Expr, scope: Scope, problem: NotNative) -> Value:
    """The value of an expression as the evaluator computes it; raises the problem if it cannot."""
    compilation = scope.compilation
    if not can_be_taken_out(expr, scope):
        raise problem
    names = [
        name
        for name in dict.fromkeys(
            str(node.name) for node in walk(expr) if isinstance(node, VariableRef)
        )
        if name in scope.variables
    ]
    looked_at = {name: scope.variable(name, expr.span) for name in names}
    body = expr
    span = expr.span
    if _uses_context(expr):
        if scope.context is None:
            raise problem
        context = VariableRef(Name(_CONTEXT, span=span), span=span)
        body = SimpleMap(context, expr, span=span)
        looked_at[_CONTEXT] = scope.context
    if _reads_leaves_in_time(expr, scope) and not all(
        _is_complete(leaf.item, scope) for value in looked_at.values() for leaf in leaves(value)
    ):
        raise problem
    module = module_of(body, looked_at, scope)
    known = folded(module, looked_at, scope, span)
    if known is not None:
        return known
    if _gives_functions(expr, scope):
        # functions cannot be passed between the evaluator and SQL
        raise problem
    array = by_evaluator(module, looked_at, scope, problem)
    item, position = compilation.fresh("evaluated"), compilation.fresh("evaluated_at")
    return Each(
        Unnest(Unit(), array, item, position), Single(items.Dynamic(Column(item), problem.reason))
    )


def module_of(body: Expr, variables: Iterable[str], scope: Scope) -> MainModule:
    """The query's module with another body, and with these variables instead of its own."""
    module = scope.compilation.module
    declared = tuple(
        VariableDecl((), Name(name, span=body.span), None, None, external=True, span=body.span)
        for name in variables
    )
    kept = tuple(one for one in module.declarations if not isinstance(one, VariableDecl))
    return replace(module, declarations=(*kept, *declared), body=body)


def by_evaluator(
    module: MainModule, given: Mapping[str, Value], scope: Scope, problem: NotNative
) -> Scalar:
    """The evaluator's answer to a module with these variables, as an array of items."""
    arguments = tuple(_encoded(value, scope, problem) for value in given.values())
    if problem.span is None:
        problem = NotNative(problem.reason, module.body.span)
    return scope.compilation.evaluation(module, tuple(given), arguments, problem)


def _gives_functions(expr: Expr, scope: Scope) -> bool:
    """Whether the value may be a map, an array or another function."""
    match expr:
        case MapConstructor() | SquareArray() | CurlyArray() | InlineFunction():
            return True
        case NamedFunctionRef() | Lookup() | UnaryLookup() | DynamicCall():
            return True
        case FunctionCall(name=name, arguments=arguments):
            uri, local = scope.names.function_name(name)
            if any(isinstance(one, ArgumentPlaceholder) for one in arguments):
                return True
            if uri in (f"{FUNCTIONS}/map", f"{FUNCTIONS}/array"):
                return local not in ("size", "contains", "keys")
            return local in ("parse-json", "json-doc", "function-lookup", "apply")
    return False


def can_be_taken_out(expr: Expr, scope: Scope) -> bool:
    """Whether the expression has the same value for copies of the nodes that it reads."""
    for node in _all_code(expr, scope):
        match node:
            case AxisStep(axis=axis) if axis in (*REVERSE_AXES, "following", "following-sibling"):
                return False
            case Path(absolute=True) | LastVersion():
                return False
            case Comparison(op="is" | "<<" | ">>"):
                return False
            case FunctionCall(name=name) if name.local in _UNSAFE:
                if _declared(node, scope) is None:
                    return False
    return True


def _all_code(expr: Expr, scope: Scope) -> Iterator[SyntaxNode]:
    """The parts of an expression and of the functions that it calls."""
    pending: list[Expr] = [expr]
    seen: set[int] = set()
    while pending:
        for node in walk(pending.pop()):
            yield node
            own = _declared(node, scope) if isinstance(node, FunctionCall) else None
            if own is not None and own.body is not None and id(own) not in seen:
                seen.add(id(own))
                pending.append(own.body)


def _declared(call: FunctionCall, scope: Scope) -> FunctionDecl | None:
    """The function declaration of the query that is called."""
    uri, local = scope.names.function_name(call.name)
    return scope.compilation.functions.get((uri or "", local, len(call.arguments)))


def _is_complete(item: items.Item, scope: Scope) -> bool:
    """Whether attributes and text of a copy have the same lifespan as in their place."""
    match item:
        case items.StreamElement(is_top=is_top):
            return is_top or is_fragmented(item, scope)
        case items.Atomic() | items.Element(ancestor_lifespan=None) | items.Markup():
            return True
        case items.AttributeItem(owner=None, within=None) | items.TextItem(owner=None, within=None):
            return True
    return False


def _reads_leaves_in_time(expr: Expr, scope: Scope) -> bool:
    """Whether the expression may use the lifespan of an attribute or a text."""
    for node in _all_code(expr, scope):
        match node:
            case IntervalProjection(base=base):
                asked: tuple[SyntaxNode, ...] = (base,)
            case AllenComparison(left=left, right=right):
                asked = (left, right)
            case FunctionCall(name=Name(local="vtFrom" | "vtTo"), arguments=arguments):
                asked = arguments
            case NamedFunctionRef(name=Name(local="vtFrom" | "vtTo")) | Arrow():
                return True
            case _:
                continue
        if not all(map(_gives_elements, asked)):
            return True
    return False


def _gives_elements(expr: SyntaxNode) -> bool:
    """Whether the syntax shows that no item of the value can be an attribute or a text."""
    match expr:
        case TimeInterval():
            return True
        case Path(steps=(*_, last)):
            return _gives_elements(last)
        case Filter(base=base) | IntervalProjection(base=base) | VersionProjection(base=base):
            return _gives_elements(base)
        case AxisStep(axis=axis, test=NameTest() | Wildcard() | ElementTest()):
            return axis != "attribute"
    return False


# functions without arguments that do not use the context item
_WITHOUT_FOCUS = name_set(
    "true false error now start current-dateTime current-date current-time implicit-timezone pi"
)


def _uses_context(expr: Expr) -> bool:
    """Whether the expression may use its own context item."""
    pending: list[SyntaxNode] = [expr]
    while pending:
        node = pending.pop()
        match node:
            case ContextItem() | AxisStep() | UnaryLookup() | Path(absolute=True):
                return True
            case FunctionCall(name=name, arguments=()) if name.local not in _WITHOUT_FOCUS:
                return True
            # later steps and predicates have a context of their own
            case Path(steps=steps):
                pending.append(steps[0])
            case Filter(base=base) | SimpleMap(left=base):
                pending.append(base)
            case InlineFunction():
                continue
            case _:
                pending.extend(children(node))
    return False


def _encoded(value: Value, scope: Scope, problem: NotNative) -> Scalar:
    """A sequence as an array of kinds and texts."""
    try:
        cannot_travel = items.Function | items.MapItem | items.ArrayItem | items.StreamDocument
        if any(isinstance(leaf.item, cannot_travel) for leaf in leaves(value)):
            raise problem
        return gather(value, lambda item: _pair(item, scope))
    except NotNative:
        raise problem from None


def _pair(item: items.Item, scope: Scope) -> Scalar:
    match item:
        case items.Dynamic(scalar=scalar):
            return scalar
        case items.Atomic(type=type_):
            return _struct(type_, to_string(item))
        case items.Element(is_document=True):
            raise NotNative("a document that was constructed")
        case items.StreamElement() if _is_seen_otherwise(item, scope):
            raise NotNative("fillers with different namespaces inside of others")
        case items.StreamElement() | items.Inner() | items.Element():
            return _struct("element", serialised(item, scope))
        case items.AttributeItem():
            return _struct("attribute", serialised(item, scope))
        case items.TextItem():
            return _struct("text", serialised(item, scope))
        case items.Markup(kind=kind):
            return _struct(kind, serialised(item, scope))
    raise AssertionError(item)


def _is_seen_otherwise(node: items.StreamElement, scope: Scope) -> bool:
    """Whether fillers inside would inherit namespaces from their ancestors once parsed."""
    stream = scope.compilation.catalog.streams[node.stream]
    return stream.declared is None and has_holes(node, scope)


def _struct(kind: str, text: Scalar) -> Scalar:
    return call("evaluator_item", Constant(kind), text)
