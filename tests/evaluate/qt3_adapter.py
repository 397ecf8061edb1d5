"""Runs a QT3 case through the reference evaluator, for ../shared/qt3/run.py."""

from __future__ import annotations

from typing import Any

import xcql


def run(query: str, context_xml: str | None, variables: dict[str, str]) -> list[Any]:
    """The items of the answer; the runner reads the code of an error from the exception."""
    return list(xcql.evaluate(query, context=context_xml, variables=variables))
