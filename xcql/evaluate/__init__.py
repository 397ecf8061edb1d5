"""The reference evaluator: defines what every query means, in Python, without Spark.

It compiles a query's syntax tree to Python closures (`scope.compile_expression`), in one module
per topic, and runs them over the nodes of `xcql.xdm`. Atomic values are elementpath's.

Tests: tests/evaluate
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xcql.callable_package import make_callable

if TYPE_CHECKING:
    from xcql.evaluate.api import evaluate as evaluate
    from xcql.evaluate.api import prepare as prepare
    from xcql.evaluate.result import Result as Result

__all__ = ["Result", "evaluate", "prepare"]

_LAZY = {
    "Result": "xcql.evaluate.result",
    "evaluate": "xcql.evaluate.api",
    "prepare": "xcql.evaluate.api",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'xcql.evaluate' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


make_callable(__name__, "evaluate")
