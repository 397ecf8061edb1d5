"""Temporary folders: they are removed with their process, or when the next process starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from xcql.temporary import remove_abandoned, temporary_folder

_HOLD = """
import sys, time
from xcql.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "file").write_text("text")
    print(folder, flush=True)
    {then}
"""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that all processes use as the temporary folder."""
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


@contextmanager
def _holder(shared: Path, then: str = "time.sleep(60)") -> Iterator[subprocess.Popen[str]]:
    """A process that holds a temporary folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD.format(then=then)],
        env={**os.environ, "TMPDIR": str(shared)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _folder_of(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


@pytest.mark.parametrize("then", ["pass", "raise ValueError", "sys.exit(3)"])
def test_it_goes_with_its_process(shared: Path, then: str) -> None:
    with _holder(shared, then) as process:
        assert _folder_of(process).parent.parent == shared
        process.wait(60)
    assert list(shared.iterdir()) == []


def test_the_next_process_removes_what_a_killed_one_left(shared: Path) -> None:
    with ExitStack() as running:
        killed, alive = (running.enter_context(_holder(shared)) for _ in range(2))
        abandoned, used = _folder_of(killed), _folder_of(alive)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (abandoned / "file").exists()
        following = running.enter_context(_holder(shared))
        new = _folder_of(following)
        assert not abandoned.parent.exists()
        assert (used / "file").exists()
        assert new.parent.stat().st_mode & 0o777 == 0o700
    # these two were killed, too
    remove_abandoned(shared)
    assert list(shared.iterdir()) == []


def test_what_is_not_ours_stays(shared: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    for folder in (precious, shared / "xcql-open", shared / "xcql-unlocked", shared / "other"):
        folder.mkdir(mode=0o755 if folder.name == "xcql-open" else 0o700)
        if folder.name != "xcql-unlocked":
            (folder / "lock").touch()
    (shared / "xcql-link").symlink_to(precious)
    linked_lock = shared / "xcql-linked-lock"
    linked_lock.mkdir(mode=0o700)
    (linked_lock / "lock").symlink_to(precious / "lock")
    (shared / "xcql-file").touch()
    if os.geteuid() == 0:
        foreign = shared / "xcql-foreign"
        foreign.mkdir(mode=0o700)
        (foreign / "lock").touch()
        os.chown(foreign, 12345, 12345)
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned(shared)
    assert sorted(tmp_path.rglob("*")) == before


def test_links_inside_are_not_followed(shared: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    left = shared / "xcql-left"
    left.mkdir(mode=0o700)
    (left / "lock").touch()
    (left / "link").symlink_to(precious)
    remove_abandoned(shared)
    assert not left.exists()
    assert (precious / "file").exists()


def test_a_folder_elsewhere(shared: Path) -> None:
    with temporary_folder(shared) as folder:
        assert folder.parent == shared
        remove_abandoned(shared)
        assert folder.exists()
    assert list(shared.iterdir()) == []
