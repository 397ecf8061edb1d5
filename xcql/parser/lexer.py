"""Text to tokens: the generated lexer, and three things that no lexer rule can express."""

from __future__ import annotations

import re

from antlr4 import InputStream, Token

from xcql.diagnostics import XcqlError, error
from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.source import Source, Span
from xcql.syntax.names import NCNAME
from xcql.syntax.temporal import ALLEN_RELATIONS

KEYWORDS: dict[str, int] = {
    name.removeprefix("KW_").lower().replace("_", "-"): token_type
    for token_type, name in enumerate(XcqlLexer.symbolicNames)
    if name.startswith("KW_")
} | dict.fromkeys(ALLEN_RELATIONS, XcqlLexer.ALLEN)

# deeper nesting than anyone writes, but within the parser's recursion limit
MAX_NESTING = 1000

# after these signs, a word is always a name
_NAME_FOLLOWS = frozenset(
    {
        XcqlLexer.DOLLAR,
        XcqlLexer.SLASH,
        XcqlLexer.SLASH_SLASH,
        XcqlLexer.AT,
        XcqlLexer.COLON_COLON,
        XcqlLexer.PERCENT,
    }
)
# before a bracket: the bracket is a projection, or an array as a step
_BRACKET_BELONGS_TO = frozenset(
    {XcqlLexer.QUESTION, XcqlLexer.HASH, XcqlLexer.SLASH, XcqlLexer.SLASH_SLASH}
)
_ENDS_OPERAND = frozenset(
    {
        XcqlLexer.NAME,
        XcqlLexer.PREFIXED_NAME,
        XcqlLexer.BRACED_NAME,
        XcqlLexer.PREFIX_WILDCARD,
        XcqlLexer.LOCAL_WILDCARD,
        XcqlLexer.BRACED_WILDCARD,
        XcqlLexer.STRING,
        XcqlLexer.INTEGER,
        XcqlLexer.DECIMAL,
        XcqlLexer.DOUBLE,
        XcqlLexer.RPAREN,
        XcqlLexer.RBRACKET,
        XcqlLexer.RBRACE,
        XcqlLexer.DOT,
        XcqlLexer.DOT_DOT,
        XcqlLexer.TAG_EMPTY_CLOSE,
        XcqlLexer.END_TAG_CLOSE,
        XcqlLexer.NOW,
        XcqlLexer.START,
        XcqlLexer.LAST,
        XcqlLexer.STAR,
        XcqlLexer.DATE_LITERAL,
        XcqlLexer.DATE_TIME_LITERAL,
        XcqlLexer.DURATION_LITERAL,
        XcqlLexer.DIRECT_COMMENT,
        XcqlLexer.DIRECT_PI,
        XcqlLexer.STRING_CONSTRUCTOR_CLOSE,
    }
)
_WORDS = frozenset(KEYWORDS.values())
# keywords that another keyword follows: order by, default return ...
_FIRST_WORDS = frozenset(
    {
        XcqlLexer.KW_CAST,
        XcqlLexer.KW_CASTABLE,
        XcqlLexer.KW_DEFAULT,
        XcqlLexer.KW_END,
        XcqlLexer.KW_GROUP,
        XcqlLexer.KW_INSTANCE,
        XcqlLexer.KW_ORDER,
        XcqlLexer.KW_STABLE,
        XcqlLexer.KW_START,
        XcqlLexer.KW_TREAT,
        XcqlLexer.START,
    }
)
_TYPE_FOLLOWS = frozenset({XcqlLexer.KW_AS, XcqlLexer.KW_OF, XcqlLexer.KW_CASE, XcqlLexer.PIPE})
_TIME_ONLY = frozenset(
    {XcqlLexer.DATE_LITERAL, XcqlLexer.DATE_TIME_LITERAL, XcqlLexer.DURATION_LITERAL}
)
_OPENERS = {
    XcqlLexer.LPAREN: XcqlLexer.RPAREN,
    XcqlLexer.LBRACKET: XcqlLexer.RBRACKET,
    XcqlLexer.LBRACE: XcqlLexer.RBRACE,
    XcqlLexer.INTERPOLATION_OPEN: XcqlLexer.INTERPOLATION_CLOSE,
    XcqlLexer.TAG_OPEN: XcqlLexer.END_TAG_CLOSE,
}
_CLOSERS = frozenset(_OPENERS.values()) | {XcqlLexer.TAG_EMPTY_CLOSE}

_SPACE = re.compile(r"[ \t\r\n]*")
_TAG_NAME = f"{NCNAME}(?::{NCNAME})?"
# In a valid query, only a start tag looks like this: comparisons do not associate.
_SURE_TAG = re.compile(rf"{_TAG_NAME}[ \t\r\n]*(?:/?>|(?<=[ \t\r\n]){_TAG_NAME}\s*=\s*[\"'{{])")
_TAG_LIKE = re.compile(_TAG_NAME)


