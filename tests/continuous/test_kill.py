"""Killed at any moment and restarted, the update stream has no gaps and no duplicates."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.continuous.credit import NOW, account, bought, limit, opened, root
from tests.effort import FULL
from xcql.continuous import Arrival, applied

QUERY = (
    'for $a in stream("credit")//account order by sum($a/transaction/amount) descending'
    ' return <s id="{$a/@id}">{sum($a/transaction/amount)}</s>'
)
BATCHES = 400 if FULL else 60
KILLS = 40 if FULL else 5


def batch(number: int) -> list[Arrival]:
    """The arrivals of a batch, the same on each call."""
    chance = random.Random(number)
    names = [f"a{n}" for n in range(20)]
    arrivals = [root(*names)] if number == 3 else []
    for _ in range(6):
        name = chance.choice(names)
        time = f"2004-01-0{chance.randint(1, 9)}T{chance.randint(10, 23)}:00:00"
        kind = chance.randrange(10)
        if kind == 0:
            arrivals.append(account(name, time[:10], chance.choice(["Ann", "Bob"])))
        elif kind == 1:
            arrivals.append(limit(name, time, chance.randint(1, 5)))
        elif kind == 2:
            arrivals.append(Arrival("credit", f'<remove id="t{name}" validTime="{time}"/>'))
        else:
            arrivals.append(bought(name, time, chance.randint(1, 100)))
    return arrivals


def play(folder: Path, log: Path) -> None:
    """The child's work: advance from the saved state, and write the updates, like a sink that
    knows the last batch that it wrote."""
    with opened(QUERY, folder) as query, log.open("a") as out:
        last = query.last_batch
        # like a restarted source: the last batch may come again
        for number in range(last if last is not None else 0, BATCHES):
            advance = query.advance(number, batch(number), NOW)
            rows = [[u.op, u.key, u.position, u.item] for u in advance.updates]
            out.write(json.dumps([number, rows]) + "\n")
            out.flush()


def run(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    code = (
        "from pathlib import Path; from tests.continuous.test_kill import play;"
        f"play(Path({str(folder)!r}), Path({str(log)!r}))"
    )
    root_folder = Path(__file__).parents[2]
    path = os.pathsep.join([str(root_folder), str(root_folder / "runtime")])
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})


def test_no_gap_and_no_double(tmp_path: Path) -> None:
    chance = random.Random(1)
    state, log = tmp_path / "state", tmp_path / "log"
    for _ in range(KILLS):
        child = run(state, log)
        reached = _lines(log)
        # let it start working, then kill it at any moment
        while _lines(log) <= reached and child.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.15)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert run(state, log).wait() == 0
    told: dict[int, object] = {}
    for line in log.read_text().splitlines():
        try:
            number, rows = json.loads(line)
        except ValueError:
            continue  # the line that was being written at a kill; the batch is sent again
        assert told.setdefault(number, rows) == rows
    with opened(QUERY, state) as query:
        updates = list(query.updates())
        assert query.last_batch == BATCHES - 1
        assert applied(updates) == query.answer() == query.recomputed()
        kept: dict[int, object] = {number: [] for number in range(BATCHES)}
        for u in updates:
            kept[u.batch].append([u.op, u.key, u.position, u.item])  # type: ignore[attr-defined]
        assert told == kept


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.skipif(not FULL, reason="the same without kills is a part of the test above")
def test_played_without_kills_it_is_the_same(tmp_path: Path) -> None:
    play(tmp_path / "state", tmp_path / "log")
    with opened(QUERY, tmp_path / "state") as query:
        assert query.answer() == query.recomputed()
