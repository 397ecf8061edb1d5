"""Computing values earlier than where they are needed, for tuples that may not need them.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.scalars import (
    NULL,
    Call,
    Constant,
    Lambda,
    Nested,
    Scalar,
    rebuilt,
    remembered,
    walk_scalar,
)


def can_be_apart(scalar: Scalar) -> bool:
    """Whether a scalar is work beyond reading a field, and its failures can be told from values.

    They can if the whole scalar is NULL where a part of it would fail.
    """
    return _is_work(scalar) and _is_null_without_failures(scalar)


@remembered
def without_failures(scalar: Scalar) -> Scalar:
    """The scalar with NULL where it would fail."""
    if isinstance(scalar, Call) and scalar.function == "fail":
        return NULL
    return rebuilt(scalar, without_failures)


@remembered
def _is_work(scalar: Scalar) -> bool:
    match scalar:
        case Call(function="field", arguments=(base, Constant())):
            return _is_work(base)
        case Call():
            return not any(isinstance(one, Nested) for one in walk_scalar(scalar))
    return False


@remembered
def _is_null_without_failures(scalar: Scalar) -> bool:
    if not _may_fail(scalar):
        return True
    match scalar:
        case Call(function="fail"):
            return True
        case Call(function="case", arguments=arguments):
            conditions, values = arguments[:-1:2], (*arguments[1::2], arguments[-1])
            return not any(map(_may_fail, conditions)) and all(
                map(_is_null_without_failures, values)
            )
        case Call(function="with_name", arguments=(value, Lambda(body=body))):
            return not _may_fail(value) and _is_null_without_failures(body)
        case Call(function=name, arguments=arguments):
            # the last argument of what may fail itself is its failure
            known = OPERATIONS[name]
            return (known.is_strict or known.can_fail) and all(
                map(_is_null_without_failures, arguments)
            )
    return False


@remembered
def _may_fail(scalar: Scalar) -> bool:
    return any(isinstance(one, Call) and one.function == "fail" for one in walk_scalar(scalar))
