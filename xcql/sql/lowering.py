"""Plans as SQL queries.

A plan is lowered for the columns that are looked at above it, so nothing else is read. Operators
are gathered into one SELECT as long as SQL allows it; what has to be a query of its own becomes a
common table expression, named after what the plan calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from xcql.algebra.operators import (
    Distinct,
    Extract,
    Follow,
    Join,
    Merge,
    Nearest,
    Nest,
    NodeScan,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Select,
    SortKey,
    Spread,
    Tally,
    Unit,
    Unnest,
    Versions,
    columns,
    order,
    own_columns,
    row_column,
    scalars,
    used,
)
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Scalar, conjuncts, walk_scalar
from xcql.dialects import trees
from xcql.dialects.dialect import Gather, Query
from xcql.dialects.slots import SqlText
from xcql.dialects.trees import (
    Sql,
    call,
    cast,
    identifier,
    number,
    variable,
    variable_name,
)
from xcql.sql.nearest import by_numbers
from xcql.sql.parts import Parts, Relation, Tables, conjunction, one_row, unnested, window
from xcql.sql.reads import reads
from xcql.sql.reductions import is_ordered, reduced
from xcql.sql.scans import Scans
from xcql.sql.sharing import shared
from xcql.sql.target import Target


@dataclass(frozen=True, slots=True)
class AnswerPlan:
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


# of files of so many bytes one task can hold, and sort, all that is in them
_FEW_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Lowered:
    """The SQL text of an answer, and the tables that it reads.

    `items` is a text that gives the items without order, each with the keys `key_0`, `key_1`, … of
    its place, if it has one: for callers that hold all of them anyway. It is None where the keys
    are not simply sorted from the least.
    """

    text: SqlText
    items: SqlText | None
    tables: Tables


def lowered(answer: AnswerPlan, target: Target) -> Lowered:
    """An answer as SQL."""
    plan, once = shared(answer.plan, answer.columns, target.dialect)
    lowering = _Lowering(plan, answer.columns, once, target)
    relation = lowering.whole(plan, answer.columns)
    item = (answer.item, "item", "STRING")
    times = [(answer.begin, "vtFrom", "TIMESTAMP_NTZ"), (answer.end, "vtTo", "TIMESTAMP_NTZ")]
    keys = [key for key in answer.order if not _is_constant(key.scalar)]
    whole = _selected(relation, item, *times)
    if keys:
        ordered = [lowering.sorted(key, relation.columns) for key in keys]
        whole.set("order", exp.Order(expressions=ordered))
    tables = lowering.parts.tables
    size = sum(target.sizes[key.stream].get(tag, 0) for key in tables for tag in key.tags)
    gather: Gather = "one" if size <= _FEW_BYTES else "several"
    queries = [Query(whole, gather if keys else None)]
    if all(map(_sorts_anywhere, keys)):
        places = _selected(relation, item)
        for index, key in enumerate(keys):
            value = lowering.sql(key.scalar, relation.columns)
            places.append("expressions", exp.Alias(this=value, alias=identifier(f"key_{index}")))
        queries.append(Query(places))
    text, *items = target.dialect.write(lowering.parts.bodies, queries)
    return Lowered(text, items[0] if items else None, tables)


def lowered_rows(plan: Plan, names: Sequence[str], target: Target) -> tuple[SqlText, Tables]:
    """The SQL text of some columns of a plan's tuples, without order, and the tables it reads."""
    plan, once = shared(plan, frozenset(names), target.dialect)
    lowering = _Lowering(plan, frozenset(names), once, target)
    relation = lowering.whole(plan, frozenset(names))
    query = _selected(relation, *((name, name, None) for name in names))
    (text,) = target.dialect.write(lowering.parts.bodies, [Query(query)])
    return text, lowering.parts.tables


