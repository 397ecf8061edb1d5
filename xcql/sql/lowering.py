"""Plans as SQL queries.

A plan is lowered for the columns that are looked at above it, so nothing else is read. Operators
are gathered into one SELECT as long as SQL allows it; what has to be a query of its own becomes a
common table expression, named after what the plan calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from xcql.algebra.operators import (
    Aggregate,
    Distinct,
    Extract,
    Follow,
    Join,
    Merge,
    Nest,
    Number,
    Order,
    Plan,
    Project,
    Select,
    SortKey,
    Spread,
    Tally,
    Unit,
    Unnest,
    columns,
    order,
    own_columns,
    scalars,
    used,
    walk_plan,
)
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Scalar, conjuncts, walk_scalar
from xcql.analysis.graph import TagGraph
from xcql.shred.standing import Standing, joint
from xcql.sql import dialect, window_forms
from xcql.sql.array_forms import array_sum_doubles, join_texts, tuple_
from xcql.sql.dialect import Sql, call, cast, column, identifier, sql
from xcql.sql.easy_text import easy_text
from xcql.sql.node_forms import four_bytes, number_of_bytes
from xcql.sql.number_forms import DECIMAL

# modules that only declare more forms
_FORMS = (window_forms,)
# tables by stream and tags: the name in the text, and the columns that are read
Tables = dict[tuple[str, tuple[str, ...]], tuple[str, set[tuple[str, ...]]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan with the columns that are the answer, and its order."""

    plan: Plan
    item: str
    begin: str
    end: str
    order: tuple[SortKey, ...]

    @property
    def columns(self) -> frozenset[str]:
        found = {self.item, self.begin, self.end}
        return frozenset(found.union(*(used(key.scalar) for key in self.order)))


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
            query.set("where", exp.Where(this=_conjunction(self.where)))
        if self.group:
            query.set("group", exp.Group(expressions=self.group))
        return query


def _named(value: Sql, name: str) -> Sql:
    if isinstance(value, exp.Column) and value.name == name:
        return value
    return exp.Alias(this=value, alias=identifier(name))


def _conjunction(conditions: list[Sql]) -> Sql:
    result = conditions[0]
    for one in conditions[1:]:
        result = exp.And(this=result, expression=one)
    return result


# rows of which one task can sort what comes of them
_FEW = 10_000_000
# stands for the parts of the query until its text is put together
_PARTS = "xcql_parts_"


@dataclass(frozen=True, slots=True)
class Lowered:
    """The SQL text of an answer, and the tables that it reads.

    `items` is a text that gives the items without order, each with the keys `key_0`, `key_1`, … of
    its place, if it has one: for who has all of them in hand anyway. It is None where keys are no
    bytes.
    """

    text: str
    items: str | None
    tables: Tables


def lowered(
    answer: Answer,
    graphs: dict[str, TagGraph],
    demands: dict[tuple[str, tuple[str, ...]], set[tuple[str, ...]]],
    strategy: str,
    standings: Mapping[str, Mapping[str, Standing]],
    rows: int = 0,
) -> Lowered:
    """An answer from tables that have so many rows, as SQL.

    `standings` are those of the streams that are settled at `now`, by tsid.
    """
    lowering = _Lowering(answer.plan, graphs, demands, strategy, standings)
    relation = lowering.lower(answer.plan, answer.columns)
    relation = lowering.wrapped(relation, answer.columns, "answer")

    def query(*chosen: tuple[str, str, str]) -> exp.Select:
        return exp.Select(
            expressions=[
                exp.Alias(this=cast(relation.columns[name], type_), alias=identifier(alias))
                for name, alias, type_ in chosen
            ],
            from_=exp.From(this=relation.source.copy() if relation.source else None),
        )

    item = (answer.item, "item", "STRING")
    times = [(answer.begin, "vtFrom", "TIMESTAMP_NTZ"), (answer.end, "vtTo", "TIMESTAMP_NTZ")]
    keys = [key for key in answer.order if not _is_constant(key.scalar)]
    whole = query(item, *times)
    if keys:
        whole.set("order", exp.Order(expressions=[_sorted(key, relation.columns) for key in keys]))
    items = None
    if all(key.kind == "key" and not key.descending for key in keys):
        places = query(item)
        for index, key in enumerate(keys):
            value = sql(key.scalar, relation.columns)
            places.append("expressions", exp.Alias(this=value, alias=identifier(f"key_{index}")))
        items = lowering.text(places, False)
    text = lowering.text(whole, bool(keys) and rows <= _FEW)
    return Lowered(text, items, lowering.tables)


