"""What users provide: Python functions that queries call, and values of external variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xcql.compile.catalog import Externals
from xcql.diagnostics import XcqlError, error
from xcql.evaluate import registry
from xcql.evaluate.casting import cast, is_ncname
from xcql.evaluate.context import FN
from xcql.evaluate.python_values import from_python
from xcql.evaluate.types import AtomicItemType, ValueType, builtin_type
from xcql.evaluate.values import kind_of
from xcql.model.read import read_bytes
from xcql.xdm.atomic import ATOMIC_TYPES
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import Node
from xcql.xdm.parse import utf8_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class ExternalFunction:
    """A Python function under the name that queries call it by.

    Its result is cast to the type `returns`, if there is one. A vectorised function gets Arrow
    arrays, one per argument, and returns an array of the same length.
    """

    name: str
    function: Callable[..., Any]
    returns: str | None = None
    vectorised: bool = False

    def __call__(self, *arguments: Any) -> Any:
        if self.vectorised:
            array = self.function(*(pa.array([argument]) for argument in arguments))
            if not isinstance(array, pa.Array | pa.ChunkedArray) or len(array) != 1:
                raise TypeError("it must return an Arrow array as long as its arguments")
            value = array[0].as_py()
        else:
            value = self.function(*arguments)
        return value if self.returns is None else _cast(value, self.returns, self.name)


def external_function(
    name: str, function: Callable[..., Any], returns: str | None, vectorised: bool
) -> ExternalFunction:
    """The function, if the name can be used and the return type is valid."""
    if not is_ncname(name):
        raise error("XCQL0502", f"'{name}' cannot be the name of a function")
    if registry.arities(FN, name):
        raise error(
            "XCQL0502",
            f"a function {name}() already exists, and queries would call that one",
            hints=["register it under another name"],
        )
    if returns is not None:
        _sequence_type(returns)
    return ExternalFunction(name, function, returns, vectorised)


def _sequence_type(text: str) -> ValueType:
    try:
        wanted = builtin_type(registry.read_type(text))
    except (KeyError, ValueError, IndexError):
        raise _no_type(text) from None
    if isinstance(wanted.item, AtomicItemType) and wanted.item.name not in ATOMIC_TYPES:
        raise _no_type(text)
    return wanted


def _no_type(text: str) -> XcqlError:
    return error(
        "XCQL0502",
        f"'{text}' is not a type that a function can return",
        hints=["write a type such as xs:double, xs:string? or element()*"],
    )


def _cast(value: Any, type: str, name: str) -> list[Any]:
    """Cast a function's result to its declared type; this casts more than XQuery would."""
    wanted = _sequence_type(type)
    items = list(from_python(value))
    if isinstance(wanted.item, AtomicItemType):
        items = [
            item if isinstance(item, Node | XdmFunction) else cast(item, wanted.item.name)
            for item in items
        ]
    if not wanted.matches(items):
        found = ", ".join(kind_of(item) for item in items[:3]) or "nothing"
        raise error("XPTY0004", f"{name}() must return {type}; it returned {found}")
    return items


def split_variables(
    variables: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, DataFrame]]:
    """Split variables into Python values and DataFrames, by name.

    A value that has no counterpart in a query is an error here. Files are also read here, because
    workers may not have access to them.
    """
    values: dict[str, Any] = {}
    frames: dict[str, DataFrame] = {}
    for name, value in variables.items():
        if _is_frame(value):
            frames[name] = value
        elif isinstance(value, Path):
            values[name] = utf8_bytes(read_bytes(value), str(value)).decode().lstrip()
        else:
            values[name] = value
            for _ in from_python(value):
                pass
    return values, frames


def _is_frame(value: Any) -> bool:
    """Whether a value is a DataFrame, without importing Spark: then there is none."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and isinstance(value, spark.DataFrame)


def as_externals(
    values: Mapping[str, Any],
    frames: Mapping[str, DataFrame],
    functions: Mapping[str, ExternalFunction],
    context: str | None = None,
) -> Externals:
    """The external functions and variables, as the compiler needs them."""
    return Externals(
        values,
        {name: tuple(frame.columns) for name, frame in frames.items()},
        {name: function.returns or "item()*" for name, function in functions.items()},
        context,
    )
