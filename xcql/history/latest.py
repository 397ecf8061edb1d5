"""The latest state of a document, computed from the fragments sent so far.

Memory holds only a digest and the holes of each filler, about a hundred bytes, not its content.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import BinaryIO, NamedTuple, cast
from xml.parsers import expat

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.history.definition import Known, Timeline
from xcql.model.check import Checker, fragment_checker
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import fragment
from xcql.model.fragments import EndOfStream, Fragment, Operation, Rejected
from xcql.model.scan import LOOKAHEAD, MEANINGLESS, FileHead, file_head, is_file_end, scan
from xcql.model.shapes import ContentShape, ShapeReader
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, format_time
from xcql.source import Source, Span

_FRAGMENT_NAME = re.compile(r"(?:stream:)?(?:filler|repeat|replace|remove|eos)")


# This many arrivals of one id are kept; more are reduced to those that affect the latest state.
_KEPT = 8


class _Outlined(NamedTuple):
    """A fragment with the outline of its content; a remove has no outline."""

    op: Operation
    valid_time: datetime | None
    shape: ContentShape | None


@dataclass(frozen=True, slots=True)
class LatestFiller:
    """A filler id: its tag, its latest content, and whether it still exists (was not removed).

    For an event, `events` are all events of the id, in order of time.
    """

    tag: Tag
    shape: ContentShape
    is_alive: bool
    events: tuple[tuple[datetime, ContentShape], ...] = ()


@dataclass(slots=True)
class LatestState:
    """All filler ids so far; `has_times` is false if some came from a plain document."""

    latest: datetime = START
    highest_id: int = -1
    has_times: bool = True
    warnings: list[Diagnostic] = field(default_factory=list)
    _known: dict[str, Known[_Outlined, Tag]] = field(default_factory=dict)
    _fillers: dict[str, LatestFiller | None] = field(default_factory=dict)
    # the fillers that have ever had a hole for one
    _parents: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self._known and not self._fillers

    def add(self, fragment: Fragment, tag: Tag | None, shape: ContentShape | None) -> None:
        """Add the next fragment to arrive; a remove has no shape."""
        id, time = fragment.id, fragment.valid_time
        # new ids continue from the highest number; ids that are not short numbers are ignored
        if re.fullmatch("[0-9]{1,18}", id):
            self.highest_id = max(self.highest_id, int(id))
        if time is not None:
            self.latest = max(self.latest, time)
        known = self._known.setdefault(id, Known())
        known.add(_Outlined(fragment.op, time, shape), tag)
        self._fillers.pop(id, None)
        if shape is not None:
            self._add_parent(id, shape)
        if len(known.arrived) > _KEPT and known.tag is not None and known.tag.kind != "event":
            timeline = _timeline(known, known.tag)
            since = max((one.begin for one in timeline.versions()), default=max(timeline.at))
            times = sorted(time for time in timeline.at if time >= since)
            known.arrived = [one for time in times for one in timeline.at[time]]

    def update(self, fillers: Mapping[str, LatestFiller], time: datetime) -> None:
        """Set the latest content of some fillers, whose earlier fragments are forgotten."""
        for id in fillers:
            self._known.pop(id, None)
        self._fillers |= fillers
        for id, filler in fillers.items():
            self.highest_id = max(self.highest_id, int(id))
            self._add_parent(id, filler.shape)
        self.latest = max(self.latest, time)

    def fillers(self) -> Iterator[tuple[str, LatestFiller, tuple[str, ...]]]:
        """All fillers, with those that have ever had a hole for them."""
        for id in {**self._fillers, **self._known}:
            filler = self.filler(id)
            if filler is not None:
                yield id, filler, self.parents(id)

    def restore(
        self,
        fillers: Mapping[str, LatestFiller],
        parents: Mapping[str, tuple[str, ...]],
        latest: datetime,
        highest_id: int,
    ) -> None:
        """Make this a state that was kept."""
        self._fillers, self._parents = dict(fillers), dict(parents)
        self.latest, self.highest_id = latest, highest_id

    def parents(self, id: str) -> tuple[str, ...]:
        """The fillers that have ever had a hole for this one."""
        return self._parents.get(id, ())

    def _add_parent(self, parent: str, shape: ContentShape) -> None:
        for hole in shape.holes:
            known = self._parents.get(hole, ())
            if parent not in known:
                self._parents[hole] = (*known, parent)

    def filler(self, id: str) -> LatestFiller | None:
        """The latest filler of an id; None if it never had an element or nothing is left of it."""
        if id not in self._fillers:
            known = self._known.get(id)
            tag = None if known is None else known.tag
            self._fillers[id] = None if known is None or tag is None else _latest(known, tag)
        return self._fillers[id]


def _timeline(known: Known[_Outlined, Tag], tag: Tag) -> Timeline[_Outlined]:
    timeline = Timeline(tag.kind, _is_same)
    for one in known.arrived:
        timeline.add(one)
    return timeline


def _latest(known: Known[_Outlined, Tag], tag: Tag) -> LatestFiller | None:
    found = [(one, _shape(one.fragment)) for one in _timeline(known, tag).versions()]
    if not found:
        return None
    version, shape = found[-1]
    if tag.kind != "event":
        return LatestFiller(tag, shape, version.end is None)
    return LatestFiller(tag, shape, True, tuple((one.begin, event) for one, event in found))


def _is_same(one: _Outlined, other: _Outlined) -> bool:
    return _shape(one).has_same_content_as(_shape(other))


def _shape(arrival: _Outlined) -> ContentShape:
    assert arrival.shape is not None, "only a remove has no element"
    return arrival.shape


def add_to_state(
    state: LatestState, document: Document, structure: TagStructure, shape_of: ShapeReader
) -> None:
    """Add a file of fragments, or a plain document as if it had just been fragmented."""
    first = next(document.chunks, b"")
    document.chunks = chain([first], document.chunks)
    if _is_plain(first, structure):
        if not state.is_empty:
            raise error(
                "XCQL0254",
                f"'{document.name}' is a plain document, but there are fragments before it",
                hints=["a plain document can only replace the fragments that were made from it"],
            )
        state.has_times = False
        state.warnings.append(
            warning(
                "XCQL0259",
                f"'{document.name}' is a plain document: the ids in the changes are those that"
                " `xcqlc fragment` gives its elements when it is the first of its stream",
                hints=["if it is not, give the fragments so far instead"],
            )
        )
        with tempfile.TemporaryFile() as cut:
            fragment(document, structure, format_time(START), cut)
            cut.seek(0)
            fragments = read_document(cast(BinaryIO, cut), document.name)
            _add_fragments(state, fragments, structure, shape_of)
    else:
        _add_fragments(state, document, structure, shape_of)


def _add_fragments(
    state: LatestState, document: Document, structure: TagStructure, shape_of: ShapeReader
) -> None:
    for arrived in fragments_in(document, fragment_checker(structure)):
        tag = structure.by_id(arrived.tsid) if arrived.tsid is not None else None
        shape = shape_of(arrived) if arrived.op != "remove" else None
        state.add(arrived, tag, shape)


def fragments_in(document: Document, check: Checker) -> Iterator[Fragment]:
    """The fragments of a file, one by one; an invalid fragment is an error here."""
    window, base, position = b"", 0, 0
    head: FileHead | None = None
    for chunk in chain(filter(None, document.chunks), [b""]):
        window += chunk
        # the last bytes of the window may be read differently once more bytes follow
        end = len(window) - LOOKAHEAD if chunk else len(window)
        if end <= 0 and chunk:
            continue
        if head is None:
            head = file_head(window, document.name)
            position = head.begin
        for found in scan(window, position):
            if found.end > end:
                break
            if not MEANINGLESS.fullmatch(window, position, found.start):
                raise _no_good(document.name, base + position, "there is something else")
            position = found.end
            record = check(window, found, head.namespaces, document.name, base)
            if isinstance(record, EndOfStream):
                return
            if isinstance(record, Rejected):
                raise _no_good(record.file, record.offset, record.reason)
            yield record
        window, base, position = window[position:], base + position, 0
    if head is not None and not is_file_end(window, head):
        raise _no_good(document.name, base, "the end of the file is missing")


def _no_good(file: str, offset: int, reason: str) -> XcqlError:
    return error(
        "XCQL0254",
        f"'{file}' has an invalid fragment at byte {offset}: {reason}",
        Span(Source("", file), 0, 0),
        hints=["the previous state must not have invalid fragments"],
    )


def _is_plain(first: bytes, structure: TagStructure) -> bool:
    """Whether a file is a plain document of the tag structure rather than a file of fragments."""
    names: list[str] = []
    parser = expat.ParserCreate("UTF-8")
    parser.StartElementHandler = lambda name, attributes: names.append(name)
    with suppress(expat.ExpatError):
        parser.Parse(first, False)
    root = structure.root
    if not names or names[0].rpartition(":")[2] != root.name.local:
        return False
    # the root of a file of fragments may have any name
    is_declared = len(names) > 1 and structure.child(root, "", names[1]) is not None
    return is_declared or len(names) == 1 or not _FRAGMENT_NAME.fullmatch(names[1])
