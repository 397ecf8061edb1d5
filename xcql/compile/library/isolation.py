"""Sub-expressions without a native form: the reference evaluator answers them, row by row.

Expressions get copies of the nodes that they use. So an expression that uses a node's ancestors, or
compares node identity, cannot be moved out of the query; then the enclosing expression must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import TRUE, Column, Scalar, call, field
from xcql.analysis.names import Namespaces
from xcql.compile.library.access import is_fragmented
from xcql.compile.library.casts import cast
from xcql.compile.library.folding import folded
from xcql.compile.library.lifting import Code, lifted, uses_context, variable_names
from xcql.compile.library.node_origins import sorts_as_copies
from xcql.compile.library.positions import mentions_position
from xcql.compile.library.result_types import (
    atomic_result,
    called_functions,
    declared,
    may_not_pass,
)
from xcql.compile.library.serialisation import as_pair
from xcql.compile.result import NotNative
from xcql.compile.terms import items
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import (
    Each,
    Single,
    Value,
    constructed_items,
    gather,
    guarded,
    leaves,
)
from xcql.source import Span
from xcql.syntax.functions import (
    FunctionCall,
    NamedFunctionRef,
)
from xcql.syntax.literals import VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, SyntaxNode
from xcql.syntax.operators import Arrow, Comparison, SimpleMap
from xcql.syntax.path import (
    REVERSE_AXES,
    AxisStep,
    Filter,
    NameTest,
    Path,
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
    "stream doc collection root path generate-id id idref uri-collection"
    " unparsed-text innermost outermost has-children function-lookup"
    " lang base-uri element-with-id"
)
# no query can name such a variable
_CONTEXT = "#context"


def evaluated(expr: Expr, scope: Scope, problem: NotNative, *, is_answer: bool = False) -> Value:
    """The value of an expression as the evaluator computes it; raises the problem if it cannot.

    Some items cannot be passed to SQL, except as the query's answer (where functions are an error).
    """
    compilation = scope.compilation
    if scope.names != Namespaces.of(compilation.module.declarations):
        # the expression would be taken out of the constructor that declares its namespaces
        raise problem
    code = Code(expr, tuple(called_functions(expr, scope)))
    alone = _taken_out(code, {}, scope)
    if alone is None and not compilation.is_lifting:
        can_travel = partial(_can_travel, scope=scope)
        code, parts = lifted(code, scope, can_travel, problem)
        alone = _taken_out(code, parts, scope)
    if alone is None:
        raise problem
    body, given = alone
    module = module_of(body, given, scope, code.functions)
    known = folded(module, given, scope, expr.span)
    if known is not None:
        return known
    if compilation.is_lifting or (may_not_pass(expr, scope) and not is_answer):
        # an error of a lifted part must not be one of the query
        raise problem
    array = by_evaluator(module, given, scope, problem)
    type_ = atomic_result(expr, scope)
    if type_ is not None and type_.occurrence in ("", "?"):
        value = _typed(call("first_of", array), type_.atomic, scope, expr.span)
        is_there = call("is_not_null", value.scalar) if type_.occurrence else TRUE
        return guarded(is_there, Single(value))
    item, position = compilation.fresh("evaluated"), compilation.fresh("evaluated_at")
    is_complete = _are_complete(given.values(), scope)
    found: items.Item = items.Dynamic(Column(item), problem.reason, is_complete)
    if type_ is not None:
        found = _typed(Column(item), type_.atomic, scope, expr.span)
    return Each(Unnest(Unit(), array, item, position), Single(found))


def _typed(item: Scalar, type_: str, scope: Scope, span: Span) -> items.Atomic:
    """An item of the evaluator whose type is known."""
    return cast(items.Atomic(field(item, "value"), "xs:string"), type_, scope, span)


def _taken_out(
    code: Code, parts: Mapping[str, Value], scope: Scope
) -> tuple[Expr, dict[str, Value]] | None:
    """An expression that has the same value for copies of nodes, and the values of its variables.

    `parts` are variables in the code that are not in the scope. None if copies don't suffice.
    """
    expr = code.expr
    if not can_be_taken_out(code, scope):
        return None
    used = dict.fromkeys(name for part in code.parts for name in sorted(variable_names(part)))
    names = [name for name in used if name in scope.variables]
    if any(name in used and name not in scope.variables for name in _declared_variables(scope)):
        # its value is not known yet
        return None
    in_functions = {name for one in code.functions for name in variable_names(one)}
    if any(_is_shadowed(name, scope) for name in in_functions):
        return None
    given = {_full_name(name, scope): scope.variable(name, expr.span) for name in names}
    given.update(parts)
    body = expr
    span = expr.span
    if uses_context(expr):
        if scope.context is None:
            return None
        context = VariableRef(Name(_CONTEXT, span=span), span=span)
        body = SimpleMap(context, expr, span=span)
        given[_CONTEXT] = scope.context
    if _reads_leaves_in_time(code) and not _are_complete(given.values(), scope):
        return None

    def is_declared(node: SyntaxNode) -> bool:
        return declared(node, scope) is not None

    if not sorts_as_copies(code.walk(), given, is_declared, scope):
        return None
    return body, given


def _is_shadowed(name: str, scope: Scope) -> bool:
    """Whether a variable of the prolog, which functions see, is another one here."""
    own = scope.compilation.globals.get(name)
    return own is not None and scope.variables.get(name) is not own


def _full_name(name: str, scope: Scope) -> str:
    """The name of a variable as the evaluator takes it: `Q{uri}local` instead of a prefix."""
    prefix, colon, local = name.partition(":")
    return f"Q{{{scope.names.prefixes.get(prefix, '')}}}{local}" if colon else name


def _as_name(name: str, span: Span) -> Name:
    uri, brace, local = name.removeprefix("Q{").rpartition("}")
    return Name(local, uri=uri if brace else None, span=span)


def _declared_variables(scope: Scope) -> Iterator[str]:
    for declaration in scope.compilation.module.declarations:
        if isinstance(declaration, VariableDecl):
            yield str(declaration.name)


def module_of(
    body: Expr, variables: Iterable[str], scope: Scope, functions: Iterable[FunctionDecl] = ()
) -> MainModule:
    """The query's module with another body, and with these variables and functions."""
    module = scope.compilation.module
    declared = tuple(
        VariableDecl((), _as_name(name, body.span), None, None, external=True, span=body.span)
        for name in variables
    )
    kept = tuple(
        one for one in module.declarations if not isinstance(one, VariableDecl | FunctionDecl)
    )
    return replace(module, declarations=(*kept, *functions, *declared), body=body)


