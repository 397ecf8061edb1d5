"""Literals, variables, sequences, conditions, arithmetic and logic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from xcql.algebra.operators import Number, Unit, Unnest
from xcql.algebra.scalars import (
    FALSE,
    TRUE,
    Call,
    Column,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    disjunction,
)
from xcql.compile.library.arithmetic import arithmetic
from xcql.compile.library.atomization import one_atomic, one_text
from xcql.compile.library.casts import (
    NUMBERS,
    STRINGS,
    as_string,
    cast,
    castable,
    common_number,
    is_writable,
    number,
)
from xcql.compile.library.comparisons import truth
from xcql.compile.library.node_sets import node_set
from xcql.compile.library.positions import asks_last, mentions_position
from xcql.compile.library.sequence_types import cast_value, is_instance, type_name
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import CompileExpression, Scope, value_of
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Merged,
    Single,
    Value,
    at_most_one,
    atomic,
    boolean,
    concat,
    conditional,
    each,
    exists,
    guarded,
    nullable,
    without_failures,
)
from xcql.source import Span
from xcql.syntax import control, functions, literals, operators
from xcql.syntax.emitter import emit
from xcql.syntax.node import Name, SyntaxNode


def _integer(expr: literals.IntegerLiteral, scope: Scope) -> Value:
    scope.compilation.literals.look_at(expr)
    if not is_writable(expr.value):
        raise NotNative("an integer of more than 64 bits", expr.span)
    return atomic(expr.value, "xs:integer")


def _decimal(expr: literals.DecimalLiteral, scope: Scope) -> Value:
    if not is_writable(Decimal(expr.value)):
        raise NotNative("a decimal of many digits", expr.span)
    return atomic(Decimal(expr.value), "xs:decimal")


def _double(expr: literals.DoubleLiteral, scope: Scope) -> Value:
    return atomic(float(expr.value), "xs:double")


def _string(expr: literals.StringLiteral, scope: Scope) -> Value:
    scope.compilation.literals.look_at(expr)
    return atomic(expr.value, "xs:string")


def _variable(expr: literals.VariableRef, scope: Scope) -> Value:
    return scope.variable(expr.name, expr.span)


def _sequence(expr: literals.Sequence, scope: Scope) -> Value:
    return concat([value_of(item, scope) for item in expr.items])


def _ordered(expr: control.Ordered, scope: Scope) -> Value:
    return value_of(expr.body, scope)


def _if(expr: control.If, scope: Scope) -> Value:
    condition = truth(value_of(expr.condition, scope), scope, expr.condition.span)
    if condition in (TRUE, FALSE):
        # the other branch may have no native form
        return value_of(expr.then if condition == TRUE else expr.otherwise, scope)
    return conditional(condition, value_of(expr.then, scope), value_of(expr.otherwise, scope))


def _switch(expr: control.Switch, scope: Scope) -> Value:
    operand = one_atomic(value_of(expr.operand, scope), scope, expr.operand.span)
    result = value_of(expr.default, scope)
    for branch in reversed(expr.cases):
        conditions = []
        for choice in branch.values:
            other = one_atomic(value_of(choice, scope), scope, choice.span)
            conditions.append(_same(operand, other, scope, expr.span))
        result = conditional(disjunction(*conditions), value_of(branch.result, scope), result)
    return result


def _same(a: Atomic | None, b: Atomic | None, scope: Scope, span: Span) -> Scalar:
    """Equality as in `switch`: two empty values are equal, and so are two NaN."""
    if a is None and b is None:
        return Constant(True)
    if a is None or b is None:
        there = a or b
        assert there is not None
        return call("is_null", there.scalar)
    a, b = as_string(a), as_string(b)
    if a.type != b.type and not (a.type in NUMBERS and b.type in NUMBERS):
        if a.type in STRINGS and b.type in STRINGS:
            return call("<=>", a.scalar, b.scalar)
        return FALSE
    if a.type in NUMBERS:
        type_ = common_number([a.type, b.type])
        return call("<=>", cast(a, type_, scope, span).scalar, cast(b, type_, scope, span).scalar)
    return call("<=>", a.scalar, b.scalar)


def _typeswitch(expr: control.Typeswitch, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)

    def bound(name: Name | None) -> Scope:
        return scope if name is None else scope.bind(name, operand)

    result = value_of(expr.default, bound(expr.default_variable))
    for branch in reversed(expr.cases):
        fits = disjunction(
            *(is_instance(operand, type_, scope, expr.span) for type_ in branch.types)
        )
        if fits == FALSE:
            continue
        result = conditional(fits, value_of(branch.result, bound(branch.variable)), result)
    return result


def _instance(expr: operators.InstanceOf, scope: Scope) -> Value:
    return boolean(is_instance(value_of(expr.operand, scope), expr.type, scope, expr.span))


def _treat(expr: operators.TreatAs, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)
    fits = is_instance(operand, expr.type, scope, expr.span)
    wrong = scope.compilation.error(
        "XPDY0050", f"the value is not an instance of {emit(expr.type)}", expr.span
    )
    return guarded(fits if fits == TRUE else case((fits, TRUE), otherwise=wrong), operand)


def _cast(expr: operators.CastAs, scope: Scope) -> Value:
    return cast_value(
        value_of(expr.operand, scope),
        type_name(expr.type.name, scope),
        expr.type.optional,
        scope,
        expr.span,
    )


def _castable(expr: operators.CastableAs, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)
    target = type_name(expr.type.name, scope)
    if not at_most_one(operand):
        raise NotNative("a sequence that may be cast", expr.span)
    item = one_atomic(operand, scope, expr.span)
    if item is None:
        return boolean(Constant(expr.type.optional))
    fits = castable(item, target, expr.span)
    if not isinstance(operand, Single):
        fits = case((exists(operand), fits), otherwise=Constant(expr.type.optional))
    return boolean(call("is_true", fits))


# logic and arithmetic


def _binary(expr: operators.Binary, scope: Scope) -> Value:
    match expr.op:
        case "and" | "or":
            a, b = (truth(value_of(one, scope), scope, one.span) for one in (expr.left, expr.right))
            return boolean((conjunction if expr.op == "and" else disjunction)(a, b))
        case "||":
            return _concatenated(expr, scope)
        case "to":
            return _range(expr, scope)
    left, right = value_of(expr.left, scope), value_of(expr.right, scope)
    if expr.op in ("union", "intersect", "except", "|"):
        return node_set(expr.op, left, right, scope, expr.span)
    if left == EMPTY or right == EMPTY:
        without_failures(concat([left, right]), expr.span)
        return EMPTY
    x = one_atomic(left, scope, expr.left.span)
    y = one_atomic(right, scope, expr.right.span)
    assert x is not None
    assert y is not None
    result = arithmetic(expr.op, x, y, scope, expr.span)
    return nullable(result, left, right)


def _unary(expr: operators.Unary, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)
    if operand == EMPTY:
        return EMPTY
    item = one_atomic(operand, scope, expr.span)
    assert item is not None
    item = number(item, scope, expr.span)
    if item.type not in NUMBERS:
        raise NotNative("a sign before a value that is not a number", expr.span)
    if expr.op == "-":
        if isinstance(item.scalar, Constant):
            item = replace(item, scalar=Constant(-item.scalar.value))  # type: ignore[operator]
        else:
            negative = "decimal_negative" if item.type == "xs:decimal" else "negative"
            item = replace(item, scalar=call(negative, item.scalar))
    return nullable(item, operand)


def _concatenated(expr: operators.Binary, scope: Scope) -> Value:
    texts = [one_text(value_of(part, scope), scope, part.span) for part in (expr.left, expr.right)]
    return Single(Atomic(Call("concat", tuple(texts)), "xs:string"))


def _range(expr: operators.Binary, scope: Scope) -> Value:
    bounds = []
    for part in (expr.left, expr.right):
        item = one_atomic(value_of(part, scope), scope, part.span)
        if item is None:
            return EMPTY
        if item.type == "xs:untypedAtomic":
            item = cast(item, "xs:integer", scope, part.span)
        if item.type != "xs:integer":
            raise NotNative("a range of values that are not integers", expr.span)
        bounds.append(item.scalar)
    item_name, position = scope.compilation.fresh("number"), scope.compilation.fresh("number_at")
    plan = Unnest(Unit(), call("range", *bounds), item_name, position)
    return each(plan, Single(Atomic(Column(item_name), "xs:integer")))


def _simple_map(expr: operators.SimpleMap, scope: Scope) -> Value:
    return mapped_over(value_of(expr.left, scope), expr.right, scope)


def mapped_over(base: Value, body: SyntaxNode, scope: Scope) -> Value:
    """`base ! body`"""
    if base == EMPTY:
        return EMPTY
    match base:
        case Single():
            return value_of(body, scope.focus(base, Constant(1), lambda: Constant(1)))  # type: ignore[arg-type]
        case Concat(values=several) | Merged(values=several) if not mentions_position(body):  # type: ignore[arg-type]
            return replace(base, values=tuple(mapped_over(one, body, scope) for one in several))
    plan, inner = as_one_kind(base, scope, body.span)
    inside = scope.within(plan)
    if not mentions_position(body):  # type: ignore[arg-type]
        return each(plan, value_of(body, inside.focus(inner)))  # type: ignore[arg-type]
    name, total = scope.compilation.fresh("position"), scope.compilation.fresh("total")
    numbered = Number(plan, name, (), False, total if asks_last(body) else None)  # type: ignore[arg-type]
    inside = inside.within(numbered)
    focus = inside.focus(inner, Column(name), lambda: Column(total))
    return each(numbered, value_of(body, focus))  # type: ignore[arg-type]


def _arrow(expr: operators.Arrow, scope: Scope) -> Value:
    if isinstance(expr.function, Name):
        call_ = functions.FunctionCall(expr.function, (expr.base, *expr.arguments), span=expr.span)
        return value_of(call_, scope)
    dynamic = functions.DynamicCall(expr.function, (expr.base, *expr.arguments), span=expr.span)
    return value_of(dynamic, scope)


EXPRESSIONS: Mapping[type, CompileExpression] = {
    literals.IntegerLiteral: _integer,
    literals.DecimalLiteral: _decimal,
    literals.DoubleLiteral: _double,
    literals.StringLiteral: _string,
    literals.VariableRef: _variable,
    literals.Sequence: _sequence,
    control.Ordered: _ordered,
    control.If: _if,
    control.Switch: _switch,
    control.Typeswitch: _typeswitch,
    operators.InstanceOf: _instance,
    operators.TreatAs: _treat,
    operators.CastAs: _cast,
    operators.CastableAs: _castable,
    operators.Binary: _binary,
    operators.Unary: _unary,
    operators.SimpleMap: _simple_map,
    operators.Arrow: _arrow,
}
