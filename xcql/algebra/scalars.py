"""Scalars: values computed from the columns of one tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from xcql.algebra.operators import Plan

Comparison = Literal["<", "<=", ">", ">="]
K = TypeVar("K")
V = TypeVar("V")
# scalars or plans whose properties are kept
_REMEMBERED = 20_000
# what each `remembered` function keeps
_KEPT: list[dict[int, Any]] = []


class KeepsHash:
    """What keeps its hash: trees are keys of many tables, and their hashes are those of all parts.

    It is not a field, because it is another one in each process.
    """

    __slots__ = ("_hash",)
    _hash: int

    def kept_hash(self, *parts: object) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash(parts)
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Scalar(KeepsHash):
    """A value for each tuple; NULL stands for the empty sequence."""


@dataclass(frozen=True, slots=True)
class Column(Scalar):
    """A column of the tuple.

    Names that come from the query have no dots; all names that the compiler makes, such as those of
    a row's columns and of function parameters, have one.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Constant(Scalar):
    """A value known at compile time: None, a truth value, number, string, bytes or instant."""

    value: object

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal in Python, but not here
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Argument(Scalar):
    """A value given when the query runs, such as `now`."""

    name: str


@dataclass(frozen=True, slots=True)
class Given(Argument):
    """A literal of the query whose value the plan does not depend on; it is never NULL."""

    type: Literal["string", "integer"]


@dataclass(frozen=True, slots=True)
class Call(Scalar):
    """An operation on scalars, by its name in `xcql.algebra.operations`."""

    function: str
    arguments: tuple[Scalar, ...]

    def __hash__(self) -> int:
        return self.kept_hash(self.function, self.arguments)


@dataclass(frozen=True, slots=True)
class Lambda(Scalar):
    """A function for each element of an array; its parameters are columns of their own."""

    parameters: tuple[str, ...]
    body: Scalar


@dataclass(frozen=True, slots=True)
class Nested(Scalar):
    """A plan for this tuple, reduced to one value (reduce, in paper 2).

    `reduction` is `count`, `exists`, `collect` (an array, in the plan's order), `join` (a string
    concatenation), `single`, `first`, `sum`, `min`, `max` or `avg`, of `value` for each tuple.
    """

    plan: Plan
    reduction: str
    value: Scalar

    def __hash__(self) -> int:
        return self.kept_hash(self.plan, self.reduction, self.value)


