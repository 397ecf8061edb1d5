"""One object for all scalars that are written in the same way, so that they compare by identity.

Tests: tests/sql/test_naming.py
"""

from __future__ import annotations

from xcql.algebra.scalars import Call, Constant, Lambda, Scalar, rebuilt


class UniqueScalars:
    """The scalars of a plan, without nested plans."""

    def __init__(self) -> None:
        self._known: dict[object, Scalar] = {}
        # by identity, the scalars that have been looked up
        self._found: dict[int, tuple[Scalar, Scalar]] = {}

    def canonical(self, scalar: Scalar) -> Scalar:
        """The object for all scalars like this one."""
        found = self._found.get(id(scalar))
        if found is None:
            found = self._found[id(scalar)] = scalar, self._canonical(scalar)
        return found[1]

    def _canonical(self, scalar: Scalar) -> Scalar:
        new = rebuilt(scalar, self.canonical)
        match new:
            case Call(function=function, arguments=arguments):
                key: object = (function, *map(id, arguments))
            case Lambda(parameters=parameters, body=body):
                key = (parameters, id(body))
            case Constant(value=value):
                # 0.0 and -0.0 are equal, and so are 1.0 and 1.00
                key = (type(value), repr(value))
            case _:
                key = new
        return self._known.setdefault(key, new)
