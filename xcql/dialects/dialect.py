"""A SQL dialect as a value, and a query as trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from sqlglot import exp

from xcql.algebra.scalars import Argument, Call, Column, Constant, Lambda, Scalar
from xcql.dialects.forms.registry import Form
from xcql.dialects.slots import SqlText
from xcql.dialects.trees import (
    Sql,
    constant,
    variable,
    variable_name,
)

# in how many tasks an answer is brought together before it is sorted
Gather = Literal["one", "several"]


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT from one of several common table expressions."""

    select: exp.Select
    gather: Gather | None = None


class Operand(NamedTuple):
    """How often a form has an operand, and whether it is never computed without it."""

    uses: int
    is_certain: bool


class FormShape(NamedTuple):
    """The number of nodes in a form without its operands, and what it does with them."""

    size: int
    operands: tuple[Operand, ...]


# functions that compute only their first operand in any case
_LAZY = frozenset({"coalesce", "if", "nvl", "nanvl", "ifnull"})


# writes queries that share common table expressions, given by name in the order of their use
Writer = Callable[[Mapping[str, Sql], Sequence[Query]], tuple[SqlText, ...]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine wants its SQL.

    `forms` gives the tree of each operation. `limits` says for some operations, given the arguments
    of a call, why the engine cannot compute it; None if it can. `write` gives the text of queries.
    `ordered` are reductions that look at the order of the tuples in this dialect only.
    `orders_joins` says that the engine chooses the order of joins, even one that compares ranges
    before it compares keys.
    `joins_nearest` says that the engine has ASOF joins.
    `macros` are calls of an engine's macros, which stand for the forms of some operations.
    `literal` writes a value into the slot of a literal; None if the dialect has no such slots.
    `frames_vary` says whether a window function may look at another number of rows for each row.
    """

    name: str
    forms: Mapping[str, Form]
    limits: Mapping[str, Callable[..., str | None]]
    write: Writer
    ordered: frozenset[str] = frozenset()
    orders_joins: bool = False
    joins_nearest: bool = False
    frames_vary: bool = False
    macros: Mapping[str, Form] = field(default_factory=dict)
    literal: Callable[[object], str] | None = None

    def sql(self, scalar: Scalar, columns: Mapping[str, Sql]) -> Sql:
        """The tree of a scalar; `columns` says what its columns are."""
        match scalar:
            case Column(name=name):
                found = columns.get(name)
                return found if found is not None else variable(name)
            case Constant(value=value):
                return constant(value)
            case Argument(name=name):
                return exp.Placeholder(this=name)
            case Lambda(parameters=parameters, body=body):
                inner = {name: one for name, one in columns.items() if name not in parameters}
                return exp.Lambda(
                    this=self.sql(body, inner), expressions=list(map(variable_name, parameters))
                )
            case Call(function=name, arguments=arguments):
                return self.form(name)(*(self.sql(one, columns) for one in arguments))
        raise AssertionError(scalar)

    def form(self, name: str) -> Form:
        """How an operation is written: as a macro if there is one."""
        return self.macros.get(name) or self.forms[name]

    def form_shape(self, call: Call) -> FormShape:
        """How long the SQL of a call is, and what it does with the operands."""
        if any(isinstance(one, Lambda) for one in call.arguments):
            # only this function is called in any case
            is_let = call.function == "with_name"
            is_certain = (is_let or not isinstance(one, Lambda) for one in call.arguments)
            return FormShape(_SIZE_OF_CALL, tuple(Operand(1, one) for one in is_certain))
        form = self.forms[call.function]
        found = form_shape(form, (None,) * len(call.arguments))
        if found is None:
            # some of its operands have to be constants
            constants = (one if isinstance(one, Constant) else None for one in call.arguments)
            found = form_shape(form, tuple(constants))
        if found is None:
            return FormShape(_SIZE_OF_CALL, (Operand(1, False),) * len(call.arguments))
        return found

    def limit(self, call: Call) -> str | None:
        """Why the engine cannot compute a call; None if it can."""
        if call.function not in self.forms:
            return f"{self.name} has no form of {call.function}"
        limit = self.limits.get(call.function)
        return None if limit is None else limit(*call.arguments)


# of forms that are not known before they have all their operands
_SIZE_OF_CALL = 5


@lru_cache(maxsize=4096)
def form_shape(form: Form, known: tuple[Constant | None, ...]) -> FormShape | None:
    """The shape of a form, some of whose operands are known; None if it has to know others."""
    names = [variable(f"operand.{index}") for index in range(len(known))]
    given = zip(names, known, strict=True)
    try:
        tree = form(*(name if one is None else constant(one.value) for name, one in given))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        return None
    uses = Counter(one.name for one in tree.find_all(exp.Column))
    certain = set(_certain_columns(tree))
    operands = tuple(Operand(uses[one.name], one.name in certain) for one in names)
    size = sum(1 for one in tree.walk() if not isinstance(one, exp.Identifier | exp.Paren))
    return FormShape(size - sum(one.uses for one in operands), operands)


def _certain_columns(tree: Sql) -> Iterator[str]:
    """The columns without which an expression is never computed."""
    match tree:
        case exp.Column():
            yield tree.name
        case exp.Lambda():
            return
        case exp.Case():
            yield from _certain_columns(tree.args["ifs"][0].this)
        case exp.And() | exp.Or():
            yield from _certain_columns(tree.this)
        case exp.Anonymous() if tree.name in _LAZY:
            yield from _certain_columns(tree.expressions[0])
        case _:
            for one in tree.iter_expressions():
                yield from _certain_columns(one)
