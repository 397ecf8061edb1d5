"""An answer as a table: one column per attribute and child of its elements.

    for $s in … return <sale no="{count($s/part)}"><to>{$s/name/text()}</to>{$s/item}</sale>

    no BIGINT, to STRING, item ARRAY<STRING>

One pass over the answer finds the columns; the answer is kept for the second pass. The types are
those that the compiler knows. Names that differ only in case, or an attribute and a child with
the same name, get a number to tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from xcql.column_names import folded
from xcql.compile.terms.leaf_types import Place
from xcql.model.time import parse_time
from xcql.xdm.nodes import ElementNode, TextNode
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.items import unwrapped

# the column for text beside attributes or children, and for items that are not elements
VALUE = "value"
_ITEMS = pa.schema([("item", pa.string())])
# bytes of items that are kept in memory
_IN_MEMORY = 1 << 26


@dataclass(frozen=True, slots=True)
class LeafType:
    """The type of a column, and how text is converted to it: an xs:integer is a BIGINT, an
    xs:dateTime a TIMESTAMP_NTZ in UTC. Empty text is NULL, except in a text column."""

    arrow: pa.DataType
    read: Callable[[str], Any] | None = None

    def value(self, text: str) -> Any:
        if self.read is None:
            return text
        return self.read(text) if text else None


def leaf_type(name: str | None) -> LeafType:
    """The column type for an XML Schema type; text if Arrow has no such type."""
    return _TYPES.get(name or "", TEXT)


def _double(text: str) -> float:
    return float(text.replace("INF", "inf"))


def _boolean(text: str) -> bool:
    return text == "true"


def _date(text: str) -> date:
    return date.fromisoformat(text[:10])


TEXT = LeafType(pa.string())
_TYPES = {
    "xs:integer": LeafType(pa.int64(), int),
    "xs:decimal": LeafType(pa.decimal128(38, 18), Decimal),
    "xs:double": LeafType(pa.float64(), _double),
    "xs:float": LeafType(pa.float32(), _double),
    "xs:boolean": LeafType(pa.bool_(), _boolean),
    "xs:date": LeafType(pa.date32(), _date),
    "xs:dateTime": LeafType(pa.timestamp("us"), parse_time),
}


@dataclass(slots=True)
class RecordShape:
    """What the elements on one path have: text, attributes, children; and whether they repeat.

    `leaf` is the type of their text; each attribute has a type, too.
    """

    text: bool = False
    repeats: bool = False
    attributes: dict[str, LeafType] = field(default_factory=dict)
    children: dict[str, RecordShape] = field(default_factory=dict)
    leaf: LeafType = TEXT

    @property
    def is_leaf(self) -> bool:
        return not self.attributes and not self.children

    def fields(self) -> list[tuple[str, RecordShape | LeafType, str]]:
        """The fields as (name of the attribute or child, its shape or type, column)."""
        wanted: list[tuple[str, RecordShape | LeafType]] = [*self.attributes.items()]
        wanted += self.children.items()
        if self.text:
            wanted.append(("", self.leaf))
        taken: set[str] = set()
        found = []
        for name, shape in wanted:
            column, number = name or VALUE, 1
            while folded(column) in taken:
                number += 1
                column = f"{name or VALUE}_{number}"
            taken.add(folded(column))
            found.append((name, shape, column))
        return found

    def see(self, element: ElementNode) -> None:
        """Extend the shape to cover an element."""
        counts: dict[str, int] = {}
        for attribute in element.attributes:
            self.attributes.setdefault(str(attribute.name), TEXT)
        for child in element.children:
            if isinstance(child, ElementNode):
                name = str(child.name)
                counts[name] = counts.get(name, 0) + 1
                shape = self.children.setdefault(name, RecordShape())
                shape.repeats = shape.repeats or counts[name] > 1
                shape.see(child)
            elif isinstance(child, TextNode) and child.value.strip():
                self.text = True

    def merge(self, other: RecordShape) -> None:
        self.text = self.text or other.text
        self.repeats = self.repeats or other.repeats
        for name in other.attributes:
            self.attributes.setdefault(name, TEXT)
        for name, shape in other.children.items():
            self.children.setdefault(name, RecordShape()).merge(shape)

    def know(self, types: Mapping[Place, str], place: Place = ()) -> None:
        """Apply the types that the compiler knows."""
        self.leaf = leaf_type(types.get(place))
        for name in self.attributes:
            self.attributes[name] = leaf_type(types.get((*place, f"@{name}")))
        for name, child in self.children.items():
            child.know(types, (*place, name))

    def type(self) -> pa.DataType:
        one = self.leaf.arrow if self.is_leaf else self.struct()
        return pa.list_(one) if self.repeats else one

    def struct(self) -> pa.StructType:
        return pa.struct(
            [
                (column, like.type() if isinstance(like, RecordShape) else like.arrow)
                for _, like, column in self.fields()
            ]
        )

    def see_all(self, batch: pa.RecordBatch) -> None:
        """Extend the shape to cover the items of a batch."""
        for text in batch.column("item").to_pylist():
            item = _item(text)
            if isinstance(item, str):
                self.text = True
            else:
                self.see(item)

    def finish(self, types: Mapping[Place, str]) -> None:
        """Apply the types that the compiler knows; all items have been seen."""
        self.text = self.text or self.is_leaf
        self.know(types)

    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return pa.schema(list(self.struct()))

    def batch(self, items: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for the items of a batch."""
        rows = [self._row(_item(text)) for text in items.column("item").to_pylist()]
        return pa.RecordBatch.from_pylist(rows, self.schema())

    def _row(self, item: ElementNode | str) -> dict[str, Any]:
        if isinstance(item, str):
            return {column: self.leaf.value(item) for name, _, column in self.fields() if not name}
        return self.record(item)

    def value(self, element: ElementNode) -> Any:
        """One element as a value of the type, ignoring repetition."""
        return self.leaf.value(element.string_value()) if self.is_leaf else self.record(element)

    def record(self, element: ElementNode) -> dict[str, Any]:
        """One element as a value of the struct."""
        result: dict[str, Any] = {}
        for name, like, column in self.fields():
            if isinstance(like, RecordShape):
                below = [
                    like.value(child)
                    for child in element.children
                    if isinstance(child, ElementNode) and str(child.name) == name
                ]
                result[column] = below if like.repeats else next(iter(below), None)
            elif name:
                found = [one.value for one in element.attributes if str(one.name) == name]
                result[column] = like.value(found[0]) if found else None
            else:
                result[column] = like.value(element.string_value())
        return result


