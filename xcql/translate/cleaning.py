"""Makes fragment files that any XQuery processor can read, with only valid fragments.

The library takes fragments in the form that XCQL's reader accepts. A copy fixes or omits what the
reader has to fix or omit: files that are not XML by themselves, rejected fragments, holes where
their filler's tag is not declared, and snapshot elements in fillers of their own, which replace
their holes.

Tests: tests/translate/test_standalone.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import error
from xcql.history.definition import History, histories
from xcql.history.view import is_declared
from xcql.model.fragments import ROOT_ID, Fragment, pieces
from xcql.model.read import FragmentBatch, read_all
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, format_begin

_FRAGMENTS = frozenset({"filler", "repeat", "replace", "remove", "eos"})


@dataclass(frozen=True, slots=True)
class CleanCopy:
    """A copy of a stream's fragments, and why it was made."""

    path: Path
    reason: str


def clean_copy(
    name: str, files: Sequence[Path], tags: TagStructure, now: datetime, folder: Path | None = None
) -> CleanCopy | None:
    """Write a clean copy of fragment files if they need one; None if they can be read
    unchanged. If they need one and there is no folder for it, that is an error."""
    batch = read_all(files, tags)
    stream = histories(batch.fragments, tags, datetime.max)
    conflicts = {(r.file, r.offset) for r in stream.rejected}
    kept = [f for f in batch.fragments if (f.file, f.offset) not in conflicts]
    current = histories(kept, tags, now).by_id
    cleaner = _Cleaner(tags, stream.by_id, current)
    reason = _why(files, batch, bool(conflicts)) or cleaner.why(kept)
    if reason is None:
        return None
    if folder is None:
        raise error(
            "XCQL0406",
            f'the fragments of stream "{name}" cannot be read as they are: {reason}',
            hints=[f"give a folder for a clean copy, {name}.clean.xml: --clean-to FOLDER"],
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.clean.xml"
    lines = [b"<fragments>", *(cleaner.fragment(fragment) for fragment in kept), b"</fragments>\n"]
    path.write_bytes(b"\n".join(lines))
    return CleanCopy(path, reason)


def _why(files: Sequence[Path], batch: FragmentBatch, conflicts: bool) -> str | None:
    """What is wrong with the original files."""
    if len(files) != 1 or files[0].is_dir():
        return "there are several files"
    if files[0].suffix == ".gz":
        return "the file is compressed"
    if batch.rejected or conflicts:
        return "some fragments do not belong in the stream"
    return _why_not_xml(files[0].read_bytes())


def _why_not_xml(data: bytes) -> str | None:
    """Why a processor cannot read a file in the way the reader does."""
    plain = True
    depth = 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal plain, depth
        depth += 1
        if depth == 1 and name in _FRAGMENTS:
            plain = False
        # the library looks for fragments in no namespace, two levels down
        if (depth == 2 or name.endswith("hole")) and " " in name:
            plain = False
        if (depth == 2 or name == "hole") and attributes.get("id", "").strip() != attributes.get(
            "id", ""
        ):
            plain = False

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def namespace(prefix: str | None, uri: str) -> None:
        nonlocal plain
        if depth < 2:
            plain = False

    def doctype(*_: object) -> None:
        nonlocal plain
        plain = False

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartNamespaceDeclHandler = namespace
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        return "the file is not well-formed XML by itself"
    return None if plain else "the file has no root, or it has namespaces, blanks in ids, or a DTD"


class _Cleaner:
    """Rewrites fragments, with holes only where a filler can be."""

    def __init__(
        self, tags: TagStructure, known: Mapping[str, History], current: Mapping[str, History]
    ) -> None:
        self._tags = tags
        self._known = known
        self._current = current

    def why(self, fragments: Sequence[Fragment]) -> str | None:
        for fragment in fragments:
            for hole in fragment.holes:
                history = self._known.get(hole.id)
                if history is None and self._can_be_filled(hole.parent):
                    continue
                if history is None:
                    return "there is a hole where no filler can be"
                if not self._is_declared(history, hole.parent):
                    return "there is a hole where its filler's tag is not declared"
                if history.tag.kind == "snapshot":
                    return "a snapshot element is in a filler of its own"
        return None

    def _tag(self, id: str) -> Tag:
        tag = self._tags.by_id(id)
        assert tag is not None
        return tag

    def _is_declared(self, history: History, parent: str) -> bool:
        return is_declared(history.tag, self._tag(parent), self._tags)

    def _can_be_filled(self, parent: str) -> bool:
        """Whether any filler can replace a hole in elements of this tag."""
        return any(child.is_fragmented for child in self._tags.children(self._tag(parent)))

    def fragment(self, fragment: Fragment) -> bytes:
        attributes = f" id={quoteattr(fragment.id)}"
        if fragment.tsid is not None:
            attributes += f" tsid={quoteattr(fragment.tsid)}"
        if fragment.valid_time is not None and fragment.valid_time != START:
            attributes += f' validTime="{format_begin(fragment.valid_time)}"'
        for prefix, uri in fragment.namespaces:
            if prefix not in ("xml", "stream"):
                attributes += f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}"
        content = self._content(fragment, frozenset({fragment.id}))
        return f"<{fragment.op}{attributes}>".encode() + content + f"</{fragment.op}>".encode()

    def _content(self, fragment: Fragment, inside: frozenset[str]) -> bytes:
        """The element, with holes in their plain form."""
        return b"".join(
            piece if isinstance(piece, bytes) else self._hole(piece.id, piece.parent, inside)
            for piece in pieces(fragment)
        )

    def _hole(self, id: str, parent: str, inside: frozenset[str]) -> bytes:
        history = self._known.get(id)
        if history is None and not self._can_be_filled(parent):
            return b""
        if history is not None and not self._is_declared(history, parent):
            return b""
        if history is not None and history.tag.kind == "snapshot" and id != ROOT_ID:
            current = self._current.get(id)
            if current is None or id in inside:
                return b""
            return self._content(current.versions[-1].fragment, inside | {id})
        return f'<hole xmlns="" id={quoteattr(id)}/>'.encode()
