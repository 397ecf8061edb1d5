"""Commands whose Java is killed: one message, the exit code, no leftovers; a shell continues.

The messages are in `java_ends/`; `XCQL_WRITE_GOLDEN=1` rewrites them; review the diff.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CREDIT = ROOT / "samples" / "credit"
GOLDEN = Path(__file__).parent / "java_ends"
DATA = [
    *("--stream", f"credit={CREDIT / 'fragments.xml'}", "--tags", str(CREDIT / "tags.xml")),
]
LONG = "count(for $a in 1 to 1000000, $b in 1 to 1000000 where $a * $b mod 7 = 1 return $a)"
ACCOUNTS = 'count(stream("credit")//account)'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc"),
]


def command(verb: str, *arguments: str, folder: Path) -> subprocess.Popen[str]:
    roots = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    return subprocess.Popen(
        [sys.executable, "-m", "xcql.cli.main", verb, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": roots, "TMPDIR": str(folder)},
    )


def until(found: Callable[[], int | None], seconds: float = 900) -> int:
    end = time.monotonic() + seconds
    while (one := found()) is None:
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return one


def java_of(pid: int, seconds: float = 0) -> int | None:
    """The Java of a process, once it has used this much processor time."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for one in (task / "children").read_text().split():
            with suppress(FileNotFoundError):  # the one that printed its version
                if Path("/proc", one, "comm").read_text() == "java\n":
                    stat = Path("/proc", one, "stat").read_text()
                    ticks = int(stat.rpartition(")")[2].split()[11])
                    if ticks >= seconds * os.sysconf("SC_CLK_TCK"):
                        return int(one)
    return None


def kill_java(process: subprocess.Popen[str], *, at_work: bool = False) -> None:
    # starting Spark and the query takes less than that
    os.kill(until(lambda: java_of(process.pid, 40 if at_work else 0)), signal.SIGKILL)


def check(name: str, told: str, folder: Path) -> None:
    assert "Traceback" not in told
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")
    assert list(folder.glob("xcql-*")) == []


def test_run(tmp_path: Path) -> None:
    process = command("run", "-e", LONG, *DATA, "--engine", "spark", folder=tmp_path)
    kill_java(process, at_work=True)
    out, err = process.communicate(timeout=900)
    assert (process.returncode, out) == (1, "")
    check("run", err, tmp_path)


def test_shell(tmp_path: Path) -> None:
    process = command("shell", *DATA, "--engine", "spark", folder=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    for query in (ACCOUNTS, LONG, ACCOUNTS):
        process.stdin.write(f"{query}\n")
        process.stdin.flush()
        if query == LONG:
            kill_java(process, at_work=True)
        else:
            assert process.stdout.readline() == "4\n"
    # the last query is answered, but not yet completely finished
    time.sleep(2)
    kill_java(process)
    time.sleep(2)
    out, err = process.communicate(f"{ACCOUNTS}\n", timeout=900)
    assert (process.returncode, out) == (1, "4\n")
    check("shell", err, tmp_path)


def test_watch(tmp_path: Path) -> None:
    source = tmp_path / "inbox"
    source.mkdir()
    (source / "fragments.xml").write_bytes((CREDIT / "fragments.xml").read_bytes())
    process = command(
        *("watch", "-e", ACCOUNTS, "--source", f"credit=dir:{source}", "--quiet"),
        *("--tags", str(CREDIT / "tags.xml")),
        folder=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(5)  # until it waits for input
    kill_java(process)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 1
    check("watch", err, tmp_path)
