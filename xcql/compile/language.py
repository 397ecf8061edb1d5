"""The language as a whole: all constructs and native functions, from their modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xcql.compile.functions import (
    aggregates,
    arrays,
    defined,
    errors,
    folds,
    formatting,
    identifiers,
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
    catching,
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
    """Several tables as one; no key may be in two of them."""
    joined: dict[K, V] = {}
    for table in tables:
        assert not joined.keys() & table.keys()
        joined |= table
    return joined


_SYNTAX = (
    calls,
    catching,
    comparisons,
    constructed,
    expressions,
    flwor,
    maps,
    paths,
    predicates,
    temporal,
)

LANGUAGE = Language(
    expressions=_joined(*(one.EXPRESSIONS for one in _SYNTAX)),
    clauses=_joined(flwor.CLAUSES, grouping.CLAUSES, windows.CLAUSES),
    functions=_joined(
        *(
            one.native
            for one in (
                aggregates,
                arrays,
                defined,
                errors,
                folds,
                formatting,
                map_functions,
                mathematics,
                identifiers,
                nodes,
            )
        ),
        *(one.native for one in (numbers, patterns, sequences, strings, times, trees)),
    ),
    evaluated=evaluated,
)
