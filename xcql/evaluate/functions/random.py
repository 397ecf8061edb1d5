"""fn:random-number-generator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import string_of
from xcql.xdm.functions import XdmFunction, XdmMap
from xcql.xdm.names import QName


@function("fn:random-number-generator([xs:anyAtomicType?]) as map(*)")
def random_number_generator(call: CallContext, seed: Any = None) -> XdmMap:
    # an evaluation is one instant: without a seed, all its calls return the same generator
    start = call.context.now.isoformat() if seed is None else string_of(seed)
    return _generator(f"xcql {start}")


def _generator(seed: str) -> XdmMap:
    source = random.Random(seed)
    number = source.random()
    following = str(source.getrandbits(64))

    def advance(arguments: list[Iterable[Any]]) -> list[Any]:
        return [_generator(following)]

    def permute(arguments: list[Iterable[Any]]) -> list[Any]:
        items = list(arguments[0])
        random.Random(following + "permute").shuffle(items)
        return items

    return XdmMap(
        [
            ("number", [number]),
            ("next", [XdmFunction(QName("", "next"), 0, None, advance)]),
            ("permute", [XdmFunction(QName("", "permute"), 1, None, permute)]),
        ]
    )
