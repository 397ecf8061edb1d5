"""SQL forms that are easier to read as text: parsed once, and filled with the parts of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
    taken = free_names(parts.values())
    values: dict[str, exp.Expression] = {}
    bound: list[tuple[str, exp.Expression]] = []
    for name, part in parts.items():
        if len(name) == 1 and uses[name] > 1 and not _is_simple(part):
            # what is long is said once, under a name that means nothing else in any of the parts
            alias = next(one for one in _names(name) if one not in taken)
            taken.add(alias)
            bound.append((alias, part))
            values[name] = exp.column(alias)
        else:
            values[name] = part if isinstance(part, _TIGHT) else exp.Paren(this=part)
    result: exp.Expression = exp.Paren(this=filled(tree, values))
    for alias, part in bound:
        result = named(part, alias, result)
    return result


def filled(tree: exp.Expression, values: Mapping[str, exp.Expression]) -> exp.Expression:
    """The tree, which is changed, with values in place of names.

    A lambda of the tree whose parameter has a name that stands in a value gets another parameter:
    it must not capture that name.

    >>> said("transform(xs, e -> e + y)", y=exp.column("e")).sql("spark")
    '(TRANSFORM(xs, e2 -> e2 + e))'
    """
    taken = free_names(values.values())
    if not taken.isdisjoint(
        parameter.name.lower() for one in tree.find_all(exp.Lambda) for parameter in one.expressions
    ):
        _rename_parameters(tree, taken)

    def fill(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not node.table and node.name in values:
            return values[node.name].copy()
        return node

    return tree.transform(fill)


def free_names(trees: Iterable[exp.Expression]) -> set[str]:
    """The names of columns in some trees, as SQL compares them."""
    return {one.name.lower() for tree in trees for one in tree.find_all(exp.Column)}


def _rename_parameters(tree: exp.Expression, taken: set[str]) -> None:
    """Give other names to the parameters of lambdas that are called like one of `taken`."""
    known = taken | {one.name.lower() for one in tree.find_all(exp.Identifier)}
    for function in tree.find_all(exp.Lambda):
        for parameter in function.expressions:
            old = parameter.name
            if old.lower() not in taken:
                continue
            new = next(one for one in _names(old) if one.lower() not in known)
            known.add(new.lower())
            for use in function.this.find_all(exp.Column):
                if use.name == old and _binder(use) is function:
                    use.set("this", exp.to_identifier(new))
            parameter.set("this", new)


def _binder(use: exp.Expression) -> exp.Lambda | None:
    """The lambda that a name is a parameter of."""
    node = use.parent
    while node is not None:
        if isinstance(node, exp.Lambda) and use.name in {one.name for one in node.expressions}:
            return node
        node = node.parent
    return None


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
    for name in list(tree.find_all(exp.Identifier)):
        if _is_parameter(name):
            name.replace(exp.Column(this=name.copy()))
    return tree.transform(_field_of_column)


def _is_parameter(name: exp.Identifier) -> bool:
    """Whether it is a use of a lambda's parameter: `sqlglot` reads no column there."""
    is_operand = not isinstance(name.parent, exp.Column | exp.Alias | exp.PropertyEQ)
    is_field = isinstance(name.parent, exp.Dot) and name.arg_key == "expression"
    is_declared = isinstance(name.parent, exp.Lambda) and name.arg_key == "expressions"
    return is_operand and not is_field and not is_declared and _binder(name) is not None


def _field_of_column(node: exp.Expression) -> exp.Expression:
    """`q.x` is a field of the column `q`: templates name no tables."""
    if not isinstance(node, exp.Column) or not node.table:
        return node
    base, *fields = node.parts
    result: exp.Expression = exp.Column(this=base)
    for one in fields:
        result = exp.Dot(this=result, expression=one)
    return result
