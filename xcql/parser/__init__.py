"""Text to syntax tree. ANTLR's types stay inside this package.

`lexer` makes tokens, `two_stage` a parse tree, the `build_*` modules the syntax tree, and
`syntax_errors` makes the error message if parsing fails.

Tests: tests/parser
"""

from __future__ import annotations

from xcql.diagnostics import XcqlError
from xcql.garbage import uncollected
from xcql.parser import (  # noqa: F401  (the builder functions register themselves)
    build_construct,
    build_flwor,
    build_operators,
    build_path,
    build_prolog,
    build_types,
)
from xcql.parser.builder import Builder
from xcql.parser.lexer import tokenize, too_deep
from xcql.parser.syntax_errors import syntax_error
from xcql.parser.two_stage import Unexpected, parse_tree
from xcql.recursion import deep_recursion
from xcql.source import Source, Span
from xcql.syntax.prolog import Module

__all__ = ["XcqlError", "parse"]


def parse(text: str | Source, source: str | None = None) -> Module:
    """Read a query and return its syntax tree.

    `source` is the name of the query in messages, such as a file name.

    >>> import xcql
    >>> tree = xcql.parse('stream("credit")//account?[now]')
    >>> print(xcql.emit(tree))
    stream("credit")//account?[now]
    """
    where = text if isinstance(text, Source) else Source(text, source or "<query>")
    with uncollected():
        tokens = tokenize(where)
        try:
            with deep_recursion():
                try:
                    tree = parse_tree(tokens)
                except Unexpected as failure:
                    raise syntax_error(where, tokens, failure.token.tokenIndex) from None
                return Builder(where).build(tree)  # type: ignore[no-any-return]
        except RecursionError:
            raise too_deep(Span(where, 0, 1)) from None
