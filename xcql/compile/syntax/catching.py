"""try/catch: the errors of an expression as values.

    try { xs:integer($t) } catch * { -1 }
                    =>
    case(is_null(error), integer, otherwise=-1)

where `error` is the number of the error that the value would raise (see `xcql.algebra.caught`), and
`integer` is the value without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from xcql.algebra.caught import Caught, Unknown, certain, first
from xcql.algebra.operators import Aggregate, Plan, Select, SortKey, Unit
from xcql.algebra.scalars import FALSE, NULL, TRUE, Constant, Scalar, call, case
from xcql.compile.library.lifting import variable_names
from xcql.compile.result import NotNative
from xcql.compile.terms.items import ArrayItem, Atomic, Failure, Item, MapItem
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import EMPTY, Concat, Each, Single, Value, conditional, leaves
from xcql.evaluate.context import ERR
from xcql.syntax.control import Catch, TryCatch
from xcql.syntax.path import NameTest, Wildcard

_WHOLES = (ArrayItem, MapItem)
_PARTS = (Value, Item, Plan, SortKey, Aggregate)


def _try(expr: TryCatch, scope: Scope) -> Value:
    compilation = scope.compilation
    around = compilation.tried, compilation.named
    compilation.tried, compilation.named = [], []
    try:
        body = value_of(expr.body, scope)
        parts, named = compilation.tried, compilation.named
    finally:
        compilation.tried, compilation.named = around
    sites = {
        number: f"Q{{{ERR}}}{site.code}" if site.code.isupper() else site.code
        for number, site in enumerate(compilation.sites)
        if not site.is_limit
    }
    caught = Caught(sites)
    given = [scope.variables[name] for name in variable_names(expr.body) & scope.variables.keys()]
    if any(_raises(one, caught) for one in (*given, scope.context)):
        # the error may be one of the expression around this one
        raise NotNative("an error of a variable in try", expr.span)
    for one in map(Caught, ({number} for number in sites)):
        if not _raises(body, one) and any(_raises(part, one) for part in parts):
            raise NotNative("an error in try of what is not needed", expr.span)
    if not _raises(body, caught):
        return body
    # whatever is read of an array or a map, all of its members are computed
    named += (one for one in parts if isinstance(one, Single) and isinstance(one.item, _WHOLES))
    needed = {one for value in named for one in _scalars(value) if _raises(one, caught)}
    if not needed <= set(_certain(body)):
        raise NotNative("an error in try of what may not be needed", expr.span)
    try:
        error, value = _error(body, caught), _without(body, caught)
    except Unknown:
        raise NotNative("an error of a sequence in try", expr.span) from None
    for leaf in leaves(body):
        if not isinstance(leaf.item, Atomic | Failure) and _raises(leaf.item, caught):
            raise NotNative("an error inside of a constructed node", expr.span)
    clauses = [
        {number for number, name in sites.items() if _matches(one, name, scope)}
        for one in expr.catches
    ]
    uncaught = [
        one for one in sorted(sites.keys() - set().union(*clauses)) if _raises(body, Caught({one}))
    ]
    result = _uncaught(error, uncaught, body, expr)
    for clause, numbers in reversed(list(zip(expr.catches, clauses, strict=True))):
        if any(":" in name for name in variable_names(clause.body)):
            raise NotNative("the parts of an error", clause.span)
        handled = value_of(clause.body, scope)
        is_one = TRUE if len(numbers) == len(sites) else _is_one_of(error, numbers)
        result = conditional(is_one, handled, result)
    return conditional(call("is_null", error), value, result)


def _uncaught(error: Scalar, numbers: Sequence[int], body: Value, expr: TryCatch) -> Value:
    """What raises the errors that no clause catches, and nothing else, wherever SQL computes it."""
    branches = []
    for one in numbers:
        calls = {call for scalar in _scalars(body) for call in Caught({one}).failures(scalar)}
        if len(calls) != 1:
            raise NotNative("errors in try that are not caught", expr.span)
        branches += [(call("=", error, Constant(one)), found) for found in calls]
    return Single(Failure(case(*branches))) if branches else EMPTY


def _scalars(part: object) -> Iterator[Scalar]:
    """The scalars of a value, but not those of plans whose columns only they have."""
    if isinstance(part, Scalar):
        yield part
    elif isinstance(part, Each) and isinstance(part.plan, Select) and part.plan.input == Unit():
        yield part.plan.condition
        yield from _scalars(part.value)
    elif not isinstance(part, Plan | Each):
        for one in _inside(part):
            yield from _scalars(one)


def _certain(value: Value) -> Iterator[Scalar]:
    """The scalars that are computed whenever a value is, and has any items."""
    match value:
        case Single(item=Atomic(scalar=scalar)) | Single(item=Failure(scalar=scalar)):
            yield from certain(scalar)
        case Each(plan=Select(input=Unit(), condition=condition)):
            yield from certain(condition)
        case Each(value=inner):
            yield from _certain(inner)
        case Concat(values=several, exclusive=exclusive):
            for one in several[:1] if exclusive else several:
                yield from _certain(one)


def _is_one_of(error: Scalar, numbers: set[int]) -> Scalar:
    if not numbers:
        return FALSE
    is_one = call("one_of", error, *map(Constant, sorted(numbers)))
    return call("is_true", is_one)


def _matches(clause: Catch, name: str, scope: Scope) -> bool:
    """Whether a test of a clause matches an error, named `Q{uri}local`."""
    uri, _, local = name.removeprefix("Q{").rpartition("}")
    for test in clause.tests:
        match test:
            case Wildcard(prefix=prefix, local=wanted, uri=known):
                if prefix is not None:
                    known = scope.names.prefixes.get(prefix)
                is_one = wanted in (None, local) and known in (None, uri)
            case NameTest(name=wanted):
                known = wanted.uri or ""
                if wanted.prefix:
                    known = scope.names.prefixes.get(wanted.prefix, "")
                is_one = (known, wanted.local) == (uri, local)
        if is_one:
            return True
    return False


def _raises(part: object, caught: Caught) -> bool:
    """Whether one of the errors is anywhere in a value, an item or a plan."""
    if isinstance(part, Scalar):
        return caught.raises(part)
    if isinstance(part, Plan):
        return caught.plan_raises(part)
    return any(_raises(one, caught) for one in _inside(part))


def _inside(part: object) -> Iterator[object]:
    if isinstance(part, tuple):
        yield from part
    elif isinstance(part, _PARTS):
        for one in fields(part):
            yield getattr(part, one.name)


def _error(value: Value, caught: Caught) -> Scalar:
    """The number of the first error that reading the whole value raises; NULL if there is none."""
    match value:
        case Single(item=Atomic(scalar=scalar, zone=zone)):
            return first(caught.error(scalar), NULL if zone is None else caught.error(zone))
        case Single(item=Failure(scalar=scalar)):
            return caught.error(scalar)
        case Concat(values=several):
            return first(*(_error(one, caught) for one in several))
        case Each(plan=Select(input=Unit(), condition=condition), value=inner):
            holds = caught.without(condition)
            chosen = case((call("is_true", holds), _error(inner, caught)))
            return first(caught.error(condition), NULL if chosen == NULL else chosen)
        case Each(plan=plan, value=Single(item=Atomic(scalar=scalar, zone=None))):
            return caught.error_of_tuples(plan, scalar)
    if _raises(value, caught):
        raise Unknown
    return NULL


def _without(value: Value, caught: Caught) -> Value:
    """The value without errors."""
    match value:
        case Single(item=Atomic() as item):
            zone = None if item.zone is None else caught.without(item.zone)
            return Single(replace(item, scalar=caught.without(item.scalar), zone=zone))
        case Single(item=Failure()):
            return EMPTY
        case Concat(values=several):
            return replace(value, values=tuple(_without(one, caught) for one in several))
        case Each(plan=Select(input=Unit(), condition=condition) as plan, value=inner):
            new = replace(plan, condition=call("is_true", caught.without(condition)))
            return replace(value, plan=new, value=_without(inner, caught))
        case Each(value=inner):
            return replace(value, value=_without(inner, caught))
    return value


EXPRESSIONS: Mapping[Any, Any] = MappingProxyType({TryCatch: _try})
