"""SQL forms that are easier to read as text: parsed once, and filled with the parts of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import count
from typing import Any, ClassVar, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from xcql.dialects.trees import cast, copied

# types whose names are also functions that cast to them
CAST_FUNCTIONS = {
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.DOUBLE: "double",
    exp.DataType.Type.INT: "int",
    exp.DataType.Type.BIGINT: "bigint",
    exp.DataType.Type.BOOLEAN: "boolean",
    exp.DataType.Type.DATE: "date",
    exp.DataType.Type.BINARY: "binary",
}
# functions whose first argument is a unit of time
_WITH_UNIT = ("timestampadd", "timestampdiff")
# what needs no parentheses wherever it stands
_TIGHT = (
    exp.Column,
    exp.Literal,
    exp.HexString,
    exp.Func,
    exp.Paren,
    exp.Placeholder,
    exp.Null,
    exp.Boolean,
    exp.Case,
    exp.Dot,
)


def template(template: str, **parts: exp.Expression) -> exp.Expression:
    """The SQL expression of a text, with parts of a query in place of the names in it.

    A part with a name of one letter is a value: if it is looked at more than once, it is computed
    once. Others stand where they are named: they may fail, and only some rows may come to them.

    >>> template("x + 2 * x", x=exp.column("price")).sql("spark")
    '(price + 2 * price)'
    """
    return computed_once(template, _parsed_template(template).uses, parts)


def computed_once(
    template: str, uses: Mapping[str, int], parts: Mapping[str, exp.Expression]
) -> exp.Expression:
    """A template that looks at its parts so often: not only where they are named."""
    values: dict[str, exp.Expression] = {}
    bound: dict[str, exp.Expression] = {}
    for name, part in parts.items():
        if len(name) == 1 and uses[name] > 1 and not _is_simple(part):
            # a long value is computed once, under a name that occurs in none of the parts
            taken = free_names(parts.values()) | bound.keys()
            alias = next(one for one in _names(name) if one not in taken)
            bound[alias] = part
            values[name] = exp.column(alias)
        else:
            values[name] = part if isinstance(part, _TIGHT) else exp.Paren(this=part)
    result: exp.Expression = exp.Paren(this=filled(_parsed_template(template).tree, values))
    for alias, part in bound.items():
        result = _named(part, alias, result)
    return result


def filled(tree: exp.Expression, values: Mapping[str, exp.Expression]) -> exp.Expression:
    """A copy of the tree with values in place of names.

    A lambda of the tree whose parameter has the name of a column in a value gets another parameter:
    it must not capture that name.

    >>> template("transform(xs, e -> e + y)", y=exp.column("e")).sql("spark")
    '(TRANSFORM(xs, e2 -> e2 + e))'
    """
    functions = list(tree.find_all(exp.Lambda))
    if functions:
        taken = free_names(values.values())
        if any(one.name.lower() in taken for function in functions for one in function.expressions):
            tree = copied(tree)
            _rename_parameters(tree, taken)
    return copied(tree, values)


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


def let(value: exp.Expression, name: str, body: exp.Expression) -> exp.Expression:
    """The body with a name for a value; it is computed once."""
    return filled(body, {name: value}) if _is_short(value) else _named(value, name, body)


def _named(value: exp.Expression, name: str, body: exp.Expression) -> exp.Expression:
    array = exp.Anonymous(this="array", expressions=[value])
    function = exp.Lambda(this=body, expressions=[exp.to_identifier(name)])
    transformed = exp.Anonymous(this="transform", expressions=[array, function])
    return exp.Anonymous(this="get", expressions=[transformed, exp.Literal.number(0)])


def _is_simple(part: exp.Expression) -> bool:
    """Whether it is only a column, a field of one, or a constant."""
    if isinstance(part, exp.Dot | exp.Paren | exp.Neg):
        return _is_simple(part.this)
    return _is_short(part)


def _is_short(part: exp.Expression) -> bool:
    if isinstance(part, exp.Cast):
        return isinstance(part.this, exp.Literal)
    return isinstance(part, exp.Column | exp.Literal | exp.HexString | exp.Placeholder | exp.Null)


def _names(hint: str) -> Iterator[str]:
    yield hint
    yield from (f"{hint}{number}" for number in count(2))


def _cast(type_: str, arguments: list[exp.Expression]) -> exp.Expression:
    return cast(arguments[0], type_)


class _Parser(Spark.Parser):  # type: ignore[misc, valid-type]
    """Spark's syntax, without knowledge of functions: they keep the names that they are given."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        name.upper(): partial(_cast, name) for name in CAST_FUNCTIONS.values()
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: Spark.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CASE": Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }
    STRICT_CAST = True


class Vocabulary(Spark):
    """The SQL that templates are written in, and that the text for Spark is read back by."""

    Parser = _Parser


def parsed(text: str) -> exp.Expression:
    """The tree of a text; parameters of lambdas are columns in it, as everywhere in our trees."""
    tree = sqlglot.parse_one(text, dialect=Vocabulary)
    assert isinstance(tree, exp.Expression)
    for name in list(tree.find_all(exp.Identifier)):
        if _is_parameter(name):
            name.replace(exp.Column(this=copied(name)))
    for function in tree.find_all(exp.Anonymous):
        if function.name in _WITH_UNIT:
            unit = function.expressions[0]
            unit.replace(exp.Var(this=unit.name))
    for node in tree.walk():
        # positions and types only make copies slower
        node._meta = node._type = None
    return tree


class _Template(NamedTuple):
    """A parsed template, and how often each name is in it."""

    tree: exp.Expression
    uses: Counter[str]


@cache
def _parsed_template(template: str) -> _Template:
    tree = parsed(template).transform(_field_of_column)
    return _Template(tree, Counter(one.name for one in tree.find_all(exp.Column) if not one.table))


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
