"""Computing values earlier than where they are needed, for tuples that may not need them.

Tests: tests/algebra/rules
"""

from __future__ import annotations

from xcql.algebra.scalars import NULL, Call, Constant, Nested, Scalar, rebuilt, walk_scalar


def without_failures(scalar: Scalar) -> Scalar:
    """The scalar with NULL where it would fail."""
    if isinstance(scalar, Call) and scalar.function == "fail":
        return NULL
    return rebuilt(scalar, without_failures)


def is_work(scalar: Scalar) -> bool:
    """Whether the scalar computes something, without nested plans, beyond reading a field."""
    match scalar:
        case Call(function="field", arguments=(base, Constant())):
            return is_work(base)
        case Call():
            return not any(isinstance(one, Nested) for one in walk_scalar(scalar))
    return False
