"""Workers answer requests, may fail, and are stopped when they take too long."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from bench.contest import all_asked, asked, ratio, rows_of
from bench.measure import Timing
from bench.peers.process import Ended, Failed, Program, TooLong, Worker, run_command, serve
from bench.rows import Goal, Row


def _sleep(seconds: float) -> dict[str, float]:
    print("this is no reply")
    time.sleep(seconds)
    return {"seconds": seconds}


def _fail() -> None:
    raise ValueError("no good")


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker("tests.bench.test_processes", tmp_path / "log")


def test_a_worker_does_as_it_is_asked(worker: Worker) -> None:
    assert worker.ask("sleep", 20, seconds=0) == {"seconds": 0}
    with pytest.raises(Failed, match="ValueError: no good"):
        worker.ask("fail", 20)
    assert worker.ask("sleep", 20, seconds=0) == {"seconds": 0}
    worker.stop()


def test_a_worker_that_takes_too_long_is_stopped(worker: Worker) -> None:
    worker.ask("sleep", 20, seconds=0)
    with pytest.raises(TooLong):
        worker.ask("sleep", 0.2, seconds=60)
    with pytest.raises(Ended):
        worker.ask("sleep", 20, seconds=0)
    worker.stop()


def test_what_a_program_says_ends_at_a_mark(tmp_path: Path) -> None:
    program = Program(
        ["sh", "-c", "printf 'one--E'; sleep 0.1; printf 'ND--two--END--'"], tmp_path / "l"
    )
    assert program.hear(b"--END--", 20) == b"one"
    assert program.hear(b"--END--", 20) == b"two"
    with pytest.raises(Ended):
        program.hear(b"--END--", 20)


def test_a_command_is_timed_and_stopped(tmp_path: Path) -> None:
    answer, log = tmp_path / "answer", tmp_path / "log"
    assert run_command(["echo", "<a/>"], answer, log, 20) > 0
    assert answer.read_text() == "<a/>\n"
    with pytest.raises(TooLong):
        run_command(["sleep", "60"], answer, log, 0.2)
    with pytest.raises(Failed, match="gone wrong"):
        run_command(["sh", "-c", "echo gone wrong >&2; exit 1"], answer, log, 20)


def test_a_wrong_answer_voids_its_row(tmp_path: Path) -> None:
    answer = tmp_path / "answer.xml"

    def engine(text: str, seconds: float):  # type: ignore[no-untyped-def]
        def query(patience: float) -> float:
            if seconds > patience:
                raise TooLong
            answer.write_text(text)
            return seconds

        return asked(query, answer, 2, 60)

    outcomes = {
        "ours": engine("<a/>", 1),
        "fast": engine("<b/>", 0.1),
        "slow": engine("<a/>", 100),
        "judge": engine("<a></a>", 2),
        "broken": engine("<a>", 1),
    }
    rows = {row.way: row for row in rows_of("b", "q01", "1", outcomes, ["slow", "judge"])}
    assert rows["ours"].value == 1
    assert not rows["ours"].voided
    assert rows["fast"].voided == "its answer is not that of judge"
    assert (rows["slow"].value, rows["slow"].bound) == (60, "more")
    assert "failed" in rows["broken"].voided
    assert ratio(rows["ours"], rows["fast"], "x", None) is None
    against_slow = ratio(rows["ours"], rows["slow"], "ours / slow", Goal(1))
    assert against_slow is not None
    assert (against_slow.bound, against_slow.verdict) == ("less", "met")


def test_queries_are_asked_before_any_is_measured_and_quick_ones_twice(tmp_path: Path) -> None:
    times = {
        "one": [8.0, 0.9, 0.6, 0.3, 0.2, 0.4],
        "two": [2.0, 1.5, 1.6],
        "three": [90.0],
        "four": [],
        "five": [27.0],
    }
    calls: list[str] = []

    def engine(name: str, patience: float) -> float:
        calls.append(name)
        seconds = times[name].pop(0)
        if seconds > patience:
            raise TooLong
        (tmp_path / f"{name}.xml").write_text("<a/>")
        return seconds

    queries = {name: partial(engine, name) for name in times}
    found = all_asked(queries, tmp_path, 2, 60, hopeless={"four"})
    assert calls == [*["one"] * 2, "two", "three", "five", *["one"] * 4, *["two"] * 2]
    assert found["one"].timing == Timing.of([0.2, 0.4])
    assert found["two"].timing == Timing.of([1.5, 1.6])
    assert found["five"].timing == Timing(27.0)
    assert found["three"].stopped == found["four"].stopped == 60
    assert not list(tmp_path.iterdir())


def test_an_answer_that_nobody_else_has_is_marked(tmp_path: Path) -> None:
    answer = tmp_path / "answer.xml"

    def query(patience: float) -> float:
        answer.write_text("1")
        return 0.5

    (row,) = rows_of("d", "now", "1", {"ours": asked(query, answer, 1, 60)}, ["ours"])
    assert isinstance(row, Row)
    assert row.remark


if __name__ == "__main__":
    serve(sleep=_sleep, fail=_fail)
