"""The state of a document that fragments sent so far amount to: what each filler id holds now.

Kept in memory is a digest of each filler and its holes, some hundred bytes, not its content.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import BinaryIO, cast
from xml.parsers import expat

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.model.check import fragment_checker
from xcql.model.documents import Document, read_document
from xcql.model.fragmenter import fragment
from xcql.model.fragments import EndOfStream, Fragment, Rejected
from xcql.model.scan import LOOKAHEAD, MEANINGLESS, FileHead, file_head, is_file_end, scan
from xcql.model.shapes import Shape, ShapeReader
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, format_time
from xcql.source import Source, Span

_FRAGMENT_NAME = re.compile(r"(?:stream:)?(?:filler|repeat|replace|remove|eos)")


@dataclass(slots=True)
class Known:
    """A filler id: its tag, its latest content and that one's time.

    For an event, `events` has all that there were, in order of arrival.
    """

    tag: Tag
    shape: Shape
    valid_time: datetime
    events: list[tuple[datetime, Shape]] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """All filler ids so far. `has_times` is false when some came from a plain document."""

    fillers: dict[str, Known] = field(default_factory=dict)
    removed: dict[str, datetime] = field(default_factory=dict)
    latest: datetime = START
    highest_id: int = 0
    has_times: bool = True
    warnings: list[Diagnostic] = field(default_factory=list)

    def is_alive(self, id: str) -> bool:
        """Whether the latest that came for the id is an element, not a removal."""
        return id in self.fillers and (
            id not in self.removed or self.removed[id] < self.fillers[id].valid_time
        )

    def add(self, fragment: Fragment, tag: Tag | None, shape: Shape | None) -> None:
        """Take in the next fragment to arrive; a remove has no shape."""
        id, time = fragment.id, fragment.valid_time
        # new ids count on from the highest number, if it is one that can be counted on from
        if re.fullmatch("[0-9]{1,18}", id):
            self.highest_id = max(self.highest_id, int(id))
        if fragment.op == "replace" or time is None:
            self.fillers.pop(id, None)
            self.removed.pop(id, None)
        if time is None:
            return
        self.latest = max(self.latest, time)
        known = self.fillers.get(id)
        if tag is None or shape is None:
            self._remove(id, known, time)
            return
        if known is None:
            known = self.fillers[id] = Known(tag, shape, time)
        elif known.tag != tag:
            return
        if time >= known.valid_time:
            known.shape, known.valid_time = shape, time
            # of a removal and a filler at one time, the later to arrive counts
            if self.removed.get(id) == time:
                del self.removed[id]
        if tag.kind == "event":
            known.events.append((time, shape))

    def _remove(self, id: str, known: Known | None, time: datetime) -> None:
        if known is None or known.tag.kind != "event":
            self.removed[id] = max(time, self.removed.get(id, time))
            return
        known.events = [event for event in known.events if event[0] != time]
        if known.events:
            known.valid_time, known.shape = max(known.events, key=lambda event: event[0])
        else:
            del self.fillers[id]


def add_to_state(
    state: State, document: Document, structure: TagStructure, shape_of: ShapeReader
) -> None:
    """Take in a file of fragments; or a plain document, as if it had just been fragmented."""
    first = next(document.chunks, b"")
    document.chunks = chain([first], document.chunks)
    if _is_plain(first, structure):
        if state.fillers:
            raise error(
                "XCQL0254",
                f"'{document.name}' is a plain document, and there are fragments before it",
                hints=["a plain document can only stand for the first fragments, made from it"],
            )
        state.has_times = False
        state.warnings.append(
            warning(
                "XCQL0259",
                f"'{document.name}' is a plain document: the ids in the changes are those that"
                " `xcqlc fragment` gives its elements when it is the first of its stream",
                hints=["give the fragments so far instead, when it is not"],
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
    state: State, document: Document, structure: TagStructure, shape_of: ShapeReader
) -> None:
    for arrived in fragments_in(document, structure):
        tag = structure.by_id(arrived.tsid) if arrived.tsid is not None else None
        shape = shape_of(arrived) if arrived.op != "remove" else None
        state.add(arrived, tag, shape)


def fragments_in(document: Document, structure: TagStructure) -> Iterator[Fragment]:
    """The fragments of a file, one by one; any that is not good is an error here."""
    check = fragment_checker(structure)
    window, base, position = b"", 0, 0
    head: FileHead | None = None
    for chunk in chain(filter(None, document.chunks), [b""]):
        window += chunk
        # what is near the end of the window may look otherwise when more of it is there
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
                raise _no_good(document.name, base + position, "something else stands there")
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
        f"'{file}' is not all good fragments, at byte {offset}: {reason}",
        Span(Source("", file), 0, 0),
        hints=["changes can only be found against a state that is all good"],
    )


def _is_plain(first: bytes, structure: TagStructure) -> bool:
    """Whether a file is a document of the tag structure, not one of fragments."""
    names: list[str] = []
    parser = expat.ParserCreate("UTF-8")
    parser.StartElementHandler = lambda name, attributes: names.append(name)
    with suppress(expat.ExpatError):
        parser.Parse(first, False)
    root = structure.root
    if not names or names[0].rpartition(":")[2] != root.name.local:
        return False
    # a file of fragments may have any name for its root
    is_declared = len(names) > 1 and structure.child(root, "", names[1]) is not None
    return is_declared or len(names) == 1 or not _FRAGMENT_NAME.fullmatch(names[1])
