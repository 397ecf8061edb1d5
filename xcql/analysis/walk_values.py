"""The walk over literals, operators, conditions and constructors."""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis.functions import BOOLEAN
from xcql.analysis.types import ATOM, EMPTY, PLAIN, UNKNOWN, TagType
from xcql.analysis.walker import Env, Typed, Walker, walks
from xcql.syntax import construct, control, literals, operators
from xcql.syntax.functions import FunctionCall
from xcql.syntax.node import Expr, walk
from xcql.syntax.temporal import AllenComparison, DateTimeLiteral, DurationLiteral, Now, Start

_TIMES = frozenset({"vtFrom", "vtTo", "now", "start", "current-dateTime"})


@walks(
    literals.IntegerLiteral, literals.DecimalLiteral, literals.DoubleLiteral, literals.StringLiteral
)
def literal(w: Walker, node: Expr, env: Env) -> Typed:
    return Typed(node, ATOM)


@walks(literals.VariableRef)
def variable(w: Walker, node: literals.VariableRef, env: Env) -> Typed:
    return Typed(node, env.variables.get(str(node.name), PLAIN))


@walks(literals.ContextItem)
def context_item(w: Walker, node: literals.ContextItem, env: Env) -> Typed:
    return Typed(node, env.context)


@walks(literals.Sequence)
def sequence(w: Walker, node: literals.Sequence, env: Env) -> Typed:
    if not node.items:
        return Typed(node, EMPTY)
    parts = [w.walk(item, env) for item in node.items]
    exprs, type_ = w.joined(parts)
    holders = sum(part.type.of_streams for part in parts)
    tree = type_.tree if holders == 1 or _same_tree(parts) else None
    return Typed(replace(node, items=tuple(exprs)), replace(type_, one=False, tree=tree))


def _same_tree(parts: list[Typed]) -> bool:
    trees = {part.type.tree for part in parts if part.type.of_streams}
    return len(trees) == 1 and None not in trees


@walks(operators.Binary)
def binary(w: Walker, node: operators.Binary, env: Env) -> Typed:
    if node.op in ("union", "intersect", "except"):
        return _set_operation(w, node, env)
    if node.op in ("and", "or"):
        left, right = w.walk(node.left, env), w.walk(node.right, env)
        return Typed(replace(node, left=left.expr, right=right.expr), ATOM)
    rebuilt = replace(node, left=w.value(node.left, env), right=w.value(node.right, env))
    if node.op in ("+", "-") and _moves_time(node):
        return Typed(w.rules.temporal(rebuilt), ATOM)
    return Typed(rebuilt, PLAIN if node.op == "to" else ATOM)


def _moves_time(node: operators.Binary) -> bool:
    """Whether something that may be a number is added to a time."""
    if _is_time(node.left):
        return not (_is_duration(node.right) or _is_time(node.right))
    return node.op == "+" and _is_time(node.right) and not _is_duration(node.left)


def _is_time(expr: Expr) -> bool:
    match expr:
        case Now() | Start() | DateTimeLiteral():
            return True
        case FunctionCall(name=name):
            return name.local in _TIMES or (name.prefix == "xs" and name.local == "dateTime")
        case operators.Binary(op="+" | "-"):
            return _is_time(expr.left) and not _is_time(expr.right)
    return False


def _is_duration(expr: Expr) -> bool:
    match expr:
        case DurationLiteral():
            return True
        case FunctionCall(name=name):
            return name.prefix == "xs" and name.local.lower().endswith("duration")
        case operators.Binary(op="*" | "div" | "+" | "-"):
            return _is_duration(expr.left) or _is_duration(expr.right)
    return False


def _set_operation(w: Walker, node: operators.Binary, env: Env) -> Typed:
    left, right = w.walk(node.left, env), w.walk(node.right, env)
    _same_place(w, node, left, right)
    exprs, type_ = w.joined([left, right])
    rebuilt = replace(node, left=exprs[0], right=exprs[1])
    if node.op == "intersect":
        type_ = left.type if left.type.of_streams or not right.type.of_streams else right.type
    elif node.op == "except":
        type_ = left.type
    return Typed(rebuilt, replace(type_, one=False))


@walks(operators.Comparison)
def comparison(w: Walker, node: operators.Comparison, env: Env) -> Typed:
    if node.op not in ("is", "<<", ">>"):
        return Typed(w.rebuilt(node, env), ATOM)
    left, right = w.walk(node.left, env), w.walk(node.right, env)
    _same_place(w, node, left, right)
    return Typed(replace(node, left=left.expr, right=right.expr), ATOM)


def _same_place(w: Walker, node: Expr, left: Typed, right: Typed) -> None:
    """Identity or order is compared: the operands must be in one tree, built once."""
    if left.type.unknown or right.type.unknown:
        w.anything(node.span, "the nodes that are compared by identity are unknown")
    both = left.type.of_streams and right.type.of_streams
    if both and (left.type.tree is None or left.type.tree != right.type.tree):
        w.rules.needs_view(
            left.type.streams | right.type.streams,
            "nodes from several evaluations are compared by identity or order",
            node.span,
        )
    elif (left.type.of_streams or right.type.of_streams) and not both:
        w.place(left.type if left.type.of_streams else right.type, "nodes are merged", node.span)


