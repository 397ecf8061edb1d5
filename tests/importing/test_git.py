"""`xcqlc import git`: every commit is found again, with few changes; odd repositories."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

import xcql
from tests.importing.git_repository import KEYS, TEMPORAL, Repository
from tests.model.rebuilt import canonical_text
from xcql.diagnostics import XcqlError
from xcql.importing import git
from xcql.importing.git import GitHistory
from xcql.importing.importer import ImportSummary
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical


def imported(
    repository: Path, store: Path, branch: str = "main", keys: tuple[str, ...] = KEYS
) -> ImportSummary:
    source = GitHistory(str(repository), ["systems/*.xml"], branch)
    try:
        return xcql.Session(store).import_history(
            source, stream="oec", temporal=TEMPORAL if keys else (), key=keys
        )
    finally:
        source.close()


def files_at(store: Path, at: object) -> dict[str, str]:
    """The canonical text of each file at a time."""
    text = "".join(xcql.Session(store).temporalize("oec", at=at))  # type: ignore[arg-type]
    (root,) = parse_xml(text).children
    return {
        file.attribute("path", "").value: canonical(file.children[0])
        for file in root.children
        if hasattr(file, "children")
    }


def expected(files: dict[str, str]) -> dict[str, str]:
    return {path: canonical_text(text) for path, text in files.items()}


def check(repository: Repository, store: Path, count: int, seed: int = 1) -> None:
    for commit in random.Random(seed).sample(repository.commits, count):
        assert files_at(store, commit.time) == expected(commit.files)


def test_every_commit_is_found_again(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo", 8)
    repository.add(40)
    summary = imported(tmp_path / "repo", tmp_path / "store")
    assert summary.changes <= 1.2 * sum(commit.changes for commit in repository.commits)
    assert any("not well-formed" in one.message for one in summary.warnings)
    check(repository, tmp_path / "store", 15)
    # only what is new
    assert str(imported(tmp_path / "repo", tmp_path / "store")) == "stream 'oec': nothing new"
    repository.add(10)
    more = imported(tmp_path / "repo", tmp_path / "store")
    assert more.revisions <= 10
    assert more.changes <= 1.2 * sum(commit.changes for commit in repository.commits[-10:]) + 1
    check(repository, tmp_path / "store", 15)
    assert xcql.Session(tmp_path / "store").verify() == []


@pytest.mark.slow
def test_a_thousand_commits_of_five_hundred_files(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo", 500)
    repository.add(1000)
    begin = time.monotonic()
    summary = imported(tmp_path / "repo", tmp_path / "store")
    assert time.monotonic() - begin < 60
    assert summary.changes <= 1.2 * sum(commit.changes for commit in repository.commits)
    check(repository, tmp_path / "store", 50)
    repository.add(10)
    begin = time.monotonic()
    imported(tmp_path / "repo", tmp_path / "store")
    assert time.monotonic() - begin < 2
    check(repository, tmp_path / "store", 5, seed=2)


class Work:
    """A working tree whose commits have chosen times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self("init", "-q", "-b", "main")
        self._time = 1_000_000_000

    def __call__(self, *arguments: str, time: int | None = None) -> None:
        names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": ""}
        names |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
        if time is not None:
            names["GIT_COMMITTER_DATE"] = names["GIT_AUTHOR_DATE"] = f"@{time} +0000"
        command = ["git", "-C", str(self.folder), "-c", "commit.gpgSign=false", *arguments]
        subprocess.run(command, check=True, env={**os.environ, **names}, capture_output=True)

    def commit(self, files: dict[str, str | None], time: int | None = None) -> int:
        """Write or delete files, and commit them; returns the time."""
        for name, text in files.items():
            path = self.folder / "systems" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self._time += 3600
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "x", time=time or self._time)
        return time or self._time


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work")


def at(store: Path, seconds: int | float) -> dict[str, str]:
    from datetime import UTC, datetime

    return files_at(store, datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None))


def test_odd_names_and_odd_commits(work: Work, tmp_path: Path) -> None:
    odd = {"a b.xml": "<a/>", ":c.xml": "<b/>", "d\nM\x01e.xml": "<c/>", "é'\"&<.xml": "<d/>"}
    first = work.commit({**odd, "sub/x.xml": "<no/>", "y.txt": "<no/>"})
    work("mv", "systems/a b.xml", "systems/R100.xml")
    second = work.commit({":c.xml": None, "M.xml": "<m/>"})
    (work.folder / "systems" / "link.xml").symlink_to("M.xml")
    third = work.commit({"a b.xml": "<new/>"})
    store = tmp_path / "store"
    imported(work.folder, store, keys=())
    assert set(at(store, first)) == {
        *("systems/a b.xml", "systems/:c.xml", "systems/d\\nM\\x01e.xml", "systems/é'\"&<.xml"),
    }
    names = set(at(store, second))
    assert names >= {"systems/R100.xml", "systems/M.xml"}
    assert not names & {"systems/a b.xml", "systems/:c.xml"}
    assert set(at(store, third)) == {*names, "systems/a b.xml"}


def test_a_renamed_file_is_the_same_file(work: Work, tmp_path: Path) -> None:
    text = "<a>" + "".join(f"<b>{number}</b>\n" for number in range(9)) + "</a>"
    work.commit({"x.xml": text})
    work("mv", "systems/x.xml", "systems/y.xml")
    last = work.commit({"y.xml": text.replace("<b>3</b>", "<b>x</b>")})
    imported(work.folder, tmp_path / "store", keys=())
    query = 'for $f in stream("oec")//file return string($f/@path)'
    answer = xcql.Session(tmp_path / "store").query(query).to_xml()
    assert answer == ["systems/x.xml", "systems/y.xml"]
    assert list(at(tmp_path / "store", last)) == ["systems/y.xml"]


