"""Whether there is a number is asked of what it is computed from.

select is_not_null(decimal_multiply(2, parse_decimal($a.text)))   =>   select is_not_null($a.text)

Else it would be computed twice: to see that it is there, and for what it is. Only what says that a
number has too many digits is not said before the number itself is asked for.
"""

from __future__ import annotations

from functools import partial

from xcql.algebra.operators import Plan, with_scalars
from xcql.algebra.rules.everywhere import everywhere
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
    rebuilt,
)

# how many of the arguments decide: NULL if one of them is, and else a value, or a failure
_DECIDING = {"decimal_multiply": 2, "parse_decimal": 1}


def presence(plan: Plan) -> Plan:
    """The plan with simpler questions for NULL."""
    return everywhere(plan, partial(with_scalars, change=_simpler))


def _simpler(scalar: Scalar) -> Scalar:
    match scalar:
        case Call(function="is_not_null", arguments=(Call(function=function) as value,)):
            if function in _DECIDING:
                return _is_there(value)
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
