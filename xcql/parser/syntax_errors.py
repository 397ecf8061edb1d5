"""The error for a query that does not parse: the position, what was expected, and a guess.

Expected tokens do not come from ANTLR's tables, which hold token names and the position where a
decision began. Instead, the parser runs again: does it get further with this word here?

Tests: tests/parser/test_errors.py
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator

from antlr4 import Token
from antlr4.Token import CommonToken

from xcql.diagnostics import XcqlError, error
from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser.build_construct import unmatched_end_tag
from xcql.parser.lexer import KEYWORDS
from xcql.parser.two_stage import reach
from xcql.source import Source, Span
from xcql.syntax.names import name_set

# What a message can list as expected, in this order, and a token of that kind.
_SIGNS = {
    "'return'": XcqlLexer.KW_RETURN,
    "'then'": XcqlLexer.KW_THEN,
    "'else'": XcqlLexer.KW_ELSE,
    "'in'": XcqlLexer.KW_IN,
    "'satisfies'": XcqlLexer.KW_SATISFIES,
    "'case'": XcqlLexer.KW_CASE,
    "'default'": XcqlLexer.KW_DEFAULT,
    "'catch'": XcqlLexer.KW_CATCH,
    "'start'": XcqlLexer.KW_START,
    "'when'": XcqlLexer.KW_WHEN,
    "'as'": XcqlLexer.KW_AS,
    "'of'": XcqlLexer.KW_OF,
    "'by'": XcqlLexer.KW_BY,
    "':='": XcqlLexer.ASSIGN,
    "';'": XcqlLexer.SEMICOLON,
    "')'": XcqlLexer.RPAREN,
    "']'": XcqlLexer.RBRACKET,
    "'}'": XcqlLexer.RBRACE,
    "'>'": XcqlLexer.TAG_CLOSE,
    "'/>'": XcqlLexer.TAG_EMPTY_CLOSE,
    "a quoted value": XcqlLexer.VALUE_OPEN,
    "'='": XcqlLexer.TAG_EQUAL,
    "an end tag": XcqlLexer.END_TAG_OPEN,
    "'{'": XcqlLexer.LBRACE,
}
_EXPRESSION = ("an expression", XcqlLexer.INTEGER)
_OPERATOR = ("an operator", XcqlLexer.KW_OR)
_PIECES = {
    "a variable": XcqlLexer.DOLLAR,
    "a name": XcqlLexer.NAME,
    "a string": XcqlLexer.STRING,
    "'('": XcqlLexer.LPAREN,
    "'function'": XcqlLexer.KW_FUNCTION,
    "'variable'": XcqlLexer.KW_VARIABLE,
    "'namespace'": XcqlLexer.KW_NAMESPACE,
}
_MOST_NAMED = 5
# with more tokens than this, running the parser again and again would take too long
_MOST_TOKENS = 3000

_FORGOTTEN = {
    "return": XcqlLexer.KW_RETURN,
    "then": XcqlLexer.KW_THEN,
    "else": XcqlLexer.KW_ELSE,
    "satisfies": XcqlLexer.KW_SATISFIES,
    "in": XcqlLexer.KW_IN,
    "by": XcqlLexer.KW_BY,
    ":=": XcqlLexer.ASSIGN,
    ";": XcqlLexer.SEMICOLON,
    ",": XcqlLexer.COMMA,
}
# spellings from other languages, by the last two tokens or the last one
_FOREIGN = {
    "==": "write '=' for equality, '!=' for inequality",
    "!=": "write '=' for equality, '!=' for inequality",
    "<>": "write '!=' for inequality",
    "->": "'=>' passes a value to a function",
    "!": "use the function not(...) for negation",
    "%": "write 'mod' for the remainder of a division",
    "#": "write comments as (: ... :)",
}
_SETTINGS = name_set(
    "namespace default boundary-space base-uri construction ordering copy-namespaces decimal-format"
)
_OPENERS = {
    XcqlLexer.LPAREN: "'('",
    XcqlLexer.LBRACKET: "'['",
    XcqlLexer.LBRACE: "'{'",
    XcqlLexer.TAG_OPEN: "the element",
    XcqlLexer.STRING_CONSTRUCTOR_OPEN: "the string template",
    XcqlLexer.INTERPOLATION_OPEN: "'`{'",
    XcqlLexer.VALUE_OPEN: "the attribute's value",
}
_CLOSERS = frozenset(
    {
        XcqlLexer.RPAREN,
        XcqlLexer.RBRACKET,
        XcqlLexer.RBRACE,
        XcqlLexer.END_TAG_CLOSE,
        XcqlLexer.TAG_EMPTY_CLOSE,
        XcqlLexer.STRING_CONSTRUCTOR_CLOSE,
        XcqlLexer.INTERPOLATION_CLOSE,
        XcqlLexer.VALUE_CLOSE,
    }
)
_CURLED_QUOTES = "“”„‟«»‘’‚‛"


def syntax_error(source: Source, tokens: list[Token], index: int) -> XcqlError:
    """The error for a query whose token at this index does not fit."""
    token = tokens[index]
    span = _span(source, token)
    if token.type == XcqlLexer.DOLLAR and tokens[index + 1].start == span.end:
        span = span.to(_span(source, tokens[index + 1]))
    special = _special(tokens, index, span) or _unmatched_tag(source, tokens[:index])
    if special is not None:
        return special
    if token.type == Token.EOF:
        message = "the query ends too early"
    else:
        message = f"'{_shortened(span.text)}' was not expected here"
    if index > _MOST_TOKENS:
        return error("XPST0003", message, span)
    expected = _expected(tokens, index)
    if expected:
        message += f"; expected {_listed(expected)}"
    hint = next(_hints(source, tokens, index), None)
    return error("XPST0003", message, span, hints=[hint] if hint else [])


def _span(source: Source, token: Token) -> Span:
    if token.type == Token.EOF:
        # point right after the last word, not at the blank lines that follow
        end = len(source.text.rstrip())
        return Span(source, end, end)
    return Span(source, token.start, token.stop + 1)


def _shortened(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 30 else line[:27] + "..."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


# ---------------------------------------------------------------- faults of the letters themselves


def _special(tokens: list[Token], index: int, span: Span) -> XcqlError | None:
    token = tokens[index]
    text = token.text
    if token.type == XcqlLexer.UNCLOSED_STRING:
        opening = Span(span.source, span.start, span.start + 1)
        return error("XPST0003", "this string is not closed", opening, hints=[f"add a {text[0]}"])
    if token.type == XcqlLexer.BAD_NUMBER:
        return error(
            "XPST0003",
            f"the number '{text[:-1]}' runs into a name",
            span,
            hints=["put a space between them"],
        )
    if token.type != XcqlLexer.INVALID:
        return None
    hints = []
    if text in _CURLED_QUOTES:
        hints = ["strings need straight quotes: \"...\" or '...'"]
    elif text == "&":
        hints = ["write 'and' for the logical operator; in text, write '&' as '&amp;'"]
    elif text == "}":
        hints = ["in the text of an element, double the braces: '}}'"]
    elif text == "<":
        hints = [
            "in an attribute value, write '<' as '&lt;'; or is the closing quote missing?"
            if _in_attribute_value(tokens[:index])
            else "the start tag is not closed: is '>' or '/>' missing?"
        ]
    elif index and tokens[index - 1].type == XcqlLexer.TAG_EQUAL:
        hints = ["an attribute value must be in quotes"]
    return error("XPST0003", f"'{text}' has no meaning here", span, hints=hints)


def _in_attribute_value(tokens: list[Token]) -> bool:
    kinds = (XcqlLexer.VALUE_OPEN, XcqlLexer.VALUE_CLOSE)
    last = next((token.type for token in reversed(tokens) if token.type in kinds), None)
    return bool(last == XcqlLexer.VALUE_OPEN)


def _unmatched_tag(source: Source, tokens: list[Token]) -> XcqlError | None:
    """An end tag that does not match its start tag is the cause of any later error."""
    opened: list[Token] = []
    for before, token in itertools.pairwise(tokens):
        if before.type == XcqlLexer.TAG_OPEN:
            opened.append(token)
        elif token.type == XcqlLexer.TAG_EMPTY_CLOSE and opened:
            opened.pop()
        elif before.type == XcqlLexer.END_TAG_OPEN and opened:
            start = opened.pop()
            if start.text != token.text:
                return unmatched_end_tag(start.text, _span(source, token))
    return None


# ---------------------------------------------------------------- what would fit


def _expected(tokens: list[Token], index: int) -> list[str]:
    def fits(token_type: int) -> bool:
        return _fits(tokens, index, token_type)

    # where a name is allowed, any keyword is too, as a name: that is no evidence
    names_fit = fits(XcqlLexer.NAME)
    expected = [
        words
        for words, token_type in _SIGNS.items()
        if fits(token_type) and not (names_fit and words[1].isalpha())
    ]
    words, token_type = _EXPRESSION
    if fits(token_type):
        # '{' and the like can begin an expression: do not list them
        return [*[w for w in expected if w != "'{'"][: _MOST_NAMED - 1], words]
    words, token_type = _OPERATOR
    if fits(token_type):
        return [*expected[: _MOST_NAMED - 1], words]
    expected += [words for words, token_type in _PIECES.items() if fits(token_type)]
    return expected[:_MOST_NAMED]


def _fits(tokens: list[Token], index: int, token_type: int) -> bool:
    """Whether a token of this type would fit at this place."""
    return reach([*tokens[:index], _word(token_type, index), _end(index + 1)]) > index


def _word(token_type: int, index: int, text: str = "x") -> Token:
    token = CommonToken(type=token_type)
    token.tokenIndex = index
    token._text = text
    return token


def _end(index: int) -> Token:
    return _word(Token.EOF, index, "<EOF>")


# ---------------------------------------------------------------- guesses


def _hints(source: Source, tokens: list[Token], index: int) -> Iterator[str]:
    """Guesses, the best one first."""
    word = tokens[index].text
    if word in KEYWORDS and _fits(tokens, index, XcqlLexer.PREFIXED_NAME):
        yield f"'{word}' is a reserved word; add a prefix to use it as a name: local:{word}"
    yield from _foreign(tokens, index)
    yield from _unpaired_quote(source, tokens, index)
    yield from _misspelt(tokens, index)
    yield from _forgotten(tokens, index)
    if tokens[index].type == Token.EOF:
        yield from _left_open(source, tokens)


def _foreign(tokens: list[Token], index: int) -> Iterator[str]:
    """Habits from other languages, and rules that are easy to forget."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    if before is not None:
        if before.text + token.text in _FOREIGN:
            yield _FOREIGN[before.text + token.text]
        if before.text in ("if", "switch", "typeswitch"):
            yield f"the operand of '{before.text}' must be in parentheses: {before.text} (...)"
        if before.type == XcqlLexer.STRING and before.text.endswith(('\\"', "\\'")):
            yield "to put a quote inside a string, double it instead of using a backslash"
        if before.type == XcqlLexer.DATE_LITERAL and re.match(r"T[0-9]", token.text):
            yield f"a time needs hours, minutes and seconds: {before.text}T10:00:00"
        if before.text == "declare" and token.text in _SETTINGS:
            yield "declare namespaces and settings before variables and functions"
    if token.text in _FOREIGN:
        yield _FOREIGN[token.text]


