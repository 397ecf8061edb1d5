"""Packages that have the name of a function of `xcql`, and stand in for it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def stands_for(package: str, function: str) -> None:
    """Let a package be called like the function of its own name, which its module `api` has.

    Python puts an imported package in the place of whatever `xcql` has under that name; so
    `xcql.evaluate(query)` has to work, too, when `xcql.evaluate` was imported as a package before.
    """

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return getattr(import_module(f"{package}.api"), function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage
