"""The importer: revisions of documents become fragments, and these a stream of a store.

There are two passes over what is new. The first reads every document once: the names of its
elements extend the tag structure, and documents that are broken are set aside. The second cuts
each revision into fillers and writes what changed. Only documents that changed are read, and only
their part of the latest state is compared.

The root of a stream without versions is sent once for each commit, replacing itself at the time of
the first revision: it has the holes of all times.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.history.changes import ChangeWriter, NewDocument
from xcql.importing.record import ImportRecord, record_of, record_table
from xcql.importing.revisions import FileChange, HistorySource, Revision
from xcql.importing.tagging import choose_kinds
from xcql.model.documents import Document, parse_chunk, read_document
from xcql.model.fragmenter import FOOTER, HEADER, fragment
from xcql.model.fragments import ROOT_ID
from xcql.model.infer import NameTree, infer_from_document, tag_structure, tree_of
from xcql.model.infer_keys import InferredKey, KeyWatcher
from xcql.model.keys import Key, parse_key, read_keys
from xcql.model.scan import without_prolog
from xcql.model.shapes import ShapeReader, shape_reader
from xcql.model.tags import TagStructure
from xcql.model.time import format_time
from xcql.store.commit import read_state, writing
from xcql.store.ingest import add_imported
from xcql.store.processes import Run
from xcql.store.rows import read_file
from xcql.store.state import Stream
from xcql.xdm.names import QName

FILE, PLACE = "file", "path"

# fragments are committed when there are so many bytes of them
_BATCH = 64 << 20
# keys are inferred from this many bytes of documents
_EVIDENCE = 32 << 20
# broken documents that are listed one by one
_LISTED = 10

# called with what is done, how much of it, and how much there is in all
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Choices:
    """How elements are cut and matched: paths, and keys such as `//planet=name[1]`."""

    temporal: tuple[str, ...] = ()
    event: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, list[str]]:
        return {name: list(getattr(self, name)) for name in ("temporal", "event", "key")}


@dataclass(slots=True)
class ImportSummary:
    """What an import did; `keys` are the keys that it inferred, in words."""

    stream: str
    revisions: int = 0
    changes: int = 0
    tags: int = 0
    commit: int | None = None
    keys: list[str] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def __str__(self) -> str:
        if self.commit is None:
            return f"stream '{self.stream}': nothing new"
        revisions = f"{self.revisions:,} revision{'' if self.revisions == 1 else 's'}"
        changes = f"{self.changes:,} change{'' if self.changes == 1 else 's'}"
        tags = f"; {self.tags} new tag{'' if self.tags == 1 else 's'}" if self.tags else ""
        lines = [f"stream '{self.stream}': {revisions}, {changes}{tags}; commit {self.commit}"]
        return "\n".join([*lines, *self.keys])


def import_history(
    store: Path,
    source: HistorySource,
    stream_name: str,
    choices: Choices,
    run: Run,
    cores: int,
    progress: Progress = lambda *_: None,
) -> ImportSummary:
    """Import what is new in a source into a stream, which is created if missing."""
    # a source that cannot be read leaves no store behind
    revisions = None if store.exists() else source.revisions(None)
    with writing(store):
        # this is the only writer: anything in there was left by a process that was killed
        shutil.rmtree(store / "staging", ignore_errors=True)
        stream = read_state(store).streams.get(stream_name)
        record = _record(store, stream, source, choices)
        if revisions is None:
            revisions = source.revisions(record.cursor)
        summary = ImportSummary(stream_name, len(revisions), warnings=source.warnings)
        if not revisions:
            return summary
        reading = _Reading(source, record, stream.tags if stream else None, progress)
        structure = reading.structure(revisions)
        summary.tags = len(list(structure)) - (len(list(stream.tags)) if stream else 0)
        summary.keys = reading.inferred
        writer = _Writer(source, record, structure, reading.broken, summary)
        for number, revision in enumerate(revisions, 1):
            progress("importing", number, len(revisions))
            writer.add(revision)
            if writer.size > _BATCH or number == len(revisions):
                writer.commit(store, stream_name, run, cores)
        summary.warnings += [*_told(reading.broken), *writer.warnings.values()]
        return summary


def _record(
    store: Path, stream: Stream | None, source: HistorySource, choices: Choices
) -> ImportRecord:
    """What an earlier import kept, or the beginning of the first one."""
    if stream is None:
        return ImportRecord(source.kind, dict(source.options), choices.as_dict())
    if not stream.imported:
        raise error(
            "XCQL0265",
            f"the stream '{stream.name}' was not made by an import, which could continue it",
            hints=["import into another stream: --stream NAME"],
        )
    record = record_of(read_file(store, stream.imported[0]), stream.tags)
    if record.batches != stream.batches:
        raise error(
            "XCQL0265",
            f"the stream '{stream.name}' has fragments that did not come from its import",
            hints=["import into another stream: --stream NAME"],
        )
    known = {"from": record.kind, **record.options}
    asked = {"from": source.kind, **source.options}
    for name, values in choices.as_dict().items():
        if values:
            known[name], asked[name] = record.choices[name], values
    differ = [name for name in known if known[name] != asked.get(name)]
    if differ:
        raise error(
            "XCQL0265",
            f"the stream '{stream.name}' was imported with other options",
            notes=[f"{name}: {known[name]} before, {asked.get(name)} now" for name in differ],
            hints=["use the options of the first import, or another stream"],
        )
    return record


class _Reading:
    """The first pass: the tag structure, the keys, and the documents that are broken."""

    def __init__(
        self,
        source: HistorySource,
        record: ImportRecord,
        structure: TagStructure | None,
        progress: Progress,
    ) -> None:
        self.broken: dict[str, tuple[str, XcqlError]] = {}
        self.inferred: list[str] = []
        self._source, self._record, self._progress = source, record, progress
        self._tree = tree_of(structure) if structure is not None else self._empty_tree()
        self._watcher = KeyWatcher()
        self._watched = 0

    def structure(self, revisions: Iterable[Revision]) -> TagStructure:
        """The tag structure of all revisions, after reading them."""
        contents = {
            part.content: f"{part.place or part.content} of {revision.name}"
            for revision in revisions
            for part in revision.parts
            if part.content is not None
        }
        for number, (content, name) in enumerate(contents.items(), 1):
            self._progress("reading", number, len(contents))
            try:
                self._read(content, name)
            except XcqlError as problem:
                self._watcher.drop()
                self.broken[content] = name, problem
        if self._tree is None or (self._record.batches == 0 and len(self.broken) == len(contents)):
            raise error(
                "XCQL0264",
                "no document can be read, so there is nothing to import",
                notes=[f"{name}: {one.message}" for name, one in list(self.broken.values())[:3]],
            )
        found = list(self._watcher.inferred())
        chosen = self._record.choices
        choose_kinds(self._tree, found, chosen, has_files=self._source.root is not None)
        structure = tag_structure(self._tree, chosen["temporal"], chosen["event"])
        self._keep_keys(structure, found)
        return structure

    def _empty_tree(self) -> NameTree | None:
        if self._source.root is None:
            return None
        tree = NameTree(QName("", self._source.root))
        tree.child(QName("", FILE)).kind = "temporal"
        return tree

    def _read(self, content: str, name: str) -> None:
        data = self._source.read(content)
        _check(data, name)
        document = read_document(io.BytesIO(data), name)
        watcher = self._watcher if self._watched < _EVIDENCE else None
        self._watched += len(data)
        if self._source.root is not None:
            assert self._tree is not None
            infer_from_document(document, self._tree.child(QName("", FILE)), watcher)
            return
        if self._tree is None:
            self._tree = infer_from_document(document, None, watcher)
            return
        # the same root, or an error
        above = NameTree(QName("", ""))
        above.children[self._tree.name] = self._tree
        root = _root_of(data, name)
        if root != self._tree.name:
            raise error("XCQL0251", f"the root element is {root}, not {self._tree.name}")
        infer_from_document(document, above, watcher)

    def _keep_keys(self, structure: TagStructure, found: Iterable[InferredKey]) -> None:
        """Remember the keys of tags that had none before, and tell those that matter."""
        declared = read_keys(self._record.choices["key"], structure)
        for one in found:
            tag = structure.by_id(one.element.id or "")
            if tag is None or not tag.is_fragmented or tag.id in {**declared, **self._record.keys}:
                continue
            if str(one.key) == "@id" or not _is_usable(structure, tag.id, one.key):
                continue
            self._record.keys[tag.id] = str(one.key)
            self.inferred.append(f"key {structure.path_of(tag)}={one.key}: it {one.evidence}")


def _is_usable(structure: TagStructure, tsid: str, key: Key) -> bool:
    """Whether the value of a key is in the element's own filler."""
    tag = structure.by_id(tsid)
    for step in key.steps:
        assert tag is not None
        below = structure.children(tag)
        tag = next((one for one in below if one.name.local == step), None)
        if tag is None or tag.is_fragmented:
            return False
    return True


class _Writer:
    """The second pass: writes the fragments of revisions, and commits them."""

    def __init__(
        self,
        source: HistorySource,
        record: ImportRecord,
        structure: TagStructure,
        broken: Mapping[str, object],
        summary: ImportSummary,
    ) -> None:
        self.warnings: dict[tuple[str, str], Diagnostic] = {}
        self._source, self._record, self._structure = source, record, structure
        self._broken, self._summary = broken, summary
        keys = {id: key for id, text in record.keys.items() if (key := parse_key(text))}
        keys |= read_keys(record.choices["key"], structure)
        if source.root is not None:
            file = structure.child(structure.root, "", FILE)
            assert file is not None
            keys[file.id] = Key((), PLACE)
        self._shape_of: ShapeReader = shape_reader(structure, keys)
        self._output: IO[bytes] = io.BytesIO()
        self._roots: dict[str, bytes] = {}
        self._are_files_new = False

    @property
    def size(self) -> int:
        return self._output.tell()

    def add(self, revision: Revision) -> None:
        """Write what changed in a revision."""
        if self._source.root is None:
            (part,) = revision.parts
            if part.content not in self._broken:
                self._add_whole(revision, part)
        else:
            self._add_parts(revision)
        self._record.cursor = dict(revision.cursor)

    def commit(self, store: Path, stream_name: str, run: Run, cores: int) -> None:
        """Add the fragments so far to the store, with what is needed to continue."""
        record = self._record
        record.batches += 1
        path = store / "staging" / f"import-{record.batches}.xml"
        path.parent.mkdir(exist_ok=True)
        self._write_root()
        self._output.seek(0)
        try:
            with path.open("wb") as file:
                file.write(HEADER)
                # files of equal content would count as ingested before
                file.write(b"<!-- batch %d -->\n" % record.batches)
                file.write(self._output.read())
                file.write(FOOTER)
            added = add_imported(
                store, path, stream_name, self._structure, record_table(record), run, cores
            )
        finally:
            path.unlink(missing_ok=True)
        self._summary.commit = added.commit
        self._output = io.BytesIO()

    def _add_whole(self, revision: Revision, part: FileChange) -> None:
        assert part.content is not None
        data = self._source.read(part.content)
        new = self._cut(read_document(io.BytesIO(data), revision.name), revision)
        changes = self._changes(new, revision)
        has_root = self._record.state.filler(ROOT_ID) is not None
        changes.write_all({ROOT_ID: ROOT_ID} if has_root else {})
        self._note(changes)

    def _add_parts(self, revision: Revision) -> None:
        """Write what changed in some files, of which some are new, moved or gone."""
        places, gone = self._record.places, self._record.gone
        files: list[tuple[str, bytes]] = []
        roots: dict[str, str | None] = {}
        # all places are left before any is taken, because files may change their places
        left: dict[str, tuple[str, str]] = {}
        for part in revision.parts:
            leaving = part.place if part.content is None else part.previous
            if leaving is not None and leaving in places:
                left[leaving] = places.pop(leaving)
        contents: dict[str, str] = {}
        for part in revision.parts:
            if part.content is None:
                continue
            known = None
            if part.previous is not None:
                known = left.pop(part.previous, None)
                if part.place in places:
                    left[part.place] = places.pop(part.place)
            known = known or places.get(part.place)
            if part.content in self._broken:
                # it stays as it was
                if known is not None:
                    places[part.place] = known
                continue
            files.append((part.place, self._source.read(part.content)))
            roots[part.place] = known[0] if known else gone.pop(part.place, None)
            contents[part.place] = part.content
        for place, (id, _) in left.items():
            gone[place] = id
        new = self._cut(_joined(self._source.root or "", files), revision)
        changes = self._changes(new, revision)
        holes = new.fillers[ROOT_ID].shape.holes
        known_ids = {
            hole: old
            for hole, (place, _) in zip(holes, files, strict=True)
            if (old := roots[place])
        }
        changes.write_parts(known_ids, [id for id, _ in left.values()])
        for hole, (place, _) in zip(holes, files, strict=True):
            places[place] = changes.ids[hole], contents[place]
            if hole not in known_ids:
                self._record.files.append(changes.ids[hole])
                self._are_files_new = True
        self._note(changes)

    def _cut(self, document: Document, revision: Revision) -> NewDocument:
        if self._record.root_time is None:
            self._record.root_time = format_time(revision.time)
        cut = io.BytesIO()
        whole = fragment(document, self._structure, format_time(revision.time), cut)
        self._tell(whole.warnings)
        return NewDocument(cut, self._structure, self._shape_of)

    def _changes(self, new: NewDocument, revision: Revision) -> ChangeWriter:
        return ChangeWriter(
            new,
            self._structure,
            self._record.state,
            self._shape_of,
            revision.time,
            self._output,
            follows_moves=True,
            snapshots=self._roots,
        )

    def _note(self, changes: ChangeWriter) -> None:
        self._summary.changes += changes.count
        self._tell(changes.warnings())

    def _tell(self, warnings: Iterable[Diagnostic]) -> None:
        """Keep the first warning of a kind; the others differ only in names of documents."""
        for one in warnings:
            self.warnings.setdefault((one.code, re.sub(r"'[^']*'|\d+", "", one.message)), one)

    def _write_root(self) -> None:
        """Write the root, if it has changed since the last commit, at its own time."""
        record = self._record
        if self._are_files_new:
            file = self._structure.child(self._structure.root, "", FILE)
            assert file is not None
            holes = "".join(f'<hole id="{id}" tsid="{file.id}"/>\n' for id in record.files)
            name = self._source.root
            self._roots[ROOT_ID] = f"<{name}>\n{holes}</{name}>".encode()
        op = b"filler" if record.batches == 1 else b"replace"
        for id, content in self._roots.items():
            attributes = (
                f"id={quoteattr(id)} tsid={quoteattr(self._structure.root.id)}"
                f" validTime={quoteattr(record.root_time or '')}"
            ).encode()
            self._output.write(b"<%b %b>%b</%b>\n" % (op, attributes, content, op))
        self._roots.clear()
        self._are_files_new = False


