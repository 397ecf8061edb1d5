"""Parentheses only where they change the meaning.

The forms of the dialect put them around whatever they make. SQL text with all of them is hard to
read, and hard for Spark, too: its parser looks ahead to the end of every open one.
"""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import Sql

# how strongly operators hold their operands, the loosest first
_LEVELS: tuple[tuple[type, ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (
        exp.EQ,
        exp.NEQ,
        exp.LT,
        exp.LTE,
        exp.GT,
        exp.GTE,
        exp.NullSafeEQ,
        exp.Is,
        exp.In,
        exp.Between,
        exp.Like,
    ),
    (exp.Add, exp.Sub),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    (exp.Neg,),
    (exp.Dot, exp.Bracket),
)
# around these a chain of equals may go without: (a AND b) AND c
_CHAINS = (exp.Or, exp.And)
# what has its own beginning and end, whatever stands around it
_CLOSED = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Placeholder,
    exp.Anonymous,
    exp.Case,
    exp.Cast,
    exp.Paren,
)
# where a whole expression stands between signs or words of their own
_OPEN = (
    exp.Anonymous,
    exp.Case,
    exp.If,
    exp.Cast,
    exp.Paren,
    exp.Alias,
    exp.Where,
    exp.Lambda,
    exp.Ordered,
    exp.Select,
    exp.Group,
    exp.Join,
)


def _level(node: Sql) -> int | None:
    if isinstance(node, exp.Var):
        # a number with its sign
        return _level(exp.Neg()) if str(node.this).startswith("-") else len(_LEVELS)
    if isinstance(node, _CLOSED) or (isinstance(node, exp.Func) and not _is_operator(node)):
        return len(_LEVELS)
    return next((level for level, kinds in enumerate(_LEVELS) if isinstance(node, kinds)), None)


def _is_operator(node: Sql) -> bool:
    return any(isinstance(node, kinds) for kinds in _LEVELS)


def fewer_parentheses(tree: Sql) -> Sql:
    """The tree, changed in place, without parentheses that it can do without.

    >>> import sqlglot
    >>> fewer_parentheses(sqlglot.parse_one("((a) + (b * c)) * (d)")).sql()
    '(a + b * c) * d'
    """
    for paren in list(tree.find_all(exp.Paren, bfs=False)):
        if paren.parent is not None and not _is_needed(paren):
            paren.replace(paren.this)
    return tree


def _is_needed(paren: exp.Paren) -> bool:
    inner, parent = paren.this, paren.parent
    assert isinstance(parent, exp.Expression)
    if isinstance(inner, exp.Lambda):
        return True
    held = _level(inner)
    if held is None:
        return True
    if not _is_operator(parent):
        return not (isinstance(parent, _OPEN) or held == len(_LEVELS))
    around = _level(parent)
    assert around is not None
    if isinstance(parent, exp.Bracket) and paren.arg_key != "this":
        return False
    if held != around:
        return held < around
    if isinstance(parent, _CHAINS):
        return False
    # operators of one level are read from the left
    return held != len(_LEVELS) and not (
        paren.arg_key == "this" and isinstance(parent, exp.Add | exp.Sub | exp.Mul | exp.Dot)
    )