def tokenize(source: Source) -> list[Token]:
    """All tokens of a text; the last is EOF. White space and comments are left out."""
    lexer = _Lexer(source)
    tokens = lexer.tokens()
    if any(token.type == XcqlLexer.ALLEN for token in tokens):
        tokens = _with_allen_intervals(source, tokens)
    _check_nesting(source, tokens)
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    return tokens


class _Lexer(XcqlLexer):  # type: ignore[misc]
    """The generated lexer, with a memory of earlier tokens.

    `?[` and `#[` count like the other brackets; the innermost bracket decides how words and
    numbers are read (`_interval`).
    """

    def __init__(self, source: Source, start: int = 0, interval: str = "") -> None:
        super().__init__(InputStream(source.text))
        self.removeErrorListeners()
        self._source = source
        self._previous: Token | None = None
        self._operand_ended = False  # set by the previous token
        self._brackets: list[str] = []
        self._interval = interval
        self._outer_interval = interval
        self._opened: list[int] = []  # where each pushed mode began
        self._input.seek(start)

    def tokens(self) -> list[Token]:
        result = []
        while True:
            token = self.nextToken()
            result.append(token)
            if token.type == Token.EOF:
                self._check_closed()
                return result

    def bracketed_tokens(self) -> list[Token]:
        """The tokens from an opening bracket at the start to its closing bracket."""
        result = [self.nextToken()]
        while self._brackets and result[-1].type != Token.EOF:
            result.append(self.nextToken())
        return result

    def nextToken(self) -> Token:
        token = None
        if self._interval and self._mode == self.DEFAULT_MODE:
            token = self._interval_literal()
        if token is None:
            token = super().nextToken()
        if token.type == self.INTERPOLATION_CLOSE and self._mode != self.STRING_CONSTRUCTOR:
            # this brace closes something else, and the backtick is text: <a>{1}`</a>
            token.type, token.stop = self.RBRACE, token.stop - 1
            self._input.seek(token.stop + 1)
        kind = token.type
        if kind == self.NAME:
            token.type = KEYWORDS.get(token.text, kind)
        elif kind == self.LBRACKET:
            sign = self._previous.type if self._previous else None
            self._open("?[" if sign == self.QUESTION else "#[" if sign == self.HASH else "[")
        elif kind in (self.LPAREN, self.LBRACE):
            self._open("(")
        elif kind in (self.RPAREN, self.RBRACKET, self.RBRACE):
            self._close()
        before = self._previous.type if self._previous else Token.INVALID_TYPE
        self._operand_ended = _ends_operand(token.type, before, self._operand_ended)
        self._previous = token
        return token

    def _open(self, bracket: str) -> None:
        self._brackets.append(bracket)
        if bracket in ("?[", "#["):
            self._interval = bracket

    def _close(self) -> None:
        if self._brackets and self._brackets.pop() in ("?[", "#["):
            inner = [b for b in self._brackets if b in ("?[", "#[")]
            self._interval = inner[-1] if inner else self._outer_interval

    def _interval_literal(self) -> Token | None:
        """A date, a duration, `now`, `start` or `last`, if there is one here."""
        if self._previous is not None and self._previous.type in _NAME_FOLLOWS:
            return None
        start = _skip_space(self._source.text, self._input.index)
        self._input.seek(start)
        self.mode(self.INTERVAL)
        token = super().nextToken()
        self.mode(self.DEFAULT_MODE)
        if token.type in (self.NO_LITERAL, Token.EOF) or (
            self._interval == "#[" and token.type in _TIME_ONLY
        ):
            self._input.seek(start)
            self._hitEOF = False
            return None
        return token

    def tag_opens(self) -> bool:
        """Whether the `<` just read opens a start tag. (Called by the grammar.)"""
        text, index = self._source.text, self._input.index
        if _SURE_TAG.match(text, index):
            return True
        # if this is not certainly a tag, it may be one with a mistake: report that
        return not self._operand_ended and _TAG_LIKE.match(text, index) is not None

    def pushMode(self, m: int) -> None:
        self._opened.append(self._tokenStartCharIndex)
        super().pushMode(m)

    def popMode(self) -> None:
        if not self._modeStack:
            return  # one closing brace too many: the parser will report it
        self._opened.pop()
        super().popMode()

    def _check_closed(self) -> None:
        if self._mode != self.COMMENT:
            return
        start = self._opened[-1]
        raise error(
            "XPST0003",
            "this comment is not closed",
            Span(self._source, start, start + 2),
            hints=["close it with ':)'; comments nest, so each '(:' needs its own ':)'"],
        )