def _joined(root: str, files: Iterable[tuple[str, bytes]]) -> Document:
    """One document with all files in it."""

    def chunks() -> Iterator[bytes]:
        yield f"<{root}>".encode()
        for place, data in files:
            yield f"<{FILE} {PLACE}={quoteattr(place)}>".encode()
            document = read_document(io.BytesIO(data), place)
            yield without_prolog(b"".join(document.chunks)).strip()
            yield f"</{FILE}>".encode()
        yield f"</{root}>".encode()

    return Document("<files>", chunks())


def _check(data: bytes, name: str) -> None:
    """Raise an error if a document is not well-formed, before anything is learnt from it."""
    parser = expat.ParserCreate("UTF-8", "\x1f")
    window = b""
    for chunk in [*read_document(io.BytesIO(data), name).chunks, b""]:
        window = chunk or window
        parse_chunk(parser, chunk, not chunk, name, window, parser.CurrentByteIndex)


def _root_of(data: bytes, name: str) -> QName:
    above = NameTree(QName("", ""))
    infer_from_document(read_document(io.BytesIO(data), name), above)
    (root,) = above.children
    return root


def _told(broken: Mapping[str, tuple[str, XcqlError]]) -> list[Diagnostic]:
    """Warnings for broken documents, and how many more there are."""
    found = [
        warning("XCQL0263", f"skipped {name}: {problem.message}")
        for name, problem in list(broken.values())[:_LISTED]
    ]
    if len(broken) > _LISTED:
        found.append(
            warning("XCQL0263", f"skipped {len(broken) - _LISTED:,} more broken documents")
        )
    return found
