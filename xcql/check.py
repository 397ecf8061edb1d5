"""The front end: a query's text, and the streams that it is asked of, become one `Checked` value.

Every verb takes it: the evaluator, the compiler, the translator, continuous queries and `explain`.
So a query is parsed once, and its tag types are found once.

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
    """A query that has been parsed, and what is known of it before it runs; `check` makes it.

    `names` are those that its prolog declares. `tags` are the Tag Structures of the streams by
    name, `context` is the stream whose document is the context item. What depends on the streams is
    computed when it is first read, and kept.
    """

    module: MainModule
    names: PrologNames
    tags: Mapping[str, TagStructure] = field(default_factory=dict)
    context: str | None = None

    def over(self, tags: Mapping[str, TagStructure], context: str | None = None) -> Checked:
        """The same query, asked of these streams."""
        if tags == self.tags and context == self.context:
            return self
        return replace(self, tags=tags, context=context)

    @property
    def source(self) -> Source:
        return self.module.span.source

    @cached_property
    def streams(self) -> frozenset[str] | None:
        """The names of all streams that the query can ask for; None if they could be any."""
        return streams_named(self.module)

    @cached_property
    def graphs(self) -> Mapping[str, TagGraph]:
        return {name: TagGraph(structure) for name, structure in self.tags.items()}

    @cached_property
    def types(self) -> TagTypes:
        """The tag type of every expression; an error where the streams do not allow one."""
        # slow: the modules of the walk, which a small evaluation does not need
        from xcql.analysis.typing import tag_types

        return tag_types(self.module, self.names, self.graphs, self.context)

    @cached_property
    def tag_warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings of steps that can find nothing; an error if the query asks for a stream that is
        not there.

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
        """Spellings that have a standard form, and steps that can find nothing."""
        return (*self.module.warnings, *self.tag_warnings)


def check(
    query: str | Source | MainModule | Checked,
    tags: Mapping[str, TagStructure] | None = None,
    context: str | None = None,
) -> Checked:
    """A query over streams, given as text, as a syntax tree, or checked before.

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
