"""Errors and warnings for the user, as data and as text.

A `Diagnostic` is built where the error is detected and rendered once, at the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xcql.source import Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: a code, what is wrong, where, and how to fix it.

    `code` is a W3C error code such as `XPST0003` if one exists, else `XCQLnnnn`.
    """

    severity: Severity
    code: str
    message: str
    span: Span | None = None
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def render(self) -> str:
        """The full text: message, position, source line with carets, notes and hints."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span is not None:
            place = f"{self.span.source.name}:{self.span.line}:{self.span.column}"
            text, carets = self.span.excerpt()
            gutter = len(str(self.span.line))
            lines += [
                f"{' ' * gutter}--> {place}",
                f"{' ' * gutter} |",
                f"{self.span.line} | {text}",
                f"{' ' * gutter} | {carets}",
            ]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"help: {hint}" for hint in self.hints]
        return "\n".join(lines)

    def render_concise(self) -> str:
        """One line, in the format that editors recognise as a link to the position."""
        place = ""
        if self.span is not None:
            place = f"{self.span.source.name}:{self.span.line}:{self.span.column}: "
        return f"{place}{self.severity}[{self.code}]: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        result: dict[str, Any] = {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "notes": list(self.notes),
            "hints": list(self.hints),
        }
        if self.span is not None:
            result["source"] = self.span.source.name
            result["line"] = self.span.line
            result["column"] = self.span.column
            result["start"] = self.span.start
            result["end"] = self.span.end
        return result


class XcqlError(Exception):
    """An error in a query or in data.

    >>> import xcql
    >>> try:
    ...     xcql.parse("1 +")
    ... except xcql.XcqlError as error:
    ...     print(error.code, error.line, error.column)
    XPST0003 1 4
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    @property
    def code(self) -> str:
        return self.diagnostic.code

    @property
    def message(self) -> str:
        return self.diagnostic.message

    @property
    def line(self) -> int | None:
        return self.diagnostic.span.line if self.diagnostic.span else None

    @property
    def column(self) -> int | None:
        return self.diagnostic.span.column if self.diagnostic.span else None

    def __str__(self) -> str:
        return self.diagnostic.render()


def error(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    notes: Sequence[str] = (),
    hints: Sequence[str] = (),
) -> XcqlError:
    """An exception ready to be raised: `raise error("XPST0003", "…", span)`."""
    return XcqlError(Diagnostic("error", code, message, span, tuple(notes), tuple(hints)))


def warning(
    code: str, message: str, span: Span | None = None, *, hints: Sequence[str] = ()
) -> Diagnostic:
    """A message about something that works but is better written differently."""
    return Diagnostic("warning", code, message, span, (), tuple(hints))
