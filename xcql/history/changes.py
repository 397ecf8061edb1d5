"""The changes from one state of a document to the next, as fragments.

The new document is cut into fillers, and each is matched with its predecessor in the old document
(`xcql.history.matching`). A filler keeps its id as long as it has a match. Only fillers that were
added, changed or removed are written, with the new validTime.

- A changed temporal filler gets a new version; one that disappeared gets a `remove`.
- A snapshot filler has no versions. It is sent again when a child is added, and keeps the holes of
  removed children, so that earlier times still have them.
- An event has no versions either, and does not end. It is identified by its content as well: an
  event with different content is a different event. If only a child was added, the event is
  replaced, at its own time, by itself with one more hole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import IO, BinaryIO, cast
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import Diagnostic, error, warning
from xcql.history.latest import LatestFiller, LatestState, fragments_in
from xcql.history.matching import match_elements
from xcql.model.check import fragment_checker
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import FOOTER, HEADER, Fragmented, fragment
from xcql.model.fragments import ROOT_ID, Fragment
from xcql.model.scan import START_TAG, scan
from xcql.model.shapes import ContentShape, HoleSlot, ShapeReader
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import format_time

# a document cut into fillers is kept in memory up to this size
_IN_MEMORY = 1 << 23


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
    is as it was, and from `valid_time` on it is the new one. The state becomes that of the new
    document.
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
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as cut:
        whole = fragment(document, structure, format_time(valid_time), cut)
        new = NewDocument(cast(BinaryIO, cut), structure, shape_of)
        changes = ChangeWriter(new, structure, state, shape_of, valid_time, output)
        changes.write({ROOT_ID: ROOT_ID})
    warnings = (*whole.warnings, *changes.warnings())
    return Fragmented(changes.count, whole.bytes_read, changes.bytes_written, warnings)


class NewDocument:
    """A document cut into fillers with temporary ids, in a file."""

    def __init__(self, cut: BinaryIO, structure: TagStructure, shape_of: ShapeReader) -> None:
        self.fillers: dict[str, LatestFiller] = {}
        self._cut = cut
        self._check = fragment_checker(structure)
        self._offsets: dict[str, int] = {}
        cut.seek(0)
        for found in fragments_in(read_document(cut, "<fillers>"), self._check):
            tag = structure.by_id(found.tsid or "")
            assert tag is not None
            self.fillers[found.id] = LatestFiller(tag, shape_of(found), True)
            self._offsets[found.id] = found.offset
        ends = [*list(self._offsets.values())[1:], cut.seek(0, 2)]
        self._ends = dict(zip(self._offsets, ends, strict=True))

    def read(self, id: str) -> Fragment:
        """A filler with its content."""
        self._cut.seek(self._offsets[id])
        data = self._cut.read(self._ends[id] - self._offsets[id])
        record = self._check(data, next(scan(data)), (), "<fillers>", 0)
        assert isinstance(record, Fragment)
        return record


class ChangeWriter:
    """Matches new fillers with old ones and writes the changes."""

    def __init__(
        self,
        new: NewDocument,
        structure: TagStructure,
        state: LatestState,
        shape_of: ShapeReader,
        valid_time: datetime,
        output: IO[bytes],
        follows_moves: bool = False,
        snapshots: dict[str, bytes] | None = None,
    ) -> None:
        """With `snapshots`, the contents of snapshot fillers go there, and are not written."""
        self.count = 0
        self.bytes_written = 0
        self._follows_moves = follows_moves
        self._snapshots = snapshots
        self._document = new
        self._new = new.fillers
        self._structure = structure
        self._state = state
        self._shape_of = shape_of
        self._valid_time = valid_time
        self._output = output
        # temporary id of a new filler -> its permanent id
        self.ids: dict[str, str] = {}
        self._matched: set[str] = set()
        self._updates: dict[str, LatestFiller] = {}
        self._without_history: set[str] = set()
        self._lasting_events: set[str] = set()

    def write(self, roots: Mapping[str, str]) -> None:
        """Write the changes as a file of fragments; `roots` are new fillers with known ids."""
        self._write(HEADER)
        self.write_all(roots)
        self._write(FOOTER)

    def write_all(self, roots: Mapping[str, str]) -> None:
        """Write the changes in the whole document, and update the state."""
        self._write_fragments(roots, list(self._new))
        self._state.update(self._updates, self._valid_time)

    def write_parts(self, roots: Mapping[str, str], gone: Sequence[str]) -> None:
        """Write the changes in parts of a document, without its root, and update the state.

        `roots` are the parts that were there before, `gone` those that are there no longer.
        """
        self._state.highest_id = max(self._state.highest_id, 0)
        self._write_fragments(roots, [id for id in self._new if id != ROOT_ID], gone)
        self._remove([(id, False) for id in gone])
        self._state.update(self._updates, self._valid_time)

    def _write_fragments(
        self, roots: Mapping[str, str], compared: Sequence[str], gone: Sequence[str] = ()
    ) -> None:
        """Write what has changed in some fillers, and remove what was in them."""
        parents = self._state.parents if self._follows_moves else None
        matches = match_elements(self._new, self._state.filler, roots, parents, gone)
        self._matched = set(matches.values())
        # in document order, so that new ids follow it
        next_id = self._state.highest_id + 1
        for id in sorted(compared, key=int):
            self.ids[id] = matches.get(id) or str(next_id)
            next_id += id not in matches
        for new in compared:
            self._compare(new)
        for new, id in matches.items():
            self._end_children(self._filler(id), self._new[new].shape)

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

    # comparing

    def _compare(self, new: str) -> None:
        id, one = self.ids[new], self._new[new]
        known = self._filler(id) if id in self._matched else None
        if known is None or one.tag.kind == "temporal":
            if not (
                known and known.is_alive and one.shape.has_same_content_as(known.shape, self.ids)
            ):
                content = self._renumbered(self._document.read(new))
                shape = one.shape.with_holes(self.ids)
                self._send("filler", id, one.tag, self._valid_time, content, shape)
            return
        found = self._document.read(new)
        content = self._renumbered(found, known)
        shape = self._shape_of(found._replace(content=content))
        if one.tag.kind == "event":
            self._compare_event(id, known, shape, content)
        elif not (known.is_alive and shape.has_same_content_as(known.shape)):
            self._send("filler", id, one.tag, self._valid_time, content, shape)
            if not _is_only_filled(known.shape, shape):
                self._without_history.add(self._structure.path_of(one.tag))

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
        self._send("replace", id, known.tag, known.events[0][0], content, shape)

    def _end_children(self, known: LatestFiller, new: ContentShape) -> None:
        """Remove the fillers that are no longer below a filler."""
        keeps_holes = known.tag.kind != "temporal"
        self._remove(
            [
                (id, keeps_holes and path in new.slots)
                for path, slot in known.shape.slots.items()
                for id in slot.holes
            ]
        )

    def _remove(self, pending: list[tuple[str, bool]]) -> None:
        """Remove fillers and those in them; the flags tell whether their holes are kept."""
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
                self._send("remove", id, gone.tag, self._valid_time, b"", gone.shape)
            pending += [(child, False) for child in gone.shape.holes]

    # writing

    def _filler(self, id: str) -> LatestFiller:
        known = self._state.filler(id)
        assert known is not None, "only a filler that is known can be matched"
        return known

    def _renumbered(self, found: Fragment, known: LatestFiller | None = None) -> bytes:
        """The content with permanent ids in its holes, and with the old holes that must be kept."""
        content = found.content
        # hole of the new filler -> the holes to keep before it and after it
        beside: dict[str, tuple[bytes, bytes]] = {}
        edits: list[tuple[int, int, bytes]] = []
        if known is not None and known.tag.kind != "temporal":
            slots = self._new[found.id].shape.slots
            for path, old in known.shape.slots.items():
                if path in slots and slots[path].holes:
                    beside |= self._kept_beside(slots[path], old)
                elif path in slots and old.holes:
                    kept = self._holes(old.holes, slots[path])
                    edits.append(_at_end_of(slots[path], content, kept))
        for hole in found.holes:
            own = content[hole.start : hole.end].replace(
                f'id="{hole.id}"'.encode(), f"id={quoteattr(self.ids[hole.id])}".encode(), 1
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
        by_id = {self.ids[hole]: hole for hole in new.holes}
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

    def _send(
        self, op: str, id: str, tag: Tag, time: datetime, content: bytes, shape: ContentShape
    ) -> None:
        events = ((time, shape),) if tag.kind == "event" else ()
        self._updates[id] = LatestFiller(tag, shape, op != "remove", events)
        if tag.kind == "snapshot" and self._snapshots is not None:
            self._snapshots[id] = content
            return
        time_text = quoteattr(format_time(time))
        start = f"<{op} id={quoteattr(id)} tsid={quoteattr(tag.id)} validTime={time_text}".encode()
        end = b">" + content + f"</{op}>".encode() if content else b"/>"
        self._write(start + end + b"\n")
        self.count += 1

    def _write(self, data: bytes) -> None:
        self._output.write(data)
        self.bytes_written += len(data)


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
