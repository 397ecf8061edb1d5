"""The functions of the array namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from xcql.diagnostics import error
from xcql.evaluate.functions.higher_order import sorted_by_keys, truth
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import atomize
from xcql.xdm.functions import Item, XdmArray, XdmFunction


@function("array:size(array(*)) as xs:integer")
def size(call: CallContext, array: XdmArray) -> int:
    return len(array)


@function("array:get(array(*), xs:integer) as item()*")
def get(call: CallContext, array: XdmArray, position: int) -> Iterable[Item]:
    return array.get(position)


@function("array:put(array(*), xs:integer, item()*) as array(*)")
def put(call: CallContext, array: XdmArray, position: int, member: Iterable[Item]) -> XdmArray:
    array.get(position)
    members = array.members
    return XdmArray([*members[: position - 1], tuple(member), *members[position:]])


@function("array:append(array(*), item()*) as array(*)")
def append(call: CallContext, array: XdmArray, member: Iterable[Item]) -> XdmArray:
    return XdmArray([*array.members, tuple(member)])


@function("array:subarray(array(*), xs:integer, [xs:integer]) as array(*)")
def subarray(call: CallContext, array: XdmArray, start: int, length: int | None = None) -> XdmArray:
    if length is not None and length < 0:
        raise error("FOAY0002", f"the length of a subarray cannot be {length}")
    end = len(array) + 1 if length is None else start + length
    if not 1 <= start <= len(array) + 1 or end > len(array) + 1:
        raise error("FOAY0001", f"the array has no members {start} to {end - 1}")
    return XdmArray(array.members[start - 1 : end - 1])


@function("array:remove(array(*), xs:integer*) as array(*)")
def remove(call: CallContext, array: XdmArray, positions: Iterable[int]) -> XdmArray:
    removed = set(positions)
    for position in removed:
        array.get(position)
    return XdmArray(m for index, m in enumerate(array.members, 1) if index not in removed)


@function("array:insert-before(array(*), xs:integer, item()*) as array(*)")
def insert_before(
    call: CallContext, array: XdmArray, position: int, member: Iterable[Item]
) -> XdmArray:
    if not 1 <= position <= len(array) + 1:
        raise error("FOAY0001", f"position {position} is outside an array of size {len(array)}")
    before, after = array.members[: position - 1], array.members[position - 1 :]
    return XdmArray([*before, tuple(member), *after])


@function("array:head(array(*)) as item()*")
def head(call: CallContext, array: XdmArray) -> Iterable[Item]:
    return array.get(1)


@function("array:tail(array(*)) as array(*)")
def tail(call: CallContext, array: XdmArray) -> XdmArray:
    array.get(1)
    return XdmArray(array.members[1:])


@function("array:reverse(array(*)) as array(*)")
def reverse(call: CallContext, array: XdmArray) -> XdmArray:
    return XdmArray(reversed(array.members))


@function("array:join(array(*)*) as array(*)")
def join(call: CallContext, arrays: Iterable[XdmArray]) -> XdmArray:
    return XdmArray(chain.from_iterable(array.members for array in arrays))


@function("array:flatten(item()*) as item()*")
def flatten(call: CallContext, items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, XdmArray):
            yield from item.flattened()
        else:
            yield item


@function("array:for-each(array(*), function(item()*) as item()*) as array(*)")
def for_each(call: CallContext, array: XdmArray, action: XdmFunction) -> XdmArray:
    return XdmArray(call.apply(action, member) for member in array.members)


@function("array:filter(array(*), function(item()*) as xs:boolean) as array(*)")
def filter_(call: CallContext, array: XdmArray, predicate: XdmFunction) -> XdmArray:
    return XdmArray(m for m in array.members if truth(call.apply(predicate, m)))


@function("array:fold-left(array(*), item()*, function(item()*, item()*) as item()*) as item()*")
def fold_left(
    call: CallContext, array: XdmArray, start: Iterable[Item], action: XdmFunction
) -> Iterable[Item]:
    result: Iterable[Item] = list(start)
    for member in array.members:
        result = list(call.apply(action, result, member))
    return result


@function("array:fold-right(array(*), item()*, function(item()*, item()*) as item()*) as item()*")
def fold_right(
    call: CallContext, array: XdmArray, start: Iterable[Item], action: XdmFunction
) -> Iterable[Item]:
    result: Iterable[Item] = list(start)
    for member in reversed(array.members):
        result = list(call.apply(action, member, result))
    return result


@function(
    "array:for-each-pair(array(*), array(*), function(item()*, item()*) as item()*) as array(*)"
)
def for_each_pair(
    call: CallContext, left: XdmArray, right: XdmArray, action: XdmFunction
) -> XdmArray:
    pairs = zip(left.members, right.members, strict=False)
    return XdmArray(call.apply(action, a, b) for a, b in pairs)


@function(
    "array:sort(array(*), [xs:string?], [function(item()*) as xs:anyAtomicType*]) as array(*)"
)
def sort(
    call: CallContext, array: XdmArray, collation: str | None = None, key: XdmFunction | None = None
) -> XdmArray:
    rules = call.collation(collation)
    keyed = [
        ([*atomize(member if key is None else call.apply(key, member))], member)
        for member in array.members
    ]
    return XdmArray(member for _, member in sorted_by_keys(keyed, rules))
