"""Several counts for the same tuples are computed together.

left join on $s.key = $key_2                     left join on $s.key = $key
  left join on $s.key = $key                       s
    s                                     =>       nest by (key := $a.parent):
    nest by (key := $a.parent): n := count             n := count_if(True), m := count_if($a.x > 3)
      a                                              a
  nest by (key_2 := $a.parent): m := count
    select $a.x > 3
      a

Counts over one table are computed in one pass over it; tuples of different tables are merged first.
So there is one grouping and one join, however many counts a query has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from xcql.algebra import operators as ops
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import FALSE, TRUE, Column, Scalar, conjunction, disjunction


class _Counts(NamedTuple):
    """Counts by a key, the value that they are joined to, and the tuples that they are for."""

    outer: Scalar | None
    nest: ops.Nest
    base: ops.Plan | None


class _Part(NamedTuple):
    """Tuples to be counted by condition: each condition, and the names of its counts."""

    plan: ops.Plan
    key: Scalar | None
    conditions: list[tuple[Scalar, list[str]]]


def nests_together(plan: ops.Plan, fresh: Callable[[str], str]) -> ops.Plan:
    """The plan with counts that are joined to the same value combined into one."""
    chain = _chain(plan)
    if len(chain) < 2:
        return ops.with_inputs(plan, *(nests_together(one, fresh) for one in ops.inputs(plan)))
    together = _together([one.nest for one in reversed(chain)], fresh)
    (counted,) = (nests_together(one, fresh) for one in ops.inputs(together))
    together = replace(together, input=counted)
    base, outer = chain[-1].base, chain[0].outer
    if base is None:
        return together
    keys = () if outer is None else ((outer, Column(together.keys[0][0])),)
    return ops.Join(nests_together(base, fresh), together, keys, TRUE, "left", span=plan.span)


def _chain(plan: ops.Plan) -> list[_Counts]:
    """A chain of joins with counts, all joined to the same value."""
    chain: list[_Counts] = []
    here: ops.Plan | None = plan
    while here is not None and (found := _counts(here, bool(chain))) is not None:
        if chain and found.outer != chain[0].outer:
            break
        chain.append(found)
        here = found.base
    return chain


def _counts(plan: ops.Plan, is_below: bool) -> _Counts | None:
    match plan:
        case ops.Join(left=base, right=ops.Nest() as nest, keys=keys, kind="left"):
            if plan.condition != TRUE or len(nest.keys) != len(keys) or not _is_count(nest):
                return None
            match keys:
                case ():
                    return _Counts(None, nest, base)
                case ((outer, Column(name=name)),) if name == nest.keys[0][0]:
                    return _Counts(outer, nest, base)
        case ops.Nest(keys=()) if is_below and _is_count(plan):
            return _Counts(None, plan, None)
    return None


def _is_count(nest: ops.Nest) -> bool:
    return all(one.reduction == "count" for _, one in nest.fields)


def _together(nests: list[ops.Nest], fresh: Callable[[str], str]) -> ops.Nest:
    parts: list[_Part] = []
    for nest in nests:
        _add(nest, parts)
    keys = nests[0].keys
    if len(parts) == 1:
        fields = [
            (name, ops.Aggregate("count_if", condition))
            for condition, names in parts[0].conditions
            for name in names
        ]
        return ops.Nest(parts[0].plan, keys, tuple(fields))
    fields = []
    shared: list[tuple[str, tuple[Scalar, ...]]] = []
    for name, _ in keys:
        shared.append((name, tuple(part.key or TRUE for part in parts)))
    for part in parts:
        for condition, names in part.conditions:
            flag = fresh("holds")
            shared.append((flag, tuple(condition if one is part else FALSE for one in parts)))
            fields += [(name, ops.Aggregate("count_if", Column(flag))) for name in names]
    # tuples that no count includes need not be merged
    plans = (_selected(one) for one in parts)
    merge = ops.Merge(tuple(plans), tuple(shared), ())
    return ops.Nest(merge, tuple((name, Column(name)) for name, _ in keys), tuple(fields))


def _add(nest: ops.Nest, parts: list[_Part]) -> None:
    base, condition = _stripped(nest.input)
    key = nest.keys[0][1] if nest.keys else None
    names = [name for name, _ in nest.fields]
    for part in parts:
        rows = _same_rows(base, part.plan)
        if rows is None or (key is not None and ops.renamed_scalar(key, rows) != part.key):
            continue
        part.conditions.append((ops.renamed_scalar(condition, rows), names))
        return
    parts.append(_Part(base, key, [(condition, names)]))


def _stripped(plan: ops.Plan) -> tuple[ops.Plan, Scalar]:
    """The plan without conditions and order, and the conditions."""
    condition: Scalar = TRUE
    while isinstance(plan, ops.Select | ops.Order):
        if isinstance(plan, ops.Select):
            condition = conjunction(plan.condition, condition)
        plan = plan.input
    return plan, condition


def _same_rows(plan: ops.Plan, other: ops.Plan) -> dict[str, str] | None:
    """The names that a plan's columns have in another plan with the same tuples, or None."""
    match plan, other:
        case ops.Extract(row=row), ops.Extract(row=new) if replace(plan, row=new) == other:
            return {f"{row}.{one}": f"{new}.{one}" for one in ops.ROW_COLUMNS}
    return {} if plan == other else None


def _selected(part: _Part) -> ops.Plan:
    """The tuples of a part for which any of its conditions holds."""
    condition = disjunction(*(one for one, _ in part.conditions))
    return part.plan if condition == TRUE else ops.Select(part.plan, condition)


RULE = Rule(nests_together, "several counts for the same items are counted in one pass")
