"""The importer: what it keeps, how it continues, and which elements get versions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import xcql
from tests.model.rebuilt import canonical_text
from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.importing import importer
from xcql.importing.importer import ImportSummary
from xcql.importing.revisions import Cursor, FileChange, Revision, ascending_times
from xcql.store.commit import read_state, writing
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

FIRST = datetime(2004, 1, 1)


class Listed:
    """A source whose revisions are given: files by name, or one document."""

    kind = "listed"

    def __init__(self, revisions: list[dict[str, str | None]], root: str | None = "files") -> None:
        self.root = root
        self.warnings: list[Diagnostic] = []
        self._revisions = revisions
        # new place -> old place, by number of revision
        self.moves: dict[int, dict[str, str]] = {}

    @property
    def options(self) -> Mapping[str, Any]:
        return {}

    def revisions(self, cursor: Cursor | None) -> list[Revision]:
        first = cursor["next"] if cursor else 0
        found = []
        for number, files in enumerate(self._revisions[first:], first):
            moves = self.moves.get(number, {})
            parts = tuple(FileChange(name, text, moves.get(name)) for name, text in files.items())
            time = FIRST + timedelta(days=number)
            found.append(Revision(time, f"r{number}", parts, {"next": number + 1}))
        return found

    def read(self, content: str) -> bytes:
        if content == "unreadable":
            raise error("XCQL0264", "it cannot be read")
        return content.encode()


def imported(source: Listed, store: Path, **choices: Any) -> ImportSummary:
    return xcql.Session(store).import_history(source, stream="s", **choices)


def files_at(store: Path, number: int) -> dict[str, str]:
    text = "".join(xcql.Session(store).temporalize("s", at=FIRST + timedelta(days=number)))
    (root,) = parse_xml(text).children
    return {
        file.attribute("path", "").value: "".join(map(canonical, file.children))
        for file in root.children
        if hasattr(file, "children")
    }


def planet(name: str, mass: int) -> str:
    return f"<p><name>{name}</name><mass>{mass}</mass></p>"


def star(*planets: str) -> str:
    return f"<star>{''.join(planets)}</star>"


REVISIONS: list[dict[str, str | None]] = [
    {"a": star(planet("x", 1), planet("y", 2)), "b": star(planet("z", 3))},
    {"a": star(planet("y", 2)), "b": star(planet("z", 3), planet("x", 1))},
    {"a": None, "c": star(planet("q", 5))},
    {"a": star(planet("y", 9)), "c": "<star>"},
    {"c": None, "b": "unreadable"},
    {"d": star(planet("q", 5)), "b": star()},
]


def states() -> list[dict[str, str]]:
    """The files after each revision; those that cannot be read stay as they were."""
    now: dict[str, str] = {}
    result = []
    for files in REVISIONS:
        for name, text in files.items():
            if text is None:
                now.pop(name)
            elif text not in ("<star>", "unreadable"):
                now[name] = canonical_text(text)
        result.append(dict(now))
    return result


def test_files_come_go_and_break(tmp_path: Path) -> None:
    summary = imported(Listed(REVISIONS), tmp_path / "store")
    assert [one.code for one in summary.warnings] == ["XCQL0263"] * 2
    assert summary.keys == [
        "key /files/file/star/p=name[1]: it tells 4 elements in 2 parents apart"
    ]
    for number, files in enumerate(states()):
        assert files_at(tmp_path / "store", number) == files
    # x moved from one file to the other, so it has one version
    query = 'stream("s")//p[name = "x"]/vtFrom(.)'
    answer = xcql.Session(tmp_path / "store").query(query).to_xml()
    assert set(answer) == {"2004-01-01T00:00:00"}


def test_an_import_that_is_ended_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_BATCH", 1)
    store = tmp_path / "store"

    def stop(what: str, done: int, _: int) -> None:
        if (what, done) == ("importing", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imported(Listed(REVISIONS), store, progress=stop)
    assert read_state(store).streams["s"].batches == 2
    assert imported(Listed(REVISIONS), store).revisions == 4
    for number, files in enumerate(states()):
        assert files_at(store, number) == files
    assert xcql.Session(store).verify() == []
    assert imported(Listed(REVISIONS), store).commit is None


def test_moved_files(tmp_path: Path) -> None:
    one, other = star(planet("x", 1)), star(planet("y", 1))
    source = Listed([{"a": one, "b": other}, {"b": one, "a": other}, {"a": None, "b": other}])
    source.moves = {1: {"b": "a", "a": "b"}, 2: {"b": "a"}}
    imported(source, tmp_path / "store")
    for number, files in enumerate([{"a": one, "b": other}, {"b": one, "a": other}, {"b": other}]):
        expected = {place: canonical_text(text) for place, text in files.items()}
        assert files_at(tmp_path / "store", number) == expected
    query = 'count(distinct-values(stream("s")//name))'
    assert xcql.Session(tmp_path / "store").query(query).to_xml() == ["2"]


def test_a_stream_that_import_cannot_continue(tmp_path: Path) -> None:
    store = tmp_path / "store"
    imported(Listed(REVISIONS[:1]), store)
    for choice in ({"temporal": ["//p"]}, {"key": ["//p=name"]}):
        with pytest.raises(XcqlError) as problem:
            imported(Listed(REVISIONS), store, **choice)
        assert problem.value.code == "XCQL0265"
    with writing(store), pytest.raises(XcqlError) as problem:
        imported(Listed(REVISIONS), store)
    assert problem.value.code == "XCQL0312"
    more = tmp_path / "more.xml"
    more.write_text("<fs><remove id='1' validTime='2005-01-01'/></fs>")
    xcql.Session(store).ingest(more, stream="s")
    with pytest.raises(XcqlError) as problem:
        imported(Listed(REVISIONS), store)
    assert "did not come from its import" in problem.value.message


def test_damage_to_what_is_kept(tmp_path: Path) -> None:
    store = tmp_path / "store"
    imported(Listed(REVISIONS[:2]), store)
    (kept,) = read_state(store).streams["s"].imported
    path = store / kept.path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    session = xcql.Session(store)
    assert len(session.verify()) == 1
    with pytest.raises(XcqlError) as problem:
        imported(Listed(REVISIONS), store)
    assert problem.value.code == "XCQL0319"
    assert "an import cannot continue it" in "\n".join(session.repair())
    assert session.verify() == []
    assert files_at(store, 1) == states()[1]
    with pytest.raises(XcqlError) as problem:
        imported(Listed(REVISIONS), store)
    assert problem.value.code == "XCQL0265"


def test_which_elements_get_versions(tmp_path: Path) -> None:
    document = (
        "<dump><meta><when>1</when></meta><stars><s><name>a</name><p><id>1</id></p>"
        "<p><id>2</id></p></s><s><name>b</name></s></stars></dump>"
    )
    imported(Listed([{"": document}], None), tmp_path / "store")
    tags = read_state(tmp_path / "store").streams["s"].tags
    temporal = {tags.path_of(tag) for tag in tags if tag.kind == "temporal"}
    assert temporal == {"/dump/meta", "/dump/stars/s", "/dump/stars/s/p"}


def test_times_in_order() -> None:
    def times(*numbers: int, after: int | None = None) -> list[float]:
        given = [FIRST + timedelta(seconds=number) for number in numbers]
        found = ascending_times(given, None if after is None else FIRST + timedelta(seconds=after))
        return [(time - FIRST).total_seconds() for time in found]

    assert times(1, 2, 3) == [1, 2, 3]
    assert times(1, 1, 3) == [1, 1.000001, 3]
    assert times(1, 99, 3, 4) == [1, 1.000001, 3, 4]
    assert times(5, 1, 6, 7) == [5, 5.000001, 6, 7] or times(5, 1, 6, 7)[1:] == [1, 6, 7]
    assert times(1, 2, after=3) == [3.000001, 3.000002]
    assert times() == []
