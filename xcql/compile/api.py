"""`compile_query`: a query over the streams of a store becomes SQL text."""

from __future__ import annotations

from typing import Literal

from xcql.compile.catalog import Catalog, Externals
from xcql.compile.result import Compiled, NotNative
from xcql.syntax.prolog import MainModule

Native = Literal["qac", "qac+", "auto"]


def compile_query(
    module: MainModule, catalog: Catalog, strategy: Native, externals: Externals
) -> Compiled:
    """The query as SQL text by a strategy; `NotNative` where it has no such form as a whole."""
    raise NotNative("the query has no native form", module.span)
