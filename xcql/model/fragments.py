"""Fragments: fillers and what else a stream sends.

    <fragments>
      <filler id="0" tsid="1" validTime="2003-10-01"><list><hole id="7" tsid="2"/></list></filler>
      <filler id="7" tsid="2" validTime="2003-10-02"><item>first</item></filler>
      <remove id="7" validTime="2003-10-09"/>
    </fragments>

`xcql.model.scan` finds them in bytes, `xcql.model.check` checks each by itself, and
`xcql.model.read` does both for whole files. A fragment that is no good becomes a `Rejected` record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from xcql.xdm.nodes import ElementNode
from xcql.xdm.parse import parse_element

Operation = Literal["filler", "repeat", "replace", "remove"]
RejectKind = Literal[
    "malformed",  # not well-formed, or without an end
    "not a fragment",  # something else between the fragments, such as a DTD
    "no id",
    "tag",  # no tsid, or one that the Tag Structure does not have
    "element",  # not exactly one element, or not the one of its tag
    "undeclared element",
    "inline element",  # a temporal or event element that is not in a filler of its own
    "hole",
    "time",
    "tag conflict",  # the id belongs to another tag already
]
# the namespaces that the surroundings of an element declare, as (prefix, URI), sorted
Namespaces = tuple[tuple[str, str], ...]

ROOT_ID = "0"


class Hole(NamedTuple):
    """A hole in a filler's element: the id of the filler that belongs there.

    `start` and `end` are its place in the content's bytes, `parent` the id of the tag of the
    element it stands in.
    """

    id: str
    start: int
    end: int
    parent: str


class Fragment(NamedTuple):
    """One good fragment.

    `tsid` is the id of its tag (None for a remove that does not say); `valid_time` is None for a
    remove without one; `content` is the element, byte for byte as it came (in UTF-8), and
    `namespaces` are those that it may use without declaring them. `file` and `offset` say where the
    fragment was found.
    """

    op: Operation
    id: str
    tsid: str | None
    valid_time: datetime | None
    content: bytes
    holes: tuple[Hole, ...]
    namespaces: Namespaces
    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """What could not be taken in: where it stands, why, and what it is."""

    file: str
    offset: int
    kind: RejectKind
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class EndOfStream:
    """An `<eos/>`: nothing after it in the file counts."""

    file: str
    offset: int


def content_tree(fragment: Fragment) -> ElementNode:
    """The element of a fragment as a tree; its holes are elements in it.

    It sees the namespaces of its surroundings, but for the prefix `stream`: that is not the data's.
    """
    return parse_element(
        fragment.content,
        dict(fragment.namespaces),
        not_inherited=("stream",),
        source_name=fragment.file,
    )


def is_plain(fragment: Fragment) -> bool:
    """Whether the content is certainly without namespaces, and its holes are known."""
    content = fragment.content
    return not (
        (b"hole" in content and not fragment.holes)
        or b"xmlns" in content
        or b"stream:" in content
        or b"xml:id" in content
        or any(prefix != "stream" for prefix, _ in fragment.namespaces)
    )


def pieces(fragment: Fragment) -> Iterator[bytes | Hole]:
    """The content of a fragment, cut at its holes; it begins with bytes."""
    at = 0
    for hole in fragment.holes:
        if at < hole.start:
            yield fragment.content[at : hole.start]
        yield hole
        at = hole.end
    yield fragment.content[at:]


def is_hole(element: ElementNode) -> bool:
    """Whether an element of a filler's content is a hole."""
    name = element.name
    return name.local == "hole" and (not name.uri or name.prefix == "stream")