class Records:
    """An answer as a table, whose rows can be read once."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.schema = schema
        self.batches = batches

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def __iter__(self) -> Iterator[list[Any]]:
        """The rows as Python values, with lists and dicts where values nest."""
        for batch in self.batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield list(row)

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return pa.Table.from_batches(self.batches, self.schema)


def records_of(answer: Iterable[pa.RecordBatch], types: Mapping[Place, str]) -> Records:
    """An answer, given as batches with a column `item`, as a table.

    `types` are those of `xcql.compile.terms.leaf_types`. The items are kept in a temporary file
    if they are large, because the columns are only known after the last item.
    """
    kept = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed after the last batch
    shape = RecordShape()
    with pa.ipc.new_stream(kept, _ITEMS) as writer:
        for batch in answer:
            items = batch.select(["item"]).cast(_ITEMS)
            writer.write_batch(items)
            shape.see_all(items)
    shape.finish(types)

    def batches() -> Iterator[pa.RecordBatch]:
        with kept:
            kept.seek(0)
            for batch in pa.ipc.open_stream(kept):
                yield shape.batch(batch)

    return Records(shape.schema(), batches())


def write_records(records: Records, folder: Path) -> None:
    """Write a table as a Parquet file into a new folder."""
    folder.mkdir(parents=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", records.schema) as writer:
        for batch in records.batches:
            writer.write_batch(batch)


def _item(text: str) -> ElementNode | str:
    """The element of an item, or the text of an item that is not an element."""
    document = unwrapped(parse_xml(f"<item>{text}</item>", "<item>"))
    if len(document.children) == 1 and isinstance(document.children[0], ElementNode):
        return document.children[0]
    return document.string_value()
