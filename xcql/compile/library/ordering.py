"""Sort keys: scalars that sort as values do, and groups in order of appearance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xcql.algebra import operators as ops
from xcql.algebra.scalars import Column, Constant, Scalar, call, case, field
from xcql.compile.library.casts import INSTANTS, NUMBERS, STRINGS, is_plain_zone, on_time_line
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic


def sortable(
    item: Atomic, span: object, empty_greatest: bool = False
) -> tuple[Scalar, ops.KeyKind]:
    """A scalar that sorts as the values do."""
    if item.type == "xs:double":
        # NaN sorts between the numbers and the empty sequence, on whichever side that is
        nan = call("is_nan", item.scalar)
        flag = case(
            (call("is_null", item.scalar), Constant(None)),
            (nan, Constant(2 if empty_greatest else 0)),
            otherwise=Constant(1),
        )
        number = case((nan, Constant(0.0)), otherwise=item.scalar)
        return case(
            (call("is_null", item.scalar), Constant(None)), otherwise=call("struct", flag, number)
        ), "other"
    if item.type in NUMBERS:
        return item.scalar, "other"
    if item.type in STRINGS:
        return item.scalar, "text"
    if item.type in INSTANTS:
        # a date is stored as it reads, but dates with zones are ordered by their midnights
        return item.scalar if is_plain_zone(item.zone) else on_time_line(item), "time"
    if item.type == "xs:boolean":
        return item.scalar, "truth"
    if item.type in ("xs:dayTimeDuration", "xs:yearMonthDuration"):
        return item.scalar, "other"
    raise NotNative(f"sorting by {item.type}", span)  # type: ignore[arg-type]


def in_order_of_appearance(
    nest: ops.Nest, firsts: Sequence[tuple[str, Scalar]], fresh: Callable[[str], str]
) -> ops.Plan:
    """The groups in the order of their first tuples.

    `firsts` are columns to add, with the scalars whose values in the first tuple they hold.
    """
    keys = [key for key in ops.order(nest.input) if not isinstance(key.scalar, Constant)]
    if not keys:
        some = [(name, ops.Aggregate("any", scalar)) for name, scalar in firsts]
        return replace(nest, fields=(*nest.fields, *some))
    first = fresh("first")
    if any(key.descending or key.empty_greatest for key in keys):
        numbered = ops.Number(nest.input, fresh("number"))
        keys = [ops.SortKey(Column(numbered.name), "number")]
        nest = replace(nest, input=numbered)
        if not firsts:
            least = ops.Aggregate("min", Column(numbered.name))
            nest = replace(nest, fields=(*nest.fields, (first, least)))
            return ops.Order(nest, (ops.SortKey(Column(first), "number"),))
    held = (*(key.scalar for key in keys), *(scalar for _, scalar in firsts))
    least = ops.Aggregate("min", call("tuple", *held))
    plan: ops.Plan = replace(nest, fields=(*nest.fields, (first, least)))
    by: list[ops.SortKey] = []
    for index, key in enumerate(keys, 1):
        name = fresh("order")
        plan = ops.Project(plan, name, field(Column(first), f"col{index}"))
        by.append(replace(key, scalar=Column(name)))
    for index, (name, _) in enumerate(firsts, len(keys) + 1):
        plan = ops.Project(plan, name, field(Column(first), f"col{index}"))
    return ops.Order(plan, tuple(by))
