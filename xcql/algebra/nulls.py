"""Which scalars are certainly NULL when something inside them is NULL.

$c.price.text = "3"            is NULL where $c.price is, so testing both is redundant
coalesce($c.price.text, "")    is not
"""

from __future__ import annotations

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.scalars import NULL, Call, Scalar


def is_null_with(scalar: Scalar, value: Scalar) -> bool:
    """Whether the scalar is NULL wherever the value is; False if that is not known."""
    if scalar in (value, NULL):
        return True
    match scalar:
        case Call(function="case", arguments=(*branches, otherwise)):
            pairs = zip(branches[::2], branches[1::2], strict=True)
            return is_null_with(otherwise, value) and all(
                _is_untrue_with(condition, value) or is_null_with(result, value)
                for condition, result in pairs
            )
        case Call(function=function, arguments=arguments) if OPERATIONS[function].is_strict:
            return any(is_null_with(one, value) for one in arguments)
    return False


def _is_untrue_with(condition: Scalar, value: Scalar) -> bool:
    match condition:
        case Call(function="is_not_null" | "present", arguments=(inner,)):
            return is_null_with(inner, value)
        case Call(function="and", arguments=several):
            return any(_is_untrue_with(one, value) for one in several)
    return is_null_with(condition, value)
