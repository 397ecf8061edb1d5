"""Folds: over items that the query lists, by applying the function to each; over data, in arrays.

    fold-left(E, 0, function($a, $b) { $a + $b/x })
                    =>
    aggregate(array of structs with the x of the items of E, 0, (a, s) -> a + s.x)

What a step needs of an item is computed for all items at once, before the fold.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xcql.algebra.operators import Join, Number, Order, Plan, Project, SortKey, columns, used
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Lambda,
    Nested,
    Scalar,
    has_nested,
    rebuilt,
)
from xcql.algebra.scalars import field as struct_field
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, cast
from xcql.compile.library.function_items import applied
from xcql.compile.library.maps import known_items
from xcql.compile.library.packing import packed
from xcql.compile.library.several_kinds import as_one_kind
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.scope import Compilation, Scope
from xcql.compile.terms.values import (
    EMPTY,
    Concat,
    Single,
    Value,
    apart,
    concat,
    each,
    leaves,
)

native = NativeFunctions()

_LONGEST = 50


@native("fold-left", 3)
def _fold_left(site: CallSite) -> Value:
    sequence, result, code = site.arguments
    if not leaves(sequence):
        return result
    if not _is_listed(sequence):
        return _over_data(site)
    for item in _known_items(sequence, site):
        result = applied(code, [result, item], site.scope, site.span)
    return result


@native("fold-right", 3)
def _fold_right(site: CallSite) -> Value:
    sequence, result, code = site.arguments
    for item in reversed(_known_items(sequence, site)):
        result = applied(code, [item, result], site.scope, site.span)
    return result


@native("for-each-pair", 3)
def _for_each_pair(site: CallSite) -> Value:
    left, right, code = site.arguments
    if not leaves(left) or not leaves(right):
        return EMPTY
    if not (_is_listed(left) and _is_listed(right)):
        return _pairs_of_data(site)
    pairs = zip(_known_items(left, site), _known_items(right, site), strict=False)
    return concat([applied(code, [a, b], site.scope, site.span) for a, b in pairs])


def _is_listed(value: Value) -> bool:
    """Whether the query says how many items there are."""
    match value:
        case Single():
            return True
        case Concat(values=several, exclusive=False):
            return all(map(_is_listed, several))
    return False


def _known_items(value: Value, site: CallSite) -> list[Value]:
    found = known_items(value, site.span)
    if len(found) > _LONGEST:
        raise NotNative("a fold of so many items", site.span)
    return found


def _over_data(site: CallSite) -> Value:
    sequence, start, code = site.arguments
    begin = one_atomic(start, site.scope, site.span) if isinstance(start, Single) else None
    if begin is None or begin.zone is not None:
        raise NotNative("a fold of data into other values than one", site.span)
    sequence = apart(sequence, site.scope.taken)
    plan, item = as_one_kind(sequence, site.scope, site.span)
    inside = site.scope.within(plan)
    types = [begin.type]
    while True:
        # numbers may get another type in the first step, which they keep
        step = _Step(site.compilation, columns(plan))
        so_far = Atomic(Column(step.result), types[-1])
        next_ = _next(code, Single(so_far), item, inside, site)
        if next_.type == types[-1]:
            break
        if next_.type not in NUMBERS or types[-1] not in NUMBERS or len(types) > 2:
            raise NotNative("a fold into values of several types", site.span)
        types.append(next_.type)
    body = step.over_fields(next_.scalar)
    for name, scalar in step.needed.items():
        plan = Project(plan, name, scalar)
    members = Nested(plan, "collect", packed(list(step.needed)))
    first = cast(begin, next_.type, site.scope, site.span).scalar
    function = Lambda((step.result, step.item), body)
    return Single(Atomic(Call("aggregate", (members, first, function)), next_.type))


def _next(code: Value, so_far: Value, item: Value, inside: Scope, site: CallSite) -> Atomic:
    """The result of one step; its errors are the evaluator's, which takes one step at a time."""
    compilation = site.compilation
    before = compilation.is_lifting
    compilation.is_lifting = True
    try:
        value = applied(code, [so_far, item], inside, site.span)
    finally:
        compilation.is_lifting = before
    if not isinstance(value, Single) or not isinstance(value.item, Atomic) or value.item.zone:
        raise NotNative("a fold of data into other values than one", site.span)
    return value.item


@dataclass(slots=True)
class _Step:
    """A step of a fold, as a function of the result so far and of the fields of a struct."""

    compilation: Compilation
    columns: frozenset[str]
    needed: dict[str, Scalar] = field(default_factory=dict)
    number: int = field(init=False)

    def __post_init__(self) -> None:
        self.number = self.compilation.number()

    @property
    def result(self) -> str:
        return f".result{self.number}"

    @property
    def item(self) -> str:
        return f".member{self.number}"

    def over_fields(self, scalar: Scalar) -> Scalar:
        """The scalar with fields in place of the parts that do not depend on the result so far."""
        if self.result not in used(scalar):
            if not has_nested(scalar) and used(scalar).isdisjoint(self.columns):
                return scalar
            return struct_field(Column(self.item), f":{self._field(scalar)}")
        if isinstance(scalar, Nested | Lambda):
            raise NotNative("a fold whose steps look up data by their results")
        return rebuilt(scalar, self.over_fields)

    def _field(self, scalar: Scalar) -> str:
        for name, known in self.needed.items():
            if known == scalar:
                return name
        name = self.compilation.fresh("part")
        self.needed[name] = scalar
        return name


def _pairs_of_data(site: CallSite) -> Value:
    """The items at the same positions of two sequences, joined."""
    fresh = site.compilation.fresh
    taken = site.scope.taken
    found: list[tuple[Plan, Value, Column]] = []
    for argument in site.arguments[:2]:
        plan, item = as_one_kind(apart(argument, taken), site.scope, site.span)
        position = Column(fresh("pair_at"))
        found.append((Number(plan, position.name, span=site.span), item, position))
        taken = taken | columns(found[0][0])
    (left, one, here), (right, other, there) = found
    plan = Join(left, right, ((here, there),), TRUE, span=site.span)
    plan = Order(plan, (SortKey(here, "number"),))
    inside = site.scope.within(plan)
    return each(plan, applied(site.arguments[2], [one, other], inside, site.span))