def by_evaluator(
    module: MainModule, given: Mapping[str, Value], scope: Scope, problem: NotNative
) -> Scalar:
    """The evaluator's answer to a module with these variables, as an array of items."""
    arguments = tuple(_encoded(value, scope, problem) for value in given.values())
    if problem.span is None:
        problem = NotNative(problem.reason, module.body.span)
    return scope.compilation.evaluation(module, tuple(given), arguments, problem)


def can_be_taken_out(code: Code, scope: Scope) -> bool:
    """Whether the expression has the same value for copies of the nodes that it reads."""
    if mentions_position(code.expr):
        return False
    for node in code.walk():
        match node:
            case AxisStep(axis=axis) if axis in (*REVERSE_AXES, "following", "following-sibling"):
                return False
            case Path(absolute=True) | LastVersion():
                return False
            case Comparison(op="is" | "<<" | ">>"):
                return False
            case FunctionCall(name=name) if name.local in _UNSAFE:
                if declared(node, scope) is None:
                    return False
    return True


def _are_complete(values: Iterable[Value], scope: Scope) -> bool:
    return all(_is_complete(leaf.item, scope) for value in values for leaf in leaves(value))


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


def _reads_leaves_in_time(code: Code) -> bool:
    """Whether the expression may use the lifespan of an attribute or a text."""
    for node in code.walk():
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


def _can_travel(value: Value, scope: Scope) -> bool:
    """Whether a value can be passed to the evaluator."""
    try:
        _encoded(value, scope, NotNative("a value that cannot be passed"))
    except NotNative:
        return False
    return True


def _encoded(value: Value, scope: Scope, problem: NotNative) -> Scalar:
    """A sequence as an array of kinds and texts."""
    try:
        cannot_travel = (items.Function, *items.COLLECTIONS, items.StreamDocument)
        if any(
            isinstance(leaf.item, cannot_travel) or _declares_namespaces(leaf.item)
            for leaf in leaves(value)
        ):
            raise problem
        return gather(value, lambda item: as_pair(item, scope))
    except NotNative:
        raise problem from None


def _declares_namespaces(item: items.Item) -> bool:
    """Whether what is in a constructed element would inherit namespaces in a copy."""
    return isinstance(item, items.Element) and any(
        isinstance(one, items.Element) and one.namespaces for one in constructed_items(item)
    )
