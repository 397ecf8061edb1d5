"""The constructor functions: `xs:integer("12")` casts."""

from __future__ import annotations

from typing import Any

from xcql.evaluate.casting import LIST_TYPES, cast, cast_list
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.atomic import ATOMIC_TYPES

_NO_CONSTRUCTOR = frozenset(["anyAtomicType", "NOTATION", "QName"])


def _declare(name: str) -> None:
    def construct(call: CallContext, value: Any) -> Any:
        return None if value is None else cast(value, name)

    function(f"xs:{name}(xs:anyAtomicType?) as xs:{name}?")(construct)


def _declare_list(name: str) -> None:
    def construct(call: CallContext, value: Any) -> Any:
        return None if value is None else cast_list(value, name)

    function(f"xs:{name}(xs:anyAtomicType?) as xs:{LIST_TYPES[name]}*")(construct)


for _name in [*ATOMIC_TYPES, "numeric", "error"]:
    if _name not in _NO_CONSTRUCTOR:
        _declare(_name)
for _name in LIST_TYPES:
    _declare_list(_name)


@function("xs:QName(xs:anyAtomicType?) as xs:QName?")
def qname(call: CallContext, value: Any) -> Any:
    if value is None:
        return None
    namespaces = {**call.static.namespaces, "": call.static.default_element_namespace}
    return cast(value, "QName", namespaces)
