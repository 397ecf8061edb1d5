"""What a group of tuples is reduced to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xcql.algebra.operators import Aggregate
from xcql.algebra.scalars import Call
from xcql.dialects.dialect import Dialect
from xcql.dialects.trees import (
    Sql,
    copied,
)

# reductions that look at the order of the tuples in every dialect
_ORDERED = frozenset({"collect", "join", "sum_doubles", "first"})


def is_ordered(reduction: str, dialect: Dialect) -> bool:
    """Whether a reduction looks at the order of the tuples."""
    return reduction in _ORDERED or reduction in dialect.ordered


def reduced(
    one: Aggregate,
    known: Mapping[str, Sql],
    sort: list[Sql],
    fields: Collection[str],
    dialect: Dialect,
) -> Sql:
    """A reduction of tuples in an order; of structs, only `fields` are kept."""
    value = one.value
    if isinstance(value, Call) and value.function == "members":
        value = _pruned(value, fields)
    keys = [copied(key) for key in sort] if is_ordered(one.reduction, dialect) else []
    return dialect.forms[f"group_{one.reduction}"](dialect.sql(value, known), *keys)


def _pruned(struct: Call, fields: Collection[str]) -> Call:
    """A struct without the fields that nothing asks for."""
    pairs = [struct.arguments[index : index + 2] for index in range(0, len(struct.arguments), 2)]
    kept = [pair for pair in pairs if pair[0].value in fields]  # type: ignore[attr-defined]
    return Call("members", tuple(part for pair in kept or pairs[:1] for part in pair))
