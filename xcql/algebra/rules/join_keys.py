"""Conditions move down to the plans that make their columns, and equalities become join keys.

select $a.id = $b.ref and $b.price > 3        inner join on $a.id = $b.ref
  inner join on all                    =>       a
    a                                           select $b.price > 3
    b                                             b

If one of several values has to be equal, these are unnested. The order of the tuples stays.
"""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra.operators import (
    Extract,
    Join,
    Order,
    Plan,
    Project,
    Select,
    Unit,
    Unnest,
    columns,
    order,
    used,
)
from xcql.algebra.rewriting.correlation import certain_parts
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.membership import Membership, equal_sides, membership
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import TRUE, Nested, Scalar, conjunction, conjuncts, walk_scalar
from xcql.algebra.substitution import substituted


def join_keys(plan: Plan) -> Plan:
    """The plan with each condition where it costs least."""
    return everywhere(plan, _changed)


def _changed(plan: Plan) -> Plan:
    match plan:
        case Extract(input=base) if not isinstance(base, Unit):
            # a scan does not depend on the tuples that it is done for
            return Join(base, replace(plan, input=Unit()), (), TRUE, span=plan.span)
        case Select(input=below, condition=condition):
            return _selected(below, tuple(certain_parts(condition)), plan)
        case Join(kind="inner", condition=condition) if condition != TRUE:
            one_side = replace(plan, condition=TRUE)
            parts = tuple(certain_parts(condition))
            return _into_join(one_side, parts, Select(one_side, condition, span=plan.span))
        case Unnest(input=Join(kind="inner") as join, array=array):
            if used(array) & columns(join) <= columns(join.right) and used(array) & columns(
                join.right
            ):
                # a partner that is unnested is several partners
                return replace(join, right=replace(plan, input=join.right), is_lookup=False)
    return plan


def _selected(below: Plan, parts: tuple[Scalar, ...], plan: Select) -> Plan:
    """The plan with the conditions pushed down as far as possible."""
    if not parts:
        return below
    match below:
        case Select(input=further, condition=condition):
            if _sinks(further):
                return _selected(further, (*conjuncts(condition), *parts), plan)
        case Order(input=further):
            return replace(below, input=_selected(further, parts, plan))
        case Join(kind="inner"):
            return _into_join(below, parts, plan)
        case Project(input=further, name=name, scalar=scalar) if not _is_costly(scalar):
            known = {name: scalar}
            sunk = tuple(substituted(one, known) for one in parts)
            if _sinks(further):
                return replace(below, input=_selected(further, sunk, plan))
        case Unnest(input=further, item=item, position=position) if _sinks(further):
            own = {item, position}
            through = tuple(one for one in parts if not used(one) & own)
            kept = tuple(one for one in parts if used(one) & own)
            if through:
                rest = replace(below, input=_selected(further, through, plan))
                return _rebuilt(rest, kept, plan)
    return _rebuilt(below, parts, plan)


def _rebuilt(below: Plan, parts: tuple[Scalar, ...], plan: Select) -> Plan:
    return Select(below, conjunction(*parts), span=plan.span) if parts else below


def _sinks(plan: Plan) -> bool:
    """Whether there is a join further down that a condition could reach."""
    match plan:
        case Join(kind="inner"):
            return True
        case Select(input=below) | Order(input=below) | Unnest(input=below) | Project(input=below):
            return _sinks(below)
    return False


def _is_costly(scalar: Scalar) -> bool:
    return any(isinstance(one, Nested) for one in walk_scalar(scalar))


def _into_join(join: Join, parts: tuple[Scalar, ...], plan: Select) -> Plan:
    left, right = columns(join.left), columns(join.right)
    keys = list(join.keys)
    here: list[Scalar] = list(conjuncts(join.condition))
    to_left: list[Scalar] = []
    to_right: list[Scalar] = []
    kept: list[Scalar] = []
    members: list[Membership] = []
    members_of_left: list[Membership] = []
    for part in parts:
        looks = used(part)
        if _is_costly(part):
            kept.append(part)
        elif not looks & right:
            to_left.append(part)
        elif not looks & left:
            to_right.append(part)
        elif (pair := equal_sides(part, left, right)) is not None:
            keys.append(pair)
        elif (member := membership(part, left, right)) is not None:
            keys.append(member.key)
            members.append(member)
        elif (member := _of_left(part, left, right)) is not None:
            keys.append(member.key[::-1])
            members_of_left.append(member)
        else:
            here.append(part)
    partners = _selected(join.right, tuple(to_right), plan)
    for member in members:
        partners = member.unnested(partners)
    others = _selected(join.left, tuple(to_left), plan)
    for member in members_of_left:
        others = member.unnested(others)
    new: Plan = replace(
        join, left=others, right=partners, keys=tuple(keys), condition=conjunction(*here)
    )
    if members_of_left:
        # the partners of a tuple do not come in the order of its values
        new = Order(new, order(join))
    return _rebuilt(new, tuple(kept), plan)


def _of_left(part: Scalar, left: frozenset[str], right: frozenset[str]) -> Membership | None:
    """The condition as a test that an array of the left tuple contains a value of the right one."""
    member = membership(part, right, left)
    if member is None or not (used(member.array) <= left and used(member.value) <= right):
        return None
    return member


RULE = Rule(
    join_keys, "conditions move down to the tables they are about, and equalities become join keys"
)
