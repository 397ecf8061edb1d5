"""Typical mistakes of new users: each gets one message that shows the solution.

The complete messages are in `mistakes/`; `XCQL_WRITE_GOLDEN=1` rewrites them; review the diff.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xcql.cli.main import main

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "mistakes"
CREDIT = ROOT / "samples" / "credit"
ASK = ["--stream", "credit=fragments.xml", "--tags", "tags.xml", "--now", "2003-12-01"]
INGEST = ["ingest", "fragments.xml", "--tags", "tags.xml", "--stream", "credit", "--store"]
CHARGED = 'for $t in stream("credit")//transaction\nwhere $t/status?[now] = "charged"\n'

# name -> (arguments, exit code)
MISTAKES: dict[str, tuple[list[str], int]] = {
    "wrong-path": (["eval", "qurey.xcql", *ASK], 1),
    "wrong-path-of-data": (["run", "query.xcql", "--doc", "data/book.xml"], 1),
    "missing-store": (["run", "query.xcql", "--store", "stor"], 1),
    "a-folder-that-is-no-store": (["store", "info", "folder"], 1),
    "wrong-tags-file": (
        ["eval", "query.xcql", "--stream", "credit=fragments.xml", "--tags", "fragments.xml"],
        1,
    ),
    "tags-of-another-stream": (
        [
            "ingest",
            "fragments.xml",
            "--tags",
            "other.xml",
            "--stream",
            "credit",
            "--store",
            "store",
        ],
        1,
    ),
    "typo-in-a-keyword": (["eval", "-e", CHARGED + "retrun $t", *ASK], 1),
    "typo-in-a-function": (["eval", "-e", CHARGED + "return vtFron($t)", *ASK], 1),
    "typo-in-a-tag": (["eval", "-e", 'stream("credit")//acount/customer', *ASK], 0),
    "wrong-time-literal": (["eval", "-e", 'stream("credit")//account?[2003-13-01]', *ASK], 1),
    "wrong-time-option": (["eval", "query.xcql", *ASK[:-1], "yesterday"], 1),
    "unknown-stream": (["run", "-e", 'stream("creditt")//account', "--store", "store"], 1),
    "newer-store": (["run", "query.xcql", "--store", "newer"], 1),
    "damaged-store": (["run", "query.xcql", "--store", "damaged"], 1),
    "empty-file": (["eval", "-e", "count(//book)", "--doc", "empty.xml"], 1),
    "empty-fragments": ([*INGEST[:1], "empty.xml", *INGEST[2:], "new"], 1),
    "empty-query": (["eval", "empty.xml", *ASK], 1),
    "fragments-for-a-document": (["eval", "-e", "count(//book)", "--doc", "fragments.xml"], 1),
    "a-document-for-fragments": ([*INGEST[:1], "books.xml", *INGEST[2:], "new"], 1),
    "no-query": (["run", "--store", "store"], 2),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with good and bad files, readable by everybody."""
    folder = Path(tempfile.mkdtemp(prefix="xcql-mistakes-"))
    folder.chmod(0o755)
    for name in ("fragments.xml", "tags.xml"):
        shutil.copy(CREDIT / name, folder)
    (folder / "query.xcql").write_text(CHARGED + "return $t/vendor\n")
    (folder / "books.xml").write_text("<books><book>Ulysses</book></books>")
    (folder / "empty.xml").touch()
    (folder / "other.xml").write_text(
        (CREDIT / "tags.xml").read_text().replace('name="status"', 'name="state"')
    )
    (folder / "data").mkdir()
    (folder / "data" / "books.xml").write_text("<books/>")
    (folder / "folder").mkdir()
    (folder / "folder" / "notes.txt").touch()
    before = Path.cwd()
    os.chdir(folder)
    try:
        for store in ("store", "newer", "damaged"):
            assert main([*INGEST, store, "--quiet"]) == 0
    finally:
        os.chdir(before)
    (commit,) = (folder / "newer" / "commits").glob("*.json")
    data = json.loads(commit.read_text())
    del data["checksum"]
    commit.write_text(json.dumps({**data, "format": 7}))
    (commit,) = (folder / "damaged" / "commits").glob("*.json")
    commit.write_text("")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def here(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(prepared)
    return prepared


def check(name: str, told: str) -> None:
    assert "Traceback" not in told
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")
    assert told.count("error[") + told.count("warning[") == 1


@pytest.mark.parametrize("name", MISTAKES)
def test_the_whole_message(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, code = MISTAKES[name]
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    check(name, err)


# ---------------------------------------------------------------- tests that need their own process


def xcqlc(
    *arguments: str, path: str | None = None, limit: Callable[[], None] | None = None, **others: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'runtime'}", **others}
    environment.pop("JAVA_HOME", None)
    if path is not None:
        environment["PATH"] = path
    environment |= others
    return subprocess.run(
        [sys.executable, "-m", "xcql.cli.main", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )


def fake_java(folder: Path, version: str) -> str:
    """A Java that only reports its version; returns the folder it is in."""
    folder.mkdir(exist_ok=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2014-03-18' >&2\n")
    java.chmod(0o755)
    return str(folder)


def test_no_java(here: Path) -> None:
    done = xcqlc(
        "run", "query.xcql", "--engine", "spark", "--store", "store", path=str(here / "folder")
    )
    assert (done.returncode, done.stdout) == (1, "")
    check("no-java", done.stderr)


def test_java_home_without_java(here: Path) -> None:
    done = xcqlc("run", "query.xcql", "--engine", "spark", "--store", "store", JAVA_HOME="folder")
    assert (done.returncode, done.stdout) == (1, "")
    check("java-home-without-java", done.stderr)


@pytest.mark.parametrize(("version", "name"), [("1.8.0_412", "java-8"), ("11.0.23", "java-11")])
def test_old_java(version: str, name: str, here: Path) -> None:
    path = fake_java(here / name, version)
    done = xcqlc("run", "query.xcql", "--engine", "spark", "--store", "store", path=path)
    assert (done.returncode, done.stdout) == (1, "")
    check(name, done.stderr.replace(f"{here}/", ""))


def test_no_write_permission(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Root may write anywhere, so as root the commands run as the user `nobody`."""
    locked = here / "locked"
    locked.mkdir(mode=0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        stored = main([*INGEST, "locked/store"])
        written = main(["infer-tags", "books.xml", "-o", "locked/tags.xml"])
    finally:
        if is_root:
            os.seteuid(0)
        locked.rmdir()
    assert (stored, written) == (1, 1)
    told = capsys.readouterr().err
    first, second = told.split("error[")[1:]
    check("no-write-permission-for-a-store", f"error[{first}")
    check("no-write-permission-for-a-file", f"error[{second}")


def test_full_disk_under_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`/dev/full` is a full disk, which Linux provides for such tests."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert main(["infer-tags", "books.xml", "-o", "/dev/full"]) == 1
    check("full-disk-under-a-file", capsys.readouterr().err)


def test_full_disk_under_standard_output(here: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "xcql.cli.main", "fmt", "query.xcql"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
    assert done.returncode == 1
    check("full-disk-under-standard-output", done.stderr)


def test_full_disk_under_a_store(here: Path) -> None:
    """No file may grow beyond 2,000 bytes (RLIMIT_FSIZE), as if the disk were full.

    The store stays unchanged: without the limit, the same command succeeds.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = xcqlc(*INGEST, "small", limit=limit, PYTHONDONTWRITEBYTECODE="1")
    assert (done.returncode, done.stdout) == (1, "")
    check("full-disk-under-a-store", done.stderr)
    assert main([*INGEST, "small", "--quiet"]) == 0
