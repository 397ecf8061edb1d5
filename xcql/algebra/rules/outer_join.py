"""Nested plans become joins: a nested query does not run as a job inside a job.

    project n := count(for t with t.ref = $p.id)      left join on $p.id = ref
      p                                          =>     p
                                                        nest by (ref): n := count

A condition that only tests for existence becomes a semi-join or an anti-join. If the nested plan
depends on its tuple by more than equal values, it is evaluated for all tuples at once, and its
results are grouped by the tuples' identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.correlation import split
from xcql.algebra.rewriting.liveness import is_ordered
from xcql.algebra.rewriting.lookups import looked_up
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.rewriting.semi_join import semi_join
from xcql.algebra.rules.join_keys import join_keys
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
    conjunction,
    conjuncts,
    has_nested,
    once,
    parts,
    rebuilt,
)

Fresh = Callable[[str], str]

# operators of a plan that is evaluated for all tuples at once; Spark could not run a larger one
MOST = 1_500


@dataclass(frozen=True, slots=True)
class _Run:
    """One application of the rule: the results of nested plans that have columns already."""

    fresh: Fresh
    known: dict[Nested, Scalar] = field(default_factory=dict)


def outer_join(plan: ops.Plan, fresh: Fresh) -> ops.Plan:
    """The plan without nested plans."""
    return _unnested(plan, _Run(fresh))


def _unnested(plan: ops.Plan, run: _Run) -> ops.Plan:
    if isinstance(plan, ops.Project) and isinstance(plan.input, ops.Project):
        return _projected_together(plan, run)
    plan = ops.with_inputs(plan, *(_unnested(one, run) for one in ops.inputs(plan)))
    if not any(_nested(scalar) for scalar in ops.scalars(plan)):
        return plan
    match plan:
        case ops.Select():
            return _selected(plan, run)
        case ops.Merge():
            return _merged(plan, run)
        case ops.Nest() | ops.Join():
            return _projected_first(plan, run)
    (base,) = ops.inputs(plan)
    base, known = _joined(
        base, [one for scalar in ops.scalars(plan) for one in _nested(scalar)], run
    )
    return ops.with_scalars(ops.with_inputs(plan, base), lambda one: _with_columns(one, known))


def _projected_together(plan: ops.Project, run: _Run) -> ops.Plan:
    """A chain of columns: what their nested plans have in common is joined once."""
    chain: list[ops.Project] = []
    base: ops.Plan = plan
    while isinstance(base, ops.Project):
        chain.append(base)
        base = base.input
    base = _unnested(base, run)
    wanted = [
        one
        for project in reversed(chain)
        for one in _nested(project.scalar)
        if not ops.used(one) & {earlier.name for earlier in chain}
    ]
    base, known = _joined(base, wanted, run)
    for project in reversed(chain):
        scalar = _with_columns(project.scalar, known)
        base = ops.Project(base, project.name, scalar, span=project.span)
        if _nested(scalar):
            below, more = _joined(base.input, _nested(scalar), run)
            base = ops.Project(below, project.name, _with_columns(scalar, more), span=project.span)
    return base


def _nested(scalar: Scalar) -> list[Nested]:
    """The outermost nested plans in a scalar."""
    found: list[Nested] = []
    pending = [scalar] if has_nested(scalar) else []
    seen: set[int] = set()
    while pending:
        here = pending.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, Nested):
            found.append(here)
        elif isinstance(here, Call):
            pending.extend(reversed(here.arguments))
        else:
            pending.extend(parts(here))
    return found


def _with_columns(scalar: Scalar, known: dict[Nested, Scalar]) -> Scalar:
    @once
    def inside(one: Scalar) -> Scalar:
        if not has_nested(one):
            return one
        if isinstance(one, Nested) and one in known:
            return known[one]
        return rebuilt(one, inside)

    return inside(scalar)


def _merged(plan: ops.Merge, run: _Run) -> ops.Plan:
    """Compute the columns that need nested plans in each input."""
    below = list(plan.inputs)
    shared: list[tuple[str, tuple[Scalar, ...]]] = []
    for name, each in plan.columns:
        row: list[Scalar] = []
        for index, scalar in enumerate(each):
            if _nested(scalar):
                column = run.fresh(name)
                below[index] = ops.Project(below[index], column, scalar)
                scalar = Column(column)
            row.append(scalar)
        shared.append((name, tuple(row)))
    new = replace(plan, inputs=tuple(below), columns=tuple(shared))
    return _unnested(new, run)


def _projected_first(plan: ops.Plan, run: _Run) -> ops.Plan:
    """Compute the scalars with nested plans before the operator."""
    if isinstance(plan, ops.Join):
        if any(_nested(one) for one in conjuncts(plan.condition)) and plan.kind == "inner":
            condition = plan.condition
            return _unnested(ops.Select(replace(plan, condition=TRUE), condition), run)
        left, right = plan.left, plan.right
        keys = []
        for a, b in plan.keys:
            if _nested(a):
                name = run.fresh("key")
                left, a = ops.Project(left, name, a), Column(name)
            if _nested(b):
                name = run.fresh("key")
                right, b = ops.Project(right, name, b), Column(name)
            keys.append((a, b))
        return _unnested(replace(plan, left=left, right=right, keys=tuple(keys)), run)
    assert isinstance(plan, ops.Nest)
    below = plan.input

    def before(scalar: Scalar) -> Scalar:
        nonlocal below
        if not _nested(scalar):
            return scalar
        name = run.fresh("value")
        below = ops.Project(below, name, scalar)
        return Column(name)

    new = ops.with_scalars(plan, before)
    return _unnested(ops.with_inputs(new, below), run)


# conditions


def _selected(plan: ops.Select, run: _Run) -> ops.Plan:
    base = plan.input
    rest: list[Scalar] = []
    for part in conjuncts(plan.condition):
        joined = semi_join(base, part, lambda inner: _unnested(join_keys(inner), run), run.fresh)
        if joined is not None:
            base = joined
        else:
            rest.append(part)
    if not rest:
        return base
    base, known = _joined(base, [one for part in rest for one in _nested(part)], run)
    condition = conjunction(*(_with_columns(part, known) for part in rest))
    return ops.Select(base, condition, span=plan.span)


# values


def _joined(
    base: ops.Plan, nested: list[Nested], run: _Run
) -> tuple[ops.Plan, dict[Nested, Scalar]]:
    """The tuples with the results of the nested plans, and the columns that hold them."""
    there = ops.columns(base)
    # a condition below may have needed it: its column still has the value for this tuple
    before = {
        one: run.known[one]
        for one in nested
        if one in run.known and ops.used(run.known[one]) <= there
    }
    base, known = _with_lookups(base, [one for one in nested if one not in before], run)
    groups: dict[ops.Plan, list[Nested]] = {}
    for one in (inner for scalar in known.values() for inner in _nested(scalar)):
        if one not in groups.setdefault(one.plan, []):
            groups[one.plan].append(one)
    results: dict[Nested, Scalar] = {}
    joined = base
    for plan, several in groups.items():
        joined = _with_nest(joined, base, plan, several, results, run)
    found = {one: _with_columns(scalar, results) for one, scalar in known.items()}
    run.known.update(found)
    return joined, before | found


def _with_lookups(
    base: ops.Plan, nested: Sequence[Nested], run: _Run
) -> tuple[ops.Plan, dict[Nested, Scalar]]:
    """The tuples with what nested plans look up for them, and what is left of these plans."""
    known: dict[Nested, Scalar] = {}
    for one in nested:
        found = None
        if one not in known and not isinstance(base, ops.Unit):
            found = looked_up(base, one, lambda right: _unnested(join_keys(right), run), run.fresh)
        if found is None:
            known.setdefault(one, one)
            continue
        base, value = found
        base, inner = _with_lookups(base, _nested(value), run)
        known[one] = _with_columns(value, inner)
    return base, known


def _with_nest(
    joined: ops.Plan,
    base: ops.Plan,
    plan: ops.Plan,
    several: list[Nested],
    known: dict[Nested, Scalar],
    run: _Run,
) -> ops.Plan:
    """The tuples with the results of one nested plan; it uses only columns of `base`."""
    fields = tuple(
        (run.fresh(one.reduction), ops.Aggregate(one.reduction, one.value)) for one in several
    )
    for (name, _), one in zip(fields, several, strict=True):
        known[one] = _or_nothing(Column(name), one)
    outer = ops.columns(base)
    values_outer = any(ops.used(one.value) & (outer - ops.columns(plan)) for one in several)
    looks = ops.free(plan) & outer
    if not looks and not values_outer:
        inner = _unnested(join_keys(ops.Nest(plan, (), fields)), run)
        if isinstance(joined, ops.Unit):
            return inner
        return ops.Join(joined, inner, (), TRUE, "left")
    if not values_outer:
        found = split(plan, outer, mixed=False)
        if found is not None and found[1]:
            inner, keys, outside, _ = found
            named = [(run.fresh("key"), b) for _, b in keys]
            nest = ops.Nest(inner, tuple(named), fields)
            pairs = tuple((a, Column(name)) for (a, _), (name, _) in zip(keys, named, strict=True))
            right = _unnested(join_keys(nest), run)
            return ops.Join(joined, right, pairs, conjunction(*outside), "left")
    # for all tuples at once
    if sum(1 for _ in ops.walk_plan(base)) + sum(1 for _ in ops.walk_plan(plan)) > MOST:
        raise ops.PlanTooLarge
    apart = ops.identity(base)
    named = [(run.fresh("key"), one) for one in apart]
    grafted = ops.graft(plan, base)
    if any(is_ordered(one) for _, one in fields):
        grafted = _in_own_order(grafted, base)
    nest = ops.Nest(grafted, tuple(named), fields)
    unsure = _unsure(base)
    pairs = tuple((one, Column(name)) for name, one in named if one not in unsure)
    same = (call("<=>", one, Column(name)) for name, one in named if one in unsure)
    return ops.Join(joined, _unnested(join_keys(nest), run), pairs, conjunction(*same), "left")


def _in_own_order(grafted: ops.Plan, base: ops.Plan) -> ops.Plan:
    """The tuples for each one of `base`: they are not ordered by what that one has."""
    by = ops.order(grafted)
    outer = ops.columns(base)
    kept = tuple(key for key in by if not (looks := ops.used(key.scalar)) or not looks <= outer)
    if len(kept) == len(by):
        return grafted
    below = grafted.input if isinstance(grafted, ops.Order) else grafted
    return ops.Order(below, kept, span=grafted.span)


def _unsure(plan: ops.Plan) -> set[Scalar]:
    """The identifying columns that may be NULL: comparing them must treat NULL as equal to NULL.

    These are the keys of groups, and the order columns of merged tuples: not every input of a merge
    has all keys.
    """
    sure: set[Scalar] = set()
    unsure: set[Scalar] = set()
    for one in ops.walk_plan(plan):
        match one:
            case ops.Extract(row=row) | ops.Follow(row=row):
                sure.add(ops.row_column(row, "key"))
            case ops.Nest(keys=keys):
                unsure.update(Column(name) for name, _ in keys)
            case _:
                continue
    for one in ops.walk_plan(plan):
        if isinstance(one, ops.Merge):
            unsure.update(
                Column(name)
                for name, several in one.columns
                if any(
                    scalar not in sure and (scalar == NULL or not isinstance(scalar, Constant))
                    for scalar in several
                )
            )
    return unsure


def _or_nothing(column: Scalar, nested: Nested) -> Scalar:
    """The column, with the reduction's value for no tuples where it is NULL."""
    match nested.reduction:
        case "count":
            return call("coalesce", column, Constant(0))
        case "exists":
            return call("coalesce", column, FALSE)
        case "join":
            return call("coalesce", column, Constant(""))
        case "collect":
            return call("or_empty", column)
    return column


RULE = Rule(outer_join, "nested queries become joins with groups")
