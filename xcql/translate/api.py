"""`xcql.translate`: from a query and Tag Structures to standard XQuery."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.analysis.walk_module import walk_module
from xcql.analysis.walker import NeedsView, Walker
from xcql.check import Checked, check
from xcql.diagnostics import Diagnostic, error
from xcql.model.read import is_xml_text
from xcql.model.tags import TagStructure, parse_tags, read_tags
from xcql.recursion import deep_recursion
from xcql.source import Source, Span
from xcql.strategies import STRATEGIES, Strategy
from xcql.syntax.construct import NamespaceDeclaration
from xcql.syntax.emitter import emit
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import StringLiteral, VariableRef
from xcql.syntax.node import Expr, Name, walk
from xcql.syntax.prolog import (
    ContextItemDecl,
    Declaration,
    DefaultNamespaceDecl,
    FunctionDecl,
    MainModule,
    ModuleImport,
    OptionDecl,
    VariableDecl,
)
from xcql.syntax.types import DocumentTest, SequenceType
from xcql.translate import emission as to
from xcql.translate.reconstruction import FillHoles, Reconstruction, looked_at
from xcql.translate.rules import FragmentRules
from xcql.translate.uncopied import without_copies

Tags = TagStructure | str | bytes | Path

# anything that could be a variable of the query
_VARIABLE = re.compile(r"\$\s*([\w.:\-]+)")
_SECOND_PART = (VariableDecl, ContextItemDecl, FunctionDecl, OptionDecl)


@dataclass(frozen=True, slots=True)
class Translation:
    """A query in standard XQuery.

    `module` is its syntax tree and `text` its text; `notes` say how each stream is read, and why.
    `strategy` is the requested one. `streams` maps the variables that take the files to the names
    of the streams.
    """

    module: MainModule
    text: str
    strategy: Strategy
    warnings: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    streams: Mapping[str, str] = field(default_factory=dict)


def translate(
    query: str | Source | MainModule | Checked,
    tags: Tags | Mapping[str, Tags] | None = None,
    strategy: Strategy = "auto",
) -> Translation:
    """Translate a query over streams of fragments to standard XQuery 3.1.

    `tags` are the Tag Structures of the streams by name, as XML text, path or value; a single
    one is for the only stream of the query, and a `Checked` query needs none. The strategies are
    the paper's: `caq` builds the temporal view and queries it, `qac` follows holes along the
    query's paths, `qac+` goes straight to fillers by their tags; `auto` is the fastest exact one.
    All give the same answer.

    >>> tags = '''<structure><tag type="snapshot" id="1" name="list">
    ...   <tag type="temporal" id="2" name="item"/></tag></structure>'''
    >>> print(translate('stream("s")/list/item', {"s": tags}, "qac").text.splitlines()[-1])
    xcql:get_fillers($s, xcql:raw_fillers($s, 0) ! list/hole/@id)/item
    """
    if strategy not in STRATEGIES:
        raise error("XCQL0403", f"unknown strategy '{strategy}'", hints=["caq, qac, qac+ or auto"])
    checked = check(query)
    if tags is not None:
        given = tags if isinstance(tags, Mapping) else {only_stream(checked): tags}
        checked = checked.over({name: _structure(one) for name, one in given.items()})
    return _Translator(checked, strategy).translation()


def only_stream(query: Checked) -> str:
    """The name of the only stream that a query uses."""
    names = {
        argument.value
        for part in walk(query.module)
        if isinstance(part, FunctionCall) and part.name.local == "stream"
        for argument in part.arguments
        if isinstance(argument, StringLiteral)
    }
    if len(names) > 1:
        raise error(
            "XCQL0405",
            f"the query uses several streams: {', '.join(sorted(names))}",
            hints=["say which stream each tag structure belongs to: --tags NAME=TAGS.xml"],
        )
    return next(iter(names), "stream")


def _structure(given: Tags) -> TagStructure:
    if isinstance(given, TagStructure):
        return given
    if isinstance(given, bytes) or (isinstance(given, str) and is_xml_text(given)):
        return parse_tags(given)
    return read_tags(given)


class _Translator:
    """One translation: tried with fragments, and again with views where fragments do not work."""

    def __init__(self, checked: Checked, strategy: Strategy) -> None:
        self._checked = checked
        self._graphs = checked.graphs
        self._strategy: Strategy = strategy
        self._taken = set(_VARIABLE.findall(checked.source.text))
        self._variables = _fresh_variables(self._graphs, self._taken)
        self._reasons: dict[str, tuple[str, Span]] = {}

    def translation(self) -> Translation:
        caq = self._strategy == "caq"
        views = frozenset(self._graphs) if caq else frozenset[str]()
        while True:
            rules = FragmentRules(
                self._graphs,
                self._variables,
                views,
                self._strategy in ("qac+", "auto"),
                _no_namespace(self._checked.module),
                partial(_fresh, taken=set(self._taken)),
            )
            walker = Walker(self._checked.module, self._checked.names, self._graphs, rules)
            try:
                rewritten = walk_module(walker)
                break
            except NeedsView as need:
                views |= need.streams
                for stream in need.streams:
                    self._reasons[stream] = (need.reason, need.span)
        shared = [
            VariableDecl((), Name(name, span=span), None, value, span=span)
            for value, (name, _, span) in rules.shared.items()
        ]
        rewritten = replace(rewritten, declarations=(*shared, *rewritten.declarations))
        reconstruction = Reconstruction(
            self._graphs,
            walker.globals.names,
            rules.in_no_namespace,
            (d.name.local for d in rewritten.declarations if isinstance(d, FunctionDecl)),
        )
        with deep_recursion():
            fill_holes = FillHoles(walker, reconstruction, self._variables)
            rewritten = without_copies(fill_holes.transform(rewritten))
        referred = {str(part.name) for part in walk(rewritten) if isinstance(part, VariableRef)}
        used = {
            name: self._variables[name] in referred
            for name in self._graphs
            if not referred.isdisjoint((self._variables[name], self._variables[_fragments(name)]))
        }
        module = self._with_streams(rewritten, walker, reconstruction, views, used)
        return Translation(
            module,
            emit(module),
            self._strategy,
            (*self._checked.module.warnings, *walker.warnings.values()),
            tuple(self._notes(views, used, rules, walker)),
            {self._variables[_files(name)]: name for name in used},
        )

    def _with_streams(
        self,
        module: MainModule,
        walker: Walker,
        reconstruction: Reconstruction,
        views: frozenset[str],
        used: Mapping[str, bool],
    ) -> MainModule:
        """The module with the library imported, the functions that fill holes, and a variable for
        each stream."""
        span = module.span
        first = [d for d in module.declarations if not isinstance(d, _SECOND_PART)]
        second = [d for d in module.declarations if isinstance(d, _SECOND_PART)]
        library = ModuleImport(to.NAMESPACE, to.PREFIX, ("xcql.xqm",), span=span)
        streams: list[Declaration] = []
        for name, by_id in used.items():
            tags = self._in_view(name, walker) if name in views else None
            declared = self._stream_declarations(name, reconstruction, tags, span)
            streams += declared if by_id else declared[:-1]
        return replace(
            module,
            declarations=(*first, library, *streams, *reconstruction.declarations(), *second),
            version=module.version or "3.1",
            warnings=(),
        )

    def _stream_declarations(
        self, name: str, reconstruction: Reconstruction, in_view: frozenset[str] | None, span: Span
    ) -> list[Declaration]:
        """`$x-files`, `$x-fragments`, and `$x`: the fragments by id, or their view."""
        graph = self._graphs[name]
        files = self._variables[_files(name)]
        files_type = SequenceType(DocumentTest(span=span), "*", span=span)
        fragments = self._variables[_fragments(name)]
        given: Expr = to.call(
            "fragments", to.variable(files, span), to.tag_map(graph, span), span=span
        )
        value: Expr = to.call("stream", to.variable(fragments, span), span=span)
        if in_view is not None:
            value = reconstruction.view(name, in_view, value, span)
        return [
            VariableDecl((), Name(files, span=span), files_type, None, external=True, span=span),
            VariableDecl((), Name(fragments, span=span), None, given, span=span),
            VariableDecl((), Name(self._variables[name], span=span), None, value, span=span),
        ]

    def _in_view(self, name: str, walker: Walker) -> frozenset[str]:
        """The tags of the fillers that the view of a stream must contain."""
        if self._strategy == "caq":
            return self._graphs[name].fragmented_below(DOCUMENT)
        return looked_at(walker, walker.view_origin(name))

    def _notes(
        self, views: frozenset[str], used: Mapping[str, bool], rules: FragmentRules, walker: Walker
    ) -> list[str]:
        notes = []
        for name in used:
            if name not in views:
                if any(stream == name for stream, _, _ in rules.folded):
                    how = "qac+, from its fragments"
                elif rules.by_tag:
                    how = "qac, from its fragments: no path leads straight to fillers of one place"
                else:
                    how = "qac, from its fragments"
                notes.append(f'stream "{name}": {how}')
            elif self._strategy == "caq":
                notes.append(f'stream "{name}": caq, the whole temporal view is built')
            else:
                reason, span = self._reasons[name]
                tsids = to.tsids(self._graphs[name], self._in_view(name, walker))
                kept = f"with fillers of tsid {', '.join(tsids)}" if tsids else "without fillers"
                notes.append(
                    f'stream "{name}": a view {kept}, since {reason}'
                    f" (line {span.line}, column {span.column})"
                )
        for _, span, how in dict.fromkeys(rules.folded):
            notes.append(f"{' '.join(span.text.split())}: {how}; the levels above are skipped")
        return notes


def _no_namespace(module: MainModule) -> str | None:
    """The namespace to write for holes: "" if names without a prefix may be in another one."""
    defaults = any(
        (isinstance(part, DefaultNamespaceDecl) and part.kind == "element")
        or (isinstance(part, NamespaceDeclaration) and not part.prefix)
        for part in walk(module)
    )
    return "" if defaults else None


def _fresh_variables(graphs: Mapping[str, TagGraph], taken: set[str]) -> dict[str, str]:
    """For each stream, variables that the query does not use; `#` for versions in `#[last]`."""
    fresh: dict[str, str] = {}
    for stream in (*graphs, "#"):
        fresh[stream] = _fresh("versions" if stream == "#" else _as_name(stream), taken)
    for stream in graphs:
        fresh[_files(stream)] = _fresh(_files(_as_name(stream)), taken)
        fresh[_fragments(stream)] = _fresh(_fragments(_as_name(stream)), taken)
    return fresh


def _fresh(base: str, taken: set[str]) -> str:
    """A new name, which is then taken."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}{number}"
    taken.add(name)
    return name


def _files(stream: str) -> str:
    """The name of the variable that takes the files of a stream."""
    return f"{stream}-files"


def _fragments(stream: str) -> str:
    """The name of the variable that holds the fragments of a stream."""
    return f"{stream}-fragments"


def _as_name(stream: str) -> str:
    name = "".join(c if c.isalnum() or c in "_-" else "_" for c in stream)
    return name if name and not name[0].isdigit() and name[0] != "-" else f"stream_{name}"
