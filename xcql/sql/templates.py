"""SQL forms that are easier to read as text: parsed once, and filled with the parts of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import count

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

    A part with a name of one letter is a value: if it is looked at more than once, it is computed
    once. Others stand where they are named: they may fail, and only some rows may come to them.

    >>> said("x + 2 * x", x=exp.column("price")).sql("spark")
    '(price + 2 * price)'
    """
    tree = _parsed(template).copy()
    uses = Counter(one.name for one in tree.find_all(exp.Column) if not one.table)
    taken = {one.name for part in parts.values() for one in part.find_all(exp.Column)}
    filled: dict[str, exp.Expression] = {}
    bound: list[tuple[str, exp.Expression]] = []
    for name, part in parts.items():
        if len(name) == 1 and uses[name] > 1 and not _is_simple(part):
            # what is long is said once, under a name that means nothing else in any of the parts
            alias = next(one for one in _names(name) if one not in taken)
            taken.add(alias)
            bound.append((alias, part))
            filled[name] = exp.column(alias)
        else:
            filled[name] = part if isinstance(part, _TIGHT) else exp.Paren(this=part)

    def fill(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not node.table and node.name in filled:
            return filled[node.name].copy()
        return node

    result: exp.Expression = exp.Paren(this=tree.transform(fill))
    for alias, part in bound:
        result = named(part, alias, result)
    return result


def named(value: exp.Expression, name: str, body: exp.Expression) -> exp.Expression:
    """The body with a name for a value, which is computed once."""
    array = exp.Anonymous(this="array", expressions=[value])
    function = exp.Lambda(this=body, expressions=[exp.to_identifier(name)])
    transformed = exp.Anonymous(this="transform", expressions=[array, function])
    return exp.Anonymous(this="get", expressions=[transformed, exp.Var(this="0")])


def _is_simple(part: exp.Expression) -> bool:
    """Whether it is no more than a column, a field of one, or a constant."""
    if isinstance(part, exp.Dot | exp.Paren):
        return _is_simple(part.this)
    return isinstance(part, exp.Column | exp.Var | exp.Literal | exp.Placeholder | exp.Null)


def _names(hint: str) -> Iterator[str]:
    yield hint
    yield from (f"{hint}{number}" for number in count(2))


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
