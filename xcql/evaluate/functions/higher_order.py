"""Functions that take functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from itertools import zip_longest
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.casting import cast
from xcql.evaluate.collations import Collation
from xcql.evaluate.comparing import order
from xcql.evaluate.functions.qnames import qname_of
from xcql.evaluate.registry import PREFIXES, CallContext, function
from xcql.evaluate.values import atomize
from xcql.xdm.functions import Item, XdmArray, XdmFunction
from xcql.xdm.names import QName


@function("fn:function-lookup(xs:QName, xs:integer) as function(*)?")
def function_lookup(call: CallContext, name: ep.QName, arity: int) -> XdmFunction | None:
    lookup = call.context.evaluation.lookup_function
    if lookup is None:
        return None
    found: XdmFunction | None = lookup(
        QName(name.uri or "", name.local_name, name.prefix or ""), arity, call.context
    )
    return found


@function("fn:function-name(function(*)) as xs:QName?")
def function_name(call: CallContext, subject: XdmFunction) -> ep.QName | None:
    name = subject.name
    if name is None:
        return None
    # a name in the default function namespace was written without a prefix
    return qname_of(QName(name.uri, name.local, name.prefix or PREFIXES.get(name.uri, "")))


@function("fn:function-arity(function(*)) as xs:integer")
def function_arity(call: CallContext, subject: XdmFunction) -> int:
    return subject.arity


@function("fn:for-each(item()*, function(item()) as item()*) as item()*")
def for_each(call: CallContext, items: Iterable[Item], action: XdmFunction) -> Iterator[Item]:
    for item in items:
        yield from call.apply(action, [item])


@function("fn:filter(item()*, function(item()) as xs:boolean) as item()*")
def filter_(call: CallContext, items: Iterable[Item], predicate: XdmFunction) -> Iterator[Item]:
    return (item for item in items if truth(call.apply(predicate, [item])))


def truth(result: Iterable[Item]) -> bool:
    """The boolean that a predicate must return."""
    values = list(atomize(result))
    if len(values) == 1 and type(values[0]) is ep.UntypedAtomic:
        values = [cast(values[0], "boolean")]
    if len(values) != 1 or not isinstance(values[0], bool):
        raise error("XPTY0004", "the function must return one xs:boolean")
    return values[0]


@function("fn:fold-left(item()*, item()*, function(item()*, item()) as item()*) as item()*")
def fold_left(
    call: CallContext, items: Iterable[Item], start: Iterable[Item], action: XdmFunction
) -> Iterable[Item]:
    result: Iterable[Item] = list(start)
    for item in items:
        result = list(call.apply(action, result, [item]))
    return result


@function("fn:fold-right(item()*, item()*, function(item(), item()*) as item()*) as item()*")
def fold_right(
    call: CallContext, items: Iterable[Item], start: Iterable[Item], action: XdmFunction
) -> Iterable[Item]:
    result: Iterable[Item] = list(start)
    for item in reversed(list(items)):
        result = list(call.apply(action, [item], result))
    return result


@function("fn:for-each-pair(item()*, item()*, function(item(), item()) as item()*) as item()*")
def for_each_pair(
    call: CallContext, left: Iterable[Item], right: Iterable[Item], action: XdmFunction
) -> Iterator[Item]:
    for a, b in zip(left, right, strict=False):
        yield from call.apply(action, [a], [b])


@function("fn:apply(function(*), array(*)) as item()*")
def apply(call: CallContext, action: XdmFunction, arguments: XdmArray) -> Iterable[Item]:
    if action.arity != len(arguments):
        raise error(
            "FOAP0001",
            f"the function takes {action.arity} arguments, the array has {len(arguments)}",
        )
    return call.apply(action, *arguments.members)


@function("fn:sort(item()*, [xs:string?], [function(item()) as xs:anyAtomicType*]) as item()*")
def sort(
    call: CallContext,
    items: Iterable[Item],
    collation: str | None = None,
    key: XdmFunction | None = None,
) -> list[Item]:
    rules = call.collation(collation)
    keyed = [
        ([*atomize([item] if key is None else call.apply(key, [item]))], item) for item in items
    ]
    return [item for _, item in sorted_by_keys(keyed, rules)]


def sorted_by_keys(
    keyed: list[tuple[list[Any], Any]], rules: Collation
) -> list[tuple[list[Any], Any]]:
    """Pairs sorted by their keys, which are sequences of atomic values; the sort is stable."""

    def compare(left: tuple[list[Any], Any], right: tuple[list[Any], Any]) -> int:
        for a, b in zip_longest(left[0], right[0]):
            result = order(a, b, rules)
            if result:
                return result
        return 0

    if len(keyed) == 1 and keyed[0][0]:
        return keyed
    return sorted(keyed, key=cmp_to_key(compare))
