"""SQL text that is easy to read, for people and for Spark's parser.

The forms of the dialect put parentheses around whatever they make, cast by CAST(x AS type), and
decide by CASE WHEN. Spark's parser has to look far ahead before it knows what each of these is,
since most of its words may also be names, and it remembers all that it has seen there: text full
of them takes seconds and hundreds of megabytes. Calls of functions it knows at once.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from xcql.sql.dialect import Sql
from xcql.sql.slots import slot

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
    (exp.Dot, exp.Bracket, exp.Cast),
)
# around these a chain of equals may go without: (a AND b) AND c
_CHAINS = (exp.Or, exp.And)
# these are read from the left: (a - b) - c
_FROM_LEFT = (exp.Add, exp.Sub, exp.Mul, exp.Dot, exp.Cast)
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
    exp.TryCast,
    exp.Paren,
)
# where a whole expression stands between signs or words of their own
_OPEN = (
    exp.Anonymous,
    exp.Case,
    exp.If,
    exp.TryCast,
    exp.Paren,
    exp.Alias,
    exp.Where,
    exp.Lambda,
    exp.Ordered,
    exp.Select,
    exp.Group,
    exp.Join,
)


# casts that have functions of their own
_CASTS = {
    "STRING": "string",
    "DOUBLE": "double",
    "INT": "int",
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "BINARY": "binary",
}
# functions that also have a form with words inside, unless their names are quoted
_WITH_WORDS = frozenset({"substring", "substr", "trim", "position", "extract", "struct"})


def easy_text(tree: Sql) -> str:
    """The text of a tree, which is changed on the way, in a form that is easy to parse.

    Names that are known only when it runs are slots, see `xcql.sql.slots`.

    >>> import sqlglot
    >>> print(easy_text(sqlglot.parse_one("SELECT (CAST(a AS DOUBLE)) + (1)")))
    SELECT
      double(a) + 1
    """
    # one walk finds all that is to be changed: trees are large
    kinds = (exp.Case, exp.Cast, exp.Substring, exp.Anonymous, exp.Paren)
    found = list(tree.find_all(*kinds, bfs=False))
    for node in reversed(found):
        match node:
            case exp.Case():
                node.replace(_branches(node))
            case exp.Cast() if type(node) is exp.Cast:
                found += _plain_cast(node)
            case exp.Substring():
                node.replace(_plain_substring(node))
            case exp.Anonymous() if str(node.this).lower() in _WITH_WORDS:
                node.set("this", f"`{node.this}`")
    for node in found:
        if isinstance(node, exp.Paren) and node.parent is not None and not _is_needed(node):
            node.replace(node.this)
    writer = _writer()(pretty=True, normalize_functions=False, dialect="spark")
    return str(writer.generate(tree, copy=False))


@cache
def _writer() -> Any:
    """Spark's SQL with casts as `x::type`, and text that nobody reads as anything else."""

    def cast(self: Any, node: exp.Cast) -> str:
        return f"{self.sql(node, 'this')}::{self.sql(node, 'to')}"

    def literal(self: Any, node: exp.Literal) -> str:
        return literal_text(node.this) if node.is_string else str(node.this)

    def placeholder(self: Any, node: exp.Placeholder) -> str:
        return slot(f":{node.name}")

    def lateral(self: Any, node: exp.Lateral) -> str:
        # sqlglot's own form leaves out the quotes around the alias
        view = self.seg(f"LATERAL VIEW{' OUTER' if node.args.get('outer') else ''}")
        alias = node.args["alias"]
        columns = self.expressions(alias, key="columns", flat=True)
        return f"{view}{self.sep()}{self.sql(node, 'this')} {self.sql(alias, 'this')} AS {columns}"

    changed = {
        **Spark.Generator.TRANSFORMS,
        exp.Cast: cast,
        exp.Lateral: lateral,
        exp.Literal: literal,
        exp.Placeholder: placeholder,
    }
    return type("Writer", (Spark.Generator,), {"TRANSFORMS": changed})


# what ends a literal, what ends a line, and `${`, which Spark replaces wherever it stands
_UNSAFE = re.compile(r"['\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\$\{|\\\Z")


def literal_text(value: str) -> str:
    r"""A string in SQL, whatever the session has set for backslashes and `${...}`.

    >>> print(literal_text("Ann & Co"), literal_text(r"\s+"), literal_text("it's"))
    'Ann & Co' r'\s+' string(X'69742773')
    """
    if _UNSAFE.search(value):
        return f"string(X'{value.encode('utf-8', 'surrogatepass').hex()}')"
    return f"r'{value}'" if "\\" in value else f"'{value}'"


def _branches(case: exp.Case) -> Sql:
    """A CASE by the function `if`."""
    assert case.this is None, "a CASE with conditions of its own"
    result: Sql = case.args.get("default") or exp.Null()
    for branch in reversed(case.args["ifs"]):
        arguments = [branch.this, branch.args["true"], result]
        result = exp.Anonymous(this="if", expressions=arguments)
    return result


def _plain_cast(cast: exp.Cast) -> list[exp.Paren]:
    """A cast by a function, or else around parentheses, which are given back."""
    name = _CASTS.get(cast.to.sql("spark"))
    if name is not None:
        cast.replace(exp.Anonymous(this=name, expressions=[cast.this]))
        return []
    operand = exp.Paren(this=cast.this)
    cast.set("this", operand)
    return [operand]


def _plain_substring(part: exp.Substring) -> Sql:
    arguments = (part.this, part.args.get("start"), part.args.get("length"))
    given = [one for one in arguments if one is not None]
    return exp.Anonymous(this="`substring`", expressions=given)


def _level(node: Sql) -> int | None:
    if isinstance(node, exp.Var):
        # a number with its sign
        return _level(exp.Neg()) if str(node.this).startswith("-") else len(_LEVELS)
    if isinstance(node, _CLOSED) or (isinstance(node, exp.Func) and not _is_operator(node)):
        return len(_LEVELS)
    return next((level for level, kinds in enumerate(_LEVELS) if isinstance(node, kinds)), None)


def _is_operator(node: Sql) -> bool:
    return any(isinstance(node, kinds) for kinds in _LEVELS)


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
        paren.arg_key == "this"
        and isinstance(parent, exp.Add | exp.Sub | exp.Mul | exp.Dot | exp.Cast)
    )
