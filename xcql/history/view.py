"""The temporal view: the whole history of a stream as one document.

Each hole is replaced by all versions of its filler, each with the attributes `vtFrom` and `vtTo`.
This definition decides whether any other way of answering a query is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from xcql.diagnostics import Diagnostic, error, warning
from xcql.history.definition import Histories, History, Version, histories
from xcql.history.lifespan import FROM, TO
from xcql.history.predicates import stands_at
from xcql.model.fragments import (
    ROOT_ID,
    Fragment,
    Hole,
    Rejected,
    content_tree,
    is_hole,
    is_plain,
    pieces,
)
from xcql.model.identifiers import mark_identifiers
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import format_begin, format_end, to_utc
from xcql.source import Source, Span
from xcql.xdm.builder import TreeBuilder, copied_declarations, copy_into
from xcql.xdm.names import QName
from xcql.xdm.nodes import ChildNode, DocumentNode, ElementNode
from xcql.xdm.plain import Pairs, PlainParser

# Fillers that refer to each other can make a few fragments expand to more elements than fit into
# any machine; XMark's largest sample has two million.
MAX_ELEMENTS = 5_000_000

_FROM = QName("", FROM)
_TO = QName("", TO)


@dataclass(frozen=True, slots=True)
class View:
    """A view: the document, the fragments that are not part of the stream, and warnings."""

    document: DocumentNode
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


def temporal_view(fragments: Iterable[Fragment], tags: TagStructure, now: datetime) -> View:
    """The temporal view of a stream at `now`, from its fragments in order of arrival.

    >>> from xcql.model.read import read_all
    >>> from xcql.model.tags import parse_tags
    >>> from xcql.xdm.serialize import serialize
    >>> tags = parse_tags('<structure><tag type="temporal" id="1" name="a"/></structure>')
    >>> batch = read_all('<filler id="0" tsid="1" validTime="2003-10-01"><a>x</a></filler>', tags)
    >>> serialize(temporal_view(batch.fragments, tags, datetime(2004, 1, 1)).document)
    '<a vtFrom="2003-10-01T00:00:00" vtTo="now">x</a>'
    """
    return view_of_histories(histories(fragments, tags, now), tags)


def document_at(
    fragments: Iterable[Fragment], tags: TagStructure, at: datetime, now: datetime
) -> View:
    """The document as it was at an instant, as far as is known at `now`.

    It has the versions that were valid then (of two that meet, the later one) and the events up to
    then, without `vtFrom` and `vtTo`. A snapshot has no history: it is shown as it is at `now`.
    """
    at = to_utc(at)

    def select(history: History) -> Iterable[Version[Fragment]]:
        kind = history.tag.kind
        return (one for one in history.versions if stands_at(kind, one.begin, one.end, at))

    return _view(histories(fragments, tags, now), tags, select, _own_attributes, _tree_if_needed)


# Called for each element that a version becomes in the view, with the element, the hole that it
# fills (None for the root; a node if its fragment is a tree), and the version.
Opened = Callable[[ElementNode, ElementNode | Hole | None, Version[Fragment]], None]


def _tree_if_needed(fragment: Fragment) -> ElementNode | None:
    return None if is_plain(fragment) else content_tree(fragment)


def view_of_histories(
    stream: Histories,
    tags: TagStructure,
    tree_of: Callable[[Fragment], ElementNode | None] = _tree_if_needed,
    opened: Opened | None = None,
) -> View:
    """The temporal view of the given histories, which may be a part of the stream's.

    `tree_of` returns the tree of a fragment, possibly without some of its parts. For a plain
    fragment it may return None: then all of its content is parsed in place.
    """
    return _view(
        stream,
        tags,
        select=lambda history: history.versions,
        attributes=_lifespan_attributes,
        tree_of=tree_of,
        opened=opened,
    )


def _own_attributes(tag: Tag, version: Version[Fragment], own: Pairs) -> Pairs:
    return own


def _lifespan_attributes(tag: Tag, version: Version[Fragment], own: Pairs) -> Pairs:
    """The attributes of a filler's element, with its lifespan instead of any in the data."""
    if not tag.is_fragmented:
        yield from own
        return
    for name, value in own:
        if name not in (_FROM, _TO):
            yield name, value
    begin = format_begin(version.begin)
    yield _FROM, begin
    yield _TO, begin if tag.kind == "event" else format_end(version.end)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A position in the view under construction, with the content that is still to be added.

    The content of an element is nodes, or bytes and holes; the content of a hole is versions. If
    `ends` is true, the element ends with this frame.
    """

    content: Iterator[ChildNode | Version[Fragment] | bytes | Hole]
    tag: Tag
    fills: str | None = None
    hole: ElementNode | Hole | None = None
    ends: bool = False


def _view(
    stream: Histories,
    tags: TagStructure,
    select: Callable[[History], Iterable[Version[Fragment]]],
    attributes: Callable[[Tag, Version[Fragment], Pairs], Pairs],
    tree_of: Callable[[Fragment], ElementNode | None],
    opened: Opened | None = None,
) -> View:
    """Build the document from the selected versions of the histories."""
    builder = TreeBuilder()
    parser = PlainParser(builder)
    trees: dict[int, ElementNode | None] = {}
    warnings: dict[tuple[str, str], Diagnostic] = {}
    elements = 0
    # the frames from the document down to the current position, and the fillers open in them
    frames: list[_Frame] = []
    open_fillers: set[str] = set()

    def fill(id: str, history: History, hole: ElementNode | Hole | None = None) -> None:
        frames.append(_Frame(iter(select(history)), history.tag, id, hole))
        open_fillers.add(id)

    def fill_hole(id: str, parent: Tag, hole: ElementNode | Hole) -> None:
        history = stream.by_id.get(id)
        if id in open_fillers:
            holder = next(f.fills for f in reversed(frames) if f.fills is not None)
            warnings[id, holder] = _inside_itself(id, holder)
        elif history is not None and is_declared(history.tag, parent, tags):
            fill(id, history, hole)

    builder.start_document()
    root = stream.by_id.get(ROOT_ID)
    if root is not None:
        fill(ROOT_ID, root)
    while frames:
        frame = frames[-1]
        item = next(frame.content, None)
        if item is None:
            frames.pop()
            if frame.ends:
                builder.end()
            if frame.fills is not None:
                open_fillers.discard(frame.fills)
        elif isinstance(item, Version):
            fragment = item.fragment
            if id(fragment) not in trees:
                trees[id(fragment)] = tree_of(fragment)
            tree = trees[id(fragment)]
            if tree is None and builder.has_namespaces():
                # the fragment sees none of these namespaces; only a tree can express that
                tree = trees[id(fragment)] = content_tree(fragment)
            wanted = partial(attributes, frame.tag, item)
            if tree is None:
                # content that is parsed in place need not be copied
                content = pieces(fragment)
                start = next(content)
                assert isinstance(start, bytes)
                element = parser.put(start, wanted, fragment.file)
                if fragment.holes:
                    frames.append(_Frame(content, frame.tag))
            else:
                parser.flush()
                elements += 1
                declared = copied_declarations(tree, builder.in_scope(), inherit=False)
                element = builder.start_element(tree.name, declared)
                own = ((attribute.name, attribute.value) for attribute in tree.attributes)
                for name, value in wanted(own):
                    builder.attribute(name, value)
                frames.append(_Frame(iter(tree.children), frame.tag, ends=True))
            if opened is not None:
                opened(element, frame.hole, item)
        elif isinstance(item, bytes):
            parser.go_on(item)
        elif isinstance(item, Hole):
            parent = tags.by_id(item.parent)
            assert parent is not None, "holes are in declared elements"
            fill_hole(item.id, parent, item)
        elif not isinstance(item, ElementNode):
            copy_into(builder, item)
        elif is_hole(item):
            fill_hole((item.attribute_value("id") or "").strip(), frame.tag, item)
        else:
            tag = tags.child(frame.tag, item.name.uri, item.name.local)
            assert tag is not None, "a checked fragment has declared elements only"
            elements += 1
            builder.start_element(item.name, item.declarations)
            for attribute in item.attributes:
                builder.attribute(attribute.name, attribute.value)
            frames.append(_Frame(iter(item.children), tag, ends=True))
        if elements + parser.elements > MAX_ELEMENTS:
            raise error(
                "XCQL0303",
                f"the temporal view has more than {MAX_ELEMENTS:,} elements",
                hints=["look for fillers that many versions refer to; query the store instead"],
            )
    builder.end()
    document = builder.document()
    mark_identifiers(document, tags)
    return View(document, stream.rejected, tuple(warnings.values()))


def is_declared(tag: Tag, parent: Tag, tags: TagStructure) -> bool:
    """Whether an element of this tag may replace a hole in an element of `parent`."""
    declared = tags.child(parent, tag.name.uri, tag.name.local)
    return declared is not None and declared.id == tag.id


def _inside_itself(hole: str, holder: str) -> Diagnostic:
    return warning(
        "XCQL0302",
        f"a hole in the filler '{holder}' refers to the filler '{hole}', which contains it:"
        " it is left empty",
        Span(Source("", "<stream>"), 0, 0),
        hints=["a filler cannot contain itself: give the inner one its own id"],
    )
