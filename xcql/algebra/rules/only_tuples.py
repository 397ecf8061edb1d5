"""What is computed of arrays in the only tuple of a plan is computed there, once.

select $p.sum = max($all)                     select $p.sum = $only
  left join on all                              left join on all
    p                                    =>       p
    nest by (): all := collect(sum)               project only := max($all)
      q                                             nest by (): all := collect(sum)
                                                      q

If there is nothing to join it with, it must not fail: a value that may fail is NULL there, and is
computed again where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from xcql.algebra.operators import (
    Join,
    Nest,
    Plan,
    Project,
    columns,
    inputs,
    scalars,
    used,
    walk_plan,
    with_scalars,
)
from xcql.algebra.rewriting.apart import can_be_apart, without_failures
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Scalar, call, once, parts, rebuilt

# by the columns of an only tuple, the names of the values that are computed there
Values = dict[frozenset[str], dict[Scalar, str]]


def only_tuples(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    """The plan with joins to only tuples, which have all that is computed of them alone."""
    arrays: dict[frozenset[str], frozenset[str]] = {}
    for one in walk_plan(plan):
        if (only := _only(one)) is not None:
            collected = (name for name, made in only.fields if made.reduction == "collect")
            arrays[columns(only)] = frozenset(collected)
    values: Values = {}
    for own, names in arrays.items():
        if names:
            found = (
                part
                for one in walk_plan(plan)
                for scalar in scalars(one)
                for part in _computed(scalar, own, names)
            )
            values[own] = {part: fresh("only") for part in dict.fromkeys(found)}
    return everywhere(plan, partial(_changed, values=values)) if any(values.values()) else plan


def _only(plan: Plan) -> Nest | None:
    """The plan of one tuple that a join adds to all tuples."""
    match plan:
        case Join(right=Nest(keys=()) as right, keys=(), kind="inner" | "left") if (
            plan.condition == TRUE
        ):
            return right
    return None


def _computed(scalar: Scalar, own: frozenset[str], arrays: frozenset[str]) -> Iterator[Scalar]:
    """The largest parts of a scalar that are computed of an only tuple, and of its arrays."""
    pending = [scalar]
    seen: set[int] = set()
    while pending:
        here = pending.pop()
        if id(here) in seen or not used(here) & arrays:
            continue
        seen.add(id(here))
        if used(here) <= own and can_be_apart(here) and not _is_plain(here):
            yield here
        else:
            pending += reversed(parts(here))


def _is_plain(scalar: Scalar) -> bool:
    """Whether it is no more than an array."""
    match scalar:
        case Call(function="or_empty" | "coalesce", arguments=(Column(), *others)):
            return all(isinstance(one, Constant) for one in others)
    return False


def _changed(plan: Plan, values: Values) -> Plan:
    only = _only(plan)
    if isinstance(plan, Join) and only is not None:
        right: Plan = only
        for scalar, name in values.get(columns(only), {}).items():
            right = Project(right, name, without_failures(scalar), span=plan.span)
        return Join(plan.left, right, (), TRUE, plan.kind, plan.is_lookup, span=plan.span)
    there = frozenset().union(*map(columns, inputs(plan)))
    known = {
        scalar: Column(name)
        for several in values.values()
        for scalar, name in several.items()
        if name in there
    }

    @once
    def with_columns(scalar: Scalar) -> Scalar:
        there = known.get(scalar)
        if there is None:
            return rebuilt(scalar, with_columns)
        return there if without_failures(scalar) == scalar else call("coalesce", there, scalar)

    return with_scalars(plan, with_columns) if known else plan


RULE = Rule(only_tuples, "what is computed of the only tuple of a plan is computed once")
