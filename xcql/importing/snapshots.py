"""Dated documents as a source; their times are in their names, in them, or those of the files."""

from __future__ import annotations

import glob
import gzip
import lzma
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.importing.revisions import Cursor, FileChange, Revision
from xcql.model.documents import read_document
from xcql.model.keys import Key, parse_key
from xcql.model.time import parse_time

# the directives of `strptime` that are supported, as regular expressions
_DIRECTIVES = {
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "m": r"\d{1,2}",
    "d": r"\d{1,2}",
    "H": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "j": r"\d{1,3}",
    "b": r"[^\W\d_]{3,4}",
    "B": r"[^\W\d_]+",
    "f": r"\d{1,6}",
    "z": r"(?:Z|[+-]\d\d:?\d\d)",
    "s": r"\d{9,11}",
    "%": "%",
}


class Snapshots:
    """The documents that a pattern matches, in order of time.

    The time is found in the name with a format of `strptime`, in the document at a path such as
    `/dump/@created`, or it is the time of the file.
    """

    kind = "snapshots"
    root = None

    def __init__(
        self, pattern: str, name_format: str | None = None, path: str | None = None
    ) -> None:
        self.warnings: list[Diagnostic] = []
        self._pattern = pattern
        self._name_format, self._path = name_format, path
        self._name = name_pattern(name_format) if name_format is not None else None
        self._steps = _steps(path) if path is not None else None

    @property
    def options(self) -> Mapping[str, Any]:
        return {"time-from-name": self._name_format, "time-from-path": self._path}

    def revisions(self, cursor: Cursor | None) -> list[Revision]:
        files = sorted(glob.glob(os.path.expanduser(self._pattern), recursive=True))
        files = [file for file in files if os.path.isfile(file)]
        if not files:
            raise error(
                "XCQL0264",
                f"no file matches '{self._pattern}'",
                hints=["quote the pattern, so that the shell does not expand it: 'dump-*.xml'"],
            )
        taken: dict[str, int] = dict(cursor["files"]) if cursor else {}
        latest = datetime.fromisoformat(cursor["time"]) if cursor else None
        dated: list[tuple[datetime, str]] = []
        for file in files:
            name, size = os.path.basename(file), os.stat(file).st_size
            if name in taken:
                if taken[name] != size:
                    self._skip(f"'{file}' has changed since it was imported")
                continue
            try:
                dated.append((self._time_of(file), file))
            except (XcqlError, ValueError, OSError, EOFError, lzma.LZMAError) as problem:
                message = problem.message if isinstance(problem, XcqlError) else str(problem)
                self._skip(f"'{file}': {message}")
        found = []
        for time, file in sorted(dated):
            if latest is not None and time <= latest:
                what = "as old as" if time == latest else "older than"
                self._skip(f"'{file}' is {what} another one that is imported: {latest}")
                continue
            latest = time
            taken = {**taken, os.path.basename(file): os.stat(file).st_size}
            seen = {"files": taken, "time": time.isoformat()}
            found.append(Revision(time, file, (FileChange("", file),), seen))
        return found

    def read(self, content: str) -> bytes:
        try:
            data = Path(content).read_bytes()
            if data[:2] == b"\x1f\x8b":
                return gzip.decompress(data)
            return lzma.decompress(data) if data[:6] == b"\xfd7zXZ\0" else data
        except (OSError, EOFError, lzma.LZMAError) as problem:
            raise error("XCQL0101", f"'{content}' cannot be read: {problem}") from None

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _skip(self, text: str) -> None:
        self.warnings.append(warning("XCQL0263", f"skipped {text}"))

    def _time_of(self, file: str) -> datetime:
        if self._name is not None and self._name_format is not None:
            return _time_in(os.path.basename(file), self._name, self._name_format)
        if self._steps is not None:
            with open(file, "rb") as opened:
                text = _value_in(opened, file, self._steps)
            if text is None:
                raise ValueError(f"there is nothing at {self._path}")
            return parse_time(text.strip())
        return datetime.fromtimestamp(int(os.stat(file).st_mtime), UTC).replace(tzinfo=None)


def name_pattern(name_format: str) -> re.Pattern[str]:
    """A regular expression that finds a time in a name; an error if the format has no date.

    >>> name_pattern("%Y-%m-%d").search("dump-2004-05-03.xml.gz")[0]
    '2004-05-03'
    """
    parts = re.split(r"%(.)", name_format)
    unknown = [one for one in parts[1::2] if one not in _DIRECTIVES]
    if unknown or not {"Y", "y", "s"} & set(parts[1::2]):
        problem = f"%{unknown[0]} is not supported" if unknown else "it has no year"
        raise error(
            "XCQL0100",
            f"'{name_format}' is not a valid format of a time: {problem}",
            hints=["write it as for strptime: %Y-%m-%d, %Y%m%dT%H%M%S, or %s for Unix time"],
        )
    texts = [re.escape(one) if i % 2 == 0 else _DIRECTIVES[one] for i, one in enumerate(parts)]
    return re.compile("".join(texts))


def _time_in(name: str, pattern: re.Pattern[str], name_format: str) -> datetime:
    found = pattern.search(name)
    if found is None:
        raise ValueError(f"its name has no time like {name_format}")
    if "%s" in name_format:
        seconds = re.search(r"\d{9,11}", found[0])
        assert seconds is not None
        return datetime.fromtimestamp(int(seconds[0]), UTC).replace(tzinfo=None)
    time = datetime.strptime(found[0], name_format)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _steps(path: str) -> Key:
    key = parse_key(path.removeprefix("/"))
    if key is None or not path.startswith("/"):
        raise error(
            "XCQL0100",
            f"'{path}' is not a path to a time in a document",
            hints=["write the path from the root: /dump/@created or /feed/updated"],
        )
    return key


class _Found(Exception):
    """Stop parsing: the value is known."""


def _value_in(file: BinaryIO, name: str, path: Key) -> str | None:
    """The first value at a path from the root; the document is read no further."""
    steps = path.steps
    open_names: list[str] = []
    text: list[str] = []
    parser = expat.ParserCreate("UTF-8", " ")
    parser.buffer_text = True
    matched = 0

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal matched
        open_names.append(element)
        depth = len(open_names)
        if matched == depth - 1 and depth <= len(steps):
            matched += element.rpartition(" ")[2] == steps[depth - 1]
        if matched == depth == len(steps) and path.attribute in attributes:
            text[:] = [attributes[path.attribute]]
            raise _Found

    def end(element: str) -> None:
        nonlocal matched
        if matched == len(open_names):
            if matched == len(steps) and path.attribute is None:
                raise _Found
            matched -= 1
        open_names.pop()

    def data(part: str) -> None:
        if matched == len(steps) and path.attribute is None:
            text.append(part)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = data
    try:
        for chunk in read_document(file, name).chunks:
            parser.Parse(chunk, False)
    except _Found:
        return "".join(text)
    except expat.ExpatError as problem:
        raise ValueError(f"it is not well-formed XML: {expat.ErrorString(problem.code)}") from None
    return None
