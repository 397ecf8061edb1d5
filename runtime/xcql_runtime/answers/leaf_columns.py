"""Texts as values of columns: an xs:integer is a BIGINT, an xs:dateTime a TIMESTAMP_NTZ in UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from xcql.model.time import parse_time


@dataclass(frozen=True, slots=True)
class LeafType:
    """A type of a column, and how a text is read for it; an empty text of a number is NULL."""

    arrow: pa.DataType
    read: Callable[[str], Any] | None = None

    def value(self, text: str) -> Any:
        if self.read is None:
            return text
        return self.read(text) if text else None


def leaf_type(name: str | None) -> LeafType:
    """The type of the column for a type of XML Schema; texts for all that Spark has no type for."""
    return _TYPES.get(name or "", TEXT)


def _double(text: str) -> float:
    return float(text.replace("INF", "inf"))


def _boolean(text: str) -> bool:
    return text == "true"


def _date(text: str) -> date:
    return date.fromisoformat(text[:10])


def _instant(text: str) -> datetime:
    return parse_time(text)


TEXT = LeafType(pa.string())
_TYPES = {
    "xs:integer": LeafType(pa.int64(), int),
    "xs:decimal": LeafType(pa.decimal128(38, 18), Decimal),
    "xs:double": LeafType(pa.float64(), _double),
    "xs:float": LeafType(pa.float32(), _double),
    "xs:boolean": LeafType(pa.bool_(), _boolean),
    "xs:date": LeafType(pa.date32(), _date),
    "xs:dateTime": LeafType(pa.timestamp("us"), _instant),
}
