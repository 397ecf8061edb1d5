"""Tokens to ANTLR's parse tree: with fast SLL prediction, and with full LL if that fails."""

from __future__ import annotations

from typing import Any, NoReturn

from antlr4 import PredictionMode, Token
from antlr4.error.Errors import NoViableAltException, RecognitionException
from antlr4.error.ErrorStrategy import DefaultErrorStrategy

from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.token_stream import TokenList


class Unexpected(Exception):
    """The parser cannot continue at a token."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self.token = token


def parse_tree(tokens: list[Token]) -> Any:
    """The parse tree of a module, or `Unexpected` with the first token that does not fit."""
    try:
        return _attempt(tokens, PredictionMode.SLL)
    except Unexpected:
        return _attempt(tokens, PredictionMode.LL)


def reach(tokens: list[Token]) -> int:
    """The index of the token where the parser gives up, or the number of tokens."""
    try:
        _attempt(tokens, PredictionMode.SLL)
    except Unexpected as failure:
        return int(failure.token.tokenIndex)
    return len(tokens)


def _attempt(tokens: list[Token], mode: Any) -> Any:
    parser = XcqlParser(TokenList(tokens))
    parser.removeErrorListeners()
    parser._errHandler = _StopAtFirstError()
    parser._interp.predictionMode = mode
    return parser.module()


class _StopAtFirstError(DefaultErrorStrategy):  # type: ignore[misc]
    def recover(self, recognizer: Any, e: RecognitionException) -> NoReturn:
        raise Unexpected(_offending(recognizer, e))

    def recoverInline(self, recognizer: Any) -> NoReturn:
        raise Unexpected(recognizer.getCurrentToken())

    def sync(self, recognizer: Any) -> None:
        pass

    def reportError(self, recognizer: Any, e: RecognitionException) -> None:
        pass


def _offending(recognizer: Any, problem: RecognitionException) -> Token:
    if isinstance(problem, NoViableAltException):
        return problem.offendingToken
    return recognizer.getCurrentToken()
