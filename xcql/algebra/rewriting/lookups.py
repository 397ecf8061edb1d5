"""Nested plans that look up one tuple after the other: left joins with what they find.

first($p.name for                               case(is_not_null($found), $p.name)
  join on $a.parent = $p.key; unit; p)    =>      left join on $a.parent = $p.key
                                                    project found := True
                                                      p

There is at most one partner each time, so nothing has to be grouped, and nested plans that begin
with the same lookups share them.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.algebra.operators import (
    Join,
    Nearest,
    Order,
    Plan,
    Project,
    Select,
    Unit,
    columns,
    free,
)
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Constant,
    Nested,
    Scalar,
    call,
    case,
    walk_scalar,
)
from xcql.algebra.substitution import substituted

REDUCTIONS = frozenset({"first", "exists", "count"})


def looked_up(
    joined: Plan, plan: Plan, prepared: Callable[[Plan], Plan], fresh: Callable[[str], str]
) -> tuple[Plan, list[Scalar], dict[str, Scalar]] | None:
    """The tuples with what a nested plan looks up for them, if that is all that it does.

    Returns the joined plan, the conditions under which the nested plan has a tuple, in the order in
    which they have to be checked, and the columns that it computes.
    """
    steps = _steps(plan)
    if steps is None or not any(isinstance(one, Join | Nearest) for one in steps):
        return None
    conditions: list[Scalar] = []
    # by its flag: the columns of a lookup that a later one does not imply
    flags: dict[str, frozenset[str]] = {}
    known: dict[str, Scalar] = {}
    for step in steps:
        match step:
            case Select(condition=condition):
                conditions.append(substituted(condition, known))
            case Project(name=name, scalar=scalar):
                known[name] = substituted(scalar, known)
            case Join() | Nearest():
                step = replace(step, right=prepared(step.right), kind="left")
                step = _with_left_scalars(step, lambda one: substituted(one, known))
                flag = _found(joined, step)
                if flag is None:
                    if columns(step.right) & columns(joined) or _may_fail(step):
                        return None
                    flag = fresh("found")
                    right = Project(step.right, flag, TRUE)
                    joined = replace(step, left=joined, right=right)
                # NULL equals nothing, so what is found with a key was preceded by what has it
                by = {key.name for key, _ in step.keys if isinstance(key, Column)}
                flags = {one: own for one, own in flags.items() if not own & by}
                flags[flag] = columns(step.right)
    # the flags come first: conditions may fail for nothing
    found = [call("is_not_null", Column(flag)) for flag in flags]
    return joined, [*found, *conditions], known


def _steps(plan: Plan) -> list[Plan] | None:
    """The operators from the outer tuple on, if each gives one tuple at most."""
    steps: list[Plan] = []
    here = plan
    while not isinstance(here, Unit):
        match here:
            case Join(left=below, kind="inner", is_lookup=True) | Nearest(left=below, kind="inner"):
                if free(here.right):
                    return None
                steps.append(here)
            case Select(input=below) | Project(input=below):
                steps.append(here)
            case Order(input=below):
                pass
            case _:
                return None
        here = below
    return steps[::-1]


def _with_left_scalars(step: Join | Nearest, change: Callable[[Scalar], Scalar]) -> Join | Nearest:
    keys = tuple((change(a), b) for a, b in step.keys)
    if isinstance(step, Join):
        return replace(step, keys=keys, condition=change(step.condition))
    return replace(step, keys=keys, values=(change(step.values[0]), step.values[1]))


def _found(joined: Plan, step: Join | Nearest) -> str | None:
    """The column that says whether a lookup has found something, if it has been joined before."""
    here = joined
    while True:
        match here:
            case Join(left=below, right=Project(input=right, name=flag, scalar=Constant(True))) | (
                Nearest(left=below, right=Project(input=right, name=flag, scalar=Constant(True)))
            ) if replace(here, left=step.left, right=right) == step:
                return flag
            case Join(left=below) | Nearest(left=below):
                pass
            case Select(input=below) | Project(input=below) | Order(input=below):
                pass
            case _:
                return None
        here = below


def _may_fail(step: Join | Nearest) -> bool:
    """Whether a lookup itself may fail: it is made for tuples without an earlier partner, too."""
    left = [a for a, _ in step.keys]
    left += [step.condition] if isinstance(step, Join) else [step.values[0]]
    return any(
        isinstance(part, Nested) or (isinstance(part, Call) and part.function == "fail")
        for scalar in left
        for part in walk_scalar(scalar)
    )


def reduced(nested: Nested, conditions: list[Scalar], known: dict[str, Scalar]) -> Scalar | None:
    """The value of a nested plan that has one tuple at most."""
    value = substituted(nested.value, known)
    match nested.reduction:
        case "first":
            return _guarded(conditions, value)
        case "exists":
            return call("is_true", _guarded(conditions, TRUE))
        case "count" if nested.value == TRUE:
            return call("coalesce", _guarded(conditions, Constant(1)), Constant(0))
    return None


def _guarded(conditions: list[Scalar], value: Scalar) -> Scalar:
    for condition in reversed(conditions):
        value = case((condition, value))
    return value
