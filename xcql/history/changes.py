"""The changes from one state of a document to the next, as fragments.

The new document is cut into fillers, and each is matched with its predecessor in the old document:
by the key of its element, or else by its position among the siblings of the same tag. A filler
keeps its id as long as it has a match. Only fillers that were added, changed or removed are
written, with the new validTime.

- A changed temporal filler gets a new version; one that disappeared gets a `remove`.
- A snapshot filler has no versions. It is sent again when a child is added, and keeps the holes of
  removed children, so that earlier times still have them.
- An event has no versions either, and does not end. It is identified by its content as well: an
  event with different content is a different event. If only a child was added, the event is
  replaced, at its own time, by itself with one more hole.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import IO, BinaryIO, cast
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import Diagnostic, error, warning
from xcql.history.latest import LatestFiller, LatestState, fragments_in
from xcql.model.check import fragment_checker
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import FOOTER, HEADER, Fragmented, fragment
from xcql.model.fragments import ROOT_ID, Fragment
from xcql.model.paths import find_at
from xcql.model.scan import START_TAG, scan
from xcql.model.shapes import ContentShape, HoleSlot, ShapeReader
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import format_time
from xcql.xdm.names import QName


def fragment_changes(
    document: Document,
    structure: TagStructure,
    state: LatestState,
    shape_of: ShapeReader,
    valid_time: datetime,
    output: IO[bytes],
) -> Fragmented:
    """Write the differences between a document and a state, as fragments of a later time.

    Together with the fragments of the state, they form a history: at earlier times the document
    is as it was, and from `valid_time` on it is the new one.
    """
    if state.filler(ROOT_ID) is None:
        raise error(
            "XCQL0254",
            "the previous state has no root, filler 0",
            hints=["give all fragments so far, beginning with those of the first document"],
        )
    if valid_time <= state.latest:
        raise error(
            "XCQL0254",
            f"the changes are at {format_time(valid_time)}, but the previous state has fragments"
            f" at {format_time(state.latest)}",
            hints=["give a later --valid-time, and a state without the output of this run"],
        )
    with tempfile.TemporaryFile() as cut:
        whole = fragment(document, structure, format_time(valid_time), cut)
        changes = _Changes(cast(BinaryIO, cut), structure, state, shape_of, valid_time, output)
        changes.write()
    warnings = (*whole.warnings, *changes.warnings())
    return Fragmented(changes.count, whole.bytes_read, changes.bytes_written, warnings)


def read_keys(texts: Iterable[str], structure: TagStructure) -> dict[str, str]:
    """Key attributes by tag id, from strings such as `//person=@ssn`."""
    places: list[tuple[Tag, tuple[QName, ...]]] = []
    pending: list[tuple[Tag, tuple[QName, ...]]] = [(structure.root, (structure.root.name,))]
    while pending:
        tag, names = pending.pop()
        if tag.ref is None:
            places.append((tag, names))
        pending += [(child, (*names, child.name)) for child in reversed(tag.children)]
    keys: dict[str, str] = {}
    for text in texts:
        path, sign, attribute = text.rpartition("=@")
        if not sign or not attribute:
            raise error(
                "XCQL0260",
                f"'{text}' is not a valid key",
                hints=["write a path and the attribute: //person=@ssn"],
            )
        keys |= {tag.id: attribute for tag in find_at(path, places)}
    return keys


# Elements that are matched by position: they have the same tag and the same key (or none), and
# events have the same content
_Kin = tuple[str, str | None, bytes]


class _Changes:
    """One comparison: matches new fillers with old ones and writes the changes."""

    def __init__(
        self,
        cut: BinaryIO,
        structure: TagStructure,
        state: LatestState,
        shape_of: ShapeReader,
        valid_time: datetime,
        output: IO[bytes],
    ) -> None:
        self.count = 0
        self.bytes_written = 0
        self._cut = cut
        self._structure = structure
        self._state = state
        self._shape_of = shape_of
        self._valid_time = valid_time
        self._output = output
        self._check = fragment_checker(structure)
        self._tags: dict[str, Tag] = {}
        self._shapes: dict[str, ContentShape] = {}
        self._offsets: dict[str, int] = {}
        cut.seek(0)
        for found in fragments_in(read_document(cut, "<fillers>"), structure):
            tag = structure.by_id(found.tsid or "")
            assert tag is not None
            self._tags[found.id] = tag
            self._shapes[found.id] = shape_of(found)
            self._offsets[found.id] = found.offset
        ends = [*list(self._offsets.values())[1:], cut.seek(0, 2)]
        self._ends = dict(zip(self._offsets, ends, strict=True))
        # temporary id of a new filler -> its permanent id
        self._ids: dict[str, str] = {}
        self._matched: set[str] = {ROOT_ID}
        self._without_history: set[str] = set()
        self._lasting_events: set[str] = set()

    def write(self) -> None:
        self._match()
        self._write(HEADER)
        for new in self._tags:
            self._compare(new)
        for new, id in self._ids.items():
            if id in self._matched:
                self._end_children(self._filler(id), self._shapes[new])
        self._write(FOOTER)

    def warnings(self) -> list[Diagnostic]:
        found = []
        for path in sorted(self._without_history):
            found.append(
                warning(
                    "XCQL0255",
                    f"a change in {path} outside its temporal elements has no history: earlier"
                    " times show it as it is now",
                    hints=["declare what changes as temporal in the tag structure, and start over"],
                )
            )
        for path in sorted(self._lasting_events):
            found.append(
                warning(
                    "XCQL0255",
                    f"events at {path} have disappeared or changed in the document, but stay in"
                    " its history: an event that happened does not end",
                    hints=["declare an element whose content changes as temporal, not as an event"],
                )
            )
        return found

    # matching

    def _match(self) -> None:
        """Give every new filler the id of its match or the next free id, in document order."""
        next_id = self._state.highest_id + 1
        pending: list[tuple[str, str | None]] = [(ROOT_ID, ROOT_ID)]
        while pending:
            new, old = pending.pop()
            self._ids[new] = old if old is not None else str(next_id)
            next_id += old is None
            known = self._filler(old) if old is not None else None
            children: list[tuple[str, str | None]] = []
            for path, slot in self._shapes[new].slots.items():
                before = known.shape.slots.get(path) if known is not None else None
                if known is None or before is None:
                    children += [(hole, None) for hole in slot.holes]
                else:
                    children += self._match_children(slot, before, known.tag.kind != "temporal")
            pending += sorted(children, key=lambda child: int(child[0]), reverse=True)

    def _match_children(
        self, new: HoleSlot, old: HoleSlot, keeps_holes: bool
    ) -> list[tuple[str, str | None]]:
        """Match the new holes of an element with its old ones.

        Filled old holes are matched first. A removed filler may be filled again, but if its hole
        was kept, only at the same position, because its earlier position must stay correct.
        """
        places = {id: place for place, id in enumerate(old.holes)}
        filled: dict[_Kin, deque[str]] = {}
        removed: dict[_Kin, deque[str]] = {}
        for id in sorted(places, key=places.__getitem__):
            known = self._state.filler(id)
            if known is not None and id not in self._matched:
                kin = filled if known.is_alive else removed
                for shape in [event for _, event in known.events] or [known.shape]:
                    kin.setdefault(_kin(known.tag, shape), deque()).append(id)

        def first(alike: deque[str], after: int) -> str | None:
            while alike and (alike[0] in self._matched or places[alike[0]] <= after):
                alike.popleft()
            return alike[0] if alike else None

        matches: dict[str, str] = {}
        kins = {hole: _kin(self._tags[hole], self._shapes[hole]) for hole in new.holes}
        for hole, kin_of_hole in kins.items():
            match = first(filled.get(kin_of_hole, deque()), -1)
            if match is not None:
                matches[hole] = match
                self._matched.add(match)
        # hole -> the position of the next filled hole, which its own position must precede
        limits: dict[str, int] = {}
        limit = len(old.holes)
        for hole in reversed(new.holes):
            limits[hole] = limit
            if hole in matches:
                limit = min(limit, places[matches[hole]])
        reached = -1
        for hole, kin_of_hole in kins.items():
            if hole not in matches:
                match = first(removed.get(kin_of_hole, deque()), reached if keeps_holes else -1)
                if match is not None and (not keeps_holes or places[match] < limits[hole]):
                    matches[hole] = match
                    self._matched.add(match)
            if hole in matches:
                reached = max(reached, places[matches[hole]])
        return [(hole, matches.get(hole)) for hole in new.holes]

    # comparing

    def _compare(self, new: str) -> None:
        id, tag = self._ids[new], self._tags[new]
        known = self._filler(id) if id in self._matched else None
        if known is None or tag.kind == "temporal":
            shape = self._shapes[new]
            if not (known and known.is_alive and shape.has_same_content_as(known.shape, self._ids)):
                self._send("filler", id, tag, self._valid_time, self._renumbered(self._read(new)))
            return
        found = self._read(new)
        content = self._renumbered(found, known)
        shape = self._shape_of(found._replace(content=content))
        if tag.kind == "event":
            self._compare_event(id, known, shape, content)
        elif not (known.is_alive and shape.has_same_content_as(known.shape)):
            self._send("filler", id, tag, self._valid_time, content)
            if not _is_only_filled(known.shape, shape):
                self._without_history.add(self._structure.path_of(tag))

    def _compare_event(
        self, id: str, known: LatestFiller, shape: ContentShape, content: bytes
    ) -> None:
        if any(shape.has_same_content_as(event) for _, event in known.events):
            return
        if len(known.events) > 1 or not self._state.has_times:
            reason = "its id has several" if len(known.events) > 1 else "its time is unknown"
            raise error(
                "XCQL0254",
                f"an event {known.tag.name} has a new child and must be sent again, which"
                f" is impossible: {reason}",
                hints=["give the fragments so far to --previous, not a plain document"],
            )
        self._send("replace", id, known.tag, known.events[0][0], content)

    def _end_children(self, known: LatestFiller, new: ContentShape) -> None:
        """Remove the fillers that are no longer below a filler."""
        keeps_holes = known.tag.kind != "temporal"
        pending = [
            (id, keeps_holes and path in new.slots)
            for path, slot in known.shape.slots.items()
            for id in slot.holes
        ]
        while pending:
            id, is_kept = pending.pop()
            gone = self._state.filler(id)
            if gone is None or id in self._matched:
                continue
            # visit each filler once
            self._matched.add(id)
            if gone.tag.kind == "event" and is_kept:
                self._lasting_events.add(self._structure.path_of(gone.tag))
                continue
            if gone.tag.kind != "event" and gone.is_alive:
                self._send("remove", id, gone.tag, self._valid_time, b"")
            pending += [(child, False) for child in gone.shape.holes]

    # writing

    def _filler(self, id: str) -> LatestFiller:
        known = self._state.filler(id)
        assert known is not None, "only a filler that is known can be matched"
        return known

    def _read(self, new: str) -> Fragment:
        """A filler of the new document, including its content."""
        self._cut.seek(self._offsets[new])
        data = self._cut.read(self._ends[new] - self._offsets[new])
        record = self._check(data, next(scan(data)), (), "<fillers>", 0)
        assert isinstance(record, Fragment)
        return record

    def _renumbered(self, found: Fragment, known: LatestFiller | None = None) -> bytes:
        """The content with permanent ids in its holes, and with the old holes that must be kept."""
        content = found.content
        # hole of the new filler -> the holes to keep before it and after it
        beside: dict[str, tuple[bytes, bytes]] = {}
        edits: list[tuple[int, int, bytes]] = []
        if known is not None and known.tag.kind != "temporal":
            slots = self._shapes[found.id].slots
            for path, old in known.shape.slots.items():
                if path in slots and slots[path].holes:
                    beside |= self._kept_beside(slots[path], old)
                elif path in slots and old.holes:
                    kept = self._holes(old.holes, slots[path])
                    edits.append(_at_end_of(slots[path], content, kept))
        for hole in found.holes:
            own = content[hole.start : hole.end].replace(
                f'id="{hole.id}"'.encode(), f"id={quoteattr(self._ids[hole.id])}".encode(), 1
            )
            before, behind = beside.get(hole.id, (b"", b""))
            edits.append((hole.start, hole.end, before + own + behind))
        parts, position = [], 0
        for start, end, text in sorted(edits):
            parts += [content[position:start], text]
            position = end
        return b"".join([*parts, content[position:]])

    def _kept_beside(self, new: HoleSlot, old: HoleSlot) -> dict[str, tuple[bytes, bytes]]:
        """The holes of removed elements, each kept after the hole that it used to follow."""
        by_id = {self._ids[hole]: hole for hole in new.holes}
        behind: dict[str | None, list[str]] = {}
        last: str | None = None
        for id in old.holes:
            if id in by_id:
                last = by_id[id]
            else:
                behind.setdefault(last, []).append(id)
        # Put them before the next hole rather than directly after the last one: if a new element
        # replaces a removed one, the white space around them stays right for both.
        beside = {
            hole: (self._holes(behind.get(previous, ()), new), b"")
            for previous, hole in pairwise([None, *new.holes])
            if hole is not None
        }
        final = new.holes[-1]
        beside[final] = beside[final][0], self._holes(behind.get(final, ()), new)
        return beside

    def _holes(self, ids: Sequence[str], slot: HoleSlot) -> bytes:
        # a hole belongs to no namespace
        undeclare = ' xmlns=""' if slot.in_default_namespace else ""
        texts = []
        for id in ids:
            known = self._state.filler(id)
            tsid = f" tsid={quoteattr(known.tag.id)}" if known else ""
            texts.append(f"<hole id={quoteattr(id)}{tsid}{undeclare}/>")
        return "".join(texts).encode()

    def _send(self, op: str, id: str, tag: Tag, time: datetime, content: bytes) -> None:
        time_text = quoteattr(format_time(time))
        start = f"<{op} id={quoteattr(id)} tsid={quoteattr(tag.id)} validTime={time_text}".encode()
        end = b">" + content + f"</{op}>".encode() if content else b"/>"
        self._write(start + end + b"\n")
        self.count += 1

    def _write(self, data: bytes) -> None:
        self._output.write(data)
        self.bytes_written += len(data)


def _kin(tag: Tag, shape: ContentShape) -> _Kin:
    return tag.id, shape.key, shape.outline if tag.kind == "event" else b""


def _is_only_filled(old: ContentShape, new: ContentShape) -> bool:
    """Whether two contents differ only in holes that were added or are no longer filled."""
    if old.outline != new.outline or old.slots.keys() != new.slots.keys():
        return False
    for path, slot in old.slots.items():
        still = set(slot.holes)
        if [id for id in new.slots[path].holes if id in still] != slot.holes:
            return False
    return True


def _at_end_of(slot: HoleSlot, content: bytes, holes: bytes) -> tuple[int, int, bytes]:
    """The edit that inserts holes at the end of an element that has none."""
    element = content[slot.start : slot.end]
    empty = START_TAG.fullmatch(element) if element.endswith(b"/>") else None
    if empty is None:
        return slot.end, slot.end, holes
    return slot.end - 2, slot.end, b">" + holes + b"</" + empty[1] + b">"
