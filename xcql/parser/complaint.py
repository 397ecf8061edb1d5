"""What to say when a query does not parse: the place, what would fit there, and a guess."""

from __future__ import annotations

from antlr4 import Token

from xcql.diagnostics import XcqlError, error
from xcql.source import Source


def complaint(source: Source, tokens: list[Token], index: int) -> XcqlError:
    from xcql.source import Span
    t = tokens[index]
    return error("XPST0003", f"unexpected {t.text}", Span(source, t.start, t.stop + 1))
