"""Spark's SQL, in a form that is easy to read for people and for Spark's parser.

The forms of operations put parentheses around everything they make, cast by CAST(x AS type), and
decide by CASE WHEN. Spark's parser has to look far ahead to recognise each of these, since most of
its keywords may also be names, and it remembers everything it has seen there: text full of them
takes seconds and hundreds of megabytes. It recognises calls of functions at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from xcql.dialects import java_patterns
from xcql.dialects.dialect import Dialect, Gather, Query
from xcql.dialects.forms import FORMS
from xcql.dialects.forms.numbers import picture_limit
from xcql.dialects.slots import LINE_BREAK, SqlText, slot
from xcql.dialects.templates import CAST_FUNCTIONS
from xcql.dialects.trees import Sql, copied, decimal_type, identifier

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
# a chain of these is read from the left: (a - b) - c
_FROM_LEFT = (exp.Add, exp.Sub, exp.Mul, exp.Dot, exp.Cast)
# what has its own beginning and end, whatever stands around it
_CLOSED = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.HexString,
    exp.Var,
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


# hints for how an answer is brought together
_HINTS: dict[Gather, str] = {"one": "REPARTITION(1)", "several": "REBALANCE"}
# the placeholder for the parts of a query
_SOURCE = slot("")
# functions that also have a form with words inside, unless their names are quoted
_WITH_WORDS = frozenset({"substring", "substr", "trim", "position", "extract", "struct"})


def spark_text(tree: Sql) -> str:
    """The text of a tree.

    Names that are known only when it runs are slots, see `xcql.dialects.slots`.

    >>> from xcql.dialects.templates import parsed
    >>> print(spark_text(parsed("SELECT (CAST(a AS DOUBLE)) + (1L)")))
    SELECT
      double(a) + 1L
    """
    tree = copied(tree)
    # one walk finds everything that has to be changed: trees are large
    kinds = (exp.Case, exp.Cast, exp.Anonymous, exp.Paren)
    found = list(tree.find_all(*kinds, bfs=False))
    for node in reversed(found):
        match node:
            case exp.Case():
                node.replace(_branches(node))
            case exp.Cast() if type(node) is exp.Cast and _literal_text(node) is None:
                found += _plain_cast(node)
            case exp.Anonymous() if str(node.this).lower() in _WITH_WORDS:
                node.set("this", f"`{node.this}`")
    for node in found:
        if isinstance(node, exp.Paren) and node.parent is not None and not _is_needed(node):
            node.replace(node.this)
    writer = _writer()(pretty=True, normalize_functions=False, dialect="spark")
    return str(writer.generate(tree, copy=False))


def _write(parts: Mapping[str, Sql], queries: Sequence[Query]) -> tuple[SqlText, ...]:
    """The texts of queries; the text of their parts is written once."""
    written = ", ".join(
        f"{identifier(name).sql('spark')} AS (\n{_indented(spark_text(body))}\n)"
        for name, body in parts.items()
    )
    return tuple(_query_text(written, query) for query in queries)


def _query_text(parts: str, query: Query) -> SqlText:
    """The whole text; an answer may be brought together before it is sorted.

    Otherwise Spark computes all of it twice, the first time to see how to divide the work of
    sorting.
    """
    if not parts:
        return SqlText.of(spark_text(query.select))
    # in a subquery: text that begins with WITH might also be an INSERT for all that Spark's parser
    # knows, until it has come to the end of the parts
    source = query.select.args["from_"].sql("spark")
    hint = "" if query.gather is None else f"/*+ {_HINTS[query.gather]} */ "
    inner = _indented(f"WITH {parts}\nSELECT {hint}* {source}")
    query.select.set("from_", exp.From(this=exp.Table(this=exp.Identifier(this=_SOURCE))))
    return SqlText.of(spark_text(query.select).replace(_SOURCE, f"(\n{inner}\n)"))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


@cache
def _writer() -> Any:
    """A generator with casts as `x::type`, and text that nothing reads as anything else."""

    def cast(self: Any, node: exp.Cast) -> str:
        return _literal_text(node) or f"{self.sql(node, 'this')}::{self.sql(node, 'to')}"

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
    members = {"TRANSFORMS": changed, "SENTINEL_LINE_BREAK": LINE_BREAK}
    return type("Writer", (Spark.Generator,), members)


_SUFFIXES = {exp.DataType.Type.BIGINT: "L", exp.DataType.Type.DOUBLE: "D"}
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{6})?")


def _literal_text(cast: exp.Cast) -> str | None:
    """A cast of a literal that is a literal itself, such as 1L; None for other casts."""
    literal, type_ = cast.this, cast.to
    if not isinstance(literal, exp.Literal):
        return None
    if not literal.is_string:
        suffix = _SUFFIXES.get(type_.this)
        return f"{literal.this}{suffix}" if suffix else None
    if type_.this == exp.DataType.Type.DECIMAL and type_ == decimal_type(literal.this):
        return f"{literal.this}BD"
    if type_.this == exp.DataType.Type.TIMESTAMPNTZ and _INSTANT.fullmatch(literal.this):
        return f"TIMESTAMP_NTZ'{literal.this}'"
    return None


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
    name = CAST_FUNCTIONS.get(cast.to.this)
    if name is not None:
        cast.replace(exp.Anonymous(this=name, expressions=[cast.this]))
        return []
    operand = exp.Paren(this=cast.this)
    cast.set("this", operand)
    return [operand]


def _level(node: Sql) -> int | None:
    if isinstance(node, exp.Cast) and _literal_text(node) is not None:
        return len(_LEVELS)
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
    return held != len(_LEVELS) and not (paren.arg_key == "this" and isinstance(parent, _FROM_LEFT))


SPARK = Dialect(
    "spark",
    forms=MappingProxyType({**FORMS, **java_patterns.forms}),
    limits=MappingProxyType(
        {
            **dict.fromkeys(java_patterns.forms, java_patterns.pattern_limit),
            "formatted_number": picture_limit,
            "mathematics": lambda *_: "the last digit of Java's mathematics may differ",
        }
    ),
    write=_write,
)
