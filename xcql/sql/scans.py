"""Reading the store: the rows of tables that count at `now`, and fillers by the ids of holes."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from xcql.algebra.operators import (
    NODE_COLUMNS,
    Extract,
    Follow,
    NodeScan,
    Plan,
    Unit,
    Versions,
    own_columns,
    used,
)
from xcql.dialects import trees
from xcql.dialects.trees import (
    Sql,
    call,
    column,
    dot,
    identifier,
    number,
    variable,
    variable_name,
)
from xcql.history.stability import Stability, joint
from xcql.sql.parts import Parts, Relation, TableKey, unnested
from xcql.sql.target import Target

_NOW = exp.Placeholder(this="now")
# the fields of a place that scans read, in the order of the table
_PLACE = ("key", "vtFrom", "vtTo", "since", "until")


class Scans:
    """The scans of one query."""

    def __init__(self, parts: Parts, target: Target) -> None:
        self._parts = parts
        self._target = target
        self._dialect = target.dialect

    def extract(self, plan: Extract, needed: frozenset[str], has_no_end: bool = False) -> Relation:
        """A scan: a row for each version that counts, at each of its places that count.

        `has_no_end` says that only those are asked for whose `vtTo` is NULL.
        """
        assert isinstance(plan.input, Unit), "a scan for each tuple"
        if self._target.strategy == "qac":
            return self._root(plan, needed)
        wanted = needed & own_columns(plan)
        stability = self._stability(plan.stream, plan.tags)
        # a single place is read from the array itself
        at_once = stability is not None and stability.max_places <= 1
        looked_at: set[str] = set()

        def of(name: str) -> Sql:
            looked_at.add(name)
            return _first(column("places"), name) if at_once else column(f"place_{name}")

        def key() -> Sql:
            return of("key")

        form = self._dialect.form
        above = {
            "key": lambda: form("copy_key")(key(), column("number")),
            "parent": lambda: form("parent_key")(key()),
            "offset": lambda: form("hole_offset")(key()),
            "pathFrom": lambda: of("vtFrom"),
            "pathTo": lambda: self._known_end(of("vtTo"), stability),
        }
        is_settled = stability is not None
        present = has_no_end and is_settled and not self._are_events(plan.stream, plan.tags)
        relation = self._rows(plan.stream, plan.tags, plan.row, wanted, above, present=present)
        if stability is not None and stability.min_places < 1 and at_once:
            relation.where.append(exp.Not(this=trees.is_null(key())))
        relation.where += self._counts(of, stability)
        fields = looked_at if at_once else _PLACE
        places = (("places", one) for one in fields)
        self._parts.table(TableKey(plan.stream, plan.tags, present), *places)
        if at_once:
            return relation
        columns = [identifier(f"place_{one}") for one in _PLACE]
        relation.laterals.append(
            unnested("inline", column("places"), "place", columns, fields=_PLACE)
        )
        return relation

    def versions(self, plan: Versions, needed: frozenset[str]) -> Relation:
        """A scan: a row for each version that counts, wherever it is."""
        return self._rows(plan.stream, plan.tags, plan.row, needed & own_columns(plan), {})

    def nodes(self, plan: NodeScan, needed: frozenset[str]) -> Relation:
        """A scan of the table of nodes."""
        wanted = dict(zip(NODE_COLUMNS, plan.columns, strict=True))
        made: dict[str, Sql] = {own: column(name) for name, own in wanted.items() if own in needed}
        # always read a column, if only to count rows
        read = [(name,) for name, own in wanted.items() if own in needed] or [("start",)]
        source = self._parts.table(TableKey(plan.stream, plan.tags, nodes=True), *read)
        return Relation(source, columns=made, hint="nodes")

    def _known_end(self, value: Sql, stability: Stability | None) -> Sql:
        """An end that lies after `now` reads as `now`."""
        return value if stability is not None else self._dialect.form("known_end")(value, _NOW)

    def _counts(self, of: Callable[[str], Sql], stability: Stability | None) -> list[Sql]:
        """The conditions that a row, or a place, counts at `now`."""
        if stability is not None:
            return [] if stability.is_lasting else [trees.is_null(of("until"))]
        return [self._dialect.form("counts_at")(of("since"), of("until"), _NOW)]

    def _root(self, plan: Extract, needed: frozenset[str]) -> Relation:
        """The root filler, where nothing leads to but its id."""
        above = {
            "key": lambda: self._dialect.form("four_bytes")(column("number")),
            "parent": lambda: trees.constant(b""),
            "offset": lambda: number(0),
            "around": lambda: call("array", column("filler")),
        }
        wanted = needed & own_columns(plan)
        relation = self._rows(plan.stream, plan.tags, plan.row, wanted, above, "filler")
        relation.where.append(trees.binary("=", column("filler"), "0"))
        return relation

    def _rows(
        self,
        stream: str,
        tags: tuple[str, ...],
        row: str,
        wanted: frozenset[str],
        above: dict[str, Callable[[], Sql]],
        *read: str,
        present: bool = False,
    ) -> Relation:
        """The versions in a table that count, with the columns of a row."""
        stability = self._stability(stream, tags)
        # always read a column, if only to count rows
        columns_: list[tuple[str, ...]] = [("number",), *((one,) for one in read)]

        def own(name: str) -> Sql:
            columns_.append((name,))
            return column(name)

        where = self._counts(own, stability)
        made: dict[str, Sql] = {}
        event = self._are_events(stream, tags)
        for name in sorted(wanted):
            part = name[len(row) + 1 :]
            if part in above:
                made[name] = above[part]()
            elif part == "vtTo":
                columns_ += [("vtTo",)] if not event else [("vtFrom",)]
                made[name] = (
                    column("vtFrom") if event else self._known_end(column("vtTo"), stability)
                )
            elif part == "element":
                found = self._target.demands.get((stream, tags), set())
                columns_ += sorted(found) or [("element", "_start")]
                made[name] = column("element")
            else:
                columns_.append((part,))
                made[name] = column(part)
        source = self._parts.table(TableKey(stream, tags, present), *columns_)
        return Relation(source, where=where, columns=made, hint=row)

    def _are_events(self, stream: str, tags: tuple[str, ...]) -> bool:
        """Whether all rows of some tags are, whose `vtTo` is their `vtFrom`."""
        return all(self._target.graphs[stream].tag(tag).kind == "event" for tag in tags)

    def _stability(self, stream: str, tags: tuple[str, ...]) -> Stability | None:
        """How the rows of some tags stand to `now`, if that is settled."""
        known = self._target.stabilities.get(stream)
        return None if known is None else joint(known[tag] for tag in tags if tag in known)

    def follow(
        self, plan: Follow, needed: frozenset[str], open: Callable[[Plan, frozenset[str]], Relation]
    ) -> Relation:
        """From the ids in holes to the fillers with these ids.

        `open` gives what the holes are in, with the columns that are asked for.
        """
        own = own_columns(plan)
        looks = {used(one) for one in plan.within or ()}
        graph = self._target.graphs[plan.stream]
        around = f"{plan.parent}.around"
        # no filler is inside itself: in recursive tags, the ids on the path show it
        is_recursive = any(tag in graph.below(tag) for tag in plan.tags)
        ids = {around} if is_recursive or f"{plan.row}.around" in needed else set()
        below = (needed - own).union({f"{plan.parent}.key", f"{plan.parent}.holes"}, ids, *looks)
        parent = open(plan.input, frozenset(below))
        hole = f"{plan.row}.hole"
        holes = parent.columns[f"{plan.parent}.holes"]
        parent.laterals.append(unnested("explode", holes, f"{hole}s", [variable_name(hole)]))

        def of(name: str) -> Sql:
            return dot(variable(hole), name)

        if is_recursive:
            passed = call("array_contains", parent.columns[around], of("filler"))
            parent.where.append(exp.Not(this=passed))
        fits = sorted({above for tag in plan.tags for above in graph.parents(tag)})
        parent.where.append(
            exp.In(this=of("tag"), expressions=[trees.constant(one) for one in fits])
        )
        if plan.within is not None:
            start, length = (self._dialect.sql(one, parent.columns) for one in plan.within)
            end = exp.Add(this=start, expression=length)
            parent.where += [
                trees.binary(">=", of("start"), start),
                trees.binary("<", of("start"), exp.Paren(this=end)),
            ]
        parent.columns |= {
            f"{hole}.id": of("filler"),
            f"{hole}.start": of("start"),
        }
        known = (needed - own) | ids | {f"{plan.parent}.key", f"{hole}.id", f"{hole}.start"}
        left = self._parts.wrapped(parent, frozenset(known), parent.hint)
        above: dict[str, Callable[[], Sql]] = {}
        inner_needed = {f"{plan.row}.{part}" for part in ("filler", "number")} | (needed & own)
        inner_needed -= {f"{plan.row}.{part}" for part in ("key", "parent", "offset", "around")}
        right = self._rows(plan.stream, plan.tags, plan.row, frozenset(inner_needed), above)
        right = self._parts.wrapped(right, frozenset(inner_needed), f"{plan.row}.fillers")
        on = trees.binary("=", variable(f"{hole}.id"), variable(f"{plan.row}.filler"))
        left.joins.append(exp.Join(this=right.source, on=on))
        left.columns |= right.columns
        parent_key = left.columns[f"{plan.parent}.key"]
        left.columns |= {
            f"{plan.row}.key": self._dialect.form("copy_key")(
                parent_key, variable(f"{hole}.start"), variable(f"{plan.row}.number")
            ),
            f"{plan.row}.parent": parent_key,
            f"{plan.row}.offset": variable(f"{hole}.start"),
        }
        if ids:
            one = call("array", variable(f"{hole}.id"))
            left.columns[f"{plan.row}.around"] = call("concat", variable(around), one)
        left.hint = plan.row
        return self._parts.wrapped(left, needed, plan.row)


def _first(array: Sql, name: str) -> Sql:
    """A field of an array's first struct; NULL if there is none."""
    return dot(call("get", array, number(0)), name)
