"""Triggers without Spark: crashes at every step of a trigger, and what the sinks end up with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.effort import FULL
from tests.runtime.streaming.worlds import QUERY, ROOT, TAGS, batch_answer, bid
from xcql.continuous import Arrival, Continuous, Figures, applied, open_continuous
from xcql.diagnostics import XcqlError
from xcql_runtime.streaming import triggers as module
from xcql_runtime.streaming.journal import SeenFiles
from xcql_runtime.streaming.sinks import Callback, ParquetLog, read_log
from xcql_runtime.streaming.triggers import Triggers


class Crash(BaseException):
    """The process dies here."""


class World:
    """A checkpoint folder, a change log, and a Spark that repeats uncommitted batches."""

    def __init__(self, folder: Path, chance: random.Random, history: int, monkeypatch: Any) -> None:
        self.folder, self.chance = folder, chance
        self.clock = datetime(2004, 1, 1, 10)
        self.fragments = [ROOT, *map(bid, range(60))]
        chance.shuffle(self.fragments)
        self.history = self.fragments[:history]
        rest = self.fragments[history:]
        self.batches = []
        while rest:
            cut = chance.randrange(0, 12)
            self.batches.append(rest[:cut])
            rest = rest[cut:]
        self.committed = 0
        self.heard: list[int] = []
        self.told: list[Figures] = []
        self.likely = 0.0
        for name in ("write_journal",):
            monkeypatch.setattr(module, name, self.risky(getattr(module, name)))
        monkeypatch.setattr(ParquetLog, "write", self.risky(ParquetLog.write))
        monkeypatch.setattr(Continuous, "advance", self.risky(Continuous.advance))

    def risky(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that a crash may happen before or after it."""

        def call(*arguments: Any) -> Any:
            self.may_crash()
            result = function(*arguments)
            self.may_crash()
            return result

        return call

    def may_crash(self) -> None:
        if self.chance.random() < self.likely:
            raise Crash

    def now(self) -> datetime:
        return self.clock

    def run(self) -> list[str]:
        """One life of the process, until the end or a crash; returns the answer."""
        with open_continuous(QUERY, {"s": TAGS}, self.folder / "state") as query:
            sinks = [
                ParquetLog(self.folder / "log"),
                Callback(lambda updates: self.heard.append(updates[0].batch)),
            ]
            triggers = Triggers(query, self.folder, sinks, 5, self.now, self.told.append)
            triggers.begin(lambda: _arrivals(self.history))
            while self.committed < len(self.batches):
                if self.chance.random() < 0.3:
                    self.clock += timedelta(seconds=self.chance.randrange(600))
                    triggers.time_passes()
                triggers.fragments(self.committed, list(_arrivals(self.batches[self.committed])))
                self.may_crash()
                self.committed += 1
                self.may_crash()
            self.clock = datetime(2004, 1, 2)
            triggers.time_passes()
            assert list(query.updates(-1)) == read_log(self.folder / "log")
            return query.answer()


def _arrivals(texts: list[str]) -> Iterator[Arrival]:
    return (Arrival("s", text) for text in texts)


@pytest.mark.parametrize("seed", range(60 if FULL else 6))
def test_crashes_leave_no_gap_and_no_double(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    world = World(tmp_path, chance, seed % 3 * 8, monkeypatch)
    crashes = 0
    while True:
        # the last life has no crashes
        world.likely = 0.0 if crashes > 12 else chance.choice([0.02, 0.1, 0.3])
        try:
            answer = world.run()
            break
        except Crash:
            crashes += 1
    log = read_log(tmp_path / "log")
    assert answer == applied(log) == batch_answer(QUERY, world.fragments)
    batches = [update.batch for update in log]
    assert batches == sorted(batches)
    # no sink missed anything; one that cannot know what it has may have received a batch twice
    assert sorted(set(world.heard)) == sorted(set(batches))
    assert world.heard == sorted(world.heard)


def test_undisturbed_each_batch_is_heard_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, random.Random(1), 10, monkeypatch)
    world.run()
    assert len(world.heard) == len(set(world.heard))
    numbers = [figures.batch for figures in world.told]
    assert numbers == list(range(len(numbers)))
    assert max(figures.fragments for figures in world.told) <= 5
    assert sum(figures.fragments for figures in world.told) == len(world.fragments)
    # after a restart, only the clock can cause changes
    world.run()
    assert len(world.told) == len(numbers) + 1


def test_a_log_goes_with_its_checkpoint(tmp_path: Path) -> None:
    for number in range(2):
        with open_continuous(QUERY, {"s": TAGS}, tmp_path / f"state{number}") as query:
            folder = tmp_path / f"ck{number}"
            folder.mkdir()
            sinks = [ParquetLog(tmp_path / "log")]
            triggers = Triggers(query, folder, sinks, 5, None, lambda _: None)
            if number == 0:
                triggers.begin(lambda: _arrivals([ROOT, bid(20)]))
                continue
            with pytest.raises(XcqlError) as caught:
                triggers.begin(lambda: _arrivals([]))
            assert caught.value.code == "XCQL0728"


def test_files_that_were_seen(tmp_path: Path) -> None:
    path = tmp_path / "files"
    seen = SeenFiles(path, frozenset({"stored"}))
    assert seen.new(0, ["a", "stored", "b", "a"]) == [True, False, True, False]
    with path.open("a") as file:
        file.write("1 ha")  # an incomplete line: the process was killed
    seen = SeenFiles(path)
    assert seen.new(0, ["a", "stored", "b", "a"]) == [True, False, True, False]
    assert seen.new(1, ["half", "a", "c"]) == [True, False, True]
    assert SeenFiles(path).new(2, ["half", "c", "stored", "d"]) == [False, False, False, True]


def test_a_batch_that_is_run_again_does_not_turn_time_back(tmp_path: Path) -> None:
    times = [datetime(2004, 1, 1, 10)]
    come = list(_arrivals([ROOT, bid(10), bid(20)]))
    with open_continuous(QUERY, {"s": TAGS}, tmp_path / "state") as query:
        triggers = Triggers(query, tmp_path, [], 5, lambda: times[0], lambda _: None)
        triggers.begin(lambda: _arrivals([]))
        triggers.fragments(0, come)
        assert triggers.next_change == datetime(2004, 1, 1, 10, 0, 10)
        times[0] = datetime(2004, 1, 1, 10, 0, 10)
        triggers.time_passes()
        assert triggers.next_change == datetime(2004, 1, 1, 10, 0, 20)
        triggers.fragments(0, come)
        assert triggers.next_change == datetime(2004, 1, 1, 10, 0, 20)
        assert query.last_batch == 2
