"""fn:error and fn:trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from elementpath import datatypes as ep

from xcql.diagnostics import Diagnostic, XcqlError
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import kind_of
from xcql.xdm.atomic import string_of
from xcql.xdm.functions import Item, XdmFunction
from xcql.xdm.nodes import Node
from xcql.xdm.serialize import serialize

_ERR = "http://www.w3.org/2005/xqt-errors"


class RaisedError(XcqlError):
    """An error that a query raised with `fn:error`: it has a QName and can carry items."""

    def __init__(self, diagnostic: Diagnostic, name: ep.QName, items: tuple[Item, ...]) -> None:
        super().__init__(diagnostic)
        self.name = name
        self.items = items


@function("fn:error([xs:QName?], [xs:string], [item()*]) as item()*")
def error(
    call: CallContext,
    code: ep.QName | None = None,
    message: str = "the query raised an error",
    items: Iterable[Item] = (),
) -> NoReturn:
    name = code if code is not None else ep.QName(_ERR, "err:FOER0000")
    shown = name.local_name if name.uri in (_ERR, "") else f"Q{{{name.uri}}}{name.local_name}"
    raise RaisedError(Diagnostic("error", shown, message, call.span), name, tuple(items))


@function("fn:trace(item()*, [xs:string]) as item()*")
def trace(call: CallContext, items: Iterable[Item], label: str = "trace") -> list[Item]:
    values = list(items)
    text = ", ".join(_shown(item) for item in values)
    print(f"{label}: {text}" if text else f"{label}: ()", file=sys.stderr)
    return values


def _shown(item: Any) -> str:
    if isinstance(item, Node):
        return serialize(item)
    return kind_of(item) if isinstance(item, XdmFunction) else string_of(item)
