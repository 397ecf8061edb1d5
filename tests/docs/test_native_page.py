"""The page about what is native says what the compiler's tables say."""

from __future__ import annotations

import os

from tools.native_page import PAGE, page
from xcql.algebra.operations import OPERATIONS
from xcql.compile.language import LANGUAGE
from xcql.evaluate.registry import NAMESPACES, all_builtins


def test_the_page_is_up_to_date() -> None:
    """`XCQL_WRITE_GOLDEN=1` rewrites it."""
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_operations_compute_native_functions() -> None:
    """The functions in the table of operations exist; except for casts, they are native."""
    known = {(one.uri, one.local) for one in all_builtins()}
    native = {(uri, name) for uri, name, _ in LANGUAGE.functions}
    for operation in OPERATIONS.values():
        for function in operation.functions:
            prefix, colon, local = function.partition(":")
            if colon and prefix in NAMESPACES:
                key = NAMESPACES[prefix], local
                assert key in (known if prefix == "xs" else native), function