def _condition(scalar: Scalar, known: dict[str, Sql]) -> Sql:
    """A condition; one that only fails has to be told that it is one."""
    condition = sql(scalar, known)
    if isinstance(scalar, Call) and scalar.function == "fail":
        return dialect.is_true(condition)
    return condition


def _is_constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant)


def _sorted(key: SortKey, known: dict[str, Sql]) -> Sql:
    """A key of ORDER BY; Spark puts NULL before all else, as XQuery puts nothing."""
    nulls_first = key.descending == key.empty_greatest
    return exp.Ordered(this=sql(key.scalar, known), desc=key.descending, nulls_first=nulls_first)


class _Lowering:
    def __init__(
        self,
        plan: Plan,
        graphs: dict[str, TagGraph],
        demands: dict[tuple[str, tuple[str, ...]], set[tuple[str, ...]]],
        strategy: str,
        standings: Mapping[str, Mapping[str, Standing]],
    ) -> None:
        self.standings = standings
        self.graphs = graphs
        self.demands = demands
        self.strategy = strategy
        self.tables: Tables = {}
        # the parts of the query, by name
        self.ctes: dict[str, str] = {}
        self.by_text: dict[str, str] = {}
        # the fields of collected structs that anything asks for
        self.fields = frozenset(
            str(one.arguments[1].value)  # type: ignore[attr-defined]
            for here in walk_plan(plan)
            for scalar in scalars(here)
            for one in walk_scalar(scalar)
            if isinstance(one, Call) and one.function == "field"
        )

    # queries of their own

    def wrapped(self, relation: Relation, needed: frozenset[str], hint: str) -> Relation:
        """The relation as a common table expression."""
        if relation.is_bare and all(
            isinstance(one, exp.Column) and one.name == name
            for name, one in relation.columns.items()
        ):
            return relation
        text = easy_text(relation.query(needed))
        name = self.by_text.get(text)
        if name is None:
            name = self.by_text[text] = self._cte_name(hint)
            self.ctes[name] = text
        known: dict[str, Sql] = {one: column(one) for one in needed if one in relation.columns}
        return Relation(exp.Table(this=identifier(name)), columns=known, hint=hint)

    def _cte_name(self, hint: str) -> str:
        plain = re.sub(r"\W", "_", hint).lower() or "part"
        name, number = plain, 1
        while name in self.ctes or name in {table for table, _ in self.tables.values()}:
            number += 1
            name = f"{plain}_{number}"
        return name

    def text(self, query: exp.Select, at_once: bool) -> str:
        """The whole text; with `at_once` the answer is brought together before it is sorted.

        Otherwise Spark computes all of it twice, the first time to see how to divide the work of
        sorting.
        """
        written = []
        for name, body in self.ctes.items():
            written.append(f"{identifier(name).sql(dialect='spark')} AS (\n{_indented(body)}\n)")
        if written:
            # in parentheses, since text that begins with WITH might also be an INSERT for all that
            # Spark's parser knows, until it has come to the end of the parts
            last = query.args["from_"].sql(dialect="spark")
            hint = "/*+ REPARTITION(1) */ " if at_once else ""
            inner = _indented(f"WITH {', '.join(written)}\nSELECT {hint}* {last}")
            query.set("from_", exp.From(this=exp.Table(this=identifier(_PARTS))))
        text = easy_text(query)
        if written:
            text = text.replace(_PARTS, f"(\n{inner}\n)")
        text = text.replace("{", "{{").replace("}", "}}")
        for index, (name, _) in enumerate(self.tables.values()):
            text = text.replace(_marker(index), f"{{{name}}}")
        return text

    # operators

    def lower(self, plan: Plan, needed: frozenset[str]) -> Relation:
        match plan:
            case Unit():
                return Relation()
            case Extract():
                return self.extract(plan, needed)
            case Follow():
                return self.follow(plan, needed)
            case Order(input=below):
                return self.lower(below, needed)
            case Select(input=below, condition=condition):
                relation = self.open(below, needed | used(condition))
                relation.where += [
                    _condition(one, relation.columns) for one in conjuncts(condition)
                ]
                return relation
            case Project(input=below, name=name, scalar=scalar):
                if name not in needed:
                    return self.lower(below, needed)
                relation = self.open(below, (needed - {name}) | used(scalar))
                relation.columns[name] = sql(scalar, relation.columns)
                if _is_heavy(scalar):
                    return self.wrapped(relation, needed, relation.hint)
                return relation
            case Unnest():
                return self.unnest(plan, needed)
            case Number():
                return self.number(plan, needed)
            case Distinct():
                return self.distinct(plan, needed)
            case Join():
                return self.join(plan, needed)
            case Spread():
                return self.spread(plan, needed)
            case Tally():
                return self.tally(plan, needed)
            case Nest():
                return self.nest(plan, needed)
            case Merge():
                return self.merge(plan, needed)
        raise AssertionError(plan)

    def open(self, plan: Plan, needed: frozenset[str]) -> Relation:
        """The plan as a relation that more can be added to."""
        relation = self.lower(plan, needed)
        if relation.sealed or relation.group is not None:
            return self.wrapped(relation, needed, relation.hint)
        return relation

    def table(self, stream: str, tags: tuple[str, ...], *columns_: tuple[str, ...]) -> Sql:
        """A table of the store, and the columns that are read of it."""
        key = stream, tags
        if key not in self.tables:
            graph = self.graphs[stream]
            name = re.sub(r"\W", "_", f"{stream}_{graph.tag(tags[0]).name.local}")
            taken = {table for table, _ in self.tables.values()}
            number, free_name = 1, name
            while free_name in taken:
                number += 1
                free_name = f"{name}_{number}"
            self.tables[key] = (free_name, set())
        self.tables[key][1].update(columns_)
        marker = _marker(list(self.tables).index(key))
        return exp.Table(this=exp.Identifier(this=marker, quoted=False))

    def extract(self, plan: Extract, needed: frozenset[str]) -> Relation:
        """A scan: a row for each version that counts, at each of its places that count."""
        assert isinstance(plan.input, Unit), "a scan for each tuple"
        if self.strategy == "qac":
            return self.root(plan, needed)
        wanted = needed & own_columns(plan)
        standing = self.standing(plan.stream, plan.tags)
        # a place of which there is no more than one is looked at where it is
        at_once = standing is not None and standing.max_places <= 1
        looked_at: set[str] = set()

        def of(name: str) -> Sql:
            looked_at.add(name)
            return _first(column("places"), name) if at_once else column(f"place_{name}")

        def key() -> Sql:
            return of("key")

        above = {
            "key": lambda: call("concat", key(), four_bytes(column("number"))),
            "parent": lambda: call(
                "substring",
                key(),
                exp.Var(this="1"),
                exp.Sub(this=call("length", key()), expression=exp.Var(this="4")),
            ),
            "offset": lambda: number_of_bytes(
                call(
                    "substring",
                    key(),
                    exp.Sub(this=call("length", key()), expression=exp.Var(this="3")),
                    exp.Var(this="4"),
                )
            ),
            "pathFrom": lambda: of("vtFrom"),
            "pathTo": lambda: _end(of("vtTo"), standing),
        }
        relation = self.rows(plan.stream, plan.tags, plan.row, wanted, above)
        if standing is not None and standing.min_places < 1 and at_once:
            relation.where.append(exp.Not(this=dialect.is_null(key())))
        relation.where += _counts(of, standing)
        fields = looked_at if at_once else _PLACE
        self.table(plan.stream, plan.tags, *(("places", one) for one in fields))
        if at_once:
            return relation
        relation.laterals.append(
            exp.Lateral(
                this=call("inline", column("places")),
                view=True,
                alias=exp.TableAlias(
                    this=identifier("place"), columns=[identifier(f"place_{one}") for one in _PLACE]
                ),
            )
        )
        return relation

    def root(self, plan: Extract, needed: frozenset[str]) -> Relation:
        """The root filler, where nothing leads to but its id."""
        above = {
            "key": lambda: four_bytes(column("number")),
            "parent": lambda: dialect.constant(b""),
            "offset": lambda: exp.Var(this="0"),
            "around": lambda: call("array", column("filler")),
        }
        wanted = needed & own_columns(plan)
        relation = self.rows(plan.stream, plan.tags, plan.row, wanted, above, "filler")
        relation.where.append(dialect.binary("=", column("filler"), "0"))
        return relation

    def rows(
        self,
        stream: str,
        tags: tuple[str, ...],
        row: str,
        wanted: frozenset[str],
        above: dict[str, Callable[[], Sql]],
        *read: str,
    ) -> Relation:
        """The versions in a table that count, with the columns of a row."""
        standing = self.standing(stream, tags)
        # there is always something to read, be it to count it
        columns_: list[tuple[str, ...]] = [("number",), *((one,) for one in read)]

        def own(name: str) -> Sql:
            columns_.append((name,))
            return column(name)

        where = _counts(own, standing)
        made: dict[str, Sql] = {}
        event = all(self.graphs[stream].tag(tag).kind == "event" for tag in tags)
        for name in sorted(wanted):
            part = name[len(row) + 1 :]
            if part in above:
                made[name] = above[part]()
            elif part == "vtTo":
                columns_ += [("vtTo",)] if not event else [("vtFrom",)]
                made[name] = column("vtFrom") if event else _end(column("vtTo"), standing)
            elif part == "element":
                found = self.demands.get((stream, tags), set())
                columns_ += sorted(found) or [("element", "_start")]
                made[name] = column("element")
            else:
                columns_.append((part,))
                made[name] = column(part)
        source = self.table(stream, tags, *columns_)
        return Relation(source, where=where, columns=made, hint=row)

    def standing(self, stream: str, tags: tuple[str, ...]) -> Standing | None:
        """How the rows of some tags stand to `now`, if that is settled."""
        known = self.standings.get(stream)
        return None if known is None else joint(known[tag] for tag in tags if tag in known)

    def follow(self, plan: Follow, needed: frozenset[str]) -> Relation:
        """From the ids in holes to the fillers with these ids."""
        own = own_columns(plan)
        looks = {used(one) for one in plan.within or ()}
        graph = self.graphs[plan.stream]
        around = f"{plan.parent}_around"
        # no filler stands inside itself: where it could, the ids on the way tell
        is_recursive = any(tag in graph.below(tag) for tag in plan.tags)
        ids = {around} if is_recursive or f"{plan.row}_around" in needed else set()
        below = (needed - own).union({f"{plan.parent}_key", f"{plan.parent}_holes"}, ids, *looks)
        parent = self.open(plan.input, frozenset(below))
        hole = f"{plan.row}_hole"
        parent.laterals.append(_explode(parent.columns[f"{plan.parent}_holes"], f"{hole}s", hole))

        def of(name: str) -> Sql:
            return exp.Dot(this=column(hole), expression=identifier(name))

        if is_recursive:
            passed = call("array_contains", parent.columns[around].copy(), of("filler"))
            parent.where.append(exp.Not(this=passed))
        fits = sorted({above for tag in plan.tags for above in graph.parents(tag)})
        parent.where.append(
            exp.In(this=of("tag"), expressions=[dialect.constant(one) for one in fits])
        )
        if plan.within is not None:
            start, length = (sql(one, parent.columns) for one in plan.within)
            end = exp.Add(this=start.copy(), expression=length)
            parent.where += [
                dialect.binary(">=", of("start"), start),
                dialect.binary("<", of("start"), exp.Paren(this=end)),
            ]
        parent.columns |= {
            f"{hole}_id": of("filler"),
            f"{hole}_start": of("start"),
        }
        known = (needed - own) | ids | {f"{plan.parent}_key", f"{hole}_id", f"{hole}_start"}
        left = self.wrapped(parent, frozenset(known), parent.hint)
        above: dict[str, Callable[[], Sql]] = {}
        inner_needed = {f"{plan.row}_{part}" for part in ("filler", "number")} | (needed & own)
        inner_needed -= {f"{plan.row}_{part}" for part in ("key", "parent", "offset", "around")}
        right = self.rows(plan.stream, plan.tags, plan.row, frozenset(inner_needed), above)
        right = self.wrapped(right, frozenset(inner_needed), f"{plan.row}_fillers")
        on = dialect.binary("=", column(f"{hole}_id"), column(f"{plan.row}_filler"))
        left.joins.append(exp.Join(this=right.source, on=on))
        left.columns |= right.columns
        parent_key = left.columns[f"{plan.parent}_key"]
        left.columns |= {
            f"{plan.row}_key": call(
                "concat",
                parent_key.copy(),
                four_bytes(column(f"{hole}_start")),
                four_bytes(column(f"{plan.row}_number")),
            ),
            f"{plan.row}_parent": parent_key.copy(),
            f"{plan.row}_offset": column(f"{hole}_start"),
        }
        if ids:
            one = call("array", column(f"{hole}_id"))
            left.columns[f"{plan.row}_around"] = call("concat", column(around), one)
        left.hint = plan.row
        return self.wrapped(left, needed, plan.row)

    def unnest(self, plan: Unnest, needed: frozenset[str]) -> Relation:
        own = own_columns(plan)
        relation = self.open(plan.input, (needed - own) | used(plan.array))
        array = sql(plan.array, relation.columns)
        if not isinstance(array, exp.Column):
            # Spark goes wrong where a generator looks into structs, and a Python function has to
            # be called before its result is unnested
            name = f"{plan.item}_array"
            relation.columns[name] = array
            kept = frozenset((needed - own) | {name})
            relation = self.wrapped(relation, kept, relation.hint)
            array = column(name)
        if relation.source is None:
            relation.source = exp.Subquery(
                this=exp.Select(expressions=[exp.Var(this="1 AS one")]), alias=identifier("unit")
            )
        view = f"{plan.item}_view"
        relation.laterals.append(
            exp.Lateral(
                this=call("posexplode", array),
                view=True,
                outer=plan.outer or None,
                alias=exp.TableAlias(
                    this=identifier(view),
                    columns=[identifier(plan.position), identifier(plan.item)],
                ),
            )
        )
        relation.columns[plan.item] = column(plan.item)
        relation.columns[plan.position] = column(plan.position)
        if relation.hint == "part":
            relation.hint = plan.item
        return relation

    def spread(self, plan: Spread, needed: frozenset[str]) -> Relation:
        """Each tuple once for every bucket of its interval."""
        own = own_columns(plan)
        relation = self.open(plan.input, (needed - own) | used(plan.begin) | used(plan.end))
        kept = needed - own
        ends = {f"{plan.name}_from": "least", f"{plan.name}_to": "greatest"}
        for name, function in ends.items():
            moment = Call("seconds_of", (Call(function, (plan.begin, plan.end)),))
            relation.columns[name] = sql(moment, relation.columns)
        relation = self.wrapped(relation, kept | ends.keys(), relation.hint)
        buckets = f"{plan.name}_buckets"
        made = Call("time_buckets", (*map(Column, ends), Constant(plan.is_left)))
        relation.columns[buckets] = sql(made, relation.columns)
        relation = self.wrapped(relation, kept | {buckets}, relation.hint)
        names = [plan.name, f"{plan.name}_first"]
        relation.laterals.append(
            exp.Lateral(
                this=call("inline", column(buckets)),
                view=True,
                alias=exp.TableAlias(
                    this=identifier(f"{plan.name}_view"), columns=[identifier(one) for one in names]
                ),
            )
        )
        del relation.columns[buckets]
        relation.columns |= {one: column(one) for one in names}
        return relation

    def number(self, plan: Number, needed: frozenset[str]) -> Relation:
        own = own_columns(plan)
        keys = order(plan.input)
        looks = frozenset().union(
            *(used(one) for one in plan.partition), *(used(key.scalar) for key in keys)
        )
        relation = self.open(plan.input, (needed - own) | looks)
        partition = [sql(one, relation.columns) for one in plan.partition if not _is_constant(one)]
        if plan.name in needed:
            ordered = [
                _sorted(
                    replace(key, descending=not key.descending) if plan.backwards else key,
                    relation.columns,
                )
                for key in keys
                if not _is_constant(key.scalar)
            ]
            relation.columns[plan.name] = cast(
                _window(call("row_number"), partition, ordered or [exp.Var(this="1")]), "BIGINT"
            )
        if plan.total is not None and plan.total in needed:
            relation.columns[plan.total] = _window(
                call("count", exp.Star()), [one.copy() for one in partition], []
            )
        relation.sealed = True
        return relation

    def distinct(self, plan: Distinct, needed: frozenset[str]) -> Relation:
        looks = frozenset().union(*(used(one) for one in (plan.key, *plan.within)))
        relation = self.open(plan.input, needed | looks)
        partition = [sql(one, relation.columns) for one in (*plan.within, plan.key)]
        copy = "copy_number"
        relation.columns[copy] = _window(
            call("row_number"), partition, [exp.Ordered(this=partition[-1].copy())]
        )
        relation = self.wrapped(relation, needed | looks | {copy}, relation.hint)
        relation.where.append(dialect.binary("=", column(copy), exp.Var(this="1")))
        del relation.columns[copy]
        return relation

    def join(self, plan: Join, needed: frozenset[str]) -> Relation:
        looks = used(plan.condition).union(*(used(one) for pair in plan.keys for one in pair))
        left_columns, right_columns = columns(plan.left), columns(plan.right)
        both = needed | looks
        left_needed = frozenset(both & left_columns)
        right_needed = frozenset(
            (both if plan.kind in ("inner", "left") else looks) & right_columns
        )
        if isinstance(plan.left, Unit):
            assert not plan.keys, "a join with nothing"
            return self.open(plan.right, right_needed)
        left = self.lower(plan.left, left_needed)
        left = self.wrapped(left, left_needed, left.hint)
        right = self.lower(plan.right, right_needed)
        right = self.wrapped(right, right_needed, right.hint)
        left_name, right_name = left.source.name, right.source.name  # type: ignore[union-attr]
        right_source = right.source
        if left_name == right_name:
            right_name = f"{right_name}_again"
            alias = exp.TableAlias(this=identifier(right_name))
            right_source = exp.Table(this=identifier(left_name), alias=alias)
        known: dict[str, Sql] = {name: column(name, left_name) for name in left_needed}
        inner = {name: column(name, right_name) for name in right_needed}
        on: list[Sql] = [dialect.binary("=", sql(a, known), sql(b, inner)) for a, b in plan.keys]
        if plan.condition != TRUE:
            on += [sql(one, {**known, **inner}) for one in conjuncts(plan.condition)]
        kind = {"inner": "INNER", "left": "LEFT", "semi": "LEFT SEMI", "anti": "LEFT ANTI"}[
            plan.kind
        ]
        join = exp.Join(
            this=right_source,
            kind="CROSS" if not on and plan.kind == "inner" else None,
            side=None,
            on=_conjunction(on) if on else None,
        )
        if plan.kind != "inner":
            side, _, rest = kind.partition(" ")
            join = exp.Join(
                this=right_source,
                side=side,
                kind=rest or None,
                on=_conjunction(on) if on else dialect.constant(True),
            )
        relation = Relation(left.source, [join], hint=left.hint)
        relation.columns = dict(known)
        if plan.kind in ("inner", "left"):
            relation.columns |= inner
        if relation.hint == "part" or plan.kind == "inner":
            relation.hint = f"{left.hint}_{right.hint}"[:40] if plan.kind == "inner" else left.hint
        relation = self.wrapped(relation, frozenset(needed & set(relation.columns)), relation.hint)
        return relation

    def tally(self, plan: Tally, needed: frozenset[str]) -> Relation:
        """Both sides in one order, in which each left tuple counts the right ones before it."""
        kept = sorted(needed - {plan.name})
        keys = [f"{plan.name}_key_{index}" for index in range(len(plan.keys))]
        value, is_right = f"{plan.name}_value", f"{plan.name}_is_right"
        sides: list[exp.Select] = []
        for index, below in enumerate((plan.left, plan.right)):
            compared = [*(pair[index] for pair in plan.keys), plan.values[index]]
            own = frozenset(kept) if index == 0 else frozenset()
            side = self.open(below, own.union(*map(used, compared)))
            made = {name: side.columns[name] if index == 0 else exp.Null() for name in kept}
            made |= {
                name: sql(one, side.columns)
                for name, one in zip([*keys, value], compared, strict=True)
            }
            if index == 1:
                side.where += [
                    exp.Not(this=dialect.is_null(made[name].copy())) for name in (*keys, value)
                ]
            side.columns = {**made, is_right: dialect.constant(index == 1)}
            sides.append(
                self.wrapped(side, frozenset(side.columns), side.hint).query(
                    frozenset(side.columns)
                )
            )
        name = self._cte_name(plan.name)
        self.ctes[name] = easy_text(exp.Union(this=sides[0], expression=sides[1], distinct=False))
        # the larger before the smaller for "less than", and equal ones after the tuple itself
        # unless they count
        ordered: list[Sql] = [
            exp.Ordered(this=column(value), desc=plan.comparison[0] == "<"),
            exp.Ordered(this=column(is_right), desc=plan.comparison.endswith("=")),
        ]
        counted = _window(call("count_if", column(is_right)), list(map(column, keys)), ordered)
        counted.set("spec", _SO_FAR.copy())
        relation = Relation(exp.Table(this=identifier(name)), hint=plan.name)
        relation.columns = {one: column(one) for one in (*kept, is_right)}
        relation.columns[plan.name] = dialect.case_(
            dialect.is_null(column(value)), dialect.constant(0), counted
        )
        relation = self.wrapped(relation, frozenset(relation.columns), plan.name)
        relation.where.append(exp.Not(this=column(is_right)))
        del relation.columns[is_right]
        return relation

    def nest(self, plan: Nest, needed: frozenset[str]) -> Relation:
        wanted = [(name, one) for name, one in plan.fields if name in needed]
        keys_of = order(plan.input)
        looks: frozenset[str] = frozenset().union(
            *(used(scalar) for _, scalar in plan.keys), *(used(one.value) for _, one in wanted)
        )
        if any(one.reduction in _ORDERED for _, one in wanted):
            looks = looks.union(*(used(key.scalar) for key in keys_of))
        relation = self.open(plan.input, looks)
        sort: list[Sql] = []
        if any(one.reduction in _ORDERED for _, one in wanted):
            kept = [key for key in keys_of if not _is_constant(key.scalar)]
            if any(key.descending or key.empty_greatest for key in kept):
                ordered = [_sorted(key, relation.columns) for key in kept]
                partition = [sql(scalar, relation.columns) for _, scalar in plan.keys]
                relation.columns["rank"] = _window(call("row_number"), partition, ordered)
                relation = self.wrapped(relation, looks | {"rank"}, relation.hint)
                sort = [column("rank")]
            else:
                sort = [sql(key.scalar, relation.columns) for key in kept]
        made: dict[str, Sql] = {}
        group: list[Sql] = []
        for name, scalar in plan.keys:
            value = sql(scalar, relation.columns)
            group.append(value)
            if name in needed:
                made[name] = value.copy()
        for name, one in wanted:
            made[name] = self.aggregate(one, relation.columns, sort)
        relation.columns = made
        relation.group = group
        if relation.source is None:
            relation.source = exp.Subquery(
                this=exp.Select(expressions=[exp.Var(this="1 AS one")]), alias=identifier("unit")
            )
        if not made:
            relation.columns = {"one": call("any_value", exp.Var(this="1"))}
        hint = relation.hint
        result = self.wrapped(relation, frozenset(made), f"nested_{hint}"[:40])
        result.hint = f"nested_{hint}"[:40]
        return result

    def aggregate(self, one: Aggregate, known: dict[str, Sql], sort: list[Sql]) -> Sql:
        value = one.value
        if isinstance(value, Call) and value.function == "members":
            value = self.pruned(value)
        scalar = sql(value, known)
        match one.reduction:
            case "count":
                return call("count", exp.Star())
            case "count_if":
                return call("count_if", scalar)
            case "exists":
                return call("any_value", exp.Boolean(this=True))
            case "any":
                return call("any_value", scalar)
            case "min" | "max" | "sum":
                return call(one.reduction, scalar)
            case "sum_decimals":
                return cast(call("sum", cast(scalar, DECIMAL)), DECIMAL)
        gathered = _gathered(scalar, sort)
        match one.reduction:
            case "collect":
                return gathered
            case "join":
                return join_texts(gathered, dialect.text_literal(""))
            case "sum_doubles":
                return array_sum_doubles(gathered)
            case "first":
                return call("get", gathered, exp.Var(this="0"))
        raise AssertionError(one)

    def pruned(self, struct: Call) -> Call:
        """A struct without the fields that nothing asks for."""
        pairs = [
            struct.arguments[index : index + 2] for index in range(0, len(struct.arguments), 2)
        ]
        kept = [pair for pair in pairs if pair[0].value in self.fields]  # type: ignore[attr-defined]
        return Call("members", tuple(part for pair in kept or pairs[:1] for part in pair))

    def merge(self, plan: Merge, needed: frozenset[str]) -> Relation:
        shared = [(name, each) for name, each in plan.columns if name in needed]
        queries: list[exp.Select] = []
        for index, below in enumerate(plan.inputs):
            looks: frozenset[str] = frozenset().union(*(used(each[index]) for _, each in shared))
            relation = self.open(below, looks)
            made = {name: sql(each[index], relation.columns) for name, each in shared}
            relation.columns = made
            queries.append(relation.query(frozenset(made)))
        union: exp.Expression = queries[0]
        for one in queries[1:]:
            union = exp.Union(this=union, expression=one, distinct=False)
        name = self._cte_name("merged")
        self.ctes[name] = easy_text(union)
        known: dict[str, Sql] = {one: column(one) for one, _ in shared}
        return Relation(exp.Table(this=identifier(name)), columns=known, hint="merged")


