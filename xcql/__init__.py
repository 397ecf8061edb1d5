"""XCQL: XQuery with time, over streams of XML fragments.

Nothing heavy is imported until it is used: `import xcql` costs a few milliseconds.

Tests: tests/test_examples.py
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xcql.diagnostics import Diagnostic, XcqlError
from xcql.version import __version__

if TYPE_CHECKING:
    from xcql.evaluate.api import evaluate as evaluate
    from xcql.parser import parse as parse
    from xcql.syntax.emitter import emit as emit
    from xcql.translate.api import translate as translate
    from xcql_runtime.session import Session as Session  # noqa: TID251

__all__ = [
    "Diagnostic",
    "Session",
    "XcqlError",
    "__version__",
    "emit",
    "evaluate",
    "parse",
    "translate",
]

# public name -> the module that defines it, imported at first use
_LAZY = {
    "evaluate": "xcql.evaluate.api",
    "emit": "xcql.syntax.emitter",
    "Session": "xcql_runtime.session",
    "parse": "xcql.parser",
    "translate": "xcql.translate.api",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'xcql' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
