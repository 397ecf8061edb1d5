"""Window clauses."""

from __future__ import annotations

from xcql.compile.flwor import Tuples
from xcql.compile.result import NotNative
from xcql.syntax.flwor import Window


def windows(clause: Window, stream: Tuples) -> list[Tuples]:
    raise NotNative("a window clause", clause.span)
