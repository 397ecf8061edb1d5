"""An answer as a table: one column per attribute and child of its elements.

    for $s in … return <sale no="{count($s/part)}"><to>{$s/name/text()}</to>{$s/item}</sale>

    no BIGINT, to STRING, item ARRAY<STRING>

One pass over the answer finds the columns; Spark keeps the answer for the second pass. The types
are those that the compiler knows. Names that differ only in case, or an attribute and a child with
the same name, get a number to tell them apart.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udtf

from xcql.column_names import folded
from xcql.compile.terms.leaf_types import Place
from xcql.model.time import parse_time
from xcql.xdm.nodes import ElementNode, TextNode
from xcql.xdm.parse import parse_xml
from xcql_runtime.evaluator.items import unwrapped
from xcql_runtime.tables.frames import structure

# the column for text beside attributes or children, and for items that are not elements
VALUE = "value"


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
    """The column type for an XML Schema type; text if Spark has no such type."""
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


def record_frame(answers: DataFrame, types: Mapping[Place, str]) -> DataFrame:
    """The rows of an answer's column `item` as a table; the answer is computed once.

    `types` are those of `xcql.compile.terms.leaf_types`.
    """
    kept = answers.select("item").localCheckpoint(eager=False)
    find: Any = arrow_udtf(_shape_finder(), returnType="shape binary")
    shape = RecordShape()
    for row in find(kept.asTable()).collect():
        shape.merge(pickle.loads(bytes(row["shape"])))
    shape.text = shape.text or shape.is_leaf
    shape.know(types)
    build: Any = arrow_udtf(_builder(shape), returnType=structure(_schema(shape)))
    result: DataFrame = build(kept.asTable())
    return result


def _shape_finder() -> type:
    class ShapeFinder:
        def __init__(self) -> None:
            self.shape = RecordShape()

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            for text in batch.column("item").to_pylist():
                item = _item(text)
                if isinstance(item, str):
                    self.shape.text = True
                else:
                    self.shape.see(item)
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            shape = pa.array([pickle.dumps(self.shape)], pa.binary())
            yield pa.RecordBatch.from_arrays([shape], names=["shape"])

    return ShapeFinder


def _builder(shape: RecordShape) -> type:
    class RecordBuilder:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            rows = [_row(shape, text) for text in batch.column("item").to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, _schema(shape))

    return RecordBuilder


def _schema(shape: RecordShape) -> pa.Schema:
    return pa.schema(list(shape.struct()))


def _row(shape: RecordShape, text: str) -> dict[str, Any]:
    item = _item(text)
    if isinstance(item, str):
        return {column: shape.leaf.value(item) for name, _, column in shape.fields() if not name}
    return shape.record(item)


def _item(text: str) -> ElementNode | str:
    """The element of an item, or the text of an item that is not an element."""
    document = unwrapped(parse_xml(f"<item>{text}</item>", "<item>"))
    if len(document.children) == 1 and isinstance(document.children[0], ElementNode):
        return document.children[0]
    return document.string_value()
