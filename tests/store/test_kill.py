"""A killed writer leaves a store that opens, with complete batches only."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.store.histories import NOWS, TAGS, as_file, view_of_tables
from xcql.history.view import temporal_view
from xcql.model.read import read_all
from xcql.model.tags import tags_to_xml
from xcql.store.commit import read_state
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.store.upkeep import vacuum
from xcql.store.verify import verify
from xcql.xdm.serialize import canonical

BATCHES = 40
WRITER = """
import sys
from pathlib import Path
from xcql.model.tags import read_tags
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
run = run_here
folder = Path(sys.argv[1])
tags = read_tags(folder / "tags.xml")
{setup}
for number in range(int(sys.argv[2]), {batches}):
    print(number, flush=True)
    ingest(folder / "store", folder / f"{{number}}.xml", "s", tags, run, 1)
"""


def batch(number: int) -> list[str]:
    holes = "".join(f'<hole id="v{n}"/>' for n in range(number + 1))
    day = f"{number % 28 + 1:02}"
    root = f'<filler id="0" tsid="1" validTime="2003-01-{day}"><r><a>{holes}</a></r></filler>'
    start = f'tsid="3" validTime="2003-02-{day}"><t><x>{number}</x></t></filler>'
    return [root, *(f'<filler id="v{n}" {start}' for n in range(number % 3, number + 1, 3))]


def batches_in(store: Path) -> int:
    stream = read_state(store).streams.get("s")
    return stream.batches if stream else 0


def is_alive(group: int) -> bool:
    """Whether any process of a group is alive: Java and workers end when their driver is gone."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def check_kills(
    folder: Path, kills: int, seed: int, setup: str = "", longest: float = 0.25
) -> None:
    """Kill writers, each after a random time up to the longest, and check what they leave."""
    print("seed", seed)
    chance = random.Random(seed)
    (folder / "tags.xml").write_text(tags_to_xml(TAGS))
    # one more than the writers write
    for number in range(BATCHES + 1):
        (folder / f"{number}.xml").write_text(as_file(batch(number)))
    store = folder / "store"
    for _ in range(kills):
        done = batches_in(store)
        if done == BATCHES:
            break
        writing = WRITER.format(setup=setup, batches=BATCHES)
        command = [sys.executable, "-c", writing, str(folder), str(done)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as writer:
            assert writer.stdout is not None
            assert int(writer.stdout.readline()) == done
            time.sleep(chance.uniform(0, longest))
            # the whole group, as when a machine fails; or only the writer, while its workers go on
            kill = chance.choice([os.kill, os.killpg])
            kill(writer.pid, signal.SIGKILL)
            begun = max([int(line) for line in writer.stdout], default=done)
        batches = batches_in(store)
        assert batches in (begun, begun + 1)
        if batches:
            known = read_all([folder / f"{n}.xml" for n in range(batches)], TAGS).fragments
            expected = canonical(temporal_view(known, TAGS, NOWS[-1]).document)
            assert view_of_tables(store, "s", NOWS[-1]) == expected
        last = writer.pid
    for _ in range(600):
        if not is_alive(last):
            break
        time.sleep(0.1)
    next_batch = batches_in(store)
    ingest(store, folder / f"{next_batch}.xml", "s", TAGS, run_here, 1)
    assert batches_in(store) == next_batch + 1
    assert verify(store) == []
    vacuum(store)
    kept = {file.path for file in read_state(store).stream("s").files()}
    there = {str(path.relative_to(store)) for path in (store / "data").rglob("*.parquet")}
    assert there == kept


def test_a_few_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, kills=4, seed=random.randrange(1 << 30))


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_kills(folder, kills=20, seed=random.randrange(1 << 30))
