"""The corpus of queries: typical queries over streams, by chapter, with their data.

A query is a file `CHAPTER/NNN-name.xcql`. Its first two lines are comments: what it asks, and the
data sets it reads, `(: data: credit, auctions :)`. Where the correct answer is an error, the second
line also names its code: `(: data: odd :) (: error: FORG0001 :)`. A data set is a folder of streams
in `data/`, each with `tags.xml` and `fragments.xml`.

    for query in queries():
        xcql.evaluate(query.text, streams=query.streams(), now=query.now)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xcql.model.tags import TagStructure, read_tags

HERE = Path(__file__).parent

# the `now` of each data set; a query over several uses the latest
NOW: Mapping[str, str] = {
    "auctions": "2003-07-01T00:00:00",
    "credit": "2003-12-01T00:00:00",
    "library": "2006-06-01T00:00:00",
    "odd": "2005-07-01T00:00:00",
    "sensors": "2004-06-13T10:00:00",
    "staff": "2012-01-01T00:00:00",
}

_DATA = re.compile(r"\(: data: ([a-z, ]+) :\)")
_ERROR = re.compile(r"\(: error: ([A-Z]{4}[0-9]{4}) :\)")


@dataclass(frozen=True, slots=True)
class Stream:
    """The files of a stream's fragments and Tag Structure."""

    name: str
    fragments: Path
    tags: Path


@dataclass(frozen=True, slots=True)
class Query:
    """A query of the corpus; `error` is the code of its expected error, if any."""

    name: str
    text: str
    data: tuple[str, ...]
    now: str
    chapter: str
    error: str | None

    def streams(self) -> dict[str, tuple[Path, Path]]:
        """The streams of its data sets, as `xcql.evaluate` takes them."""
        return {
            stream.name: (stream.fragments, stream.tags)
            for name in self.data
            for stream in datasets()[name]
        }


@cache
def datasets() -> Mapping[str, tuple[Stream, ...]]:
    """The streams of each data set."""
    return {
        name: tuple(
            Stream(folder.name, folder / "fragments.xml", folder / "tags.xml")
            for folder in sorted((HERE / "data" / name).iterdir())
            if folder.is_dir()
        )
        for name in NOW
    }


def streams() -> dict[str, tuple[Path, TagStructure]]:
    """The fragments and the Tag Structure of all streams of all data sets."""
    found = (stream for several in datasets().values() for stream in several)
    return {stream.name: (stream.fragments, read_tags(stream.tags)) for stream in found}


@cache
def queries() -> tuple[Query, ...]:
    """All queries, by chapter and number."""
    return tuple(_read(file) for file in sorted(HERE.glob("*/*.xcql")))


def _read(file: Path) -> Query:
    text = file.read_text(encoding="utf-8")
    head = "\n".join(text.splitlines()[:2])
    data, failure = _DATA.search(head), _ERROR.search(head)
    if data is None:
        raise ValueError(f"{file}: no '(: data: ... :)' in its first two lines")
    names = tuple(data[1].split(", "))
    return Query(
        name=f"{file.parent.name}/{file.stem}",
        text=text,
        data=names,
        now=max(NOW[name] for name in names),
        chapter=file.parent.name,
        error=failure[1] if failure else None,
    )