def _selected(relation: Relation, *chosen: tuple[str, str, str | None]) -> exp.Select:
    """The chosen columns, each under another name and, if one is given, with a type."""

    def typed(column: Sql, type_: str | None) -> Sql:
        return column if type_ is None else cast(column, type_)

    return exp.Select(
        expressions=[
            exp.Alias(this=typed(relation.columns[name], type_), alias=identifier(alias))
            for name, alias, type_ in chosen
        ],
        from_=exp.From(this=relation.source if relation.source else None),
    )


def _sorts_anywhere(key: SortKey) -> bool:
    """Whether the receiver of the items can sort them by the key: ascending, NULL first.

    Not every time of SQL is a time in Python.
    """
    return key.kind not in ("other", "time") and not key.descending and not key.empty_greatest


def _is_constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant)


class _Lowering:
    def __init__(
        self, plan: Plan, needed: frozenset[str], once: frozenset[str], target: Target
    ) -> None:
        self.dialect = target.dialect
        self.sql = target.dialect.sql
        self.parts = Parts(target.graphs)
        self.scans = Scans(self.parts, target)
        self.once = once
        self.reads = reads(plan, needed)

    def condition(self, scalar: Scalar, known: dict[str, Sql]) -> Sql:
        """A condition; one that only fails has to be declared as one."""
        condition = self.sql(scalar, known)
        if isinstance(scalar, Call) and scalar.function == "fail":
            return self.dialect.form("is_true")(condition)
        return condition

    def is_member(self, scalar: Scalar) -> bool:
        """Whether it is one of the tuples that were collected: several columns are its fields."""
        match scalar:
            case Call(function="get", arguments=(Column(name=name), _)):
                return name in self.reads.collected
        return False

    def sorted(self, key: SortKey, known: dict[str, Sql]) -> Sql:
        """A key of ORDER BY; the empty sequence, NULL, is the least unless the query says not."""
        nulls_first = key.descending == key.empty_greatest
        value = self.sql(key.scalar, known)
        return exp.Ordered(this=value, desc=key.descending, nulls_first=nulls_first)

    def whole(self, plan: Plan, needed: frozenset[str]) -> Relation:
        """The plan as a table, which more than one query can read."""
        return self.parts.wrapped(self.lower(plan, needed), needed, "answer")

    def lower(self, plan: Plan, needed: frozenset[str]) -> Relation:
        match plan:
            case Unit():
                return Relation()
            case Extract():
                return self.scans.extract(plan, needed)
            case Versions():
                return self.scans.versions(plan, needed)
            case NodeScan():
                return self.scans.nodes(plan, needed)
            case Follow():
                return self.scans.follow(plan, needed, self.open)
            case Order(input=below):
                return self.lower(below, needed)
            case Select(input=below, condition=condition):
                if (relation := self.one_per_group(plan, needed)) is not None:
                    return relation
                conditions = conjuncts(condition)
                wanted = needed | used(condition)
                if isinstance(below, Extract):
                    has_no_end = Call("is_null", (row_column(below.row, "vtTo"),)) in conditions
                    relation = self.scans.extract(below, wanted, has_no_end)
                else:
                    relation = self.open(below, wanted, used(condition))
                relation.where += [self.condition(one, relation.columns) for one in conditions]
                return relation
            case Project(input=below, name=name, scalar=scalar):
                if name not in needed:
                    return self.lower(below, needed)
                relation = self.open(below, (needed - {name}) | used(scalar), used(scalar))
                relation.columns[name] = self.sql(scalar, relation.columns)
                if name in self.once:
                    relation.once.add(name)
                if _is_heavy(scalar) or self.is_member(scalar):
                    return self.parts.wrapped(relation, needed, relation.hint)
                return relation
            case Unnest():
                return self.unnest(plan, needed)
            case Number():
                return self.number(plan, needed)
            case Over():
                return self.over(plan, needed)
            case Distinct():
                return self.distinct(plan, needed)
            case Join():
                return self.join(plan, needed)
            case Spread():
                return self.spread(plan, needed)
            case Tally():
                return self.tally(plan, needed)
            case Nearest():
                return self.nearest(plan, needed)
            case Nest():
                return self.nest(plan, needed)
            case Merge():
                return self.merge(plan, needed)
        raise AssertionError(plan)

    def open(
        self, plan: Plan, needed: frozenset[str], uses: frozenset[str] | None = None
    ) -> Relation:
        """The plan as a relation that more can be added to, which uses some of its columns."""
        relation = self.lower(plan, needed)
        is_named = not relation.once.isdisjoint(needed if uses is None else uses)
        if relation.sealed or relation.group is not None or is_named:
            return self.parts.wrapped(relation, needed, relation.hint)
        return relation

    def narrowed(self, known: dict[str, Sql]) -> dict[str, Sql]:
        """The columns without the fields of structs that nothing reads.

        An engine reads single fields from a file, but not if the tuples are sorted or joined.
        """
        found = dict(known)
        for name, value in known.items():
            if isinstance(value, exp.Column):
                pruned = self.reads.pruned(name, Column(name))
                if pruned != Column(name):
                    found[name] = self.sql(pruned, {name: value})
        return found

    def unnest(self, plan: Unnest, needed: frozenset[str]) -> Relation:
        own = own_columns(plan)
        relation = self.open(plan.input, (needed - own) | used(plan.array))
        array = self.sql(plan.array, relation.columns)
        if not isinstance(array, exp.Column):
            # Spark goes wrong where a generator looks into structs, and a Python function has to
            # be called before its result is unnested
            name = f"{plan.item}.array"
            relation.columns[name] = array
            kept = frozenset((needed - own) | {name})
            relation = self.parts.wrapped(relation, kept, relation.hint)
            array = variable(name)
        if relation.source is None:
            relation.source = one_row()
        names = [variable_name(plan.position), variable_name(plan.item)]
        view = f"{plan.item}.view"
        relation.laterals.append(unnested("posexplode", array, view, names, plan.outer))
        relation.columns[plan.item] = variable(plan.item)
        relation.columns[plan.position] = variable(plan.position)
        if relation.hint == "part":
            relation.hint = plan.item
        return relation

    def spread(self, plan: Spread, needed: frozenset[str]) -> Relation:
        """Each tuple once for every bucket of its interval."""
        own = own_columns(plan)
        relation = self.open(plan.input, (needed - own) | used(plan.begin) | used(plan.end))
        kept = needed - own
        ends = {f"{plan.name}.from": "least", f"{plan.name}.to": "greatest"}
        for name, function in ends.items():
            moment = Call("seconds_of", (Call(function, (plan.begin, plan.end)),))
            relation.columns[name] = self.sql(moment, relation.columns)
        relation = self.parts.wrapped(relation, kept | ends.keys(), relation.hint)
        buckets = f"{plan.name}.buckets"
        made = Call("time_buckets", (*map(Column, ends), Constant(plan.is_left)))
        relation.columns[buckets] = self.sql(made, relation.columns)
        relation = self.parts.wrapped(relation, kept | {buckets}, relation.hint)
        names = [plan.name, f"{plan.name}.first"]
        # every tuple has a bucket; unless it is outer, Spark computes those of whole tables before
        # the joins that leave few of their rows, to see which rows have none
        view = unnested(
            "inline",
            variable(buckets),
            f"{plan.name}.view",
            list(map(variable_name, names)),
            outer=True,
        )
        relation.laterals.append(view)
        del relation.columns[buckets]
        relation.columns |= {one: variable(one) for one in names}
        return relation

    def number(self, plan: Number, needed: frozenset[str]) -> Relation:
        own = own_columns(plan)
        keys = [
            key
            for key in order(plan.input)
            if not _is_constant(key.scalar) and key.scalar not in plan.partition
        ]
        looks = frozenset().union(
            *(used(one) for one in plan.partition), *(used(key.scalar) for key in keys)
        )
        relation = self.open(plan.input, (needed - own) | looks)
        relation.columns = self.narrowed(relation.columns)
        # what tuples are compared by is computed once
        relation = self.parts.wrapped(relation, (needed - own) | looks, relation.hint)
        partition = [
            self.sql(one, relation.columns) for one in plan.partition if not _is_constant(one)
        ]
        if plan.name in needed:
            ordered = [
                self.sorted(
                    replace(key, descending=not key.descending) if plan.backwards else key,
                    relation.columns,
                )
                for key in keys
            ]
            relation.columns[plan.name] = cast(
                window(call("row_number"), partition, ordered or [number(1)]), "BIGINT"
            )
        if plan.total is not None and plan.total in needed:
            counted = window(call("count", exp.Star()), list(partition), [])
            relation.columns[plan.total] = counted
        relation.sealed = True
        return relation

    def one_per_group(self, plan: Select, needed: frozenset[str]) -> Relation | None:
        """The first or last tuples of partitions, which need no sorting; None if it is not that."""
        below = plan.input
        if not isinstance(below, Number):
            return None
        conditions = list(conjuncts(plan.condition))
        end = next((one for one in conditions if _end(one, below) is not None), None)
        keys = [
            key
            for key in order(below.input)
            if not _is_constant(key.scalar) and key.scalar not in below.partition
        ]
        if end is None or not keys or any(key.descending or key.empty_greatest for key in keys):
            return None
        conditions.remove(end)
        kept = needed.union(*map(used, conditions))
        apart = {name for name in kept if Column(name) in below.partition}
        if kept & own_columns(below):
            return None
        looks = frozenset().union(*map(used, below.partition), *(used(key.scalar) for key in keys))
        relation = self.open(below.input, kept | looks)
        known, columns_ = relation.columns, self.narrowed(relation.columns)
        fields = {f"field{place}": name for place, name in enumerate(sorted(kept - apart))}
        groups = [self.sql(one, known) for one in below.partition if not _is_constant(one)]
        relation.group = groups
        relation.columns = {name: known[name] for name in apart}
        found = f"{below.name}.found"
        if fields or not groups:
            relation.columns[found] = self.dialect.forms[f"group_{_end(end, below)}"](
                trees.struct(**{place: columns_[name] for place, name in fields.items()})
                if fields
                else trees.constant(True),
                *(self.sql(key.scalar, known) for key in keys),
            )
        relation = self.parts.wrapped(relation, frozenset(relation.columns), relation.hint)
        if found in relation.columns:
            of_one = relation.columns.pop(found)
            # without groups, there is a row even for no tuples
            relation.where.append(trees.is_not_null(of_one))
            relation.columns |= {name: trees.dot(of_one, field) for field, name in fields.items()}
        relation.where += [self.condition(one, relation.columns) for one in conditions]
        return relation

    def over(self, plan: Over, needed: frozenset[str]) -> Relation:
        """Operators of this kind that do not look at each other are columns of one SELECT.

        Wherever a plan occurs, its table has the same columns, so it is computed only once.
        """
        if plan.name in self.reads.repeated:
            needed |= columns(plan) & self.reads.columns
        together = [plan]
        looks: frozenset[str] = frozenset().union(*map(used, scalars(plan)))
        while isinstance(below := together[-1].input, Over) and below.name not in looks:
            together.append(below)
            looks = looks.union(*map(used, scalars(below)))
        base = together[-1].input
        wanted = [
            replace(one, aggregate=self.reads.needed(one.name, one.aggregate))
            for one in reversed(together)
            if one.name in needed
        ]
        kept = needed - {one.name for one in together}
        keys = order(base)
        looks = frozenset().union(
            *(used(scalar) for one in wanted for scalar in scalars(one)),
            *(used(key.scalar) for key in keys),
        )
        relation = self.open(base, kept | looks)
        made = {one.name: self.framed(one, keys, relation.columns) for one in wanted}
        relation.columns = self.narrowed(relation.columns) | made
        return self.parts.wrapped(relation, needed, relation.hint)

    def framed(self, plan: Over, keys: Sequence[SortKey], known: dict[str, Sql]) -> Sql:
        """The value of a reduction in its frame."""
        partition = [self.sql(one, known) for one in plan.partition if not _is_constant(one)]
        ordered = [
            self.sorted(key, known)
            for key in keys
            if not _is_constant(key.scalar) and key.scalar not in plan.partition
        ]
        one = plan.aggregate
        if plan.frame in ("previous", "next"):
            assert one.reduction == "any"
            shifted = "lag" if plan.frame == "previous" else "lead"
            return window(call(shifted, self.sql(one.value, known)), partition, ordered)
        reduced_to = reduced(one, known, [], self.dialect, is_framed=True)
        if plan.frame == "all":
            return window(reduced_to, partition, [])
        framed = window(reduced_to, partition, ordered)
        if plan.frame == "so far":
            framed.set("spec", _SO_FAR)
            return framed
        further = plan.further
        if further is None or not (_is_constant(further) or self.dialect.frames_vary):
            framed.set("spec", _from_here("UNBOUNDED"))
            if further is None:
                return framed
            length = trees.plus(self.sql(further, known), number(1))
            return self.dialect.form("slice")(framed, number(1), length)
        if isinstance(further, Constant) and isinstance(further.value, int):
            # Spark wants 32 bits there
            framed.set("spec", _from_here(number(further.value)))
        else:
            framed.set("spec", _from_here(self.dialect.sql(further, known)))
        return framed

    def distinct(self, plan: Distinct, needed: frozenset[str]) -> Relation:
        looks = frozenset().union(*(used(one) for one in (plan.key, *plan.within)))
        relation = self.open(plan.input, needed | looks)
        partition = [self.sql(one, relation.columns) for one in (*plan.within, plan.key)]
        copy = ".copy"
        relation.columns[copy] = window(
            call("row_number"), partition, [exp.Ordered(this=partition[-1])]
        )
        relation = self.parts.wrapped(relation, needed | looks | {copy}, relation.hint)
        relation.where.append(trees.binary("=", variable(copy), number(1)))
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
        left, right = self.lower(plan.left, left_needed), self.lower(plan.right, right_needed)
        for below in (left, right):
            below.columns = self.narrowed(below.columns)
        left = self.parts.wrapped(left, left_needed, left.hint)
        right = self.parts.wrapped(right, right_needed, right.hint)
        left_name, right_name = left.source.name, right.source.name  # type: ignore[union-attr]
        right_source = right.source
        if left_name == right_name:
            right_name = f"{right_name}_again"
            alias = exp.TableAlias(this=identifier(right_name))
            right_source = exp.Table(this=identifier(left_name), alias=alias)
        known: dict[str, Sql] = {name: variable(name, left_name) for name in left_needed}
        inner = {name: variable(name, right_name) for name in right_needed}
        on: list[Sql] = [
            trees.binary("=", self.sql(a, known), self.sql(b, inner)) for a, b in plan.keys
        ]
        if plan.condition != TRUE:
            compared = [self.sql(one, {**known, **inner}) for one in conjuncts(plan.condition)]
            if on and self.dialect.orders_joins and _has_several_tables(plan):
                # all pairs in a range would be built, and most of them have other keys
                compared = [trees.case_(on[0], one, exp.Null()) for one in compared]
            on += compared
        kind = {"inner": "INNER", "left": "LEFT", "semi": "LEFT SEMI", "anti": "LEFT ANTI"}[
            plan.kind
        ]
        join = exp.Join(
            this=right_source,
            kind="CROSS" if not on and plan.kind == "inner" else None,
            side=None,
            on=conjunction(on) if on else None,
        )
        if plan.kind != "inner":
            side, _, rest = kind.partition(" ")
            join = exp.Join(
                this=right_source,
                side=side,
                kind=rest or None,
                on=conjunction(on) if on else trees.constant(True),
            )
        relation = Relation(left.source, [join], hint=left.hint)
        relation.columns = dict(known)
        if plan.kind in ("inner", "left"):
            relation.columns |= inner
        if relation.hint == "part" or plan.kind == "inner":
            relation.hint = f"{left.hint}_{right.hint}"[:40] if plan.kind == "inner" else left.hint
        relation = self.parts.wrapped(
            relation, frozenset(needed & set(relation.columns)), relation.hint
        )
        return relation

    def tally(self, plan: Tally, needed: frozenset[str]) -> Relation:
        """Both sides in one order, in which each left tuple counts the right ones before it."""
        kept = sorted(needed - {plan.name})
        keys = [f"{plan.name}.key{index}" for index in range(len(plan.keys))]
        value, is_right = f"{plan.name}.value", f"{plan.name}.is_right"
        sides: list[exp.Select] = []
        for index, below in enumerate((plan.left, plan.right)):
            compared = [*(pair[index] for pair in plan.keys), plan.values[index]]
            own = frozenset(kept) if index == 0 else frozenset()
            side = self.open(below, own.union(*map(used, compared)))
            made = {name: side.columns[name] if index == 0 else exp.Null() for name in kept}
            made |= {
                name: self.sql(one, side.columns)
                for name, one in zip([*keys, value], compared, strict=True)
            }
            if index == 1:
                side.where += [trees.is_not_null(made[name]) for name in (*keys, value)]
            side.columns = {**made, is_right: trees.constant(index == 1)}
            sides.append(
                self.parts.wrapped(side, frozenset(side.columns), side.hint).query(
                    frozenset(side.columns)
                )
            )
        union = exp.Union(this=sides[0], expression=sides[1], distinct=False)
        name = self.parts.add(union, plan.name)
        # the larger before the smaller for "less than", and equal ones after the tuple itself
        # unless they count
        ordered: list[Sql] = [
            exp.Ordered(this=variable(value), desc=plan.comparison[0] == "<"),
            exp.Ordered(this=variable(is_right), desc=plan.comparison.endswith("=")),
        ]
        counted = window(call("count_if", variable(is_right)), list(map(variable, keys)), ordered)
        counted.set("spec", _SO_FAR)
        relation = Relation(exp.Table(this=identifier(name)), hint=plan.name)
        relation.columns = {one: variable(one) for one in (*kept, is_right)}
        relation.columns[plan.name] = trees.case_(
            trees.is_null(variable(value)), trees.constant(0), counted
        )
        relation = self.parts.wrapped(relation, frozenset(relation.columns), plan.name)
        relation.where.append(exp.Not(this=variable(is_right)))
        del relation.columns[is_right]
        return relation

    def nearest(self, plan: Nearest, needed: frozenset[str]) -> Relation:
        """An ASOF join, or numbers: so many right tuples compare, and the last is the nearest."""
        if plan.position != 1 or not self.dialect.joins_nearest:
            return self.lower(by_numbers(plan, self.dialect.joins_nearest), needed)
        sides: list[Relation] = []
        on: list[list[Sql]] = []
        for index, below in enumerate((plan.left, plan.right)):
            compared = [*(pair[index] for pair in plan.keys), plan.values[index]]
            own = needed & columns(below)
            names = [f"near.{place}" for place in range(len(compared))]
            side = self.open(below, own.union(*map(used, compared)))
            side.columns |= {
                name: self.sql(one, side.columns) for name, one in zip(names, compared, strict=True)
            }
            side = self.parts.wrapped(side, own.union(names), side.hint)
            table = side.source.name  # type: ignore[union-attr]
            on.append([variable(name, table) for name in names])
            side.columns = {name: variable(name, table) for name in own}
            sides.append(side)
        left, right = sides
        signs = [*("=" for _ in plan.keys), plan.comparison]
        condition = [trees.binary(sign, a, b) for sign, a, b in zip(signs, *on, strict=True)]
        join = exp.Join(
            this=right.source,
            method="ASOF",
            side="LEFT" if plan.kind == "left" else None,
            on=conjunction(condition),
        )
        relation = Relation(left.source, [join], hint=f"{left.hint}_{right.hint}"[:40])
        relation.columns = {**left.columns, **right.columns}
        return self.parts.wrapped(relation, frozenset(relation.columns), relation.hint)

    def nest(self, plan: Nest, needed: frozenset[str]) -> Relation:
        wanted = [
            (name, self.reads.needed(name, one)) for name, one in plan.fields if name in needed
        ]
        keys_of = order(plan.input)
        looks: frozenset[str] = frozenset().union(
            *(used(scalar) for _, scalar in plan.keys), *(used(one.value) for _, one in wanted)
        )
        in_order = any(
            is_ordered(one.reduction, self.dialect) and used(one.value) for _, one in wanted
        )
        if in_order:
            looks = looks.union(*(used(key.scalar) for key in keys_of))
        relation = self.open(plan.input, looks)
        sort: list[Sql] = []
        if in_order:
            groups = [scalar for _, scalar in plan.keys]
            kept = [
                key for key in keys_of if not _is_constant(key.scalar) and key.scalar not in groups
            ]
            if any(key.descending or key.empty_greatest for key in kept):
                ordered = [self.sorted(key, relation.columns) for key in kept]
                partition = [self.sql(scalar, relation.columns) for _, scalar in plan.keys]
                relation.columns[".rank"] = window(call("row_number"), partition, ordered)
                relation = self.parts.wrapped(relation, looks | {".rank"}, relation.hint)
                sort = [variable(".rank")]
            else:
                sort = [self.sql(key.scalar, relation.columns) for key in kept]
        made: dict[str, Sql] = {}
        group: list[Sql] = []
        for name, scalar in plan.keys:
            value = self.sql(scalar, relation.columns)
            group.append(value)
            if name in needed:
                made[name] = value
        for name, one in wanted:
            made[name] = reduced(one, relation.columns, sort, self.dialect)
        relation.columns = made
        relation.group = group
        if relation.source is None:
            relation.source = one_row()
        if not made:
            relation.columns = {".one": call("any_value", number(1))}
        hint = relation.hint
        result = self.parts.wrapped(relation, frozenset(made), f"nested_{hint}"[:40])
        result.hint = f"nested_{hint}"[:40]
        return result

    def merge(self, plan: Merge, needed: frozenset[str]) -> Relation:
        shared = [(name, each) for name, each in plan.columns if name in needed]
        queries: list[exp.Select] = []
        for index, below in enumerate(plan.inputs):
            looks: frozenset[str] = frozenset().union(*(used(each[index]) for _, each in shared))
            relation = self.open(below, looks)
            made = {name: self.sql(each[index], relation.columns) for name, each in shared}
            relation.columns = made
            queries.append(relation.query(frozenset(made)))
        union: exp.Expression = queries[0]
        for one in queries[1:]:
            union = exp.Union(this=union, expression=one, distinct=False)
        name = self.parts.add(union, "merged")
        known: dict[str, Sql] = {one: variable(one) for one, _ in shared}
        return Relation(exp.Table(this=identifier(name)), columns=known, hint="merged")