def _unpaired_quote(source: Source, tokens: list[Token], index: int) -> Iterator[str]:
    for token in tokens[index:]:
        if token.type == XcqlLexer.UNCLOSED_STRING:
            line, column = source.position(token.start)
            yield f"unbalanced quotes: the one at line {line}, column {column} is not closed"


def _misspelt(tokens: list[Token], index: int) -> Iterator[str]:
    """Another word here, or just before, that lets the parser get further."""
    token = tokens[index]
    for sign, token_type in ((":=", XcqlLexer.ASSIGN), ("=", XcqlLexer.EQUAL)):
        pair = tokens[index - 1].text + token.text if index else ""
        if token.text in ("=", ":=", "==") and sign != token.text and pair != "==":
            changed = [*tokens[:index], _word(token_type, index), *tokens[index + 1 :]]
            if _gets_past(changed, index):
                yield f"Did you mean '{sign}'?"
                return
    furthest, guess = index, ""
    for place in (index, index - 1, index - 2):
        if place < 0 or not tokens[place].text[:1].isalpha():
            continue
        word = tokens[place].text
        for keyword in _near_keywords(word):
            replacement = _word(KEYWORDS[keyword], place, keyword)
            far = _reach([*tokens[:place], replacement, *tokens[place + 1 :]])
            if far > furthest:
                case = " Keywords are written in lower case." if keyword == word.lower() else ""
                furthest, guess = far, f"Did you mean '{keyword}'?{case}"
    if guess:
        yield guess


