"""SQL forms that are easier to read as text: parsed once, and filled with the parts of a query."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

# what needs no parentheses wherever it stands
_TIGHT = (
    exp.Column,
    exp.Var,
    exp.Literal,
    exp.Func,
    exp.Paren,
    exp.Placeholder,
    exp.Null,
    exp.Boolean,
    exp.Case,
    exp.Dot,
)


def said(template: str, **parts: exp.Expression) -> exp.Expression:
    """The SQL expression of a text, with parts of a query in place of the names in it.

    >>> said("x + 2 * x", x=exp.column("price")).sql("spark")
    '(price + 2 * price)'
    """
    tree = _parsed(template).copy()
    filled = {
        name: part if isinstance(part, _TIGHT) else exp.Paren(this=part)
        for name, part in parts.items()
    }

    def fill(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not node.table and node.name in filled:
            return filled[node.name].copy()
        return node

    return exp.Paren(this=tree.transform(fill))


@cache
def _parsed(template: str) -> exp.Expression:
    tree = sqlglot.parse_one(template, dialect="spark")
    # CAST as Spark's ANSI mode has it: `sqlglot` takes it to be as lenient as Hive's
    for cast in reversed(list(tree.find_all(exp.TryCast, bfs=False))):
        if not cast.args.get("safe"):
            strict = exp.Cast(this=cast.this, to=cast.to)
            if cast is tree:
                tree = strict
            else:
                cast.replace(strict)
    assert isinstance(tree, exp.Expression)
    return tree
