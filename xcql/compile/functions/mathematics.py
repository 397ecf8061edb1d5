"""The functions of the math namespace."""

from __future__ import annotations

import math
from collections.abc import Callable

from xcql.algebra.scalars import Call, Constant, Scalar, call
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, cast
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions, supported
from xcql.compile.terms.values import EMPTY, Single, Value, nullable

native = NativeFunctions()
MATH = f"{FUNCTIONS}/math"

# a square root is exact everywhere; the last digit of the others may differ between Spark, which
# uses Java's StrictMath, and C: so only the evaluator's own functions compute them
_OF_ONE = ["exp", "exp10", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan"]


@native("pi", 0, uri=MATH)
def _pi(site: CallSite) -> Value:
    return Single(Atomic(Constant(math.pi), "xs:double"))


@native("sqrt", 1, uri=MATH)
def _sqrt(site: CallSite) -> Value:
    return _computed(site, lambda x: call("square_root", x))


def _computed(site: CallSite, compute: Callable[..., Call]) -> Value:
    """A function of doubles; empty if its first argument is."""
    items = [one_atomic(one, site.scope, site.span) for one in site.arguments]
    if items[0] is None:
        return EMPTY
    doubles: list[Scalar] = []
    for item in items:
        if item is None or (item.type not in NUMBERS and item.type != "xs:untypedAtomic"):
            raise NotNative("mathematics of something that is not a number", site.span)
        doubles.append(cast(item, "xs:double", site.scope, site.span).scalar)
    if not all(isinstance(one, Single) for one in site.arguments[1:]):
        raise NotNative("mathematics of a number that may be missing", site.span)
    operation = supported(compute(*doubles), site)
    return nullable(Atomic(operation, "xs:double"), *site.arguments)


def _declare(name: str, arity: int) -> None:
    @native(name, arity, uri=MATH)
    def function(site: CallSite) -> Value:
        return _computed(site, lambda *doubles: call("mathematics", Constant(name), *doubles))


for _name in _OF_ONE:
    _declare(_name, 1)
_declare("pow", 2)
_declare("atan2", 2)