# all rows up to the current one
_SO_FAR = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
# the fields of a place that scans read, in the order of the table
_PLACE = ("key", "vtFrom", "vtTo", "since", "until")
_ORDERED = frozenset({"collect", "join", "sum_doubles", "first"})


def _gathered(value: Sql, sort: list[Sql]) -> Sql:
    """An array of the values of a group, in order."""
    if not sort:
        struct = call("struct", value)
        return call(
            "transform", call("collect_list", struct), dialect.lambda_("e", _dot("e", "col1"))
        )
    struct = tuple_(*(one.copy() for one in sort), value)
    inside = dialect.lambda_("e", _dot("e", f"col{len(sort) + 1}"))
    return call("transform", call("sort_array", call("collect_list", struct)), inside)


def _dot(name: str, part: str) -> Sql:
    return exp.Dot(this=column(name), expression=identifier(part))


def _window(function: Sql, partition: list[Sql], ordered: list[Sql]) -> Sql:
    return exp.Window(
        this=function,
        partition_by=partition,
        order=exp.Order(expressions=ordered) if ordered else None,
    )


def _explode(array: Sql, view: str, name: str) -> exp.Lateral:
    return exp.Lateral(
        this=call("explode", array),
        view=True,
        alias=exp.TableAlias(this=identifier(view), columns=[identifier(name)]),
    )


