"""A SQL dialect as a value, and a query as trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sqlglot import exp

from xcql.algebra.scalars import Argument, Call, Column, Constant, Lambda, Scalar
from xcql.dialects.forms.registry import Form
from xcql.dialects.slots import SqlText
from xcql.dialects.trees import (
    Sql,
    constant,
    copied,
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


# writes queries that share common table expressions, given by name in the order of their use
Writer = Callable[[Mapping[str, Sql], Sequence[Query]], tuple[SqlText, ...]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine wants its SQL.

    `forms` gives the tree of each operation. `limits` says for some operations, given the arguments
    of a call, why the engine cannot compute it; None if it can. `write` gives the text of queries.
    `ordered` are reductions that look at the order of the tuples in this dialect only.
    `joins_nearest` says that the engine has ASOF joins.
    `frames_vary` says whether a window function may look at another number of rows for each row.
    """

    name: str
    forms: Mapping[str, Form]
    limits: Mapping[str, Callable[..., str | None]]
    write: Writer
    ordered: frozenset[str] = frozenset()
    joins_nearest: bool = False
    frames_vary: bool = False

    def sql(self, scalar: Scalar, columns: Mapping[str, Sql]) -> Sql:
        """The tree of a scalar; `columns` says what its columns are."""
        match scalar:
            case Column(name=name):
                found = columns.get(name)
                return copied(found) if found is not None else variable(name)
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
                return self.forms[name](*(self.sql(one, columns) for one in arguments))
        raise AssertionError(scalar)

    def uses_of_operands(self, call: Call) -> tuple[int, ...]:
        """How often each operand of a call is in its SQL."""
        if any(isinstance(one, Lambda) for one in call.arguments):
            return (1,) * len(call.arguments)
        return _uses_in_form(self.forms[call.function], len(call.arguments))

    def limit(self, call: Call) -> str | None:
        """Why the engine cannot compute a call; None if it can."""
        if call.function not in self.forms:
            return f"{self.name} has no form of {call.function}"
        limit = self.limits.get(call.function)
        return None if limit is None else limit(*call.arguments)


@lru_cache(maxsize=1024)
def _uses_in_form(form: Form, count: int) -> tuple[int, ...]:
    names = [f"operand.{index}" for index in range(count)]
    try:
        tree = form(*map(variable, names))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        # some of its operands have to be constants
        return (1,) * count
    columns = Counter(one.name for one in tree.find_all(exp.Column))
    return tuple(columns[variable(name).name] for name in names)