@walks(operators.Unary, operators.CastAs, operators.CastableAs, construct.StringConstructor)
def atomic(w: Walker, node: Expr, env: Env) -> Typed:
    return Typed(w.rebuilt(node, env), ATOM)


@walks(operators.InstanceOf)
def instance_of(w: Walker, node: operators.InstanceOf, env: Env) -> Typed:
    operand = _not_wrapped(w, w.walk(node.operand, env))
    return Typed(replace(node, operand=operand.expr), ATOM)


@walks(operators.TreatAs)
def treat_as(w: Walker, node: operators.TreatAs, env: Env) -> Typed:
    operand = _not_wrapped(w, w.walk(node.operand, env))
    return Typed(replace(node, operand=operand.expr), operand.type)


def _not_wrapped(w: Walker, typed: Typed) -> Typed:
    """A value whose node kinds are tested; a document must be a real document node."""
    return w.whole(typed) if any("" in nodes.tags for nodes in typed.type.nodes) else typed


@walks(operators.SimpleMap)
def simple_map(w: Walker, node: operators.SimpleMap, env: Env) -> Typed:
    left = w.walk(node.left, env)
    right = w.walk(node.right, env.focus(w.item_of(left.type, env)))
    return Typed(replace(node, left=left.expr, right=right.expr), w.left(right.type, env))


@walks(control.If)
def if_(w: Walker, node: control.If, env: Env) -> Typed:
    condition = w.walk(node.condition, env).expr
    (then, otherwise), type_ = w.joined([w.walk(node.then, env), w.walk(node.otherwise, env)])
    return Typed(replace(node, condition=condition, then=then, otherwise=otherwise), type_)


@walks(control.Switch)
def switch(w: Walker, node: control.Switch, env: Env) -> Typed:
    operand = w.value(node.operand, env)
    values = [tuple(w.value(value, env) for value in case.values) for case in node.cases]
    results = [w.walk(case.result, env) for case in node.cases]
    exprs, type_ = w.joined([*results, w.walk(node.default, env)])
    cases = tuple(
        replace(case, values=value, result=result)
        for case, value, result in zip(node.cases, values, exprs[:-1], strict=True)
    )
    return Typed(replace(node, operand=operand, cases=cases, default=exprs[-1]), type_)


@walks(control.Typeswitch)
def typeswitch(w: Walker, node: control.Typeswitch, env: Env) -> Typed:
    operand = _not_wrapped(w, w.walk(node.operand, env))

    def scope(name: object) -> Env:
        return env if name is None else env.bind(name, operand.type)

    results = [w.walk(case.result, scope(case.variable)) for case in node.cases]
    exprs, type_ = w.joined([*results, w.walk(node.default, scope(node.default_variable))])
    cases = tuple(
        replace(case, result=result) for case, result in zip(node.cases, exprs[:-1], strict=True)
    )
    return Typed(replace(node, operand=operand.expr, cases=cases, default=exprs[-1]), type_)


@walks(control.TryCatch)
def try_catch(w: Walker, node: control.TryCatch, env: Env) -> Typed:
    parts = [w.walk(node.body, env), *(w.walk(catch.body, env) for catch in node.catches)]
    exprs, type_ = w.joined(parts)
    catches = tuple(
        replace(catch, body=body) for catch, body in zip(node.catches, exprs[1:], strict=True)
    )
    return Typed(replace(node, body=exprs[0], catches=catches), type_)


@walks(control.Ordered)
def ordered(w: Walker, node: control.Ordered, env: Env) -> Typed:
    body = w.walk(node.body, env)
    return Typed(replace(node, body=body.expr), body.type)


@walks(control.Extension)
def extension(w: Walker, node: control.Extension, env: Env) -> Typed:
    if node.body is None:
        return Typed(node, PLAIN)
    body = w.walk(node.body, env)
    return Typed(replace(node, body=body.expr), body.type)


@walks(construct.DirectElement)
def direct_element(w: Walker, node: construct.DirectElement, env: Env) -> Typed:
    inner = replace(env, names=env.names.within(node.namespaces))
    return Typed(w.rebuilt(node, inner), ATOM)


@walks(
    construct.ComputedElement,
    construct.ComputedAttribute,
    construct.ComputedDocument,
    construct.ComputedText,
    construct.ComputedComment,
    construct.ComputedNamespace,
    construct.ComputedProcessingInstruction,
)
def constructor(w: Walker, node: Expr, env: Env) -> Typed:
    return Typed(w.rebuilt(node, env), ATOM)


@walks(construct.MapConstructor, construct.SquareArray, construct.CurlyArray)
def collection(w: Walker, node: Expr, env: Env) -> Typed:
    """Walk a map or array; the types of its contents are not tracked."""
    return Typed(w.rebuilt(node, env), UNKNOWN if w.graphs else PLAIN)


def is_boolean(expr: Expr, type_: TagType) -> bool:
    """Whether a predicate is a condition that does not depend on position."""
    if any(
        isinstance(part, FunctionCall)
        and part.name.local in ("position", "last")
        and not part.arguments
        for part in walk(expr)
    ):
        return False
    match expr:
        case operators.Comparison() | AllenComparison() | control.Quantified():
            return True
        case operators.Binary(op="and" | "or"):
            return True
        case operators.CastableAs() | operators.InstanceOf():
            return True
        case FunctionCall(name=name):
            return name.local in BOOLEAN and name.prefix in (None, "fn")
    return type_.of_streams and not type_.plain and not type_.unknown
