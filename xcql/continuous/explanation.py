"""What a continuous query keeps, how that is bounded, and what it has to compute as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from xcql.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a query is kept up to date.

    `unit` names the elements that the answer is kept by, None if it is computed as a whole; `state`
    says what is kept, `time` when the answer changes though nothing arrives. `whole` has a note
    with its place in the query for each part that needs the whole of a stream; `warnings` tell of
    state without bounds.
    """

    unit: str | None
    state: tuple[str, ...]
    time: str
    whole: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def is_incremental(self) -> bool:
        """Whether the work of a trigger grows with what changes, not with the history."""
        return self.unit is not None and not self.whole

    def __str__(self) -> str:
        lines = [f"kept by: {self.unit or 'the whole answer, computed anew when anything changes'}"]
        lines += [f"state: {line}" for line in self.state]
        lines.append(f"time: {self.time}")
        lines += [f"whole: {_told(note)}" for note in self.whole]
        lines += [f"warning: {_told(note)}" for note in self.warnings]
        return "\n".join(lines)


def _told(note: Diagnostic) -> str:
    if note.span is None or not note.span.source.text:
        return note.message
    return f"{note.message} (line {note.span.line}, column {note.span.column})"