def _skip_space(text: str, index: int) -> int:
    """The position after white space and comments."""
    while True:
        match = _SPACE.match(text, index)
        assert match is not None
        index = match.end()
        if not text.startswith("(:", index):
            return index
        depth, after = 1, index + 2
        while depth:
            signs = re.compile(r"\(:|:\)").search(text, after)
            if signs is None:
                return index  # not closed: the lexer will report it
            depth += 1 if signs[0] == "(:" else -1
            after = signs.end()
        index = after


def _with_allen_intervals(source: Source, tokens: list[Token]) -> list[Token]:
    """Read `[t1, t2]` next to an Allen relation again, as times instead of an array."""
    partner = _bracket_partners(tokens)
    ends = _operand_ends(tokens, partner)
    again: dict[int, int] = {}  # index of [ -> index of ]
    for index, token in enumerate(tokens):
        if token.type != XcqlLexer.ALLEN or index == 0 or not ends[index - 1]:
            continue
        left, right = partner.get(index - 1), index + 1
        if (
            left is not None
            and tokens[left].type == XcqlLexer.LBRACKET
            and (left == 0 or not ends[left - 1])
            and tokens[left - 1].type not in _BRACKET_BELONGS_TO
        ):
            again[left] = index - 1
        if tokens[right].type == XcqlLexer.LBRACKET and right in partner:
            again[right] = partner[right]
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        if index in again:
            result += _Lexer(source, tokens[index].start, "?[").bracketed_tokens()
            index = again[index] + 1
        else:
            result.append(tokens[index])
            index += 1
    return result


def _ends_type(tokens: list[Token], partner: dict[int, int], index: int) -> bool:
    """Whether the sign at an index belongs to a type: `$e instance of item()? before [now]`.

    Elsewhere, a `?` before a word is a lookup, and a `+` is an operator.
    """
    if tokens[index].type not in (XcqlLexer.QUESTION, XcqlLexer.PLUS):
        return False
    end = index - 1
    while end > 0:
        begin = end
        if tokens[end].type == XcqlLexer.RPAREN and end in partner:
            begin = partner[end]
            if tokens[begin - 1].type not in _TYPE_FOLLOWS:
                begin -= 1
        begin = _before_annotations(tokens, partner, begin)
        if begin == 0 or tokens[begin - 1].type not in _TYPE_FOLLOWS:
            return False
        if tokens[begin - 1].type != XcqlLexer.PIPE:
            return True
        # case a | b?: another type comes before this one
        end = begin - 2
        if tokens[end].type in (XcqlLexer.QUESTION, XcqlLexer.STAR, XcqlLexer.PLUS):
            end -= 1
    return False


def _before_annotations(tokens: list[Token], partner: dict[int, int], begin: int) -> int:
    """Where a function type begins, including its annotations: `%a %b(1) function(*)`."""
    while begin >= 2:
        name = begin - 1
        if tokens[name].type == XcqlLexer.RPAREN and name in partner:
            name = partner[name] - 1
        if name < 1 or tokens[name - 1].type != XcqlLexer.PERCENT:
            break
        begin = name - 1
    return begin


def _bracket_partners(tokens: list[Token]) -> dict[int, int]:
    """For each bracket that has a partner, the partner's index."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.type in (XcqlLexer.LPAREN, XcqlLexer.LBRACKET, XcqlLexer.LBRACE):
            opened.append(index)
        elif token.type in (XcqlLexer.RPAREN, XcqlLexer.RBRACKET, XcqlLexer.RBRACE) and opened:
            start = opened.pop()
            partner[start], partner[index] = index, start
    return partner


def _operand_ends(tokens: list[Token], partner: dict[int, int]) -> list[bool]:
    """For each token, whether it ends an operand, so that an operator can follow."""
    result: list[bool] = []
    before, ended = Token.INVALID_TYPE, False
    for index, token in enumerate(tokens):
        ended = _ends_operand(token.type, before, ended) or _ends_type(tokens, partner, index)
        before = token.type
        result.append(ended)
    return result


def _ends_operand(kind: int, before: int, before_ended: bool) -> bool:
    """Whether a token of this kind ends an operand, given the kind of the token before it.

    A possible keyword is a keyword where an operator fits, and a name where an operand fits:
    in `text before order`, the first and the last word are names.
    """
    if kind in _OPENERS:
        return False  # a/([now] before b): what follows a slash is not always a name
    if kind in _ENDS_OPERAND or before in _NAME_FOLLOWS:
        return True
    return kind in _WORDS and not before_ended and before not in _FIRST_WORDS


def _check_nesting(source: Source, tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.type in _OPENERS:
            depth += 1
            if depth > MAX_NESTING:
                raise too_deep(Span(source, token.start, token.stop + 1))
        elif token.type in _CLOSERS:
            depth -= 1


def too_deep(span: Span) -> XcqlError:
    return error(
        "XPDY0130",
        "the query is nested too deeply here",
        span,
        hints=[
            f"brackets and tags can be nested {MAX_NESTING} levels deep;"
            " bind inner parts to variables with 'let'"
        ],
    )
