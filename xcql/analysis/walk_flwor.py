"""The walk over FLWOR and quantified expressions: the types of their variables."""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis.types import ATOM, TagType, several
from xcql.analysis.walker import Env, Typed, Walker, walks
from xcql.syntax.control import Quantified
from xcql.syntax.flwor import (
    Clause,
    Count,
    Flwor,
    For,
    GroupBy,
    GroupingKey,
    Let,
    OrderBy,
    Where,
    Window,
    WindowCondition,
)
from xcql.syntax.literals import VariableRef


@walks(Flwor)
def flwor(w: Walker, node: Flwor, env: Env) -> Typed:
    inner, bound, clauses = env, list[str](), list[Clause]()
    for clause in node.clauses:
        walked, inner = _clause(w, clause, inner, env, bound)
        clauses.append(walked)
    result = w.walk(node.result, inner)
    type_ = result.type if inner.depth == env.depth else w.left(result.type, env)
    changed = any(new is not old for new, old in zip(clauses, node.clauses, strict=True))
    if not changed and result.expr is node.result:
        return Typed(node, type_)
    return Typed(replace(node, clauses=tuple(clauses), result=result.expr), type_)


def _clause(
    w: Walker, clause: Clause, env: Env, outer: Env, bound: list[str]
) -> tuple[Clause, Env]:
    match clause:
        case For():
            source = w.walk(clause.source, env)
            item = w.item_of(source.type, env)
            inner = env.inside().bind(clause.variable, item)
            bound.append(str(clause.variable))
            if clause.position is not None:
                inner = inner.bind(clause.position, ATOM)
            return replace(clause, source=source.expr), inner
        case Let():
            source = w.walk(clause.source, env)
            bound.append(str(clause.variable))
            return replace(clause, source=source.expr), env.bind(clause.variable, source.type)
        case Where():
            return replace(clause, condition=w.walk(clause.condition, env).expr), env
        case Count():
            return clause, env.bind(clause.variable, ATOM)
        case OrderBy():
            return w.rebuilt(clause, env), env
        case GroupBy():
            return _group_by(w, clause, env, outer, bound)
        case Window():
            return _window(w, clause, env, bound)
    return w.rebuilt(clause, env), env


def _group_by(
    w: Walker, clause: GroupBy, env: Env, outer: Env, bound: list[str]
) -> tuple[Clause, Env]:
    """Keys are atomic; every other variable collects its values from all tuples of a group."""
    keys = []
    for key in clause.keys:
        if key.source is not None:
            keys.append(replace(key, source=w.value(key.source, env)))
            continue
        known = VariableRef(key.variable, span=key.span)
        whole = w.value(known, env)
        keys.append(key if whole is known else replace(key, source=whole))
    inner = env
    for name in bound:
        inner = inner.bind(name, w.left(env.variables[name], outer))
    for key in keys:
        inner = inner.bind(key.variable, several(ATOM))
    return replace(clause, keys=tuple[GroupingKey, ...](keys)), inner


def _window(w: Walker, clause: Window, env: Env, bound: list[str]) -> tuple[Clause, Env]:
    source = w.walk(clause.source, env)
    item = w.item_of(source.type, env)
    start, inner = _condition(w, clause.start, item, env.inside())
    end = None
    if clause.end is not None:
        end, inner = _condition(w, clause.end, item, inner)
    inner = inner.bind(clause.variable, source.type)
    bound.append(str(clause.variable))
    return replace(clause, source=source.expr, start=start, end=end), inner


def _condition(
    w: Walker, condition: WindowCondition, item: TagType, env: Env
) -> tuple[WindowCondition, Env]:
    for name in (condition.item, condition.previous, condition.next):
        if name is not None:
            env = env.bind(name, item)
    if condition.position is not None:
        env = env.bind(condition.position, ATOM)
    return replace(condition, condition=w.walk(condition.condition, env).expr), env


@walks(Quantified)
def quantified(w: Walker, node: Quantified, env: Env) -> Typed:
    inner, bindings = env, []
    for binding in node.bindings:
        source = w.walk(binding.source, inner)
        bindings.append(replace(binding, source=source.expr))
        inner = inner.inside().bind(binding.variable, w.item_of(source.type, inner))
    condition = w.walk(node.condition, inner).expr
    return Typed(replace(node, bindings=tuple(bindings), condition=condition), ATOM)
