"""SELECTs in the making, and the parts that a query is put together from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from xcql.analysis.graph import TagGraph
from xcql.sql.dialect import Sql, call, identifier, variable, variable_name
from xcql.sql.easy_text import easy_text
from xcql.sql.slots import SqlText, slot

# tables by stream, tags, and whether only what has not ended is read: the name in the text, and the
# columns that are read
Tables = dict[tuple[str, tuple[str, ...], bool], tuple[str, set[tuple[str, ...]]]]
# in how many tasks an answer is brought together
Together = Literal["one", "several"]
_HINTS: dict[Together, str] = {"one": "REPARTITION(1)", "several": "REBALANCE"}


@dataclass(slots=True)
class Relation:
    """A SELECT in the making: where tuples come from, and what each column is there."""

    source: Sql | None = None
    joins: list[exp.Join] = field(default_factory=list)
    laterals: list[exp.Lateral] = field(default_factory=list)
    where: list[Sql] = field(default_factory=list)
    columns: dict[str, Sql] = field(default_factory=dict)
    group: list[Sql] | None = None
    # columns are made of windows or groups, which nothing else in the same SELECT may look at
    sealed: bool = False
    hint: str = "part"

    @property
    def is_bare(self) -> bool:
        """Whether it is a table, and nothing else."""
        others = self.joins or self.laterals or self.where or self.group is not None
        return isinstance(self.source, exp.Table) and not others and not self.sealed

    def query(self, needed: frozenset[str]) -> exp.Select:
        """The SELECT with the columns that are needed."""
        chosen = [
            _named(self.columns[name], name) for name in sorted(needed) if name in self.columns
        ]
        query = exp.Select(expressions=chosen or [exp.Var(this="1 AS one")])
        if self.source is not None:
            query.set("from_", exp.From(this=self.source))
        if self.joins:
            query.set("joins", self.joins)
        if self.laterals:
            query.set("laterals", self.laterals)
        if self.where:
            # several operators may ask for the same
            query.set("where", exp.Where(this=conjunction(list(dict.fromkeys(self.where)))))
        if self.group:
            query.set("group", exp.Group(expressions=self.group))
        return query


def _named(value: Sql, name: str) -> Sql:
    if _is_called(value, name):
        return value
    return exp.Alias(this=value, alias=variable_name(name))


def _is_called(value: Sql, name: str) -> bool:
    return isinstance(value, exp.Column) and value.this == variable_name(name)


def conjunction(conditions: list[Sql]) -> Sql:
    result = conditions[0]
    for one in conditions[1:]:
        result = exp.And(this=result, expression=one)
    return result


def window(function: Sql, partition: list[Sql], ordered: list[Sql]) -> Sql:
    return exp.Window(
        this=function,
        partition_by=partition,
        order=exp.Order(expressions=ordered) if ordered else None,
    )


def explode(array: Sql, view: str, name: str) -> exp.Lateral:
    return exp.Lateral(
        this=call("explode", array),
        view=True,
        alias=exp.TableAlias(this=variable_name(view), columns=[variable_name(name)]),
    )


def one_row() -> Sql:
    """What a query without a table reads: one row with nothing in it."""
    return exp.Subquery(
        this=exp.Select(expressions=[exp.Var(this="1 AS one")]), alias=identifier("unit")
    )


class Parts:
    """The common table expressions of a query, and the tables of the store that they read."""

    def __init__(self, graphs: Mapping[str, TagGraph]) -> None:
        self._graphs = graphs
        self.tables: Tables = {}
        # the texts by name, and the names by text
        self._texts: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def wrapped(self, relation: Relation, needed: frozenset[str], hint: str) -> Relation:
        """The relation as a common table expression."""
        if relation.is_bare and all(
            _is_called(one, name) for name, one in relation.columns.items()
        ):
            return relation
        text = easy_text(relation.query(needed))
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = self.add(text, hint)
        known: dict[str, Sql] = {one: variable(one) for one in needed if one in relation.columns}
        return Relation(exp.Table(this=identifier(name)), columns=known, hint=hint)

    def add(self, text: str, hint: str) -> str:
        """The name of a new common table expression."""
        plain = re.sub(r"[^a-z0-9_]", "_", hint.lower()) or "part"
        name, number = plain, 1
        while name in self._texts or name in {table for table, _ in self.tables.values()}:
            number += 1
            name = f"{plain}_{number}"
        self._texts[name] = text
        return name

    def table(
        self, stream: str, tags: tuple[str, ...], *columns_: tuple[str, ...], present: bool = False
    ) -> Sql:
        """A table of the store, and the columns that are read of it.

        `present` says that rows which have ended (`vtTo`) need not be in it.
        """
        key = stream, tags, present
        if key not in self.tables:
            graph = self._graphs[stream]
            hint = f"{stream}_{graph.tag(tags[0]).name.local}"
            name = re.sub(r"\W", "_", hint, flags=re.ASCII)
            taken = {table for table, _ in self.tables.values()}
            number, free_name = 1, name
            while free_name in taken:
                number += 1
                free_name = f"{name}_{number}"
            self.tables[key] = (free_name, set())
        self.tables[key][1].update(columns_)
        name = slot(self.tables[key][0])
        return exp.Table(this=exp.Identifier(this=name, quoted=False))

    def text(self, query: exp.Select, together: Together | None) -> SqlText:
        """The whole text; the answer may be brought together before it is sorted.

        Otherwise Spark computes all of it twice, the first time to see how to divide the work of
        sorting.
        """
        written = []
        for name, body in self._texts.items():
            written.append(f"{identifier(name).sql(dialect='spark')} AS (\n{_indented(body)}\n)")
        if written:
            # in parentheses, since text that begins with WITH might also be an INSERT for all that
            # Spark's parser knows, until it has come to the end of the parts
            last = query.args["from_"].sql(dialect="spark")
            hint = "" if together is None else f"/*+ {_HINTS[together]} */ "
            inner = _indented(f"WITH {', '.join(written)}\nSELECT {hint}* {last}")
            query.set("from_", exp.From(this=exp.Var(this=f"(\n{inner}\n)")))
        return SqlText.of(easy_text(query))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
