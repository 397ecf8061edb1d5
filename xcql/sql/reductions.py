"""What a group of tuples is reduced to."""

from __future__ import annotations

from collections.abc import Mapping

from xcql.algebra.operators import Aggregate
from xcql.dialects.dialect import Dialect
from xcql.dialects.trees import Sql, call

# reductions that look at the order of the tuples in every dialect
_ORDERED = frozenset({"collect", "join", "sum_doubles", "first"})


def is_ordered(reduction: str, dialect: Dialect) -> bool:
    """Whether a reduction looks at the order of the tuples."""
    return reduction in _ORDERED or reduction in dialect.ordered


def reduced(
    one: Aggregate,
    known: Mapping[str, Sql],
    sort: list[Sql],
    dialect: Dialect,
    *,
    is_framed: bool = False,
) -> Sql:
    """A reduction of tuples in an order; in the frame of a window they are in order already."""
    value = one.value
    if is_framed and one.reduction == "collect":
        return call("collect_list", dialect.sql(value, known))
    keys = list(sort) if is_ordered(one.reduction, dialect) else []
    return dialect.form(f"group_{one.reduction}")(dialect.sql(value, known), *keys)
