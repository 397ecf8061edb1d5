"""Converts between Python values and XDM values: variables, external functions, results.

| Python | XDM |
| --- | --- |
| `None`, a list or tuple | the empty sequence, a sequence |
| `str`, `bool`, `int` | xs:string, xs:boolean, xs:integer |
| `Decimal`, `float` | xs:decimal, xs:double |
| `datetime`, `date`, `time`, `timedelta` | xs:dateTime, xs:date, xs:time, xs:dayTimeDuration |
| `bytes` | xs:base64Binary |
| `dict` | a map |
| `Path` | the document in that file |
| a node, an atomic value of elementpath, a function item | itself |
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.dates import build
from xcql.history.stream import plain_view
from xcql.xdm.functions import XdmFunction, XdmMap
from xcql.xdm.nodes import Node


def from_python(value: Any) -> Iterator[Any]:
    """Convert a Python value to items.

    >>> list(from_python([1, "a", None]))
    [1, 'a']
    """
    if value is None:
        return
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from from_python(part)
    else:
        yield _item(value)


def _item(value: Any) -> Any:
    if isinstance(value, (str, bool, int, Decimal, float, Node, XdmFunction, ep.AnyAtomicType)):
        return value
    if isinstance(value, Path):
        return plain_view(value).document
    if isinstance(value, datetime.datetime):
        clock = _clock(value.hour, value.minute, value.second, value.microsecond)
        return build(
            ep.DateTime, value.year, value.month, value.day, clock, _zone(value.utcoffset())
        )
    if isinstance(value, datetime.date):
        return build(ep.Date, value.year, value.month, value.day)
    if isinstance(value, datetime.time):
        clock = _clock(value.hour, value.minute, value.second, value.microsecond)
        return build(ep.Time, 2000, 1, 1, clock, _zone(value.utcoffset()))
    if isinstance(value, datetime.timedelta):
        return ep.DayTimeDuration(Decimal(value // datetime.timedelta(microseconds=1)).scaleb(-6))
    if isinstance(value, bytes):
        return ep.Base64Binary(base64.b64encode(value).decode("ascii"))
    if isinstance(value, dict):
        return XdmMap((_item(key), tuple(from_python(part))) for key, part in value.items())
    raise error(
        "XCQL0006",
        f"a Python value of type {type(value).__name__} has no counterpart in a query",
        hints=["use text, numbers, booleans, dates, lists, dicts or XML nodes"],
    )


def _clock(hour: int, minute: int, second: int, microsecond: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond


def _zone(offset: datetime.timedelta | None) -> ep.Timezone | None:
    return None if offset is None else ep.Timezone(offset)


def to_python(values: Sequence[Any]) -> Any:
    """An argument of an external function: None, one value, or a list of values."""
    found = [_value(value) for value in values]
    if not found:
        return None
    return found[0] if len(found) == 1 else found


def _value(value: Any) -> Any:
    if isinstance(value, ep.UntypedAtomic):
        return value.value
    if isinstance(value, (bool, Decimal)):
        return value
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, ep.AnyURI):
        return value.value
    if isinstance(value, (ep.DateTime, ep.Date)) and 1 <= value.year <= 9999:
        moment = datetime.datetime(
            value.year,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.tzinfo,
        )
        return moment if isinstance(value, ep.DateTime) else moment.date()
    if isinstance(value, ep.DayTimeDuration):
        return datetime.timedelta(microseconds=int(value.seconds * 1_000_000))
    if isinstance(value, ep.AbstractBinary):
        return value.decode()
    return value
