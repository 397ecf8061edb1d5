"""Several kinds of items as one: the tuples of their plans become those of a single plan.

for $a in (a, b)   =>   merge of a and b, with the columns of both, and a column `kind`;
                        $a is a's item if kind is 0, and b's if it is 1
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

from xcql.algebra.operators import Merge, Order, Plan, SortKey, columns, order
from xcql.algebra.scalars import NULL, Column, Constant, Scalar, call
from xcql.compile.library.casts import cast, common_number
from xcql.compile.library.document_order import key_of
from xcql.compile.library.packing import above_cut, columns_in, new_names
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item
from xcql.compile.terms.scope import Compilation, Scope
from xcql.compile.terms.values import (
    Concat,
    Leaf,
    Single,
    Value,
    guarded,
    leaves,
    merged_order,
    rename,
    uniform,
)
from xcql.source import Span


def merged(
    plans: Sequence[Plan],
    held: Sequence[Sequence[Value]],
    shared: Collection[str],
    compilation: Compilation,
) -> tuple[Plan, list[Value]]:
    """The tuples of all plans in order, with some values for each: the plan, and the new values.

    `shared` columns mean the same in all plans; of the others, a tuple has the columns of its own
    plan that its values use.
    """
    kind = compilation.fresh("kind")
    made: list[tuple[str, tuple[Scalar, ...]]] = [
        (kind, tuple(Constant(index) for index in range(len(plans))))
    ]
    for name in sorted(shared):
        made.append((name, tuple(Column(name) for _ in plans)))
    kept: list[list[Value]] = []
    for index, (plan, values) in enumerate(zip(plans, held, strict=True)):
        cut = [above_cut(value) for value in values]
        looked_at = frozenset().union(*map(columns_in, cut))
        own = sorted((columns(plan) & looked_at) - set(shared))
        names = new_names(own, compilation)
        for name in own:
            scalars: list[Scalar] = [NULL] * len(plans)
            scalars[index] = Column(name)
            made.append((names[name], tuple(scalars)))
        kept.append([rename(value, names) for value in cut])
    shared_order, by = merged_order([order(plan) for plan in plans], compilation.fresh)
    by = (*by, SortKey(Column(kind), "number"))
    plan = Merge(tuple(plans), (*made, *shared_order), by)
    return plan, [_of_its_kind(Column(kind), each) for each in zip(*kept, strict=True)]


def _of_its_kind(kind: Column, values: Sequence[Value]) -> Value:
    """The value that belongs to the tuple's own plan."""
    if all(value == values[0] for value in values):
        return values[0]
    return Concat(
        tuple(
            guarded(call("=", kind, Constant(index)), value) for index, value in enumerate(values)
        ),
        exclusive=True,
    )


def in_one_plan(found: Sequence[Leaf], base: Plan, scope: Scope, span: Span) -> tuple[Plan, Value]:
    """Nodes of several kinds, found for the tuples of a plan, in document order for each."""
    plans = [
        Order(leaf.plan, (*order(base), SortKey(key_of(leaf.item, scope, span), "key")))
        for leaf in found
    ]
    held = [[Single(leaf.item)] for leaf in found]
    plan, (item,) = merged(plans, held, columns(base), scope.compilation)
    return plan, item


def as_one_kind(value: Value, scope: Scope, span: Span) -> tuple[Plan, Value]:
    """The items of a value as tuples of one plan, and the item of a tuple."""
    found = leaves(value)
    if len(found) > 1 and all(isinstance(leaf.item, Atomic) for leaf in found):
        with suppress(NotNative):
            found = [as_one_leaf(value, scope, span)]
    if len(found) == 1:
        return found[0].plan, Single(found[0].item)
    plans = [leaf.plan for leaf in found]
    plan, (item,) = merged(plans, [[Single(leaf.item)] for leaf in found], (), scope.compilation)
    return plan, item


def as_one_leaf(value: Value, scope: Scope, span: Span, only_compared: bool = False) -> Leaf:
    """The items as tuples of one plan; they must be atomic and of one type.

    If they are only compared, integers and decimals may become one type.
    """
    found = leaves(value)
    if len(found) == 1:
        return found[0]
    types = {leaf.item.type if isinstance(leaf.item, Atomic) else "" for leaf in found}
    if "" in types:
        raise NotNative("a sequence of several kinds of nodes", span)
    if len(types) == 1:
        (type_,) = types
    elif only_compared and types <= {"xs:integer", "xs:decimal"}:
        type_ = common_number(list(types))
    else:
        raise NotNative("a sequence of items of several types", span)
    if any(leaf.item.zone is not None for leaf in found):  # type: ignore[attr-defined]
        raise NotNative("a sequence of times with zones", span)

    def read(item: Item):  # type: ignore[no-untyped-def]
        assert isinstance(item, Atomic)
        return cast(item, type_, scope, span).scalar

    made = uniform(value, read, scope.compilation.fresh)
    assert isinstance(made, tuple)
    plan, column = made
    return Leaf(plan, Atomic(column, type_))
