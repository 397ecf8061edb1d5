"""Fragments: fillers and the other operations of a stream.

    <fragments>
      <filler id="0" tsid="1" validTime="2003-10-01"><list><hole id="7" tsid="2"/></list></filler>
      <filler id="7" tsid="2" validTime="2003-10-02"><item>first</item></filler>
      <remove id="7" validTime="2003-10-09"/>
    </fragments>

`xcql.model.scan` finds them in bytes, `xcql.model.check` checks each on its own, and
`xcql.model.read` does both for whole files. An invalid fragment becomes a `Rejected` record.
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
    "malformed",  # not well-formed, or its end is missing
    "not a fragment",  # something else between the fragments, such as a DTD
    "no id",
    "tag",  # no tsid, or one that is not in the Tag Structure
    "element",  # not exactly one element, or not the element of its tag
    "undeclared element",
    "inline element",  # a temporal or event element without its own filler
    "hole",
    "time",
    "tag conflict",  # the id already belongs to another tag
]
# the namespaces declared around an element, as (prefix, URI), sorted
Namespaces = tuple[tuple[str, str], ...]

ROOT_ID = "0"


class Hole(NamedTuple):
    """A hole in a filler's element: the id of the filler that belongs there.

    `start` and `end` are its byte offsets in the content; `parent` is the tag id of the element
    that contains it.
    """

    id: str
    start: int
    end: int
    parent: str


class Fragment(NamedTuple):
    """One valid fragment.

    `tsid` is the id of its tag (None for a remove without a tsid); `valid_time` is None for a
    remove without one; `content` is the element, byte for byte as received (in UTF-8), and
    `namespaces` are those that it may use without declaring them. `file` and `offset` tell where
    the fragment was found.
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
    """Rejected input: its position, the reason, and its bytes."""

    file: str
    offset: int
    kind: RejectKind
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class EndOfStream:
    """An `<eos/>`: everything after it in the file is ignored."""

    file: str
    offset: int


def content_tree(fragment: Fragment) -> ElementNode:
    """The element of a fragment as a tree, with its holes as elements.

    It inherits the namespaces around it except the prefix `stream`, which is not part of the data.
    """
    return parse_element(
        fragment.content,
        dict(fragment.namespaces),
        not_inherited=("stream",),
        source_name=fragment.file,
    )


def is_plain(fragment: Fragment) -> bool:
    """Whether the content certainly has no namespaces and its holes are known."""
    content = fragment.content
    return not (
        (b"hole" in content and not fragment.holes)
        or b"xmlns" in content
        or b"stream:" in content
        or b"xml:id" in content
        or any(prefix != "stream" for prefix, _ in fragment.namespaces)
    )


def pieces(fragment: Fragment) -> Iterator[bytes | Hole]:
    """The content of a fragment, split at its holes; the first piece is bytes."""
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