def _near_keywords(word: str) -> list[str]:
    near = difflib.get_close_matches(word.lower(), KEYWORDS, 4, 0.6)
    return [keyword for keyword in near if keyword != word]


def _forgotten(tokens: list[Token], index: int) -> Iterator[str]:
    """A word or sign that is missing before this place."""
    token = tokens[index]
    if token.type == Token.EOF:
        return
    if token.type == XcqlLexer.NAME and _helps(tokens, index, XcqlLexer.DOLLAR):
        yield f"variable names begin with '$': ${token.text}"
        return
    # where a name is allowed, a keyword would be read as one
    if not _fits(tokens, index, XcqlLexer.NAME):
        for missing, token_type in _FORGOTTEN.items():
            if _helps(tokens, index, token_type):
                yield f"Is '{missing}' missing before it?"
                return


def _helps(tokens: list[Token], index: int, token_type: int) -> bool:
    """Whether a token of this type, inserted before an index, lets the parser continue."""
    return _gets_past([*tokens[:index], _word(token_type, index), *tokens[index:]], index + 1)


def _gets_past(tokens: list[Token], index: int) -> bool:
    return _reach(tokens) > index


def _reach(tokens: list[Token]) -> int:
    """How far these tokens parse. They are copied and renumbered."""
    numbered = []
    for position, token in enumerate(tokens):
        copy = _word(token.type, position, token.text)
        copy.start, copy.stop = token.start, token.stop
        numbered.append(copy)
    return reach(numbered)


def _left_open(source: Source, tokens: list[Token]) -> Iterator[str]:
    opened: list[Token] = []
    for token in tokens:
        if token.type in _OPENERS:
            opened.append(token)
        elif token.type in _CLOSERS and opened:
            opened.pop()
    if opened:
        line, column = source.position(opened[-1].start)
        yield f"{_OPENERS[opened[-1].type]} at line {line}, column {column} is not closed"
