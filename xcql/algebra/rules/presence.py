"""Tests for NULL look at the operand, not at the number computed from it.

select is_not_null(decimal_multiply(2, parse_decimal($a.text)))   =>   select is_not_null($a.text)

Otherwise the number would be computed twice: to test it for NULL, and for its value. The only
difference: the error for a number with too many digits is raised when the number is needed.

select present($a.element.name)   =>   select present($a.element.name._start)

Each element has a start. To test an element as a whole, an engine would read all that is in it.
"""

from __future__ import annotations

from functools import partial

from xcql.algebra.operators import Plan, with_scalars
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    FALSE,
    NULL,
    TRUE,
    Call,
    Constant,
    Scalar,
    call,
    case,
    conjunction,
    field,
    is_path,
    operations_in,
    rebuilt,
    remembered,
)

_TESTS = frozenset({"is_not_null", "present"})
# a field that all elements have
_START = "_start"
# how many leading arguments decide: if one is NULL, so is the result; else it is a value or fails
_DECIDING = {"decimal_multiply": 2, "parse_decimal": 1}


def presence(plan: Plan) -> Plan:
    """The plan with simpler tests for NULL."""
    return everywhere(plan, partial(with_scalars, change=_simpler))


@remembered
def _simpler(scalar: Scalar) -> Scalar:
    if operations_in(scalar).isdisjoint(_TESTS):
        return scalar
    match scalar:
        case Call(function="is_not_null", arguments=(Call(function=function) as value,)):
            if function in _DECIDING:
                return _is_there(value)
        case Call(function="present", arguments=(element,)) if is_path(element):
            return call("present", field(element, _START))
    return rebuilt(scalar, _simpler)


def _is_there(value: Scalar) -> Scalar:
    """The condition under which a value is not NULL; it fails where the value does."""
    match value:
        case Constant():
            return FALSE if value == NULL else TRUE
        case Call(function="fail"):
            return value
        case Call(function="case", arguments=(*branches, otherwise)):
            pairs = zip(branches[::2], branches[1::2], strict=True)
            return case(
                *((condition, _is_there(result)) for condition, result in pairs),
                otherwise=_is_there(otherwise),
            )
        case Call(function=function, arguments=arguments) if function in _DECIDING:
            return conjunction(*map(_is_there, arguments[: _DECIDING[function]]))
    return call("is_not_null", value)


RULE = Rule(presence, "test the operand for NULL, not what is computed from it or is in it")
