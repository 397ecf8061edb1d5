"""Nested plans that look up one tuple after the other: left joins with what they find.

first($p.name for                               case(is_not_null($found), $p.name)
  join on $a.parent = $p.key; unit; p)    =>      left join on $a.parent = $p.key
                                                    project found := True
                                                      p

There is at most one partner each time, so nothing has to be grouped, and nested plans that begin
with the same lookups share them. What a nested plan does after its lookups stays nested.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.algebra.operators import (
    Distinct,
    Join,
    Nearest,
    Number,
    Order,
    Plan,
    Project,
    Select,
    Unit,
    Unnest,
    columns,
    free,
    with_inputs,
    with_scalars,
)
from xcql.algebra.scalars import (
    FALSE,
    NULL,
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


def looked_up(
    joined: Plan, nested: Nested, prepared: Callable[[Plan], Plan], fresh: Callable[[str], str]
) -> tuple[Plan, Scalar] | None:
    """The tuples with what a nested plan looks up for them first, and its value for them.

    `prepared` removes nested plans from the plans that are joined.
    """
    steps = _steps(nested.plan)
    last = max((place for place, one in enumerate(steps) if _is_lookup(one)), default=-1)
    first_other = next((place for place, one in enumerate(steps) if not _is_single(one)), None)
    if first_other is not None:
        before = [place for place in range(first_other) if _is_lookup(steps[place])]
        last = before[-1] if before else -1
    if last < 0 or any(isinstance(one, Select) and one.condition == FALSE for one in steps):
        return None
    # by its flag: the columns of a lookup that a later one does not imply
    flags: dict[str, frozenset[str]] = {}
    known: dict[str, Scalar] = {}
    conditions: list[Scalar] = []
    for step in steps[: last + 1]:
        match step:
            case Select(condition=condition):
                conditions.append(substituted(condition, known))
            case Project(name=name, scalar=scalar):
                known[name] = substituted(scalar, known)
            case Join() | Nearest():
                lookup = _for_all(step, prepared, known)
                flag = _found(joined, lookup)
                if flag is None:
                    if columns(lookup.right) & columns(joined) or _may_fail(lookup):
                        return None
                    flag = fresh("found")
                    right = Project(lookup.right, flag, TRUE)
                    joined = replace(lookup, left=joined, right=right)
                flags = _not_implied(flags, lookup)
                flags[flag] = columns(lookup.right)
    # the flags come first: conditions may fail for nothing
    is_found = [call("is_not_null", Column(flag)) for flag in flags]
    if first_other is None:
        for step in steps[last + 1 :]:
            match step:
                case Select(condition=condition):
                    conditions.append(substituted(condition, known))
                case Project(name=name, scalar=scalar):
                    known[name] = substituted(scalar, known)
        value = _reduced(nested, [*is_found, *conditions], substituted(nested.value, known))
        if value is not None:
            return joined, value
    others = [
        _on(Unit(), with_scalars(step, lambda one: substituted(one, known)))
        for step in steps[last + 1 :]
    ]
    if others and isinstance(others[0], Join):
        is_found = [call("is_not_null", Column(one)) for one in _not_implied(flags, others[0])]
    rest: Plan = Unit()
    for condition in (*is_found, *conditions):
        rest = Select(rest, condition)
    for step in others:
        rest = _on(rest, step)
    return joined, Nested(rest, nested.reduction, substituted(nested.value, known))


def _not_implied(
    flags: dict[str, frozenset[str]], later: Join | Nearest
) -> dict[str, frozenset[str]]:
    """The flags without those that a later join implies.

    NULL equals nothing, so what is found by a column was preceded by what has that column.
    """
    by = {key.name for key, _ in later.keys if isinstance(key, Column)}
    return {one: own for one, own in flags.items() if not own & by}


def _steps(plan: Plan) -> list[Plan]:
    """The operators from the outer tuple on; none if there are others."""
    steps: list[Plan] = []
    here = plan
    while not isinstance(here, Unit):
        match here:
            case Join(left=below, kind="inner") | Nearest(left=below, kind="inner"):
                if free(here.right):
                    return []
            case Select(input=below) | Project(input=below) | Order(input=below):
                pass
            case Number(input=below) | Distinct(input=below) | Unnest(input=below):
                pass
            case _:
                return []
        steps.append(here)
        here = below
    return steps[::-1]


def _is_lookup(step: Plan) -> bool:
    return isinstance(step, Nearest) or (isinstance(step, Join) and step.is_lookup)


def _is_single(step: Plan) -> bool:
    """Whether the operator gives one tuple at most for each."""
    return _is_lookup(step) or isinstance(step, Select | Project | Order)


def _for_all(
    step: Join | Nearest, prepared: Callable[[Plan], Plan], known: dict[str, Scalar]
) -> Join | Nearest:
    """A lookup that keeps tuples without a partner."""
    keys = tuple((substituted(a, known), b) for a, b in step.keys)
    right = prepared(step.right)
    if isinstance(step, Join):
        condition = substituted(step.condition, known)
        return replace(step, right=right, keys=keys, condition=condition, kind="left")
    values = (substituted(step.values[0], known), step.values[1])
    return replace(step, right=right, keys=keys, values=values, kind="left")


def _on(below: Plan, step: Plan) -> Plan:
    """The operator on another plan."""
    match step:
        case Join() | Nearest():
            return replace(step, left=below)
    return with_inputs(step, below)


def _found(joined: Plan, lookup: Join | Nearest) -> str | None:
    """The column that says whether a lookup has found something, if it has been joined before."""
    here = joined
    while True:
        match here:
            case Join(left=below, right=right) | Nearest(left=below, right=right):
                match right:
                    case Project(input=same, name=flag, scalar=Constant(value=True)):
                        if replace(here, left=lookup.left, right=same) == lookup:
                            return flag
            case Select(input=below) | Project(input=below) | Order(input=below):
                pass
            case _:
                return None
        here = below


def _may_fail(lookup: Join | Nearest) -> bool:
    """Whether a lookup itself may fail: it is made for tuples without an earlier partner, too."""
    left = [a for a, _ in lookup.keys]
    left += [lookup.condition] if isinstance(lookup, Join) else [lookup.values[0]]
    return any(
        isinstance(part, Nested) or (isinstance(part, Call) and part.function == "fail")
        for scalar in left
        for part in walk_scalar(scalar)
    )


def _reduced(nested: Nested, conditions: list[Scalar], value: Scalar) -> Scalar | None:
    """The value of a nested plan that has one tuple at most: if conditions hold, one after another.

    None for reductions that nothing is gained for, and for a value without a type.
    """
    if _is_nothing(value):
        return None
    match nested.reduction:
        case "first":
            return _guarded(conditions, value)
        case "exists":
            return call("is_true", _guarded(conditions, TRUE))
        case "count" if value == TRUE:
            return call("coalesce", _guarded(conditions, Constant(1)), Constant(0))
        case "collect":
            return call("or_empty", _guarded(conditions, call("array", value)))
    return None


def _is_nothing(value: Scalar) -> bool:
    match value:
        case Call(function="case", arguments=(*branches, otherwise)):
            return all(map(_is_nothing, (*branches[1::2], otherwise)))
        case Call(function="coalesce", arguments=arguments):
            return all(map(_is_nothing, arguments))
    return value == NULL


def _guarded(conditions: list[Scalar], value: Scalar) -> Scalar:
    for condition in reversed(conditions):
        value = case((condition, value))
    return value
