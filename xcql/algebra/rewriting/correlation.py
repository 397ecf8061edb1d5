"""How a nested plan depends on the tuple that it is evaluated for.

A plan that uses the outer tuple only in conditions can be evaluated once for all tuples: the
values that the conditions compare become the keys of a join.
"""

from __future__ import annotations

from dataclasses import replace

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.membership import Membership, equal_sides, membership
from xcql.algebra.scalars import Call, Nested, Scalar, conjunction, conjuncts, walk_scalar

Split = tuple[ops.Plan, tuple[tuple[Scalar, Scalar], ...], tuple[Scalar, ...], tuple[Scalar, ...]]


def split(plan: ops.Plan, outer: frozenset[str], mixed: bool) -> Split | None:
    """Separate a plan from its conditions on the outer tuple, if only conditions use that tuple.

    Returns the plan without them, the pairs of equal values (outer, inner), the conditions on the
    outer tuple alone, and, if `mixed` is allowed, the conditions on both tuples.
    """
    keys: list[tuple[Scalar, Scalar]] = []
    outside: list[Scalar] = []
    both: list[Scalar] = []

    def without(here: ops.Plan, top: bool) -> ops.Plan | None:
        if not ops.free(here) & outer:
            return here
        match here:
            case ops.Unit():
                return here
            case ops.Select(input=below, condition=condition):
                made = ops.columns(below)
                kept: list[Scalar] = []
                members: list[Membership] = []
                for part in certain_parts(condition):
                    looks = ops.used(part) & (outer - made)
                    if not looks:
                        kept.append(part)
                    elif any(isinstance(one, Nested) for one in walk_scalar(part)):
                        return None
                    elif not ops.used(part) & made:
                        outside.append(part)
                    elif (pair := equal_sides(part, outer - made, made)) is not None:
                        keys.append(pair)
                    elif (member := membership(part, outer - made, made)) is not None:
                        members.append(member)
                        keys.append(member.key)
                    elif mixed and top:
                        both.append(part)
                    else:
                        return None
                new = without(below, top)
                if new is None:
                    return None
                new = ops.Select(new, conjunction(*kept), span=here.span) if kept else new
                for one in members:
                    new = one.unnested(new)
                return new
            case ops.Join(kind="inner", left=left, right=right, keys=pairs, condition=condition):
                if not (isinstance(left, ops.Unit) or not ops.columns(left)):
                    if any(ops.used(a) & (outer - ops.columns(left)) for a, _ in pairs):
                        return None
                    if ops.used(condition) & (outer - ops.columns(left) - ops.columns(right)):
                        return None
                    new_left = without(left, False) if ops.free(left) & outer else left
                    new_right = right
                    if new_left is None or ops.free(right) & outer:
                        return None
                    return replace(here, left=new_left, right=new_right)
                # a lookup for the outer tuple itself
                found = without(right, top)
                if found is None or not isinstance(without(left, top), ops.Unit):
                    return None
                for a, b in pairs:
                    keys.append((a, b))
                for part in conjuncts(condition):
                    if ops.used(part) & (outer - ops.columns(right)):
                        if not mixed:
                            return None
                        both.append(part)
                    else:
                        found = ops.Select(found, part)
                return found
            case ops.Project(scalar=scalar) | ops.Unnest(array=scalar):
                below = here.input
                if ops.used(scalar) & (outer - ops.columns(below)):
                    return None
                new = without(below, top)
                return None if new is None else ops.with_inputs(here, new)
            case ops.Order(input=below):
                new = without(below, top)
                return None if new is None else ops.with_inputs(here, new)
            case (
                ops.Number(input=below, partition=partition)
                | ops.Over(input=below, partition=partition)
            ):
                if any(ops.used(one) & (outer - ops.columns(below)) for one in ops.scalars(here)):
                    return None
                before = len(keys)
                if outside or both:
                    return None
                new = without(below, False)
                if new is None or outside or both:
                    return None
                added = tuple(inner for _, inner in keys[before:])
                return replace(here, input=new, partition=(*added, *partition))
            case ops.Distinct(input=below, within=within):
                before = len(keys)
                new = without(below, False)
                if new is None or outside or both:
                    return None
                added = tuple(inner for _, inner in keys[before:])
                return replace(here, input=new, within=(*added, *within))
        return None

    inner = without(plan, True)
    if inner is None or ops.free(inner) & outer:
        return None
    made = ops.columns(inner)
    if any(not ops.used(b) <= made for _, b in keys):
        return None
    return inner, tuple(keys), tuple(outside), tuple(both)


def certain_parts(condition: Scalar) -> list[Scalar]:
    """The conjuncts without `is_true`: it only changes NULL to false, and neither is true."""
    found: list[Scalar] = []
    for part in conjuncts(condition):
        if isinstance(part, Call) and part.function == "is_true":
            found += certain_parts(part.arguments[0])
        else:
            found.append(part)
    return found
