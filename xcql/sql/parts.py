"""SELECTs in the making, and the parts that a query is put together from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from sqlglot import exp

from xcql.analysis.graph import TagGraph
from xcql.dialects.slots import slot
from xcql.dialects.trees import (
    Sql,
    call,
    identifier,
    number,
    variable,
    variable_name,
)


@dataclass(frozen=True, slots=True)
class TableKey:
    """A table of the store: the rows of some tags of a stream, or the nodes in them.

    `present` says that only rows which have not ended are read.
    """

    stream: str
    tags: tuple[str, ...]
    present: bool = False
    nodes: bool = False


# the name of a table in the text, and the columns that are read
Tables = dict[TableKey, tuple[str, set[tuple[str, ...]]]]


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
    # columns that several values use: these values belong into a SELECT around this one
    once: set[str] = field(default_factory=set)
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
        query = exp.Select(expressions=chosen or [_one()])
        if self.source is not None:
            query.set("from_", exp.From(this=self.source))
        if self.joins:
            query.set("joins", self.joins)
        if self.laterals:
            query.set("laterals", self.laterals)
        if self.where:
            # several operators may ask for the same
            conditions = list(dict.fromkeys(self.where)) if len(self.where) > 1 else self.where
            query.set("where", exp.Where(this=conjunction(conditions)))
        if self.group:
            query.set("group", exp.Group(expressions=self.group))
        return query


def _named(value: Sql, name: str) -> Sql:
    if _is_called(value, name):
        return value
    return exp.Alias(this=value, alias=variable_name(name))


def _is_called(value: Sql, name: str) -> bool:
    # sqlglot compares trees by hashes that it has to compute
    return isinstance(value, exp.Column) and value.name == variable_name(name).name


def conjunction(conditions: list[Sql]) -> Sql:
    result = conditions[0]
    for one in conditions[1:]:
        result = exp.And(this=result, expression=one)
    return result


def window(function: Sql, partition: list[Sql], ordered: list[Sql]) -> Sql:
    return exp.Window(
        this=function,
        partition_by=partition,
        over="OVER",
        order=exp.Order(expressions=ordered) if ordered else None,
    )


def unnested(
    function: str,
    array: Sql,
    view: str,
    columns: list[exp.Identifier],
    outer: bool = False,
    fields: Sequence[str] = (),
) -> exp.Lateral:
    """A row for each element of an array: `explode`, `posexplode` or, for structs, `inline`.

    The `fields` are those of the structs that become columns; without them, it is all of them.
    """
    lateral = exp.Lateral(
        this=call(function, array),
        view=True,
        outer=outer or None,
        alias=exp.TableAlias(this=variable_name(view), columns=columns),
    )
    lateral.meta["fields"] = tuple(fields)
    return lateral


def one_row() -> Sql:
    """What a query without a table reads: one row with nothing in it."""
    alias = exp.TableAlias(this=identifier("unit"))
    return exp.Subquery(this=exp.Select(expressions=[_one()]), alias=alias)


def _one() -> Sql:
    return exp.Alias(this=number(1), alias=identifier("one"))


class Parts:
    """The common table expressions of a query, and the tables of the store that they read."""

    def __init__(self, graphs: Mapping[str, TagGraph]) -> None:
        self._graphs = graphs
        self.tables: Tables = {}
        self.bodies: dict[str, Sql] = {}
        # the names of bodies, by what they look like at a glance
        self._alike: dict[object, list[str]] = {}

    def wrapped(self, relation: Relation, needed: frozenset[str], hint: str) -> Relation:
        """The relation as a common table expression."""
        if relation.is_bare and all(
            _is_called(one, name) for name, one in relation.columns.items()
        ):
            return relation
        body = relation.query(needed)
        made = frozenset(name for name in needed if name in relation.columns)
        name = self._name_of(body, relation, made, hint)
        known: dict[str, Sql] = {one: variable(one) for one in made}
        return Relation(exp.Table(this=identifier(name)), columns=known, hint=hint)

    def _name_of(self, body: Sql, relation: Relation, made: frozenset[str], hint: str) -> str:
        """The name of an equal common table expression, or of a new one.

        sqlglot compares whole trees, so only those are compared that look alike.
        """
        source = relation.source.name if isinstance(relation.source, exp.Table) else None
        look = source, len(relation.joins), len(relation.where), made
        alike = self._alike.setdefault(look, [])
        for name in alike:
            if self.bodies[name] == body:
                return name
        alike.append(self.add(body, hint))
        return alike[-1]

    def add(self, body: Sql, hint: str) -> str:
        """The name of a new common table expression."""
        plain = re.sub(r"[^a-z0-9_]", "_", hint.lower()) or "part"
        taken = self.bodies.keys() | {table for table, _ in self.tables.values()}
        name = _free_name(plain, taken)
        self.bodies[name] = body
        return name

    def table(self, key: TableKey, *columns_: tuple[str, ...]) -> Sql:
        """A table of the store, and the columns that are read of it."""
        if key not in self.tables:
            tag = self._graphs[key.stream].tag(key.tags[0]).name.local
            hint = f"{key.stream}_{tag}_nodes" if key.nodes else f"{key.stream}_{tag}"
            plain = re.sub(r"\W", "_", hint, flags=re.ASCII)
            taken = {table for table, _ in self.tables.values()}
            self.tables[key] = (_free_name(plain, taken), set())
        name, read = self.tables[key]
        read.update(columns_)
        return exp.Table(this=exp.Identifier(this=slot(name), quoted=False))


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it if it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)
