"""Query text and positions in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

_TAB_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Source:
    """A text with a name, such as a query and the file it was read from.

    >>> Source("1 +\\n  ]").position(6)
    (2, 3)
    """

    text: str
    name: str = "<query>"
    # position of the text's start if it is part of a larger text (a line of a huge document)
    first_line: int = 1
    first_column: int = 1
    _line_starts: list[int] = field(default_factory=list, repr=False, compare=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        if not self._line_starts:
            self._line_starts.append(0)
            find = self.text.find
            newline = find("\n")
            while newline >= 0:
                self._line_starts.append(newline + 1)
                newline = find("\n", newline + 1)
        line = bisect_right(self._line_starts, offset)
        column = offset - self._line_starts[line - 1] + 1
        shift = self.first_column - 1 if line == 1 else 0
        return line + self.first_line - 1, column + shift

    def line(self, number: int) -> str:
        """The text of a line, numbered as in `position`, without its line end."""
        self.position(0)
        number -= self.first_line - 1
        if not 1 <= number <= len(self._line_starts):
            return ""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source, from `start` up to but not including `end`."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The smallest span that covers this one and another of the same source."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def excerpt(self) -> tuple[str, str]:
        """The source line where the span starts, and carets that underline the span in it."""
        line, column = self.source.position(self.start)
        text = self.source.line(line)
        if line == self.source.first_line:
            column -= self.source.first_column - 1
        length = max(1, min(self.end - self.start, len(text) - column + 1))
        before = text[: column - 1].expandtabs(_TAB_WIDTH)
        through = text[: column - 1 + length].expandtabs(_TAB_WIDTH)
        width = max(1, len(through) - len(before))
        return text.expandtabs(_TAB_WIDTH), " " * len(before) + "^" * width
