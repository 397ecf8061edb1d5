"""Packages that share their name with a function of `xcql` and can be called like it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, function: str) -> None:
    """Make a package callable: a call runs the given function of its module `api`.

    Importing a package replaces the attribute of `xcql` that has its name. `xcql.evaluate(query)`
    must still work after the package `xcql.evaluate` was imported.
    """

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return getattr(import_module(f"{package}.api"), function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage
