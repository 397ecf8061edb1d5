"""The front end: turns a query's text and the streams it runs on into one `Checked` value.

Every command takes it: the evaluator, the compiler, the translator, continuous queries and
`explain`. So a query is parsed once, and its tag types are computed once.

    checked = check('stream("s")//item/price', {"s": tags})
    checked.module, checked.names, checked.types, checked.warnings
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from xcql.analysis.graph import TagGraph
from xcql.analysis.names import PrologNames, streams_named
from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.model.tags import TagStructure
from xcql.parser import parse
from xcql.source import Source
from xcql.syntax.control import TryCatch
from xcql.syntax.node import walk
from xcql.syntax.prolog import MainModule

if TYPE_CHECKING:
    from xcql.analysis.typing import TagTypes


@dataclass(frozen=True, eq=False)
class Checked:
    """A parsed query, and what is known about it before it runs; made by `check`.

    `names` are those that its prolog declares. `tags` are the streams' tag structures by name,
    `context` is the stream whose document is the context item. Whatever depends on the streams is
    computed on first access and cached.
    """

    module: MainModule
    names: PrologNames
    tags: Mapping[str, TagStructure] = field(default_factory=dict)
    context: str | None = None

    def over(self, tags: Mapping[str, TagStructure], context: str | None = None) -> Checked:
        """The same query over these streams."""
        if tags == self.tags and context == self.context:
            return self
        return replace(self, tags=tags, context=context)

    @property
    def source(self) -> Source:
        return self.module.span.source

    @cached_property
    def streams(self) -> frozenset[str] | None:
        """The names of all streams that the query can use; None if it could be any stream."""
        return streams_named(self.module)

    @cached_property
    def graphs(self) -> Mapping[str, TagGraph]:
        return {name: TagGraph(structure) for name, structure in self.tags.items()}

    @cached_property
    def types(self) -> TagTypes:
        """The tag type of every expression; raises an error if the streams do not allow one."""
        # the modules of the walk are slow to import, and small evaluations do not need them
        from xcql.analysis.typing import tag_types

        return tag_types(self.module, self.names, self.graphs, self.context)

    @cached_property
    def tag_warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about steps that can find nothing; raises an error if a stream is missing.

        Other problems are left to whoever answers the query.
        """
        try:
            return self.types.warnings
        except XcqlError as problem:
            caught = any(isinstance(node, TryCatch) for node in walk(self.module))
            if problem.code == "XCQL0004" and not caught:
                raise
            return ()

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about non-standard spellings, and about steps that can find nothing."""
        return (*self.module.warnings, *self.tag_warnings)


def check(
    query: str | Source | MainModule | Checked,
    tags: Mapping[str, TagStructure] | None = None,
    context: str | None = None,
) -> Checked:
    """Check a query over streams, given as text, as a syntax tree, or already checked.

    >>> from xcql.model.tags import parse_tags
    >>> tags = parse_tags('''<structure><tag type="snapshot" id="1" name="list">
    ...   <tag type="temporal" id="2" name="item"/></tag></structure>''')
    >>> checked = check('for $i in stream("s")//item return $i', {"s": tags})
    >>> [sorted(nodes.tags) for nodes in checked.types[checked.module.body].nodes]
    [['2']]
    """
    if not isinstance(query, Checked):
        module = parse(query) if isinstance(query, str | Source) else query
        if not isinstance(module, MainModule):
            raise error("XPST0003", "a library module has no expression to evaluate", module.span)
        query = Checked(module, PrologNames.of(module.declarations))
    return query if tags is None else query.over(tags, context)
