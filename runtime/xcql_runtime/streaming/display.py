"""The answer on a terminal, kept up to date; or lines of updates if there is no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from xcql.continuous import Update, applied
from xcql_runtime.streaming.sinks import Beginning, ForgetfulSink, as_json


class LiveDisplay:
    """Shows the answer in place: as many of its last items as fit on the screen."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._items: list[str] = []
        self._status = ""
        self._live = Live(self, console=console, auto_refresh=False, transient=False)

    def begin(self, beginning: Beginning) -> int:
        self._items = beginning.query.answer()
        last = beginning.query.last_batch
        self._live.start(refresh=True)
        return -1 if last is None else last

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        applied(updates, self._items)
        self._live.refresh()

    def status(self, text: str) -> None:
        """Show a line below the answer."""
        self._status = text
        self._live.refresh()

    def close(self) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(1, console.height - 3)
        items = self._items
        if len(items) > room:
            yield Text(f"… {len(items) - room} more above", style="dim")
        for item in items[-room:]:
            yield Text(item.replace("\n", " "), no_wrap=True, overflow="ellipsis")
        if self._status:
            yield Text(self._status, style="dim", no_wrap=True, overflow="ellipsis")


class Lines(ForgetfulSink):
    """Writes one update per line: operation, position and item; or as JSON."""

    def __init__(self, output: IO[str], as_json: bool = False) -> None:
        self._output = output
        self._as_json = as_json

    def write(self, batch: int, updates: Sequence[Update]) -> None:
        for update in updates:
            self._output.write((as_json(update) if self._as_json else line(update)) + "\n")
        self._output.flush()


def line(update: Update) -> str:
    """An update as one line of text.

    >>> line(Update(3, "insert", "k", 2, "<a>x</a>", None, None))
    'insert 2 <a>x</a>'
    """
    item = "" if update.item is None else " " + update.item.replace("\n", "&#10;")
    return f"{update.op} {update.position}{item}"
