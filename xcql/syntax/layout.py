"""Lays out text: what fits on a line stays on it; the rest is broken, outermost group first.

A document is a string, a list of documents, a `Line`, a `Group` (broken as a whole or not at all)
or a `Indent` (indents the lines inside).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88
INDENT = 2
MOST_INDENT = 40  # deeper nesting would push the text off the page, and make its size quadratic

Doc: TypeAlias = "str | list[Doc] | Line | Group | Indent"


@dataclass(frozen=True, slots=True)
class Line:
    """A line break in a broken group, otherwise the `flat` text. A hard line always breaks."""

    flat: str = " "
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    content: Doc


@dataclass(frozen=True, slots=True)
class Indent:
    content: Doc


LINE = Line()
SOFT_LINE = Line("")
HARD_LINE = Line(hard=True)


def join(separator: Doc, docs: list[Doc]) -> list[Doc]:
    result: list[Doc] = []
    for index, doc in enumerate(docs):
        if index:
            result.append(separator)
        result.append(doc)
    return result


def render(doc: Doc) -> str:
    """The text of a document, in lines of at most `WIDTH` characters where possible."""
    out: list[str] = []
    column = 0
    pending: list[tuple[int, bool, Doc]] = [(0, True, doc)]  # indent, whether broken, document
    while pending:
        indent, broken, current = pending.pop()
        if isinstance(current, str):
            out.append(current)
            newline = current.rfind("\n")
            column = len(current) - newline - 1 if newline >= 0 else column + len(current)
        elif isinstance(current, list):
            pending.extend((indent, broken, part) for part in reversed(current))
        elif isinstance(current, Indent):
            pending.append((min(indent + INDENT, MOST_INDENT), broken, current.content))
        elif isinstance(current, Group):
            fits = _fits(current.content, WIDTH - column, pending)
            pending.append((indent, not fits, current.content))
        elif broken or current.hard:
            out.append("\n" + " " * indent)
            column = indent
        else:
            out.append(current.flat)
            column += len(current.flat)
    return "".join(out)


def _fits(doc: Doc, room: int, after: list[tuple[int, bool, Doc]]) -> bool:
    """Whether a document, with the text up to the next line end, fits if not broken."""
    rest = len(after)
    pending: list[tuple[bool, Doc]] = [(False, doc)]
    while room >= 0:
        if not pending:
            if rest == 0:
                return True
            rest -= 1
            pending.append((after[rest][1], after[rest][2]))
        broken, current = pending.pop()
        if isinstance(current, str):
            newline = current.find("\n")
            if newline >= 0:
                return newline <= room
            room -= len(current)
        elif isinstance(current, list):
            pending.extend((broken, part) for part in reversed(current))
        elif isinstance(current, Indent | Group):
            pending.append((broken and isinstance(current, Indent), current.content))
        elif current.hard:
            return broken  # a hard break inside a flat group means: break the whole group
        elif broken:
            return True
        else:
            room -= len(current.flat)
    return False
