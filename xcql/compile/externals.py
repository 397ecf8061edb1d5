"""Python values of external variables, as items."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from xcql.algebra.scalars import Constant
from xcql.compile.items import Atomic
from xcql.compile.result import NotNative
from xcql.compile.values import EMPTY, Single, Value, concat
from xcql.source import Span


def external_value(value: object, span: Span) -> Value:
    """The XDM value of a Python value."""
    match value:
        case None:
            return EMPTY
        case bool():
            return Single(Atomic(Constant(value), "xs:boolean"))
        case int():
            return Single(Atomic(Constant(value), "xs:integer"))
        case float():
            return Single(Atomic(Constant(value), "xs:double"))
        case Decimal():
            return Single(Atomic(Constant(value), "xs:decimal"))
        case str() if not value.startswith("<"):
            return Single(Atomic(Constant(value), "xs:string"))
        case list() | tuple():
            return concat([external_value(one, span) for one in value])
        case datetime() | date():
            raise NotNative("a time as a variable", span)
    raise NotNative(f"a variable with a value of type {type(value).__name__}", span)
