"""fn:error: a query that raises an error itself."""

from __future__ import annotations

import re

from xcql.compile.functions.strings import text
from xcql.compile.library.sequence_types import XS
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Failure
from xcql.compile.terms.native_functions import CallSite, NativeFunctions
from xcql.compile.terms.values import Single, Value
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import StringLiteral

native = NativeFunctions()

_MESSAGE = "the query raised an error"
# what tells names in that namespace from those in none
_CODE = re.compile("[A-Z]{4}[0-9]{4}")
_OF_XQUERY = "http://www.w3.org/2005/xqt-errors"


@native("error", 0, 1)
def _error(site: CallSite) -> Value:
    code = _code(site) if site.arguments else "FOER0000"
    return Single(Failure(site.compilation.error(code, _MESSAGE, site.span)))


@native("error", 2)
def _error_with_message(site: CallSite) -> Value:
    found = text(site, 1)
    return Single(Failure(site.compilation.error(_code(site), "{}", site.span, found)))


def _code(site: CallSite) -> str:
    """The code as it is shown, if the name is a literal: `xs:QName("my:code")`."""
    match site.expressions[0]:
        case FunctionCall(name=name, arguments=(StringLiteral(value=written),)):
            if site.scope.names.function_name(name) == (XS, "QName"):
                prefix, _, local = written.rpartition(":")
                uri = site.scope.names.prefixes.get(prefix) if prefix else ""
                if uri is not None and (uri == _OF_XQUERY) == bool(_CODE.fullmatch(local)):
                    return local if uri in (_OF_XQUERY, "") else f"Q{{{uri}}}{local}"
    raise NotNative("the code of an error that is computed", site.span)
