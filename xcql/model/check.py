"""Checks one fragment against the Tag Structure.

A fragment is checked on its own, using expat's byte offsets, without building a tree. Errors that
involve other fragments, such as an id that belongs to another tag, are not found here.
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
from xcql.xdm.names import QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, in_context

Checker = Callable[[bytes, Slice, Namespaces, str, int], Fragment | Rejected | EndOfStream]

# tags have few children, but hostile data may spell their names with ever new prefixes
_MAX_KNOWN = 10_000


def fragment_checker(tags: TagStructure) -> Checker:
    """Return a function that checks one fragment, given as a slice of a file's bytes.

    It takes the bytes, the slice, the namespaces of the file's head, the file's name, and a number
    to add to offsets (the offset of the bytes in the file). Each thread needs its own function.
    """
    reader = _Reader(tags)

    def check(
        data: bytes, where: Slice, namespaces: Namespaces, file: str, skipped: int = 0
    ) -> Fragment | Rejected | EndOfStream:
        raw = data[where.start : where.end]
        offset = skipped + where.start
        if not where.closed:
            return Rejected(file, offset, "malformed", "the fragment is not closed", raw)
        try:
            return reader.read(raw, namespaces, file, offset)
        except _Fault as fault:
            return Rejected(file, offset, fault.kind, fault.reason, raw)

    return check


class _Fault(Exception):
    """The reason for rejecting a fragment."""

    def __init__(self, kind: RejectKind, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind = kind
        self.reason = reason


class _Place(dict[str, "_Place"]):
    """A tag, with the places of its child elements by name as spelled by expat.

    It is filled as names occur, so that most elements cost only one lookup.
    """

    __slots__ = ("tag",)

    def __init__(self, tag: Tag) -> None:
        super().__init__()
        self.tag = tag


class _Reader:
    """Reads fragments one after another; holds the state that expat's handlers share.

    The handlers follow the fragment inwards: its surroundings and its own tag (`_start_outer`), its
    element (`_start_content`), the content of that (`_start_inner`), a hole, and what follows it.
    """

    def __init__(self, tags: TagStructure) -> None:
        self._tags = tags
        self._places: dict[str, _Place] = {}
        self._known = 0
        self._contexts: dict[Namespaces, tuple[bytes, bytes]] = {}

    def read(
        self, raw: bytes, namespaces: Namespaces, file: str, offset: int
    ) -> Fragment | EndOfStream:
        if namespaces not in self._contexts:
            self._contexts = {namespaces: in_context(dict(namespaces))}
        lead, trail = self._contexts[namespaces]
        self._raw = raw
        self._before = len(lead)
        self._level = 0
        self._declared: dict[str, str] = {}
        self._op = ""
        self._attributes: dict[str, str] = {}
        self._tag: Tag | None = None
        self._content_start = self._content_end = -1
        self._open: list[_Place] = []
        self._holes: list[Hole] = []
        self._fault: _Fault | None = None

        parser = self._expat = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.StartNamespaceDeclHandler = self._declare
        parser.StartElementHandler = self._start_outer
        try:
            parser.Parse(lead + raw + trail, True)
        except expat.ExpatError as problem:
            raise _Fault("malformed", _why_malformed(problem)) from None
        if self._fault is not None:
            raise self._fault
        if self._op == "eos":
            return EndOfStream(file, offset)
        if self._declared:
            namespaces = tuple(sorted((dict(namespaces) | self._declared).items()))
        op: Operation = self._op  # type: ignore[assignment]
        content = self._content()
        tsid = self._tag.id if self._tag else None
        return Fragment(
            op,
            self._id(),
            tsid,
            self._valid_time(),
            content,
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
                f"filler 0 must be the root, {self._tags.root.name}; this one is {self._tag.name}",
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

    def _content(self) -> bytes:
        """The bytes of the fragment's element; reject significant text around it."""
        if self._op == "remove":
            if self._content_start >= 0:
                raise _Fault("element", "a remove cannot contain an element")
            return b""
        if self._content_start < 0:
            raise _Fault("element", f"the {self._op} contains no element")
        raw, start, end = self._raw, self._content_start, self._content_end
        tag = START_TAG.match(raw)
        assert tag is not None
        if raw[tag.end() : start].strip() or raw[end : raw.rindex(b"</")].strip():
            around = raw[tag.end() : start] + raw[end : raw.rindex(b"</")]
            if not MEANINGLESS.fullmatch(around):
                raise _Fault("element", f"the {self._op} contains text beside its element")
        return raw[start:end]

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        """Record a namespace declared on the fragment; the element's own stay in its bytes."""
        if self._level == 1:
            self._declared[prefix or ""] = uri or ""

    def _start_outer(self, name: str, attributes: list[str]) -> None:
        self._level += 1
        if self._level == 2:
            self._start_fragment(name, dict(zip(attributes[::2], attributes[1::2], strict=True)))
        elif self._level == 3:
            self._start_content(name)

    def _start_fragment(self, name: str, attributes: dict[str, str]) -> None:
        full = expanded_name(name)
        if full.uri and full.prefix != "stream":
            return self._refuse(
                _Fault(
                    "not a fragment",
                    f"<{full}> is in the namespace '{full.uri}', so it is not a fragment;"
                    f" write <stream:{full.local}>",
                )
            )
        self._op, self._attributes = full.local, attributes
        tsid = attributes.get("tsid", "").strip()
        self._tag = self._tags.by_id(tsid)
        if self._tag is None and full.local != "eos" and (tsid or full.local != "remove"):
            unknown = f"unknown tsid '{tsid}'"
            self._refuse(_Fault("tag", unknown if tsid else f"the {full.local} has no tsid"))

    def _start_content(self, name: str) -> None:
        self._content_start = self._expat.CurrentByteIndex - self._before
        if self._tag is None:
            return
        full = expanded_name(name)
        if full != self._tag.name:
            return self._refuse(
                _Fault(
                    "element",
                    f"its element is {_shown(full)}, but the element of tag {self._tag.id} is"
                    f" {_shown(self._tag.name)}",
                )
            )
        self._open.append(self._place(self._tag))
        self._expat.StartElementHandler = self._start_inner
        self._expat.EndElementHandler = self._end_inner
        self._expat.StartNamespaceDeclHandler = None

    def _start_inner(self, name: str, attributes: list[str]) -> None:
        place = self._open[-1].get(name)
        if place is not None:
            self._open.append(place)
        else:
            self._start_unknown(name, attributes)

    def _start_unknown(self, name: str, attributes: list[str]) -> None:
        """Handle an element seen here for the first time: a child, a hole, or an error."""
        parent = self._open[-1]
        full = expanded_name(name)
        if full.local == "hole" and (not full.uri or full.prefix == "stream"):
            return self._start_hole(dict(zip(attributes[::2], attributes[1::2], strict=True)))
        tag = self._tags.child(parent.tag, full.uri, full.local)
        if tag is None:
            reason = f"{_shown(full)} is not declared in {parent.tag.name}"
            if full.local == "hole":
                reason += "; in a default namespace, write a hole as <stream:hole>"
            return self._refuse(_Fault("undeclared element", reason))
        if tag.is_fragmented:
            reason = f"the {tag.kind} element {tag.name} is inline in {parent.tag.name}"
            return self._refuse(_Fault("inline element", f"{reason}, not in a filler of its own"))
        place = self._place(tag)
        if self._known < _MAX_KNOWN:
            self._known += 1
            parent[name] = place
        self._open.append(place)

    def _end_inner(self, name: str) -> None:
        self._open.pop()
        if not self._open:
            self._content_end = self._end(self._content_start)
            self._expat.StartElementHandler = self._start_another
            self._expat.EndElementHandler = None

    def _start_hole(self, attributes: dict[str, str]) -> None:
        self._hole_id = attributes.get("id", "").strip()
        self._hole_start = self._expat.CurrentByteIndex - self._before
        if not self._hole_id:
            reason = f"a hole in {self._open[-1].tag.name} has no id"
            return self._refuse(_Fault("hole", reason))
        self._expat.StartElementHandler = self._start_in_hole
        self._expat.EndElementHandler = self._end_hole

    def _end_hole(self, name: str) -> None:
        start, end = self._hole_start, self._end(self._hole_start)
        tag = START_TAG.match(self._raw, start)
        assert tag is not None
        if tag.end() < end:
            inside = self._raw[tag.end() : self._raw.rindex(b"</", start, end)]
            if not MEANINGLESS.fullmatch(inside):
                return self._start_in_hole(name, [])
        base = self._content_start
        self._holes.append(Hole(self._hole_id, start - base, end - base, self._open[-1].tag.id))
        self._expat.StartElementHandler = self._start_inner
        self._expat.EndElementHandler = self._end_inner

    def _start_in_hole(self, name: str, attributes: list[str]) -> None:
        self._refuse(_Fault("hole", f"the hole '{self._hole_id}' is not empty"))

    def _start_another(self, name: str, attributes: list[str]) -> None:
        self._refuse(_Fault("element", f"the {self._op} contains more than one element"))

    def _end(self, start: int) -> int:
        """The end offset of the element that started at `start` and is ending now."""
        tag = START_TAG.match(self._raw, start)
        if tag and tag[0].endswith(b"/>"):
            return tag.end()
        return self._raw.index(b">", self._expat.CurrentByteIndex - self._before) + 1

    def _place(self, tag: Tag) -> _Place:
        place = self._places.get(tag.id)
        if place is None:
            place = self._places[tag.id] = _Place(tag)
        return place

    def _refuse(self, fault: _Fault) -> None:
        """Remember the fault, and check the rest only for well-formedness."""
        self._fault = fault
        self._expat.StartElementHandler = None
        self._expat.EndElementHandler = None
        self._expat.StartNamespaceDeclHandler = None


def _why_malformed(problem: expat.ExpatError) -> str:
    if problem.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
        return "it refers to an entity; entities are not expanded"
    return f"not well-formed: {expat.ErrorString(problem.code)}"


def _shown(name: QName) -> str:
    return name.clark if name.uri else name.local
