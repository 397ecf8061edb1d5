"""The answer of a continuous query on a terminal, and updates as lines."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from xcql.continuous import Update
from xcql_runtime.streaming.display import Lines, LiveDisplay


def insert(position: int, item: str) -> Update:
    return Update(1, "insert", f"k{position}", position, item, None, None)


def shown(display: LiveDisplay, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=20, height=height)
    with console.capture() as captured:
        console.print(display)
    return captured.get().splitlines()


def test_the_display_shows_the_answer_and_the_status() -> None:
    display = LiveDisplay(Console(file=io.StringIO()))
    query: Any = SimpleNamespace(answer=lambda: ["<a/>"], last_batch=4)
    assert display.begin(SimpleNamespace(query=query)) == 4
    display.write(5, [insert(2, "<b>two\nlines, cut off</b>")])
    display.status("batch 5")
    display.close()
    assert shown(display) == ["<a/>", "<b>two lines, cut o…", "batch 5"]
    assert shown(display, height=4) == ["… 1 more above", "<b>two lines, cut o…", "batch 5"]


def test_lines() -> None:
    updates = [insert(1, "<a>\n</a>"), Update(1, "delete", "k", 2, None, None, None)]
    text, data = io.StringIO(), io.StringIO()
    Lines(text).write(1, updates)
    assert text.getvalue() == "insert 1 <a>&#10;</a>\ndelete 2\n"
    Lines(data, as_json=True).write(1, updates)
    assert [json.loads(line)["op"] for line in data.getvalue().splitlines()] == ["insert", "delete"]
