"""The parser's view of the tokens: a list that is complete before parsing begins.

ANTLR's own stream fetches tokens one by one and filters channels; neither is needed here, and
a plain list halves the time of a lookahead.
"""

from __future__ import annotations

from antlr4 import Token


class TokenList:
    """The token stream interface of ANTLR's parser, over a list that ends with EOF."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.tokenSource = None
        self._last = len(tokens) - 1

    @property
    def size(self) -> int:
        return len(self.tokens)

    def get(self, index: int) -> Token:
        return self.tokens[index]

    def LA(self, offset: int) -> int:
        token = self.LT(offset)
        return token.type if token is not None else 0

    def LT(self, offset: int) -> Token | None:
        index = self.index + offset - (offset > 0)
        if index > self._last:
            return self.tokens[self._last]
        return self.tokens[index] if index >= 0 else None

    def consume(self) -> None:
        self.index += 1

    def seek(self, index: int) -> None:
        self.index = index

    def mark(self) -> int:
        return 0

    def release(self, marker: int) -> None:
        pass

    def getText(self, start: int = 0, stop: int | None = None) -> str:
        return "".join(
            token.text for token in self.tokens[start : None if stop is None else stop + 1]
        )
