"""The result of compiling a query: SQL text, and everything that it needs to run.

The compiler and the runtime share these values; they know nothing about Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xcql.algebra.operators import Plan
from xcql.algebra.printing import plan_text
from xcql.dialects.slots import SqlText
from xcql.source import Span
from xcql.sql.parts import Tables
from xcql.syntax.prolog import MainModule


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table of the SQL text: the fillers with some tags of a stream.

    In the text it is the slot `name`. `columns` are the paths of the fields that are read, such as
    `("raw",)` or `("element", "name", "_text")`; nothing else is read. A path that is a prefix of
    another includes everything below it. `("tag",)` is the tsid of the row's table. `present` says
    that rows which have ended, those with a `vtTo`, are not needed and may be left out. `nodes`
    says that it is the table of the nodes of these fillers (`xcql.shred.nodes`), not of their rows.
    """

    name: str
    stream: str
    tags: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    present: bool = False
    nodes: bool = False


def table_uses(tables: Tables) -> tuple[TableUse, ...]:
    """The tables that a lowered plan reads."""
    return tuple(
        TableUse(name, key.stream, key.tags, tuple(sorted(used)), key.present, key.nodes)
        for key, (name, used) in tables.items()
    )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A sub-expression with no native form, which the reference evaluator answers in a worker.

    In the SQL text it is a function, the slot `name`. Its arguments are `:now`, then one
    sequence for each of `parameters`, the external variables of `expression`. A sequence is an
    array of structs: `kind` is a type such as `xs:double` for an atomic value, else the kind of the
    node, and `value` is the serialised item. The result is also a sequence, whose items have their
    lifespans in `vtFrom` and `vtTo`; those of arguments are NULL.

    `expression` is a whole main module, as text or as a tree. The spans of a tree tell the user
    where in the query an error is; for a text, `span` does. If its errors are doubtful, SQL may
    compute it for values that the query never looks at.
    """

    name: str
    expression: str | MainModule
    parameters: tuple[str, ...]
    reason: str
    span: Span | None = None
    is_doubtful: bool = False


IN_DOUBT = "an error that the query might never reach"
BEYOND_SQL = "a number is too large for SQL, or has too many digits"


@dataclass(frozen=True, slots=True)
class Site:
    """A place where the SQL text may fail: `raise_error('XCQL|<number of the site>|<value>')`.

    `{}` in the message is replaced by the offending value. With `is_limit`, it may be no error of
    the query: it is a limit of SQL, or SQL computes values that the query never looks at. The
    reference evaluator has to answer it.
    """

    code: str
    message: str
    span: Span
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query as SQL text, which returns `item`, `vtFrom` and `vtTo` in the order of the answer.

    For CaQ the text returns copies of fillers instead, see `copies`.
    The slots of the text are its tables, its evaluations, and `:now`, its only possible argument.
    `reasons` say why the strategy was chosen. `steps` are the plan before the rules, under no name,
    and after each rule.
    `leaf_types` are the types of the texts in the answer, see `terms.leaf_types`. `items` is a text
    that returns only `item`, unsorted, with keys `key_0`, … to sort by; None if the keys are not
    bytes.
    """

    sql: SqlText
    strategy: str
    tables: tuple[TableUse, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    sites: tuple[Site, ...] = ()
    reasons: tuple[str, ...] = ()
    steps: Sequence[tuple[str, Plan]] = ()
    leaf_types: tuple[tuple[tuple[str, ...], str], ...] = ()
    items: SqlText | None = None

    @property
    def algebra(self) -> tuple[tuple[str, str], ...]:
        """The plan as text, before and after the rules."""
        ends = zip(("algebra", "rules"), (*self.steps[:1], *self.steps[-1:]), strict=False)
        return tuple((name, plan_text(plan)) for name, (_, plan) in ends)


class NotNative(Exception):
    """The query as a whole has no native form; the reference evaluator has to answer it."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
