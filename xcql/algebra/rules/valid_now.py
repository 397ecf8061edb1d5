"""In a settled stream, what is valid now is what has not ended.

select overlaps($a.vtFrom, $a.vtTo, :now, :now)        select is_null($a.vtTo)
  extract a                                       =>     extract a

All starts and ends are before `now`. A store keeps rows that have not ended separately, so this
finds them without reading the past.
"""

from __future__ import annotations

from functools import partial

from xcql.algebra.operators import Extract, Follow, Plan, row_column, walk_plan, with_scalars
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import NOW, Call, Scalar, call, once, operations_in, rebuilt


def valid_now(plan: Plan, settled: frozenset[str]) -> Plan:
    """The plan with simpler conditions on the lifespans of settled streams."""
    lifespans = {
        (row_column(one.row, "vtFrom"), row_column(one.row, "vtTo"))
        for one in walk_plan(plan)
        if isinstance(one, Extract | Follow) and one.stream in settled
    }

    @once
    def simpler(scalar: Scalar) -> Scalar:
        if "overlaps" not in operations_in(scalar):
            return scalar
        match scalar:
            case Call(function="overlaps", arguments=(begin, end, first, last)):
                if (begin, end) in lifespans and first == last == NOW:
                    return call("is_null", end)
        return rebuilt(scalar, simpler)

    return everywhere(plan, partial(with_scalars, change=simpler)) if lifespans else plan


RULE = Rule(valid_now, "nothing changes after now, so what is valid now is what has not ended")
