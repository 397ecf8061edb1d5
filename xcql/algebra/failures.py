"""Which scalars can fail, so that only the tuples that need them may compute them.

parse_double($a.text)                                        can fail
case(is_double_text($a.text), parse_double($a.text), None)   cannot

Joins and groups compute values for more tuples than the query looks at. `doubtful` names the errors
that may come from those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from xcql.algebra.operations import OPERATIONS, Type
from xcql.algebra.operators import (
    Distinct,
    Merge,
    Nest,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Select,
    Unit,
    Unnest,
    inputs,
    scalars,
    walk_plan,
)
from xcql.algebra.scalars import Call, Column, Constant, Given, Lambda, Nested, Scalar, parts

# arithmetic that fails only beyond 64 bits, or beyond the digits of decimals
_ARITHMETIC = frozenset({"+", "-", "*", "negative", "abs"})
_SUMS = frozenset({"+", "-"})
_SMALL = 2**31
_LENGTHS = frozenset({"size", "length_of_text", "octet_length", "bytes_length", "to_int"})
_NUMBERS: frozenset[Type] = frozenset({"double", "decimal", "integer", "int", "number"})
# operators that look at all of their tuples, and the functions that look at all arguments
_COMPLETE = Distinct | Merge | Nest | Number | Order | Over | Project | Unnest
_LAZY = frozenset({"and", "or", "case", "coalesce"})
# reductions that need not look at all tuples
_PARTIAL = frozenset({"any", "exists", "first"})


def doubtful(plan: Plan) -> frozenset[object]:
    """The errors that the plan may raise although the query does not: the numbers of `fail`, and
    the names of evaluations.
    """
    found: set[object] = set()

    def visit(here: Plan, is_sure: bool) -> None:
        if isinstance(here, Select):
            is_sure = is_sure and not _joins(here)
        elif not isinstance(here, _COMPLETE):
            is_sure = False
        for scalar in scalars(here):
            found.update(_errors(scalar, is_sure))
        if isinstance(here, Select):
            is_sure = False
        elif isinstance(here, Nest):
            is_sure = is_sure and not any(one.reduction in _PARTIAL for _, one in here.fields)
        for one in inputs(here):
            visit(one, is_sure)

    visit(plan, True)
    return frozenset(found)


def _joins(plan: Plan) -> bool:
    """Whether a condition may be tested before a join, which would leave out some tuples."""
    return any(
        not isinstance(one, _COMPLETE | Select | Unit) and inputs(one) for one in walk_plan(plan)
    )


def _errors(scalar: Scalar, is_sure: bool) -> Iterator[object]:
    """The doubtful errors of a scalar; evaluations are computed even in branches not taken."""
    pending = [(scalar, is_sure, False)]
    seen: set[tuple[int, bool, bool]] = set()
    while pending:
        here, is_sure, is_lazy = pending.pop()
        if (id(here), is_sure, is_lazy) in seen:
            continue
        seen.add((id(here), is_sure, is_lazy))
        match here:
            case Call(function="fail", arguments=(Constant(value=site), *_)) if not is_sure:
                yield site
            case Call(function="evaluate", arguments=(Constant(value=name), *_)):
                if is_lazy or not is_sure:
                    yield name
            case Nested(plan=plan, value=value):
                inside = (one for operator in walk_plan(plan) for one in scalars(operator))
                pending += ((one, False, False) for one in (*inside, value))
                continue
        has_branches = isinstance(here, Call) and here.function in _LAZY
        for index, one in enumerate(parts(here)):
            is_branch = (has_branches and index > 0) or isinstance(here, Lambda)
            pending.append((one, is_sure, is_lazy or is_branch))


class Failures:
    """What can fail in a plan: its scalars, by what is known about its columns."""

    def __init__(self, plan: Plan) -> None:
        self._definitions = _definitions(plan)
        self._positions = _positions(plan)
        self._known: dict[int, tuple[Scalar, bool]] = {}
        self._types: dict[int, tuple[Scalar, Type | None]] = {}
        self._small: dict[int, tuple[Scalar, bool]] = {}

    def can_fail(self, scalar: Scalar) -> bool:
        """Whether computing the scalar may raise an error."""
        known = self._known.get(id(scalar))
        if known is None:
            known = self._known[id(scalar)] = scalar, self._can_fail(scalar)
        return known[1]

    def _can_fail(self, scalar: Scalar) -> bool:
        match scalar:
            case Column(name=name):
                definitions = self._definitions.get(name, ())
                return any(map(self.can_fail, definitions))
            case Nested():
                return True
            case Call(function="case", arguments=(*branches, otherwise)):
                pairs = list(zip(branches[::2], branches[1::2], strict=True))
                return self.can_fail(otherwise) or any(
                    self.can_fail(condition) or self._fails_after(condition, value)
                    for condition, value in pairs
                )
            case Call(function=function) if OPERATIONS[function].can_fail:
                return not self._is_safe(scalar) or any(map(self.can_fail, parts(scalar)))
        return any(map(self.can_fail, parts(scalar)))

    def _fails_after(self, condition: Scalar, value: Scalar) -> bool:
        """Whether a value may fail where a condition holds."""
        match condition, value:
            case Call(function=test, arguments=(text,)), Call(function=read, arguments=(same,)):
                if test == f"is_{read.removeprefix('parse_')}_text" and text == same:
                    return self.can_fail(text)
        return self.can_fail(value)

    def _is_safe(self, call: Call) -> bool:
        """Whether an operation that can fail does not, for the types and sizes of its arguments."""
        if call.function == "to_double":
            return self._type(call.arguments[0]) in _NUMBERS
        if call.function not in _ARITHMETIC:
            return False
        if call.function in _SUMS and all(map(self._is_small, call.arguments)):
            return True
        return any(self._type(one) == "double" for one in call.arguments)

    def _type(self, scalar: Scalar) -> Type | None:
        """The type of a scalar's values; None if it is not known."""
        known = self._types.get(id(scalar))
        if known is None:
            known = self._types[id(scalar)] = scalar, self._found_type(scalar)
        return known[1]

    def _found_type(self, scalar: Scalar) -> Type | None:
        match scalar:
            case Constant(value=bool()):
                return "boolean"
            case Constant(value=int()):
                return "integer"
            case Constant(value=float()):
                return "double"
            case Constant(value=Decimal()):
                return "decimal"
            case Given(type="integer"):
                return "integer"
            case Column(name=name):
                types = {self._type(one) for one in self._definitions.get(name, ())}
                return types.pop() if len(types) == 1 else None
            case Call(function="case" | "coalesce" as function, arguments=arguments):
                values = arguments
                if function == "case":
                    values = (*arguments[1:-1:2], arguments[-1])
                types = {self._type(one) for one in values if one != Constant(None)}
                return types.pop() if len(types) == 1 else None
            case Call(function=function, arguments=arguments) if function in _ARITHMETIC:
                return "double" if any(self._type(one) == "double" for one in arguments) else None
            case Call(function=function):
                return OPERATIONS[function].result
        return None

    def _is_small(self, scalar: Scalar) -> bool:
        known = self._small.get(id(scalar))
        if known is None:
            known = self._small[id(scalar)] = scalar, self._has_few_digits(scalar)
        return known[1]

    def _has_few_digits(self, scalar: Scalar) -> bool:
        match scalar:
            case Constant(value=int() as value):
                return abs(value) < _SMALL
            case Column(name=name):
                definitions = self._definitions.get(name, ())
                is_computed = bool(definitions) and all(map(self._is_small, definitions))
                return name in self._positions or is_computed
            case Call(function=function, arguments=arguments) if function in _SUMS:
                return all(map(self._is_small, arguments))
            case Call(function=function):
                return function in _LENGTHS
        return False


def _definitions(plan: Plan) -> Mapping[str, tuple[Scalar, ...]]:
    """The scalars that columns stand for; several, if a column is defined in several places."""
    found: dict[str, tuple[Scalar, ...]] = {}
    for one in walk_plan(plan):
        if isinstance(one, Project):
            found[one.name] = (*found.get(one.name, ()), one.scalar)
    return found


def _positions(plan: Plan) -> frozenset[str]:
    """The columns that count tuples or elements."""
    found: set[str] = set()
    for one in walk_plan(plan):
        if isinstance(one, Unnest):
            found.add(one.position)
        elif isinstance(one, Number):
            found.update({one.name} if one.total is None else {one.name, one.total})
    return frozenset(found)
