"""No command leaves an unrequested file, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.runtime.streaming.worlds import QUERY, ROOT, TAGS_TEXT, bid, drop
from xcql.cli.main import VERBS
from xcql.model.tags import read_tags
from xcql.store.ingest import ingest
from xcql.store.processes import run_here

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENT = str(SAMPLES / "documents" / "monday.xml")
TAGS = str(SAMPLES / "credit" / "tags.xml")
FRAGMENTS = str(SAMPLES / "credit" / "fragments.xml")
_STREAM = ("--stream", f"credit={FRAGMENTS}", "--tags", TAGS)
_STORE = ("ingest", FRAGMENTS, "--tags", TAGS, "--stream", "credit", "--store", "store")
_COUNT = 'count(stream("credit")//account)'
# takes longer than any test waits
_LONG = "count(for $i in 1 to 1000000000 return $i mod 7)"
_LONG_RUN = ("run", "-e", _LONG, "--doc", DOCUMENT, "--strategy", "caq")
_LONG_RUN_ON_SPARK = (*_LONG_RUN, "--engine", "spark")
_SPARK = ("--engine", "spark")
_WAYS_OUT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Place:
    """A working folder, a temporary folder and a home folder, all empty."""

    root: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "xcql.cli.main", *arguments],
            cwd=self.work,
            env={
                **os.environ,
                "TMPDIR": str(self.temporary),
                "HOME": str(self.root / "home"),
                "XDG_CACHE_HOME": str(self.root / "home" / "cache"),
                "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        return self.root / "temporary"

    def left(self) -> set[str]:
        """The names of everything in the folders."""
        folders = (self.work, self.temporary, self.root / "home")
        return {one.name for folder in folders for one in folder.iterdir()}


@dataclass(frozen=True)
class Command:
    """A command, its exit code, and the names of the files that it should create."""

    arguments: Sequence[str]
    wanted: tuple[str, ...] = ()
    code: int = 0
    typed: str = ""


_WATCH = ("watch", "-e", QUERY, "--source", "s=../in", "--tags", "s=../tags.xml")
_STANDALONE = ("translate", "-e", _COUNT, "--tags", TAGS, "--standalone", "--fragments")
_IMPORT = ("--into", "store", "--stream", "shop")
_WITHOUT_SPARK = {
    "eval": [Command(("eval", "-e", _COUNT, *_STREAM)), Command(("eval", "-e", "1 +"), code=1)],
    "parse": [Command(("parse", "-e", "1"))],
    "fmt": [Command(("fmt", "-e", "1"))],
    "completion": [Command(("completion", "bash"))],
    "infer-tags": [
        Command(("infer-tags", DOCUMENT)),
        Command(("infer-tags", TAGS + "x", "-o", "tags.xml"), code=1),
        Command(("infer-tags", DOCUMENT, "-o", "tags.xml"), ("tags.xml",)),
    ],
    "fragment": [
        Command(("fragment", "../broken.xml", "--tags", "../tags.xml", "-o", "f.xml"), code=1),
        Command(("fragment", "../bids.xml", "--tags", "../tags.xml")),
        Command(("fragment", "../bids.xml", "--tags", "../tags.xml", "-o", "f.xml"), ("f.xml",)),
    ],
    "translate": [
        Command((*_STANDALONE, FRAGMENTS)),
        Command((*_STANDALONE, f"credit={SAMPLES}/documents"), code=1),
        Command((*_STANDALONE, FRAGMENTS, "-o", "q.xq"), ("q.xq",)),
    ],
    "ingest": [
        Command(("ingest", "../broken.xml", *_STORE[2:-1], "new", "--strict"), code=1),
        Command(_STORE, ("store",)),
    ],
    "import": [
        Command(("import", "snapshots", "none*.xml", *_IMPORT), code=1),
        Command(("import", "snapshots", DOCUMENT, *_IMPORT), ("store",)),
    ],
    "store": [Command(("store", "info", "none"), code=1)],
    "publish": [Command(("publish", FRAGMENTS, "--to", "dir:inbox"), ("inbox",))],
}
_ON_BOTH = {
    "run": [
        Command(("run", "-e", "count(//item)", "--doc", DOCUMENT)),
        Command(("run", "-e", "error()", "--doc", DOCUMENT), code=1),
        Command(
            ("run", "-e", "//item", "--doc", DOCUMENT, "--format", "parquet", "-o", "rows"),
            ("rows",),
        ),
    ],
    "explain": [Command(("explain", "-e", "count(//item)", "--doc", DOCUMENT))],
    "shell": [Command(("shell", "--doc", DOCUMENT), typed="count(//item)\n")],
    "temporalize": [
        Command(("temporalize", "--store", "../store", "--stream", "credit")),
    ],
}
_ON_SPARK = {
    "watch": [Command((*_WATCH, "--explain")), Command((*_WATCH, "--trigger", "once"))],
    "prepare": [Command(("prepare",), ("cache",))],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("work", "temporary", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "tags.xml").write_text(TAGS_TEXT)
    (tmp_path / "bids.xml").write_text("<bids><bid>1</bid></bids>")
    (tmp_path / "broken.xml").write_text("<bids><bid>1</bid>")
    drop(tmp_path / "in", "a.xml", [ROOT, bid(1)])
    ingest(tmp_path / "store", [Path(FRAGMENTS)], "credit", read_tags(TAGS), run_here, cores=1)
    return Place(tmp_path)


def test_every_verb_is_tried() -> None:
    assert _WITHOUT_SPARK.keys() | _ON_BOTH.keys() | _ON_SPARK.keys() == VERBS.keys()


@pytest.mark.parametrize("verb", _WITHOUT_SPARK)
def test_what_is_left(place: Place, verb: str) -> None:
    for command in _WITHOUT_SPARK[verb]:
        _leaves_only_what_is_wanted(place, command)


@pytest.mark.parametrize("verb", _ON_BOTH)
def test_what_is_left_by_duckdb(place: Place, verb: str) -> None:
    for command in _ON_BOTH[verb]:
        _leaves_only_what_is_wanted(place, command)


@pytest.mark.slow
@pytest.mark.parametrize("verb", _ON_BOTH)
def test_what_is_left_if_spark_is_asked_for(place: Place, verb: str) -> None:
    for command in _ON_BOTH[verb]:
        on_spark = replace(command, arguments=(*command.arguments, *_SPARK))
        _leaves_only_what_is_wanted(place, on_spark)


@pytest.mark.slow
@pytest.mark.parametrize("verb", _ON_SPARK)
def test_what_is_left_by_spark(place: Place, verb: str) -> None:
    for command in _ON_SPARK[verb]:
        _leaves_only_what_is_wanted(place, command)


def _leaves_only_what_is_wanted(place: Place, command: Command) -> None:
    process = place.start(*command.arguments)
    _, errors = process.communicate(command.typed, timeout=600)
    assert process.returncode == command.code, errors
    assert place.left() - set(command.wanted) == set()


# signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_shell_that_is_ended(place: Place, number: signal.Signals) -> None:
    with _running(place, "shell", "--doc", DOCUMENT) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/store/commits/*")))
        process.send_signal(number)
        assert process.wait(300) == 128 + number
    assert place.left() == set()


def test_a_shell_that_is_killed(place: Place) -> None:
    with _running(place, "shell", "--doc", DOCUMENT) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/store/commits/*")))
        process.kill()
        process.wait()
    assert len(place.left()) == 1
    _leaves_only_what_is_wanted(place, Command(("shell", "--doc", DOCUMENT)))


@pytest.mark.parametrize("number", [*_WAYS_OUT, signal.SIGKILL])
def test_an_ingest_that_is_ended(place: Place, number: signal.Signals) -> None:
    fillers = "".join(bid(one % 3000, one) for one in range(60_000))
    (place.root / "many.xml").write_text(f"<fs>{ROOT}{fillers}</fs>")
    tags = str(place.root / "tags.xml")
    arguments = ("--tags", tags, "--stream", "s", "--store", "store")
    with _running(place, "ingest", "../many.xml", *arguments) as process:
        _wait_for(lambda: list(place.work.glob("store/staging/*/*")))
        process.send_signal(number)
        assert process.wait(300) != 0
    if number == signal.SIGKILL:
        _leaves_only_what_is_wanted(
            place, Command(("ingest", "../in/a.xml", *arguments), ("store",))
        )
        assert list(place.work.glob("store/staging/*")) == []
    else:
        assert list(place.work.rglob("*.parquet")) == []
        assert list(place.work.glob("store/staging/*")) == []


@pytest.mark.parametrize("number", [*_WAYS_OUT, signal.SIGKILL])
def test_a_run_of_duckdb_that_is_ended(place: Place, number: signal.Signals) -> None:
    with _running(place, *_LONG_RUN) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/store/commits/*")))
        time.sleep(1)
        process.send_signal(number)
        assert process.wait(300) == (-number if number == signal.SIGKILL else 128 + number)
    if number == signal.SIGKILL:
        _leaves_only_what_is_wanted(place, Command(("run", "-e", "1", "--doc", DOCUMENT)))
    assert place.left() == set()


@pytest.mark.slow
@pytest.mark.parametrize("number", _WAYS_OUT)
def test_a_run_that_is_ended_while_spark_starts(place: Place, number: signal.Signals) -> None:
    with _running(place, *_LONG_RUN_ON_SPARK) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/tmp*/store/commits/*")))
        time.sleep(2)
        process.send_signal(number)
        assert process.wait(300) == 128 + number
    assert place.left() == set()


@pytest.mark.slow
@pytest.mark.parametrize("number", _WAYS_OUT)
def test_a_run_that_is_ended_while_it_computes(place: Place, number: signal.Signals) -> None:
    with _running(place, *_LONG_RUN_ON_SPARK) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/blockmgr-*")))
        time.sleep(10)
        process.send_signal(number)
        assert process.wait(300) == 128 + number
    assert place.left() == set()


@pytest.mark.slow
def test_a_run_that_is_killed(place: Place) -> None:
    with _running(place, *_LONG_RUN_ON_SPARK) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/blockmgr-*")))
        process.kill()
        process.wait()
    assert all(one.startswith("xcql-") for one in place.left())
    _leaves_only_what_is_wanted(place, Command(("run", "-e", "1", "--doc", DOCUMENT)))


@pytest.mark.slow
@pytest.mark.parametrize("number", _WAYS_OUT)
def test_a_watch_that_is_ended(place: Place, number: signal.Signals) -> None:
    with _running(place, *_WATCH) as process:
        _wait_for(lambda: list(place.temporary.glob("xcql-*/*/spark/commits/0")))
        process.send_signal(number)
        assert process.wait(300) == (0 if number == signal.SIGINT else 128 + number)
    assert place.left() == set()


@pytest.mark.slow
@pytest.mark.parametrize("number", [*_WAYS_OUT, signal.SIGKILL])
def test_a_prepare_that_is_ended(place: Place, number: signal.Signals) -> None:
    cache = place.root / "home" / "cache" / "xcql"
    with _running(place, "prepare") as process:
        _wait_for(lambda: list(cache.rglob("blockmgr-*")))
        process.send_signal(number)
        process.wait(300)
    if number == signal.SIGKILL:
        _wait_for(lambda: not list(cache.glob("xcql-*/xcql-*")))
        # Spark's next start removes it
        _leaves_only_what_is_wanted(
            place, Command(("run", "-e", "1", "--doc", DOCUMENT, *_SPARK), ("cache",))
        )
    assert place.left() <= {"cache"}
    assert list(cache.iterdir()) == []


@contextmanager
def _running(place: Place, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = place.start(*arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not _holds(condition):
        assert time.monotonic() < end
        time.sleep(0.05)


def _holds(condition: Callable[[], object]) -> bool:
    """Whether it holds; not while the process removes folders that are being listed."""
    with suppress(FileNotFoundError):
        return bool(condition())
    return False
