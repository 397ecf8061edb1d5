"""Answers as tables: the columns that elements need, and their values; without Spark."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from xcql.xdm.parse import parse_xml
from xcql_runtime.records import RecordShape, leaf_type


def table(*elements: str, types: dict[tuple[str, ...], str] | None = None) -> list[dict[str, Any]]:
    """The rows of some elements; they are of the type that their shape says."""
    nodes = [parse_xml(one).document_element for one in elements]
    shape = RecordShape()
    for node in nodes:
        found = RecordShape()
        found.see(node)
        shape.merge(found)
    shape.know(types or {})
    rows = [shape.record(node) for node in nodes]
    return pa.Table.from_pylist(rows, pa.schema(list(shape.struct()))).to_pylist()


def test_attributes_and_children_are_columns() -> None:
    assert table('<sale no="1"><to>Ann</to><item>a</item><item>b</item></sale>', "<sale/>") == [
        {"no": "1", "to": "Ann", "item": ["a", "b"]},
        {"no": None, "to": None, "item": []},
    ]


def test_an_element_with_attributes_is_a_struct() -> None:
    assert table('<a><b x="1">text</b></a>') == [{"b": {"x": "1", "value": "text"}}]


def test_names_that_an_engine_may_take_for_equal_get_numbers() -> None:
    assert table('<a b="1"><b>2</b><B>3</B></a>') == [{"b": "1", "b_2": "2", "B_3": "3"}]


def test_known_types_are_used() -> None:
    types = {("@no",): "xs:integer", ("at",): "xs:dateTime", ("sum",): "xs:decimal"}
    assert table(
        '<a no="7"><at>2003-10-23T12:00:00</at><sum>1.50</sum></a>', "<a><at/></a>", types=types
    ) == [
        {"no": 7, "at": datetime(2003, 10, 23, 12), "sum": Decimal("1.5")},
        {"no": None, "at": None, "sum": None},
    ]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("xs:double", "-INF", float("-inf")),
        ("xs:boolean", "false", False),
        ("xs:boolean", "", None),
        ("xs:duration", "P1D", "P1D"),
        (None, "", ""),
    ],
)
def test_texts_become_values(name: str | None, text: str, value: object) -> None:
    assert leaf_type(name).value(text) == value
