"""Folds: over items that the query lists, by applying the function to each; over data, in arrays.

    fold-left(E, 0, function($a, $b) { $a + $b/x })
                    =>
    aggregate(array of structs with the x of the items of E, 0, (a, s) -> a + s.x)

What a step needs of an item is computed for all items at once, before the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xcql.algebra.operators import Join, Number, Order, Plan, Project, SortKey, columns, used
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    has_nested,
    rebuilt,
)
from xcql.algebra.scalars import field as struct_field
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
    Each,
    Single,
    Value,
    apart,
    concat,
    condition_of,
    each,
    is_optional,
    leaves,
)

native = NativeFunctions()

_LONGEST = 50
# the types of numbers in a fold may change so often
_MOST_ROUNDS = 3


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
    begin = _items(start, site)
    sequence = apart(sequence, site.scope.taken)
    plan, item = as_one_kind(sequence, site.scope, site.span)
    inside = site.scope.within(plan)
    types = [one.type for one in begin]
    for _ in range(_MOST_ROUNDS):
        # numbers may get another type in the first step, which they keep
        step = _Step(site.compilation, columns(plan))
        next_ = _next(code, step.state(types), item, inside, site)
        if len(next_) != len(types):
            raise NotNative("a fold of data into a number of values that grows", site.span)
        changed = [
            (old, new.type) for old, new in zip(types, next_, strict=True) if old != new.type
        ]
        if not changed:
            break
        if not NUMBERS.issuperset(type_ for both in changed for type_ in both):
            raise NotNative("a fold into values of several types", site.span)
        types = [one.type for one in next_]
    else:
        raise NotNative("a fold into values of several types", site.span)
    body = step.over_fields(_state([one.scalar for one in next_]))
    for name, scalar in step.needed.items():
        plan = Project(plan, name, scalar)
    members = Nested(plan, "collect", packed(list(step.needed)))
    first = [
        _in_column_type(cast(one, type_, site.scope, site.span))
        for one, type_ in zip(begin, types, strict=True)
    ]
    function = Lambda((step.result, step.item), body)
    found = Call("aggregate", (members, _state(first), function))
    return concat([Single(one) for one in _parts(found, types)])


def _in_column_type(value: Atomic) -> Scalar:
    """A value of the same SQL type as computed ones: a decimal literal has only its own digits."""
    return call("to_decimal", value.scalar) if value.type == "xs:decimal" else value.scalar


def _state(values: Sequence[Scalar]) -> Scalar:
    """A value, or several as one struct."""
    if len(values) == 1:
        return values[0]
    named = ((Constant(f"value{index}"), one) for index, one in enumerate(values))
    return Call("named_struct", tuple(part for pair in named for part in pair))


def _parts(state: Scalar, types: Sequence[str]) -> list[Atomic]:
    """The values in a state."""
    if len(types) == 1:
        return [Atomic(state, types[0])]
    return [
        Atomic(struct_field(state, f"value{index}"), type_) for index, type_ in enumerate(types)
    ]


def _next(code: Value, so_far: Value, item: Value, inside: Scope, site: CallSite) -> list[Atomic]:
    """The result of one step; its errors are the evaluator's, which takes one step at a time."""
    compilation = site.compilation
    before = compilation.is_lifting
    compilation.is_lifting = True
    try:
        value = applied(code, [so_far, item], inside, site.span)
    finally:
        compilation.is_lifting = before
    return _items(value, site)


def _items(value: Value, site: CallSite) -> list[Atomic]:
    """The items of a value that has the same number of them, of the same types, in any case."""
    match value:
        case Single(item=Atomic(zone=None) as item):
            return [item]
        case Concat(values=several, exclusive=False) if several:
            return [item for one in several for item in _items(one, site)]
        case Concat(
            values=(Each(plan=one, value=then), Each(plan=other, value=otherwise)), exclusive=True
        ) if is_optional(one) and is_optional(other):
            (condition, known), (negated, _) = condition_of(one), condition_of(other)
            sides = _items(then, site), _items(otherwise, site)
            if len(sides[0]) == len(sides[1]) and not known and negated == call("not", condition):
                pairs = zip(*sides, strict=True)
                return [_chosen(condition, a, b, site) for a, b in pairs]
    raise NotNative("a fold of data into other values than some", site.span)


def _chosen(condition: Scalar, a: Atomic, b: Atomic, site: CallSite) -> Atomic:
    """One of two items; an integer is a decimal."""
    types = {a.type, b.type}
    type_ = a.type if len(types) == 1 else "xs:decimal"
    if len(types) > 1 and not types <= {"xs:integer", "xs:decimal"}:
        raise NotNative("a fold into values of several types", site.span)
    then, otherwise = (cast(one, type_, site.scope, site.span).scalar for one in (a, b))
    return Atomic(case((condition, then), otherwise=otherwise), type_)


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

    def state(self, types: Sequence[str]) -> Value:
        """The result so far."""
        return concat([Single(one) for one in _parts(Column(self.result), types)])

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
