"""The tag type of every expression of a query, with nothing rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT, PLAIN, Nodes, Type
from xcql.analysis.walker import Walker
from xcql.diagnostics import Diagnostic
from xcql.model.tags import TagStructure
from xcql.syntax.node import Expr
from xcql.syntax.prolog import MainModule


@dataclass(frozen=True, slots=True)
class TagTypes:
    """The types of a module's expressions, and warnings of steps that can match nothing."""

    module: MainModule
    warnings: tuple[Diagnostic, ...]
    _by_identity: Mapping[int, Type]

    def __getitem__(self, expr: Expr) -> Type:
        """The type of an expression; it must be one of this very module."""
        return self._by_identity.get(id(expr), PLAIN)


def tag_types(
    module: MainModule, structures: Mapping[str, TagStructure], context: str | None = None
) -> TagTypes:
    """The tag type of every expression of a query over these streams.

    `context` is the stream whose document is the context item.

    >>> import xcql
    >>> from xcql.model.tags import parse_tags
    >>> tags = parse_tags('''<structure><tag type="snapshot" id="1" name="list">
    ...   <tag type="temporal" id="2" name="item"/></tag></structure>''')
    >>> module = xcql.parse('for $i in stream("s")//item return $i')
    >>> [sorted(nodes.tags) for nodes in tag_types(module, {"s": tags})[module.body].nodes]
    [['2']]
    """
    walker = Walker(module, {name: TagGraph(tags) for name, tags in structures.items()})
    if context is not None:
        origin = walker.view_origin(context)
        document = Type((Nodes(context, frozenset({DOCUMENT}), origin=origin),), one=True)
        walker.globals = replace(walker.globals, context=document)
    walker.run()
    return TagTypes(module, tuple(walker.warnings.values()), walker.types)