def test_merges_and_remote_branches(work: Work, tmp_path: Path) -> None:
    first = work.commit({"a.xml": "<a/>"})
    work("checkout", "-q", "-b", "side")
    side = work.commit({"b.xml": "<b/>"})
    work("checkout", "-q", "main")
    main = work.commit({"a.xml": "<a>1</a>"})
    work("merge", "-q", "--no-ff", "-m", "m", "side", time=main + 3600)
    clone = tmp_path / "clone.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(work.folder), str(clone)], check=True)
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(work.folder), str(other)], check=True)
    for number, (repository, branch) in enumerate([(clone, "main"), (other, "origin/main")]):
        store = tmp_path / f"store{number}"
        imported(repository, store, branch, keys=())
        assert at(store, first) == {"systems/a.xml": "<a></a>"}
        assert at(store, side) == {"systems/a.xml": "<a></a>"}
        assert at(store, main) == {"systems/a.xml": "<a>1</a>"}
        assert set(at(store, main + 3600)) == {"systems/a.xml", "systems/b.xml"}


def test_times_that_go_backwards(work: Work, tmp_path: Path) -> None:
    times = [1000, 2000, 1500, 9_000_000, 3000, 3000, 4000]
    for number, seconds in enumerate(times):
        work.commit({"a.xml": f"<a>{number}</a>"}, seconds)
    store = tmp_path / "store"
    imported(work.folder, store, keys=())
    found = {
        seconds: at(store, seconds)["systems/a.xml"]
        for seconds in (1000, 1500, 2000, 2001, 3000, 3001, 4000, 9_000_000)
    }
    assert found[1000] == "<a>0</a>"
    assert found[3001] in ("<a>4</a>", "<a>5</a>")
    assert found[4000] == found[9_000_000] == "<a>6</a>"
    # all of them are there, in their order
    query = 'for $a in stream("oec")//a order by vtFrom($a) return string($a)'
    answer = xcql.Session(store).query(query).to_xml()
    assert answer == ["0", "1", "2", "3", "4", "5", "6"]


def test_a_history_that_was_rewritten(work: Work, tmp_path: Path) -> None:
    work.commit({"a.xml": "<a>1</a>", "b.xml": "<b/>"})
    work.commit({"a.xml": "<a>2</a>"})
    store = tmp_path / "store"
    imported(work.folder, store, keys=())
    work("reset", "-q", "--hard", "HEAD~1")
    last = work.commit({"a.xml": "<a>3</a>", "b.xml": None})
    summary = imported(work.folder, store, keys=())
    assert "was rewritten" in summary.warnings[0].message
    assert at(store, last) == {"systems/a.xml": "<a>3</a>"}
    assert summary.revisions == 1


def test_new_elements_extend_the_tags(work: Work, tmp_path: Path) -> None:
    first = work.commit({"a.xml": "<a><b>1</b></a>"})
    store = tmp_path / "store"
    imported(work.folder, store, keys=())
    second = work.commit({"a.xml": "<a><b>1<c k='1'><b/></c></b></a>", "n.xml": "<n><a/></n>"})
    assert imported(work.folder, store, keys=()).tags > 0
    assert at(store, first) == {"systems/a.xml": "<a><b>1</b></a>"}
    assert at(store, second)["systems/n.xml"] == "<n><a></a></n>"
    session = xcql.Session(store)
    assert session.query('count(stream("oec")//c/@k)').to_xml() == ["1"]
    assert session.query('count(stream("oec")//b)').to_xml() == ["3"]
    assert session.verify() == []


def test_all_of_a_day(work: Work, tmp_path: Path) -> None:
    day = 86_400
    for number, seconds in enumerate([day, day + 10, 3 * day, 3 * day + 5, 5 * day]):
        work.commit({"a.xml": f"<a>{number}</a>"}, seconds)
    source = GitHistory(str(work.folder), ["systems/*.xml"], "main", every="day")
    assert [one.time.day for one in source.revisions(None)] == [2, 4, 6]
    since = GitHistory(str(work.folder), ["systems/*.xml"], "main", since="1970-01-04")
    assert [one.time.day for one in since.revisions(None)] == [2, 4, 4, 6]


def test_large_files_are_skipped(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "MAX_BYTES", 100)
    last = work.commit({"a.xml": "<a/>", "b.xml": f"<b>{'x' * 100}</b>", "c.xml": "<c/>"})
    summary = imported(work.folder, tmp_path / "store", keys=())
    assert "at most 100 are read" in summary.warnings[0].message
    assert set(at(tmp_path / "store", last)) == {"systems/a.xml", "systems/c.xml"}


def test_what_cannot_be_imported(work: Work, tmp_path: Path) -> None:
    work.commit({"a.xml": "<a>"})
    store = tmp_path / "store"
    for repository, branch, text in [
        (tmp_path, "main", "is not a git repository"),
        (work.folder, "none", "has no commit 'none'"),
        (work.folder, "--help", "has no commit '--help'"),
        (work.folder, "main", "no document can be read"),
    ]:
        with pytest.raises(XcqlError) as problem:
            imported(repository, store, branch, keys=())
        assert problem.value.code == "XCQL0264"
        assert text in problem.value.message
    work.commit({"a.xml": "<a/>"})
    imported(work.folder, store, keys=())
    with pytest.raises(XcqlError) as problem:
        imported(work.folder, store)
    assert problem.value.code == "XCQL0265"
