"""Detect the kind of a file that the user gave, and explain when another kind was expected."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import BinaryIO, Literal, cast
from xml.parsers import expat

from xcql.diagnostics import XcqlError, error
from xcql.model.documents import read_document

Kind = Literal["document", "fragments", "tags"]

_FRAGMENTS = frozenset({"filler", "repeat", "replace", "remove", "eos"})
_NAMES = {"document": "a document", "fragments": "fragments", "tags": "a tag structure"}

# (what it is, what was expected) -> the solution; {} is the file
_WAYS_OUT = {
    ("fragments", "document"): [
        "query fragments with --stream NAME={} --tags TAGS.xml",
        "or ingest them into a store: xcqlc ingest {} --stream NAME --tags TAGS.xml --store DIR",
    ],
    ("document", "fragments"): [
        "query a document with --doc {}",
        "or cut it into fragments: xcqlc fragment {} --tags TAGS.xml -o FRAGMENTS.xml",
    ],
    ("fragments", "tags"): ["give fragments with --stream NAME={}, and their tags with --tags"],
    ("document", "tags"): ["make a tag structure from it: xcqlc infer-tags {} -o TAGS.xml"],
    ("tags", "document"): ["give a tag structure with --tags {}"],
    ("tags", "fragments"): ["give a tag structure with --tags {}"],
}


class _Seen(Exception):
    """Stop parsing: enough was read."""


def expect(path: str | Path, wanted: Kind) -> None:
    """Raise a helpful error if a file is missing, empty, or of another kind.

    A file whose kind is unknown, such as a malformed one, passes: its reader gives a better error.
    """
    path = Path(path)
    if path.is_dir() and wanted == "fragments":
        return
    try:
        with cast(BinaryIO, path.open("rb", buffering=0)) as file:
            empty = not file.read(1)
            file.seek(0)
            found = None if empty else _kind(file)
    except OSError as problem:
        raise unreadable(path, problem) from None
    were = "were" if wanted == "fragments" else "was"
    if empty:
        raise error(
            "XCQL0105",
            f"'{path}' is empty; {_NAMES[wanted]} {were} expected",
            hints=["was it written completely? the command that creates it may have failed"],
        )
    if found is not None and found != wanted:
        verb = "holds" if found == "fragments" else "is"
        raise error(
            "XCQL0105",
            f"'{path}' {verb} {_NAMES[found]}; {_NAMES[wanted]} {were} expected",
            hints=[hint.format(path) for hint in _WAYS_OUT[found, wanted]],
        )


def unreadable(path: str | Path, problem: OSError) -> XcqlError:
    """The error for a file that cannot be read: why, and which file may have been meant."""
    path = Path(path)
    hints = []
    if isinstance(problem, FileNotFoundError):
        folder = path.parent
        if not folder.is_dir():
            hints = [f"there is no folder '{folder}'"]
        elif near := difflib.get_close_matches(path.name, os.listdir(folder), 1):
            hints = [f"did you mean '{folder / near[0]}'?"]
        else:
            hints = [f"paths are relative to the folder you are in, '{Path.cwd().name}'"]
    elif isinstance(problem, IsADirectoryError):
        hints = ["it is a folder; give a file in it"]
    elif isinstance(problem, PermissionError):
        hints = ["ask its owner for read permission (ls -l shows who has it)"]
    reason = (problem.strerror or str(problem)).lower()
    return error("XCQL0101", f"'{path}' cannot be read: {reason}", hints=hints)


def existing_store(folder: str) -> str:
    """The folder, if it contains a store; else an error that says how to create one."""
    path = Path(folder)
    make = f"create one: xcqlc ingest FRAGMENTS --tags TAGS.xml --stream NAME --store {folder}"
    if not path.exists():
        hints = [make]
        if path.parent.is_dir():
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), 1)
            hints = [*(f"did you mean '{path.parent / one}'?" for one in near), make]
        raise error("XCQL0106", f"there is no store '{folder}'", hints=hints)
    if not path.is_dir():
        raise error("XCQL0106", f"'{folder}' is a file; a store is a folder", hints=[make])
    # a damaged store may lack one of them
    if not any((path / one).is_dir() for one in ("commits", "copies")):
        raise error("XCQL0106", f"the folder '{folder}' is not a store", hints=[make])
    return folder


def _kind(file: BinaryIO) -> Kind | None:
    """Detect the kind by the names of the root and of its first child element."""
    names: list[str] = []

    def start(name: str, _: object) -> None:
        names.append(name.rpartition(":")[2])
        if len(names) == 2:
            raise _Seen

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    try:
        for chunk in read_document(file, "").chunks:
            parser.Parse(chunk, False)
    except _Seen:
        pass
    except (XcqlError, expat.ExpatError):
        if not names:
            return None
    if not names:
        return None
    if names[0] in _FRAGMENTS or (names[1:2] and names[1] in _FRAGMENTS):
        return "fragments"
    if names == ["structure", "tag"]:
        return "tags"
    return "document"
