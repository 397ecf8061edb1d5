"""Read lines as they are typed: with history and completion on a terminal, plain from a pipe.

Python's own `readline` does the editing, so the prompt needs no further package.

Tests: tests/cli/test_shell.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_HISTORY_LINES = 2000


@contextmanager
def edited_lines(words: Callable[[], list[str]]) -> Iterator[Callable[[str], str | None]]:
    """A function that shows a prompt and reads a line; it returns None at the end of the input.

    `words` are the completions for the Tab key.
    """
    if not sys.stdin.isatty():
        yield _piped
        return
    try:
        import readline
    except ImportError:  # Python was built without it
        yield _typed
        return
    history = _history_file()
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_HISTORY_LINES)
    readline.set_completer_delims(" \t\n/[](){}<>=,;@$'")
    readline.set_completer(completer(words))
    readline.parse_and_bind("tab: complete")
    try:
        yield _typed
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def completer(words: Callable[[], list[str]]) -> Callable[[str, int], str | None]:
    """The function that `readline` calls for the first, second, … word that starts with a text."""
    found: list[str] = []

    def complete(begun: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            found = [word for word in words() if word.startswith(begun)]
        return found[number] if number < len(found) else None

    return complete


def _piped(prompt: str) -> str | None:
    line = sys.stdin.readline()
    return line.removesuffix("\n") if line else None


def _typed(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:  # discard the line, keep the prompt
        print()
        return ""


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "xcql" / "history"
