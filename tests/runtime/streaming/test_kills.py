"""Real `xcqlc watch` processes are killed: the change log has no gaps and no duplicates."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.runtime.streaming.worlds import (
    QUERY,
    ROOT,
    TAGS,
    TAGS_TEXT,
    batch_answer,
    bid,
    drop,
    until,
)
from xcql.continuous import applied, open_continuous
from xcql_runtime.streaming.sinks import read_log

REPOSITORY = Path(__file__).parents[3]


@contextmanager
def _watching(folder: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A watching process in its own process group; the rest of the group is killed at the end."""
    command = [sys.executable, "-m", "xcql.cli.main", "watch", "-e", QUERY]
    command += ["--source", f"s=dir:{folder / 'inbox'}", "--tags", f"s={folder / 'tags.xml'}"]
    command += ["--checkpoint", str(folder / "ck"), "--sink", f"parquet:{folder / 'log'}", *more]
    roots = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "runtime")])
    with (folder / "told").open("ab") as told:
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=told,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": roots},
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _files(chance: random.Random) -> list[list[str]]:
    """The arriving files: bids in any order, some repeated, some replaced or removed."""
    fragments = [ROOT, *map(bid, range(400))]
    fragments[1:] = chance.sample(fragments[1:], 400)
    for _ in range(40):
        fragments.insert(chance.randrange(len(fragments)), bid(chance.randrange(400)))
    fragments.insert(100, '<remove id="1"/>')
    fragments.insert(300, "<filler id='1' tsid='2'><bid></filler>")
    files = []
    while fragments:
        count = chance.randrange(1, 9)
        files.append(fragments[:count])
        fragments = fragments[count:]
    return files


def _kill(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    (folder / "tags.xml").write_text(TAGS_TEXT)
    (folder / "inbox").mkdir()
    files = _files(chance)
    done = 0
    for kill in range(kills):
        share = len(files) * (kill + 1) // (kills + 1)
        before = _triggers(folder)
        with _watching(folder) as process:
            dropping = threading.Thread(target=_drop, args=(folder, files, done, share))
            dropping.start()
            if kills == 1:
                until(lambda: any((folder / "log").glob("batch-*")), 120)
            elif chance.random() < 0.9:
                wanted = before + chance.randrange(1, 4)
                with suppress(AssertionError):  # it may have nothing left to do
                    until(lambda wanted=wanted: _triggers(folder) >= wanted, 60)
            time.sleep(chance.uniform(0, 1 if kills > 1 else 0.1))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            dropping.join()
            done = share
            time.sleep(chance.choice([0, 0, 1]))  # Java takes a while to notice
    _drop(folder, files, done, len(files))
    fragments = [fragment for file in files for fragment in file]
    answer = batch_answer(QUERY, fragments)
    if kills == 1:
        # this one is stopped by Ctrl-C, which the whole process group receives
        with _watching(folder) as process:
            until(lambda: applied(read_log(folder / "log")) == answer, 120)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(60) == 0
    else:
        with _watching(folder, "--until-idle", "3") as process:
            assert process.wait(400) == 0, (folder / "told").read_text()
    assert "error" not in (folder / "told").read_text()

    log = read_log(folder / "log")
    batches = [update.batch for update in log]
    assert batches == sorted(batches)
    assert len(list((folder / "log").glob("batch-*.parquet"))) == len(set(batches))
    assert applied(log) == answer
    with open_continuous(QUERY, {"s": TAGS}, folder / "ck" / "state") as query:
        assert query.answer() == answer
        assert list(query.updates(-1)) == log
        assert len(query.quarantine()) == 1


def _triggers(folder: Path) -> int:
    """How many triggers were reported."""
    told = folder / "told"
    return told.read_bytes().count(b"batch ") if told.exists() else 0


def _drop(folder: Path, files: list[list[str]], begin: int, end: int) -> None:
    for number in range(begin, end):
        # no two files are equal, and each is newer than the one before
        content = [*files[number], f"<!-- {number} -->"]
        drop(folder / "inbox", f"{number:06}.xml", content)
        time.sleep(0.03)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_one_kill(seed: int, tmp_path: Path) -> None:
    _kill(tmp_path, 1, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_kills(seed: int, tmp_path: Path) -> None:
    """Ten per seed: thirty in total."""
    _kill(tmp_path, 10, seed)
