"""Literals, variables, sequences, conditions, arithmetic and logic."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from xcql.algebra.operators import Unit, Unnest, columns
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
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import (
    INTEGERS,
    NUMBERS,
    STRINGS,
    cast,
    castable,
    common_number,
    is_writable,
    number,
    text_or_empty,
)
from xcql.compile.library.comparisons import truth
from xcql.compile.library.serialisation import string_value
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    Atomic,
    Attribute,
    Dynamic,
    Element,
    Inner,
    Item,
    Markup,
    StreamDocument,
    StreamElement,
    Text,
    is_node,
)
from xcql.compile.terms.scope import Scope, compiles, value_of
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
    count,
    each,
    exists,
    guarded,
    leaves,
)
from xcql.source import Span
from xcql.syntax.construct import Enclosed, StringConstructor
from xcql.syntax.construct import Text as FixedText
from xcql.syntax.control import If, Ordered, Quantified, Switch, Typeswitch
from xcql.syntax.emitter import emit
from xcql.syntax.flwor import For
from xcql.syntax.literals import (
    DecimalLiteral,
    DoubleLiteral,
    IntegerLiteral,
    Sequence,
    StringLiteral,
    VariableRef,
)
from xcql.syntax.node import Name, Node
from xcql.syntax.operators import (
    Arrow,
    Binary,
    CastableAs,
    CastAs,
    InstanceOf,
    SimpleMap,
    TreatAs,
    Unary,
)
from xcql.syntax.types import (
    AnyItem,
    AnyKindTest,
    AtomicType,
    AttributeTest,
    DocumentTest,
    ElementTest,
    SequenceType,
    TextTest,
)


@compiles(IntegerLiteral)
def _integer(expr: IntegerLiteral, scope: Scope) -> Value:
    if not is_writable(expr.value):
        raise NotNative("an integer of more than 64 bits", expr.span)
    return atomic(expr.value, "xs:integer")


@compiles(DecimalLiteral)
def _decimal(expr: DecimalLiteral, scope: Scope) -> Value:
    if not is_writable(Decimal(expr.value)):
        raise NotNative("a decimal of many digits", expr.span)
    return atomic(Decimal(expr.value), "xs:decimal")


@compiles(DoubleLiteral)
def _double(expr: DoubleLiteral, scope: Scope) -> Value:
    return atomic(float(expr.value), "xs:double")


@compiles(StringLiteral)
def _string(expr: StringLiteral, scope: Scope) -> Value:
    return atomic(expr.value, "xs:string")


@compiles(VariableRef)
def _variable(expr: VariableRef, scope: Scope) -> Value:
    return scope.variable(expr.name, expr.span)


@compiles(Sequence)
def _sequence(expr: Sequence, scope: Scope) -> Value:
    return concat([value_of(item, scope) for item in expr.items])


@compiles(Ordered)
def _ordered(expr: Ordered, scope: Scope) -> Value:
    return value_of(expr.body, scope)


@compiles(If)
def _if(expr: If, scope: Scope) -> Value:
    condition = truth(value_of(expr.condition, scope), scope, expr.condition.span)
    return conditional(condition, value_of(expr.then, scope), value_of(expr.otherwise, scope))


@compiles(Switch)
def _switch(expr: Switch, scope: Scope) -> Value:
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
    """Equal as `switch` compares: two that are empty are equal, and so are two NaN."""
    if a is None and b is None:
        return Constant(True)
    if a is None or b is None:
        there = a or b
        assert there is not None
        return call("is_null", there.scalar)
    a, b = (
        replace(one, type="xs:string") if one.type == "xs:untypedAtomic" else one for one in (a, b)
    )
    if a.type != b.type and not (a.type in NUMBERS and b.type in NUMBERS):
        if a.type in STRINGS and b.type in STRINGS:
            return call("<=>", a.scalar, b.scalar)
        return FALSE
    if a.type in NUMBERS:
        type_ = common_number([a.type, b.type])
        return call("<=>", cast(a, type_, scope, span).scalar, cast(b, type_, scope, span).scalar)
    return call("<=>", a.scalar, b.scalar)


@compiles(Typeswitch)
def _typeswitch(expr: Typeswitch, scope: Scope) -> Value:
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


@compiles(InstanceOf)
def _instance(expr: InstanceOf, scope: Scope) -> Value:
    return boolean(is_instance(value_of(expr.operand, scope), expr.type, scope, expr.span))


@compiles(TreatAs)
def _treat(expr: TreatAs, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)
    fits = is_instance(operand, expr.type, scope, expr.span)
    wrong = scope.compilation.error(
        "XPDY0050", f"the value is not {emit(expr.type)}, as it is treated", expr.span
    )
    return guarded(fits if fits == TRUE else case((fits, TRUE), otherwise=wrong), operand)


def is_instance(value: Value, type_: SequenceType, scope: Scope, span: Span) -> Scalar:
    """Whether a value matches a sequence type."""
    if type_.item is None:
        return _not(exists(value))
    wrong = [leaf for leaf in leaves(value) if not _matches(leaf.item, type_.item, scope, span)]
    right = len(wrong) < len(leaves(value))
    conditions: list[Scalar] = []
    if wrong:
        conditions.append(
            _not(disjunction(*(exists(each(leaf.plan, Single(leaf.item))) for leaf in wrong)))
        )
    if not right:
        # nothing fits: only the empty sequence can
        if type_.occurrence in ("?", "*"):
            return _not(exists(value))
        return FALSE
    match type_.occurrence:
        case "":
            if not isinstance(value, Single):
                conditions.append(
                    exists(value) if at_most_one(value) else call("=", count(value), Constant(1))
                )
        case "?":
            if not at_most_one(value):
                conditions.append(call("<=", count(value), Constant(1)))
        case "+":
            conditions.append(exists(value))
    return conjunction(*conditions)


def _not(condition: Scalar) -> Scalar:
    from xcql.algebra.scalars import negation

    return negation(condition)


_DERIVED = {
    "xs:integer": ("xs:decimal", "xs:numeric"),
    "xs:decimal": ("xs:numeric",),
    "xs:double": ("xs:numeric",),
    "xs:float": ("xs:numeric",),
    "xs:dayTimeDuration": ("xs:duration",),
    "xs:yearMonthDuration": ("xs:duration",),
}


def _matches(item: Item, test: Node, scope: Scope, span: Span) -> bool:

    if isinstance(item, Dynamic):
        raise NotNative(item.reason, span)
    match test:
        case AnyItem():
            return True
        case AnyKindTest():
            return is_node(item)
        case AtomicType(name=name):
            wanted = type_name(name, scope)
            if not isinstance(item, Atomic):
                return False
            return wanted in (item.type, "xs:anyAtomicType", *_DERIVED.get(item.type, ()))
        case TextTest():
            return isinstance(item, Text)
        case DocumentTest(content=None):
            return isinstance(item, StreamDocument) or (
                isinstance(item, Element) and item.is_document
            )
        case ElementTest(name=name, type=None):
            if isinstance(item, StreamElement | Inner):
                if name is None:
                    return True
                passes = scope.names.element_test(test)
                assert passes is not None
                graph = scope.compilation.graphs[item.stream]
                fits = {passes(graph.tag(tag)) for tag in item.tags}
                if len(fits) > 1:
                    raise NotNative("a type that only some of these tags have", span)
                return fits.pop()
            if isinstance(item, Element) and not item.is_document:
                if name is None:
                    return True
                uri, local = scope.names.element_name(name)
                return item.name == (f"Q{{{uri}}}{local}" if uri else local)
            return False
        case AttributeTest(name=name, type=None):
            if not isinstance(item, Attribute):
                return False
            from xcql.compile.library.node_tests import attribute_name

            return name is None or attribute_name(name, scope) == item.name
    if isinstance(item, Atomic | Element | StreamElement | Inner | Attribute | Text | Markup):
        raise NotNative("such a type", span)
    raise NotNative("the type of what has no native form", span)


def type_name(name: Name, scope: Scope) -> str:
    """The name of an atomic type, with the prefix `xs`."""
    prefix, uri = name.prefix, name.uri
    if uri is None and prefix is not None:
        uri = scope.names.prefixes.get(prefix)
    if uri != "http://www.w3.org/2001/XMLSchema":
        raise NotNative(f"the type {name}", name.span)
    return f"xs:{name.local}"


@compiles(CastAs)
def _cast(expr: CastAs, scope: Scope) -> Value:
    return cast_value(
        value_of(expr.operand, scope),
        type_name(expr.type.name, scope),
        expr.type.optional,
        scope,
        expr.span,
    )


def cast_value(operand: Value, target: str, optional: bool, scope: Scope, span: Span) -> Value:
    if operand == EMPTY:
        if optional:
            return EMPTY
        raise NotNative("a cast of nothing", span)
    item = one_atomic(operand, scope, span)
    assert item is not None
    result = cast(item, target, scope, span)
    if isinstance(operand, Single):
        return Single(result)
    if not optional:
        bad = scope.compilation.error("XPTY0004", f"an empty sequence is no {target}", span)
        return Single(replace(result, scalar=call("coalesce", result.scalar, bad)))
    return guarded(call("is_not_null", result.scalar), Single(result))


@compiles(CastableAs)
def _castable(expr: CastableAs, scope: Scope) -> Value:
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


@compiles(Binary)
def _binary(expr: Binary, scope: Scope) -> Value:
    match expr.op:
        case "and" | "or":
            a, b = (truth(value_of(one, scope), scope, one.span) for one in (expr.left, expr.right))
            return boolean((conjunction if expr.op == "and" else disjunction)(a, b))
        case "||":
            return _concatenated(expr, scope)
        case "to":
            return _range(expr, scope)
        case "union" | "intersect" | "except" | "|":
            from xcql.compile.library.node_sets import node_set

            return node_set(expr, scope)
    left, right = value_of(expr.left, scope), value_of(expr.right, scope)
    if left == EMPTY or right == EMPTY:
        return EMPTY
    x = one_atomic(left, scope, expr.left.span)
    y = one_atomic(right, scope, expr.right.span)
    assert x is not None
    assert y is not None
    result = arithmetic(expr.op, x, y, scope, expr.span)
    if isinstance(left, Single) and isinstance(right, Single):
        return Single(result)
    return guarded(call("is_not_null", result.scalar), Single(result))


def arithmetic(op: str, a: Atomic, b: Atomic, scope: Scope, span: Span) -> Atomic:
    """The value of an operation on two atomic values; NULL where one of them is."""
    a, b = number(a, scope, span), number(b, scope, span)
    if not (a.type in NUMBERS and b.type in NUMBERS):
        from xcql.compile.syntax.temporal import time_arithmetic

        return time_arithmetic(op, a, b, scope, span)
    type_ = common_number([a.type, b.type])
    if a.type in INTEGERS - {"xs:integer"} or b.type in INTEGERS - {"xs:integer"}:
        raise NotNative("arithmetic of derived integers", span)
    by_zero = scope.compilation.error("FOAR0001", "division by zero", span)
    x, y = cast(a, type_, scope, span).scalar, cast(b, type_, scope, span).scalar
    if type_ == "xs:double":
        match op:
            case "+" | "-" | "*":
                return Atomic(call(op, x, y), type_)
            case "div":
                return Atomic(call("double_divide", x, y), type_)
            case "mod":
                return Atomic(call("double_modulo", x, y), type_)
        quotient = case(
            (call("=", y, Constant(0.0)), by_zero),
            otherwise=call("to_integer", call("double_divide", x, y)),
        )
        return Atomic(quotient, "xs:integer")
    if type_ == "xs:integer":
        match op:
            case "+" | "-" | "*":
                return Atomic(_computed(op, x, y, span), type_)
            case "div":
                return Atomic(
                    case(
                        (call("=", y, Constant(0)), by_zero), otherwise=call("integer_divide", x, y)
                    ),
                    "xs:decimal",
                )
            case "idiv":
                return Atomic(
                    case((call("=", y, Constant(0)), by_zero), otherwise=call("idiv", x, y)), type_
                )
            case "mod":
                return Atomic(
                    case((call("=", y, Constant(0)), by_zero), otherwise=call("%", x, y)), type_
                )
    too_long = scope.compilation.error(
        "FOAR0002", "a decimal with more digits than SQL has room for", span
    )
    match op:
        case "+":
            return Atomic(call("decimal_add", x, y), type_)
        case "-":
            return Atomic(call("decimal_subtract", x, y), type_)
        case "*":
            return Atomic(call("decimal_multiply", x, y, too_long), type_)
    # with both as millionths the quotient is one of integers
    m, n = (call("millionths", one, too_long) for one in (x, y))
    whole = {"div": "integer_divide", "idiv": "idiv", "mod": "%"}[op]
    scalar: Scalar = call(whole, m, n)
    if op == "mod":
        scalar = call("from_millionths", scalar)
    return Atomic(
        case((call("=", y, Constant(0)), by_zero), otherwise=scalar),
        "xs:integer" if op == "idiv" else type_,
    )


def _computed(op: str, x: Scalar, y: Scalar, span: Span) -> Scalar:
    """Sums and products of integers; of constants now."""
    match x, y:
        case Constant(value=int() as a), Constant(value=int() as b):
            result = a + b if op == "+" else a - b if op == "-" else a * b
            if abs(result) >= 2**63:
                raise NotNative("an integer of more than 64 bits", span)
            return Constant(result)
    return call(op, x, y)


@compiles(Unary)
def _unary(expr: Unary, scope: Scope) -> Value:
    operand = value_of(expr.operand, scope)
    if operand == EMPTY:
        return EMPTY
    item = one_atomic(operand, scope, expr.span)
    assert item is not None
    item = number(item, scope, expr.span)
    if item.type not in NUMBERS:
        raise NotNative("a sign before something else than a number", expr.span)
    if expr.op == "-":
        if isinstance(item.scalar, Constant):
            item = replace(item, scalar=Constant(-item.scalar.value))  # type: ignore[operator]
        else:
            negative = "decimal_negative" if item.type == "xs:decimal" else "negative"
            item = replace(item, scalar=call(negative, item.scalar))
    if isinstance(operand, Single):
        return Single(item)
    return guarded(call("is_not_null", item.scalar), Single(item))


def _concatenated(expr: Binary, scope: Scope) -> Value:
    texts: list[Scalar] = []
    for part in (expr.left, expr.right):
        item = one_atomic(value_of(part, scope), scope, part.span)
        texts.append(Constant("") if item is None else text_or_empty(item))
    return Single(Atomic(Call("concat", tuple(texts)), "xs:string"))


@compiles(StringConstructor)
def _string_constructor(expr: StringConstructor, scope: Scope) -> Value:
    from xcql.compile.terms.values import gather

    texts: list[Scalar] = []
    for part in expr.parts:
        if isinstance(part, FixedText):
            texts.append(Constant(part.value))
            continue
        assert isinstance(part, Enclosed)
        value = value_of(part.body, scope)
        if value != EMPTY:
            array = gather(value, lambda item: string_value(item, scope))
            texts.append(call("join_texts", array, Constant(" ")))
    return Single(Atomic(Call("concat", (Constant(""), *texts)), "xs:string"))


def _range(expr: Binary, scope: Scope) -> Value:
    bounds = []
    for part in (expr.left, expr.right):
        item = one_atomic(value_of(part, scope), scope, part.span)
        if item is None:
            return EMPTY
        if item.type == "xs:untypedAtomic":
            item = cast(item, "xs:integer", scope, part.span)
        if item.type != "xs:integer":
            raise NotNative("a range of something else than integers", expr.span)
        bounds.append(item.scalar)
    item_name, position = scope.compilation.fresh("number"), scope.compilation.fresh("number_at")
    plan = Unnest(Unit(), call("range", *bounds), item_name, position)
    return each(plan, Single(Atomic(Column(item_name), "xs:integer")))


@compiles(SimpleMap)
def _simple_map(expr: SimpleMap, scope: Scope) -> Value:
    return mapped_over(value_of(expr.left, scope), expr.right, scope)


def mapped_over(base: Value, body: Node, scope: Scope) -> Value:
    """`base ! body`"""
    from xcql.algebra.operators import Number
    from xcql.compile.syntax.predicates import _asks_last, mentions_position

    match base:
        case Single():
            return value_of(body, scope.focus(base, Constant(1), lambda: Constant(1)))  # type: ignore[arg-type]
        case Concat(values=several) | Merged(values=several) if not mentions_position(body):  # type: ignore[arg-type]
            return replace(base, values=tuple(mapped_over(one, body, scope) for one in several))
    found = leaves(base)
    if len(found) != 1:
        from xcql.compile.library.sequences import as_one_leaf

        found = [as_one_leaf(base, scope, body.span)]
    plan, inner = found[0].plan, Single(found[0].item)
    inside = scope.within(columns(plan))
    if not mentions_position(body):  # type: ignore[arg-type]
        return each(plan, value_of(body, inside.focus(inner)))  # type: ignore[arg-type]
    name, total = scope.compilation.fresh("position"), scope.compilation.fresh("total")
    numbered = Number(plan, name, (), False, total if _asks_last(body) else None)  # type: ignore[arg-type]
    inside = inside.within(columns(numbered))
    focus = inside.focus(inner, Column(name), lambda: Column(total))
    return each(numbered, value_of(body, focus))  # type: ignore[arg-type]


@compiles(Arrow)
def _arrow(expr: Arrow, scope: Scope) -> Value:
    from xcql.syntax.functions import DynamicCall, FunctionCall

    if isinstance(expr.function, Name):
        call_ = FunctionCall(expr.function, (expr.base, *expr.arguments), span=expr.span)
        return value_of(call_, scope)
    dynamic = DynamicCall(expr.function, (expr.base, *expr.arguments), span=expr.span)
    return value_of(dynamic, scope)


@compiles(Quantified)
def _quantified(expr: Quantified, scope: Scope) -> Value:
    """`some`: a FLWOR expression has a tuple; `every`: one with the contrary has none."""
    from xcql.compile.syntax.flwor import tuples

    clauses = [
        For(binding.variable, binding.source, binding.type, span=binding.span)
        for binding in expr.bindings
    ]
    found = []
    for stream in tuples(tuple(clauses), scope):
        condition = truth(value_of(expr.condition, stream.scope), stream.scope, expr.condition.span)
        if expr.quantifier == "every":
            condition = _not(condition)
        from xcql.algebra.operators import Select

        found.append(exists(each(Select(stream.plan, condition), atomic(True, "xs:boolean"))))
    some = disjunction(*found)
    return boolean(some if expr.quantifier == "some" else _not(some))