# a comparison, and its equivalent with the sides exchanged
TURNED: Mapping[str, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
TRUE, FALSE, NULL = Constant(True), Constant(False), Constant(None)
NOW = Argument("now")


def call(function: str, *arguments: Scalar) -> Call:
    return Call(function, arguments)


def conjunction(*conditions: Scalar) -> Scalar:
    """The conjunction of the conditions, simplified.

    >>> conjunction(TRUE, Column("a"), TRUE)
    Column(name='a')
    """
    known: list[Scalar] = []
    for condition in conditions:
        for one in conjuncts(condition):
            if one == FALSE:
                return FALSE
            if one not in known:
                known.append(one)
    if not known:
        return TRUE
    return known[0] if len(known) == 1 else Call("and", tuple(known))


def conjuncts(condition: Scalar) -> tuple[Scalar, ...]:
    """The conditions that all have to hold."""
    if condition == TRUE:
        return ()
    if isinstance(condition, Call) and condition.function == "and":
        return tuple(part for one in condition.arguments for part in conjuncts(one))
    return (condition,)


def disjunction(*conditions: Scalar) -> Scalar:
    known = [condition for condition in conditions if condition != FALSE]
    if TRUE in known:
        return TRUE
    if not known:
        return FALSE
    return known[0] if len(known) == 1 else Call("or", tuple(known))


def negation(condition: Scalar) -> Scalar:
    """The negation of a condition that is never NULL."""
    if condition in (TRUE, FALSE):
        return FALSE if condition == TRUE else TRUE
    if isinstance(condition, Call) and condition.function == "not":
        return condition.arguments[0]
    return call("not", condition)


def field(value: Scalar, name: str) -> Scalar:
    return call("field", value, Constant(name))


def is_path(scalar: Scalar) -> bool:
    """Whether a scalar is a field of a column, or a field of its fields.

    >>> is_path(field(field(Column("a.element"), "name"), "_text")), is_path(Column("a.element"))
    (True, False)
    """
    while isinstance(scalar, Call) and scalar.function == "field":
        scalar = scalar.arguments[0]
        if isinstance(scalar, Column):
            return True
    return False


def case(*branches: tuple[Scalar, Scalar], otherwise: Scalar = NULL) -> Scalar:
    """The value of the first condition that holds."""
    kept: list[tuple[Scalar, Scalar]] = []
    for condition, value in branches:
        if condition == TRUE:
            otherwise = value
            break
        if condition != FALSE:
            kept.append((condition, value))
    if not kept:
        return otherwise
    return Call("case", (*(part for branch in kept for part in branch), otherwise))


def let(value: Scalar, name: str, body: Callable[[Scalar], Scalar]) -> Scalar:
    """Build a body that uses a value more than once; a long value gets a name.

    >>> let(Column("a"), "x", lambda x: call("+", x, x))
    Call(function='+', arguments=(Column(name='a'), Column(name='a')))
    """
    if sum(1 for _ in islice(walk_scalar(value), _SHORT + 1)) <= _SHORT:
        return body(value)
    name = f".{name}"
    return call("with_name", value, Lambda((name,), body(Column(name))))


# scalars of up to this many parts are repeated instead of named
_SHORT = 8


def parts(scalar: Scalar) -> tuple[Scalar, ...]:
    """The scalars directly inside a scalar; this does not look into plans."""
    match scalar:
        case Call(arguments=arguments):
            return arguments
        case Lambda(body=body):
            return (body,)
        case Nested(value=value):
            return (value,)
    return ()


def remembered(function: Callable[[K], V]) -> Callable[[K], V]:
    """Cache the function per scalar or plan: rules query the same parts again and again.

    They are looked up by identity: comparing them would take as long as computing the result.
    """
    known: dict[int, tuple[K, V]] = {}
    _KEPT.append(known)

    @wraps(function)
    def found(key: K) -> V:
        kept = known.get(id(key))
        if kept is not None and kept[0] is key:
            return kept[1]
        result = function(key)
        if len(known) >= _REMEMBERED:
            known.clear()
        known[id(key)] = key, result
        return result

    return found


def once(function: Callable[[Scalar], V]) -> Callable[[Scalar], V]:
    """The function, called once for each part that a scalar has in several places.

    A variable that is used twice is one object in two places. In a chain of such variables each
    place is in several places itself: without this, every change would take exponential time.
    """
    known: dict[int, tuple[Scalar, V]] = {}

    @wraps(function)
    def found(scalar: Scalar) -> V:
        kept = known.get(id(scalar))
        if kept is None:
            kept = known[id(scalar)] = scalar, function(scalar)
        return kept[1]

    return found


@contextmanager
def forgetting() -> Iterator[None]:
    """Clear the caches of `remembered` functions after the block; they keep its plans alive."""
    try:
        yield
    finally:
        for known in _KEPT:
            known.clear()


@remembered
def operations_in(scalar: Scalar) -> frozenset[str]:
    """The operations in a scalar, but not those in nested plans."""
    inside = frozenset[str]().union(*map(operations_in, parts(scalar)))
    return inside | {scalar.function} if isinstance(scalar, Call) else inside


def has_nested(scalar: Scalar) -> bool:
    """Whether there are nested plans in a scalar."""
    return not isinstance(scalar, Column | Constant) and _has_nested(scalar)


@remembered
def _has_nested(scalar: Scalar) -> bool:
    return isinstance(scalar, Nested) or any(map(has_nested, parts(scalar)))


def rebuilt(scalar: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """The scalar with `change` applied to the scalars directly inside it."""
    match scalar:
        case Call(arguments=arguments):
            changed = tuple(map(change, arguments))
            return scalar if all(map(is_, changed, arguments)) else Call(scalar.function, changed)
        case Lambda(body=body):
            new = change(body)
            return scalar if new is body else replace(scalar, body=new)
        case Nested(value=value):
            new = change(value)
            return scalar if new is value else replace(scalar, value=new)
    return scalar


def with_plan(nested: Nested, plan: Plan) -> Nested:
    """The reduction of another plan; the same one if it is the same plan."""
    return nested if plan is nested.plan else Nested(plan, nested.reduction, nested.value)


def walk_scalar(scalar: Scalar) -> Iterator[Scalar]:
    """The scalar and all scalars inside it, each object once, except inside nested plans."""
    pending = [scalar]
    seen: set[int] = set()
    while pending:
        here = pending.pop()
        if id(here) not in seen:
            seen.add(id(here))
            yield here
            pending.extend(parts(here))
