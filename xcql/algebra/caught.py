"""Errors of a scalar as values: which error it raises, and its value without errors.

case(is_integer_text($t), parse_integer($t), fail(3, $t))
    the error: case(is_integer_text($t), None, 3)
    without:   case(is_integer_text($t), parse_integer($t), None)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.operators import Plan, scalars, walk_plan
from xcql.algebra.scalars import (
    NULL,
    Call,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    once,
    parts,
    rebuilt,
)
from xcql.algebra.substitution import substituted

# operations that are not strict, but compute all of their arguments
_EAGER = frozenset(
    (
        *("array", "struct", "named_struct", "members", "tuple", "size", "first_of", "or_empty"),
        *("is_null", "is_not_null", "is_true", "present", "nullif", "greatest", "least"),
        *("double_divide", "formatted_number", "is_nan", "is_finite"),
    )
)
# reductions that compute the value for each tuple
_OF_ALL = frozenset(
    (
        *("collect", "join", "single", "sum", "sum_decimals", "sum_doubles"),
        *("min", "max", "min_doubles", "max_doubles"),
    )
)


class Unknown(Exception):
    """It cannot be told whether a scalar raises an error."""


class Caught:
    """The errors with some numbers, which `try` catches; other errors are raised as before."""

    def __init__(self, sites: Collection[int]) -> None:
        self._sites = frozenset(sites)
        self.raises = once(self._raises)
        self.error = once(self._error)
        self.without = once(self._without)

    def _raises(self, scalar: Scalar) -> bool:
        """Whether one of the errors is in a scalar, or in a plan in it.

        The evaluator may raise any error.
        """
        if self._number(scalar) is not None:
            return True
        if isinstance(scalar, Call) and scalar.function == "evaluate":
            return True
        if isinstance(scalar, Nested) and self.plan_raises(scalar.plan):
            return True
        return any(map(self.raises, parts(scalar)))

    def plan_raises(self, plan: Plan) -> bool:
        return any(self.raises(one) for each in walk_plan(plan) for one in scalars(each))

    def failures(self, scalar: Scalar) -> Iterator[Scalar]:
        """The calls that raise the errors, except those in plans."""
        for one in _calls(scalar, in_plans=False):
            if self._number(one) is not None:
                yield one

    def _error(self, scalar: Scalar) -> Scalar:
        """The number of the first error that the scalar raises; NULL if it has a value."""
        if not self.raises(scalar):
            return NULL
        match scalar:
            case Call(function="fail", arguments=(_, value)):
                number = self._number(scalar)
                own = NULL if number is None else Constant(number)
                return first(self.error(value), own)
            case Call(function="case", arguments=(condition, value, *others)):
                rest = Call("case", tuple(others)) if len(others) > 1 else others[0]
                chosen = case(
                    (self.without(condition), self.error(value)), otherwise=self.error(rest)
                )
                return first(self.error(condition), chosen)
            case Call(function="coalesce" | "and" | "or" as function, arguments=(one, *others)):
                if not others:
                    return self.error(one)
                known = self.without(one)
                goes_on = {
                    "coalesce": call("is_null", known),
                    "and": call("is_true", known),
                    "or": call("not", call("is_true", known)),
                }
                rest = self.error(Call(function, tuple(others)))
                return first(self.error(one), case((goes_on[function], rest)))
            case Call(function="with_name", arguments=(value, Lambda((name,), body))):
                return self.error(substituted(body, {name: value}))
            case Call(function="only", arguments=(array, otherwise)):
                size = call("size", self.without(array))
                too_many = call("<", Constant(1), size)
                return first(self.error(array), case((too_many, self.error(otherwise))))
            case Call(function=function, arguments=arguments):
                if OPERATIONS[function].is_strict or function in _EAGER:
                    return first(*map(self.error, arguments))
            case Nested(plan=plan, reduction=reduction, value=value):
                return self.error_of_tuples(plan, value, reduction)
        raise Unknown

    def error_of_tuples(self, plan: Plan, value: Scalar, reduction: str = "collect") -> Scalar:
        """An error among the values for the tuples of a plan, if there can only be one kind."""
        numbers = {self._number(one) for one in _calls(value)} - {None}
        if self.plan_raises(plan) or len(numbers) > 1 or reduction not in _OF_ALL:
            raise Unknown
        return Nested(plan, "min", self.error(value))

    def _without(self, scalar: Scalar) -> Scalar:
        """The scalar with NULL in place of the errors."""
        if not self.raises(scalar):
            return scalar
        return NULL if self._number(scalar) is not None else rebuilt(scalar, self.without)

    def _number(self, scalar: Scalar) -> int | None:
        match scalar:
            case Call(function="fail", arguments=(Constant(value=int(number)), _)):
                return number if number in self._sites else None
        return None


def _calls(scalar: Scalar, in_plans: bool = True) -> Iterator[Scalar]:
    """The scalar and all scalars inside it, each object once."""
    pending = [scalar]
    seen: set[int] = set()
    while pending:
        here = pending.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here
        if isinstance(here, Call) and here.function == "with_name":
            # what fails is read where the name has no meaning
            value, body = here.arguments
            assert isinstance(body, Lambda)
            pending += (value, substituted(body.body, {body.parameters[0]: value}))
        elif not isinstance(here, Nested):
            pending += parts(here)
        elif in_plans:
            inside = (one for plan in walk_plan(here.plan) for one in scalars(plan))
            pending += (here.value, *inside)


def certain(scalar: Scalar) -> Iterator[Scalar]:
    """The scalars inside of a scalar that are computed whenever it is."""
    yield scalar
    match scalar:
        case Call(function="with_name", arguments=(value, Lambda((name,), body))):
            yield from certain(value)
            yield from certain(substituted(body, {name: value}))
        case Call(function=function, arguments=arguments):
            is_whole = OPERATIONS[function].is_strict or function in _EAGER
            for one in arguments if is_whole else arguments[:1]:
                yield from certain(one)
        case Nested(reduction=reduction, value=value) if reduction in _OF_ALL:
            yield from certain(value)


def first(*errors: Scalar) -> Scalar:
    """The first error that there is."""
    known = [one for one in errors if one != NULL]
    if not known:
        return NULL
    return known[0] if len(known) == 1 else Call("coalesce", tuple(known))