# all rows up to the current one
_SO_FAR = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")


def _from_here(end: str | Sql) -> exp.WindowSpec:
    """The current row, and all up to a number of rows after it."""
    return exp.WindowSpec(kind="ROWS", start="CURRENT ROW", end=end, end_side="FOLLOWING")


def _end(condition: Scalar, plan: Number) -> str | None:
    """Whether the condition asks for the `first` or the `last` tuples of partitions, or None."""
    match condition:
        case Call(function="=", arguments=(Column(name=name), other)) if name == plan.name:
            if other == Constant(1):
                return "last" if plan.backwards else "first"
            if plan.total is not None and other == Column(plan.total):
                return "first" if plan.backwards else "last"
    return None


def _has_several_tables(plan: Join) -> bool:
    """Whether an inner join is one of three tables or more."""
    below = [plan.left, plan.right] if plan.kind == "inner" else []
    while below:
        match below.pop():
            case Join(kind="inner"):
                return True
            case Select(input=one) | Project(input=one) | Order(input=one) | Unnest(input=one):
                below.append(one)
    return False


def _is_heavy(scalar: Scalar) -> bool:
    """Whether a scalar should be computed once instead of at each use."""
    return _calls_evaluator(scalar)


def _calls_evaluator(scalar: Scalar) -> bool:
    return any(isinstance(one, Call) and one.function == "evaluate" for one in walk_scalar(scalar))
