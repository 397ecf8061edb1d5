"""The language as a whole: all constructs and native functions, from the modules that know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xcql.compile.functions import (
    aggregates,
    errors,
    formatting,
    mathematics,
    nodes,
    numbers,
    patterns,
    sequences,
    strings,
    times,
    trees,
)
from xcql.compile.functions import maps as map_functions
from xcql.compile.library.isolation import evaluated
from xcql.compile.syntax import (
    calls,
    comparisons,
    constructed,
    expressions,
    flwor,
    grouping,
    maps,
    paths,
    predicates,
    temporal,
    windows,
)
from xcql.compile.terms.scope import Language

K = TypeVar("K")
V = TypeVar("V")


def _joined(*tables: Mapping[K, V]) -> Mapping[K, V]:
    """Several tables as one; nothing may be in two of them."""
    joined: dict[K, V] = {}
    for table in tables:
        assert not joined.keys() & table.keys()
        joined |= table
    return joined


LANGUAGE = Language(
    expressions=_joined(
        calls.EXPRESSIONS,
        comparisons.EXPRESSIONS,
        constructed.EXPRESSIONS,
        expressions.EXPRESSIONS,
        flwor.EXPRESSIONS,
        maps.EXPRESSIONS,
        paths.EXPRESSIONS,
        predicates.EXPRESSIONS,
        temporal.EXPRESSIONS,
    ),
    clauses=_joined(flwor.CLAUSES, grouping.CLAUSES, windows.CLAUSES),
    functions=_joined(
        aggregates.native,
        errors.native,
        formatting.native,
        map_functions.native,
        mathematics.native,
        nodes.native,
        numbers.native,
        patterns.native,
        sequences.native,
        strings.native,
        times.native,
        trees.native,
    ),
    evaluated=evaluated,
)