def _first(array: Sql, name: str) -> Sql:
    """A field of an array's first struct; NULL if there is none."""
    return exp.Dot(this=call("get", array, exp.Var(this="0")), expression=identifier(name))


def _end(value: Sql, standing: Standing | None) -> Sql:
    """An end that lies after `now` reads as `now`."""
    if standing is not None:
        return value
    now = exp.Placeholder(this="now")
    return dialect.case_(dialect.binary("<=", value, now), value.copy(), exp.Null())


def _counts(of: Callable[[str], Sql], standing: Standing | None) -> list[Sql]:
    """The conditions that a row, or a place, counts at `now`."""
    if standing is not None:
        return [] if standing.is_lasting else [dialect.is_null(of("until"))]
    now = exp.Placeholder(this="now")
    return [
        dialect.either(dialect.is_null(of("since")), dialect.binary("<=", of("since"), now)),
        dialect.either(dialect.is_null(of("until")), dialect.binary(">", of("until"), now.copy())),
    ]


def _marker(index: int) -> str:
    """What stands for a table until the text is complete."""
    return f"xcql_table_{index}_"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _is_heavy(scalar: Scalar) -> bool:
    """Whether a scalar should be computed once, not wherever it is looked at."""
    return _calls_evaluator(scalar)


def _calls_evaluator(scalar: Scalar) -> bool:
    return any(isinstance(one, Call) and one.function == "evaluate" for one in walk_scalar(scalar))
