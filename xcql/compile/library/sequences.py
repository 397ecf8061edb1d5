"""Sequences of several kinds of items, made into one where their types allow it."""

from __future__ import annotations

from xcql.compile.library.casts import cast, common_number
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Item
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf, Value, leaves, uniform
from xcql.source import Span


def as_one_leaf(value: Value, scope: Scope, span: Span) -> Leaf:
    """The items as those of one plan; they have to be atomic, and of one type."""
    found = leaves(value)
    if len(found) == 1:
        return found[0]
    types = {leaf.item.type if isinstance(leaf.item, Atomic) else "" for leaf in found}
    if "" in types:
        raise NotNative("a sequence of several kinds of nodes", span)
    if len(types) == 1:
        (type_,) = types
    elif types <= {"xs:integer", "xs:decimal"}:
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
