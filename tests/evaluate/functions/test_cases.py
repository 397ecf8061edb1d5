"""The builtins by example: `cases/<topic>.txt` has pairs of a query and its answer or error.

The answers were compared with SaxonC's; where the standard leaves a choice, our choice is in
`test_choices.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xcql.diagnostics import XcqlError
from xcql.evaluate import evaluate

_FOLDER = Path(__file__).parent / "cases"


def _cases() -> list[object]:
    found: list[object] = []
    for path in sorted(_FOLDER.glob("*.txt")):
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        for number, block in enumerate(blocks, 1):
            query, expected = block.strip().rsplit("\n", 1)
            found.append(pytest.param(query, expected, id=f"{path.stem}-{number}"))
    return found


@pytest.mark.parametrize(("query", "expected"), _cases())
def test_case(query: str, expected: str) -> None:
    if expected.startswith("!! "):
        with pytest.raises(XcqlError) as raised:
            list(evaluate(query))
        assert raised.value.code == expected[3:]
    else:
        answer = [item.string for item in evaluate(query)]
        assert answer == json.loads(expected.removeprefix("=> "))
