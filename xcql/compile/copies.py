"""The copies of fillers in the view of a stream, as a plan: what CaQ and temporalize read.

`xcql.shred.assembly` makes a document of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from xcql.algebra.operators import Extract, Merge, Plan, Select, Versions, columns, row_column
from xcql.algebra.scalars import (
    Column,
    Constant,
    Lambda,
    Scalar,
    call,
    conjunction,
    disjunction,
    field,
)
from xcql.compile.catalog import Catalog, StreamShape
from xcql.compile.result import Compiled, table_uses
from xcql.dialects.dialect import Dialect
from xcql.dialects.spark import SPARK
from xcql.model.tags import TagKind
from xcql.sql.lowering import lowered_rows
from xcql.sql.target import Target

# the columns of a copy with their types in Spark, in the order of `xcql.shred.assembly.Copy`
COPY: Mapping[str, str] = {
    "key": "BINARY",
    "raw": "BINARY",
    "starts": "ARRAY<INT>",
    "lengths": "ARRAY<INT>",
    "namespaces": "STRING",
    "timed": "BOOLEAN",
    "vtFrom": "TIMESTAMP_NTZ",
    "vtTo": "TIMESTAMP_NTZ",
}
# what identifies a version if the store does not keep the places of its filler
VERSION = ("filler", "number")

_ROW = "copy"
_BEGIN, _END, _HOLES = (row_column(_ROW, name) for name in ("vtFrom", "vtTo", "holes"))


def compile_copies(
    catalog: Catalog,
    name: str,
    now: datetime,
    at: datetime | None = None,
    dialect: Dialect = SPARK,
) -> Compiled:
    """All copies of fillers in the view of a stream, or those in the document `at` an instant.

    The rows have the columns of `COPY` and are in no order. If the store does not keep the places
    of the stream's fillers, each version is one row, with the columns of `VERSION` but no `key`.
    """
    stream = catalog.streams[name]
    plan = copies_plan(stream, at)
    outputs = [name for name in (*VERSION, *COPY) if name in columns(plan)]
    stabilities = {one: catalog.streams[one].stabilities for one in catalog.settled(now)}
    text, tables = lowered_rows(
        plan, outputs, Target(dialect, "qac+", {name: stream.graph}, {}, stabilities, {})
    )
    return Compiled(text, "caq", table_uses(tables), steps=(("", plan),))


def copies_plan(stream: StreamShape, at: datetime | None) -> Plan:
    """The plan of `compile_copies`; the stream has fillers."""
    tags: dict[TagKind, tuple[str, ...]] = {}
    for tsid in stream.slots:
        kind = stream.graph.tag(tsid).kind
        tags[kind] = (*tags.get(kind, ()), tsid)
    place = ("key",) if stream.placed else VERSION
    shared: dict[str, Scalar] = {
        **{one: row_column(_ROW, one) for one in (*place, "raw", "namespaces", "vtFrom", "vtTo")},
        "starts": _of_holes("start"),
        "lengths": _of_holes("length"),
    }
    timed = tuple(Constant(at is None and kind != "snapshot") for kind in tags)
    return Merge(
        tuple(_scan(stream, kind, those, at) for kind, those in tags.items()),
        (*((one, (scalar,) * len(tags)) for one, scalar in shared.items()), ("timed", timed)),
        by=(),
    )


def _of_holes(name: str) -> Scalar:
    return call("transform", _HOLES, Lambda((".hole",), field(Column(".hole"), name)))


def _scan(stream: StreamShape, kind: TagKind, tags: tuple[str, ...], at: datetime | None) -> Plan:
    scan = Extract if stream.placed else Versions
    rows: Plan = scan(stream.name, tags, _ROW)
    return rows if at is None else Select(rows, stands_at(kind, Constant(at)))


def stands_at(kind: TagKind, at: Scalar) -> Scalar:
    """Whether a version is in the document at an instant.

    It is the form of `stands_at` in `xcql.history.predicates` for plans.
    """
    begun = disjunction(call("is_null", _BEGIN), call("<=", _BEGIN, at))
    if kind == "event":
        return begun
    return conjunction(begun, disjunction(call("is_null", _END), call("<", at, _END)))
