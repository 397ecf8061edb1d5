"""The packages `xcql.evaluate` and `xcql.translate` can be called like the functions."""

from __future__ import annotations

import importlib

import pytest

import xcql


@pytest.mark.parametrize("name", ["evaluate", "translate"])
def test_a_package_is_called_as_its_function(name: str) -> None:
    package = importlib.import_module(f"xcql.{name}")
    assert getattr(xcql, name)("1 + 1") is not None
    assert str(package("1 + 1")) == str(getattr(package.api, name)("1 + 1"))
