"""The functions of the math namespace."""

from __future__ import annotations

import math

from xcql.algebra.scalars import Constant, call
from xcql.analysis.names import FUNCTIONS
from xcql.compile.library.atomization import one_atomic
from xcql.compile.library.casts import NUMBERS, cast
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import EMPTY, Single, Value, nullable

native = NativeFunctions()
MATH = f"{FUNCTIONS}/math"

# Spark uses Java's StrictMath, whose last digit may differ from C's: so sin, cos, tan, exp, log10
# and pow of unusual numbers are left out; a square root is exact everywhere


@native("pi", 0, uri=MATH)
def _pi(site: CallSite) -> Value:
    return Single(Atomic(Constant(math.pi), "xs:double"))


@native("sqrt", 1, uri=MATH)
def _sqrt(site: CallSite) -> Value:
    item = one_atomic(site.arguments[0], site.scope, site.span)
    if item is None:
        return EMPTY
    if item.type not in NUMBERS and item.type != "xs:untypedAtomic":
        raise NotNative(f"mathematics of {item.type}", site.span)
    root = call("square_root", cast(item, "xs:double", site.scope, site.span).scalar)
    return nullable(Atomic(root, "xs:double"), *site.arguments)
