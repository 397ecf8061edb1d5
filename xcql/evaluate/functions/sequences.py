"""Functions on sequences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.comparing import bucket, same_value
from xcql.evaluate.deep_equal import deep_equal as is_deep_equal
from xcql.evaluate.functions.strings import rounded_range
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import effective_boolean
from xcql.xdm.functions import Item


@function("fn:true() as xs:boolean")
def true(call: CallContext) -> bool:
    return True


@function("fn:false() as xs:boolean")
def false(call: CallContext) -> bool:
    return False


@function("fn:boolean(item()*) as xs:boolean")
def boolean(call: CallContext, items: Iterable[Item]) -> bool:
    return effective_boolean(items)


@function("fn:not(item()*) as xs:boolean")
def not_(call: CallContext, items: Iterable[Item]) -> bool:
    return not effective_boolean(items)


@function("fn:empty(item()*) as xs:boolean")
def empty(call: CallContext, items: Iterable[Item]) -> bool:
    return not any(True for _ in items)


@function("fn:exists(item()*) as xs:boolean")
def exists(call: CallContext, items: Iterable[Item]) -> bool:
    return any(True for _ in items)


@function("fn:head(item()*) as item()?")
def head(call: CallContext, items: Iterable[Item]) -> Item | None:
    return next(iter(items), None)


@function("fn:tail(item()*) as item()*")
def tail(call: CallContext, items: Iterable[Item]) -> Iterable[Item]:
    return itertools.islice(items, 1, None)


@function("fn:insert-before(item()*, xs:integer, item()*) as item()*")
def insert_before(
    call: CallContext, items: Iterable[Item], position: int, inserts: Iterable[Item]
) -> Iterator[Item]:
    rest = iter(items)
    yield from itertools.islice(rest, min(max(position - 1, 0), 2**62))
    yield from inserts
    yield from rest


@function("fn:remove(item()*, xs:integer) as item()*")
def remove(call: CallContext, items: Iterable[Item], position: int) -> Iterator[Item]:
    return (item for index, item in enumerate(items, 1) if index != position)


@function("fn:reverse(item()*) as item()*")
def reverse(call: CallContext, items: Iterable[Item]) -> Iterator[Item]:
    return reversed(items if isinstance(items, (list, tuple, range)) else list(items))


@function("fn:subsequence(item()*, xs:double, [xs:double]) as item()*")
def subsequence(
    call: CallContext, items: Iterable[Item], start: float, length: float | None = None
) -> Iterable[Item]:
    first, last = rounded_range(start, length)
    if first is None or first > 2**62:
        return ()
    if isinstance(items, (range, list, tuple)):
        return items[first:last]
    return itertools.islice(items, first, None if last is None else min(last, 2**62))


@function("fn:unordered(item()*) as item()*")
def unordered(call: CallContext, items: Iterable[Item]) -> Iterable[Item]:
    return items


@function("fn:distinct-values(xs:anyAtomicType*, [xs:string]) as xs:anyAtomicType*")
def distinct_values(
    call: CallContext, values: Iterable[Any], collation: str | None = None
) -> Iterator[Any]:
    rules = call.collation(collation)
    seen: dict[Any, list[Any]] = {}
    for value in values:
        alike = seen.setdefault(bucket(value, rules), [])
        if not any(same_value(value, other, rules) for other in alike):
            alike.append(value)
            yield value


@function("fn:index-of(xs:anyAtomicType*, xs:anyAtomicType, [xs:string]) as xs:integer*")
def index_of(
    call: CallContext, values: Iterable[Any], wanted: Any, collation: str | None = None
) -> Iterator[int]:
    rules = call.collation(collation)
    for index, value in enumerate(values, 1):
        if value == value and same_value(value, wanted, rules):
            yield index


@function("fn:deep-equal(item()*, item()*, [xs:string]) as xs:boolean")
def deep_equal(
    call: CallContext, left: Iterable[Item], right: Iterable[Item], collation: str | None = None
) -> bool:
    return is_deep_equal(left, right, call.collation(collation))


@function("fn:zero-or-one(item()*) as item()?")
def zero_or_one(call: CallContext, items: Iterable[Item]) -> Item | None:
    first = list(itertools.islice(items, 2))
    if len(first) > 1:
        raise error("FORG0003", "zero-or-one() got a sequence of several items")
    return first[0] if first else None


@function("fn:one-or-more(item()*) as item()+")
def one_or_more(call: CallContext, items: Iterable[Item]) -> Iterable[Item]:
    rest = iter(items)
    for first in rest:
        return itertools.chain([first], rest)
    raise error("FORG0004", "one-or-more() got an empty sequence")


@function("fn:exactly-one(item()*) as item()")
def exactly_one(call: CallContext, items: Iterable[Item]) -> Item:
    first = list(itertools.islice(items, 2))
    if len(first) != 1:
        found = "several items" if first else "an empty sequence"
        raise error("FORG0005", f"exactly-one() got {found}")
    return first[0]
