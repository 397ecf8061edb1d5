"""The tag type of every expression of a query, without rewriting the query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import PrologNames
from xcql.analysis.types import DOCUMENT, PLAIN, Nodes, TagType
from xcql.analysis.walk_module import walk_module
from xcql.analysis.walker import Walker
from xcql.diagnostics import Diagnostic
from xcql.syntax.node import Expr
from xcql.syntax.prolog import MainModule


@dataclass(frozen=True, slots=True)
class TagTypes:
    """The types of a module's expressions.

    `warnings` are about steps that can match nothing. `looked_at` has, by stream, the tags of the
    fillers that the query looks at.
    """

    module: MainModule
    warnings: tuple[Diagnostic, ...]
    looked_at: Mapping[str, frozenset[str]]
    _by_identity: Mapping[int, TagType]

    def __getitem__(self, expr: Expr) -> TagType:
        """The type of an expression; it must be an object of this very module."""
        return self._by_identity.get(id(expr), PLAIN)


def tag_types(
    module: MainModule,
    names: PrologNames,
    graphs: Mapping[str, TagGraph],
    context: str | None = None,
) -> TagTypes:
    """The tag type of every expression of a query over these streams.

    `names` are those of the module's prolog; `context` is the stream whose document is the context
    item. `Checked.types` of `xcql.check` caches the result.
    """
    walker = Walker(module, names, graphs)
    if context is not None:
        origin = walker.view_origin(context)
        document = TagType((Nodes(context, frozenset({DOCUMENT}), origin=origin),), one=True)
        walker.globals = replace(walker.globals, context=document)
    walk_module(walker)
    looked_at = {name: frozenset[str]() for name in graphs}
    for name, origin in walker.origins_of_views.items():
        looked_at[name] = frozenset(walker.origins[origin])
    return TagTypes(module, tuple(walker.warnings.values()), looked_at, walker.types)
