"""Checking one fragment against the Tag Structure.

A fragment is looked at by itself, with expat's offsets and without building a tree. What needs
the other fragments of the stream, such as an id that belongs to another tag, is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from xml.parsers import expat

from xcql.diagnostics import XcqlError
from xcql.model.fragments import (
    ROOT_ID,
    EndOfStream,
    Fragment,
    Hole,
    Namespaces,
    Operation,
    Rejected,
    RejectKind,
)
from xcql.model.scan import MEANINGLESS, START_TAG, Slice
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, parse_time
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, in_context

Checker = Callable[[bytes, Slice, Namespaces, str, int], Fragment | Rejected | EndOfStream]

# tags have few children, but hostile data may write their names with ever new prefixes
_MAX_KNOWN = 10_000


def fragment_checker(tags: TagStructure) -> Checker:
    """A function that checks one fragment, given as a slice of a file's bytes.

    It takes the bytes, the slice, the namespaces of the file's head, the file's name, and a number
    to add to offsets (where the bytes begin in the file).
    """
    known: dict[tuple[str, str], Tag | _Fault | None] = {}

    def check(
        data: bytes, where: Slice, namespaces: Namespaces, file: str, skipped: int = 0
    ) -> Fragment | Rejected | EndOfStream:
        raw = data[where.start : where.end]
        offset = skipped + where.start
        if not where.closed:
            reason = "the fragment has no end"
            return Rejected(file, offset, "malformed", reason, raw)
        check = _Check(raw, namespaces, tags, known)
        try:
            return check.run(file, offset)
        except _Fault as fault:
            return Rejected(file, offset, fault.kind, fault.reason, raw)

    return check


class _Fault(Exception):
    """Why a fragment is rejected."""

    def __init__(self, kind: RejectKind, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind = kind
        self.reason = reason


class _Check:
    """One fragment's check; holds what expat's handlers share."""

    def __init__(
        self,
        raw: bytes,
        namespaces: Namespaces,
        tags: TagStructure,
        known: dict[tuple[str, str], Tag | _Fault | None],
    ) -> None:
        self._raw = raw
        self._tags = tags
        # (tag id, name as expat writes it) -> the tag of that child, None for a hole, or its fault
        self._known = known
        self._namespaces = namespaces
        self._declared: dict[str, str] = {}
        self._fault: _Fault | None = None
        self._op = ""
        self._attributes: dict[str, str] = {}
        self._tag: Tag | None = None
        # the fragment's element, and the elements open in it; None stands for a hole
        self._content_start = -1
        self._content_end = -1
        self._open: list[Tag | None] = []
        self._holes: list[Hole] = []
        self._hole: tuple[str, int] = ("", 0)
        self._level = 0
        self._before = 0

    def run(self, file: str, offset: int) -> Fragment | EndOfStream:
        lead, trail = in_context(dict(self._namespaces))
        self._before = len(lead)
        parser = self._expat = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
        parser.namespace_prefixes = True
        parser.StartNamespaceDeclHandler = self._declare
        parser.StartElementHandler = self._start_outer
        try:
            parser.Parse(lead + self._raw + trail, True)
        except expat.ExpatError as problem:
            raise _Fault("malformed", _why_malformed(problem)) from None
        if self._fault is not None:
            raise self._fault
        if self._op == "eos":
            return EndOfStream(file, offset)
        if self._op != "remove":
            self._require_one_element()
        elif self._content_start >= 0:
            raise _Fault("element", "a remove holds no element")
        return self._fragment(file, offset)

    def _fragment(self, file: str, offset: int) -> Fragment:
        op: Operation = self._op  # type: ignore[assignment]
        namespaces = self._namespaces
        if self._declared:
            namespaces = tuple(sorted((dict(namespaces) | self._declared).items()))
        return Fragment(
            op,
            self._id(),
            self._tag.id if self._tag else None,
            self._valid_time(),
            self._raw[self._content_start : self._content_end] if self._content_start >= 0 else b"",
            tuple(self._holes),
            namespaces,
            file,
            offset,
        )

    def _id(self) -> str:
        id = self._attributes.get("id", "").strip()
        if not id:
            raise _Fault("no id", f"the {self._op} has no id")
        if id == ROOT_ID and self._tag is not None and self._tag.id != self._tags.root.id:
            raise _Fault(
                "tag",
                f"filler 0 is the root, {self._tags.root.name}, and this one is {self._tag.name}",
            )
        return id

    def _valid_time(self) -> datetime | None:
        text = self._attributes.get("validTime")
        if text is not None:
            try:
                return parse_time(text)
            except XcqlError as problem:
                raise _Fault("time", f"its validTime cannot be read: {problem.message}") from None
        if self._op == "remove":
            return None
        if self._tag is not None and self._tag.kind == "event":
            raise _Fault("time", f"the event {self._tag.name} has no validTime")
        return START

    def _require_one_element(self) -> None:
        if self._content_start < 0:
            raise _Fault("element", f"the {self._op} holds no element")
        inner = START_TAG.match(self._raw)
        assert inner is not None
        around = (
            self._raw[inner.end() : self._content_start]
            + self._raw[self._content_end : self._raw.rindex(b"</")]
        )
        if not MEANINGLESS.fullmatch(around):
            raise _Fault("element", f"the {self._op} holds text beside its element")

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        """A namespace that is declared on the fragment; the element's own stay in its bytes."""
        if self._level == 1:
            self._declared[prefix or ""] = uri or ""

    def _start_outer(self, name: str, attributes: dict[str, str]) -> None:
        """The start of what is around the fragment, of the fragment, or of its element."""
        self._level += 1
        if self._level == 2:
            self._start_fragment(name, attributes)
        elif self._level == 3:
            self._start_content(name)

    def _start_fragment(self, name: str, attributes: dict[str, str]) -> None:
        full = expanded_name(name)
        if full.uri and full.prefix != "stream":
            return self._refuse(
                _Fault(
                    "not a fragment",
                    f"<{full}> is in the namespace '{full.uri}' here, and so is no fragment;"
                    f" write <stream:{full.local}>",
                )
            )
        self._op, self._attributes = full.local, attributes
        tsid = attributes.get("tsid", "").strip()
        self._tag = self._tags.by_id(tsid)
        if self._tag is None and full.local != "eos" and (tsid or full.local != "remove"):
            said = (
                f"its tsid '{tsid}' is that of no tag" if tsid else f"the {full.local} has no tsid"
            )
            self._refuse(_Fault("tag", said))

    def _start_content(self, name: str) -> None:
        if self._content_start >= 0:
            return self._refuse(_Fault("element", f"the {self._op} holds more than one element"))
        self._content_start = self._expat.CurrentByteIndex - self._before
        if self._tag is None:
            return
        full = expanded_name(name)
        if full != self._tag.name:
            return self._refuse(
                _Fault(
                    "element",
                    f"its element is {_shown(full.uri, full.local)}, and that of tag"
                    f" {self._tag.id} is {_shown(self._tag.name.uri, self._tag.name.local)}",
                )
            )
        self._open.append(self._tag)
        self._expat.StartElementHandler = self._start_inner
        self._expat.EndElementHandler = self._end_inner
        self._expat.StartNamespaceDeclHandler = None

    def _start_inner(self, name: str, attributes: dict[str, str]) -> None:
        """The start of an element or a hole inside the fragment's element."""
        parent = self._open[-1]
        if parent is None:
            return self._refuse(_Fault("hole", f"the hole '{self._hole[0]}' is not empty"))
        key = parent.id, name
        found = self._known[key] if key in self._known else self._look_up(parent, name)
        if isinstance(found, _Fault):
            return self._refuse(found)
        if found is None:
            id = attributes.get("id", "").strip()
            if not id:
                return self._refuse(_Fault("hole", f"a hole in {parent.name} has no id"))
            self._hole = id, self._expat.CurrentByteIndex - self._before
        self._open.append(found)

    def _end_inner(self, name: str) -> None:
        ended = self._open.pop()
        if ended is None:
            parent = self._open[-1]
            assert parent is not None
            id, start = self._hole
            first = START_TAG.match(self._raw, start)
            assert first is not None
            end = self._end(start)
            if not first[0].endswith(b"/>"):
                inside = self._raw[first.end() : self._raw.rindex(b"</", start, end)]
                if not MEANINGLESS.fullmatch(inside):
                    return self._refuse(_Fault("hole", f"the hole '{id}' is not empty"))
            self._holes.append(
                Hole(id, start - self._content_start, end - self._content_start, parent.id)
            )
        elif not self._open:
            self._content_end = self._end(self._content_start)
            self._expat.StartElementHandler = self._start_after
            self._expat.EndElementHandler = None

    def _start_after(self, name: str, attributes: dict[str, str]) -> None:
        self._refuse(_Fault("element", f"the {self._op} holds more than one element"))

    def _end(self, start: int) -> int:
        """Where the element ends that began at `start` and whose end is being handled."""
        first = START_TAG.match(self._raw, start)
        if first and first[0].endswith(b"/>"):
            return first.end()
        return self._raw.index(b">", self._expat.CurrentByteIndex - self._before) + 1

    def _look_up(self, parent: Tag, name: str) -> Tag | _Fault | None:
        full = expanded_name(name)
        found: Tag | _Fault | None = None
        if full.local != "hole" or (full.uri and full.prefix != "stream"):
            found = self._tags.child(parent, full.uri, full.local)
            if found is None:
                shown = _shown(full.uri, full.local)
                found = _Fault("undeclared element", f"{shown} is not declared in {parent.name}")
            elif found.is_fragmented:
                found = _Fault(
                    "inline element",
                    f"the {found.kind} element {found.name} stands in {parent.name} itself, not in"
                    " a filler of its own",
                )
        if len(self._known) < _MAX_KNOWN:
            self._known[parent.id, name] = found
        return found

    def _refuse(self, fault: _Fault) -> None:
        """Remember why, and look only whether the rest is well-formed."""
        self._fault = fault
        self._expat.StartElementHandler = None
        self._expat.EndElementHandler = None
        self._expat.StartNamespaceDeclHandler = None


def _why_malformed(problem: expat.ExpatError) -> str:
    if problem.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
        return "it refers to an entity; entities are not expanded"
    return f"not well-formed: {expat.ErrorString(problem.code)}"


def _shown(uri: str, local: str) -> str:
    return f"Q{{{uri}}}{local}" if uri else local
