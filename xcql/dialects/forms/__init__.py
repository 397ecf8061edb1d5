"""The operations of the algebra as SQL trees, in the vocabulary that all dialects share.

Tests: tests/dialects, tests/compile
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from xcql.dialects.forms import (
    arrays,
    casts,
    durations,
    evaluated,
    groups,
    inner,
    logic,
    namespaces,
    nodes,
    numbers,
    texts,
    times,
    windows,
)
from xcql.dialects.forms.registry import Form
from xcql.dialects.trees import call

# operations that are functions of the same name
_SAME_NAME = (
    "abs aggregate array array_distinct array_max array_min ceil coalesce concat contains endswith"
    " exists filter flatten floor greatest least lower named_struct nullif octet_length"
    " replace sort_array startswith struct transform translate upper xpath xpath_boolean"
)
_MODULES = (
    logic,
    casts,
    numbers,
    texts,
    times,
    durations,
    arrays,
    windows,
    groups,
    nodes,
    namespaces,
    inner,
    evaluated,
)


def _joined() -> dict[str, Form]:
    found: dict[str, Form] = {name: partial(call, name) for name in _SAME_NAME.split()}
    for module in _MODULES:
        assert not found.keys() & module.forms.keys(), "two forms of one operation"
        found |= module.forms
    return found


FORMS: Mapping[str, Form] = MappingProxyType(_joined())
