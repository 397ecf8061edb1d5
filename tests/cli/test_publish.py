"""`xcqlc publish`: fragments for clients, in files, and what can go wrong."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from xcql.cli.main import main
from xcql.model.read import read_all
from xcql.model.tags import read_tags
from xcql.publish import tcp
from xcql.publish.addresses import TcpAddress
from xcql.publish.play import Pace, groups_of

ROOT = Path(__file__).parents[2]
CREDIT = ROOT / "samples" / "credit"


@contextmanager
def _publishing(*arguments: str) -> Iterator[int]:
    """A process that broadcasts; yields its port."""
    command = [sys.executable, "-m", "xcql.cli.main", "publish", str(CREDIT / "fragments.xml")]
    process = subprocess.Popen(
        [*command, "--to", "tcp://127.0.0.1:0", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stderr is not None
    try:
        yield int(process.stderr.readline().rpartition(":")[2])
        assert process.wait(30) == 0
        assert process.stderr.read() == "36 fragments sent\n"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _heard(port: int) -> list[bytes]:
    with socket.create_connection(("127.0.0.1", port), 30) as client, client.makefile("rb") as file:
        return file.read().split(b"\n")[:-1]


def test_two_clients_hear_the_same() -> None:
    heard: list[list[bytes]] = []
    with _publishing("--wait", "2") as port:
        threads = [threading.Thread(target=lambda: heard.append(_heard(port))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert heard[0] == heard[1]
    tags = read_tags(CREDIT / "tags.xml")
    whole = read_all(CREDIT / "fragments.xml", tags).fragments
    alone = [read_all(line, tags).fragments[0] for line in heard[0]]
    assert [(one.op, one.id, one.valid_time) for one in alone] == [
        (one.op, one.id, one.valid_time) for one in whole
    ]


def test_files_appear_whole_and_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inbox = tmp_path / "inbox"
    fragments = str(CREDIT / "fragments.xml")
    for _ in range(2):
        assert main(["publish", fragments, "--to", f"dir:{inbox}", "--rate", "400"]) == 0
    assert capsys.readouterr().err == "36 fragments sent\n" * 2
    files = sorted(inbox.iterdir())
    assert len(files) == 4
    times = [file.stat().st_mtime_ns // 1_000_000 for file in files]
    assert times == sorted(set(times))
    # the second time the fragments are the same, but the files are not
    tags = read_tags(CREDIT / "tags.xml")
    assert len(read_all(inbox, tags).fragments) == 72


def test_a_client_that_falls_behind_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "BUFFER", 100_000)
    told: list[str] = []
    clients: list[socket.socket] = []

    def tell(text: str) -> None:
        told.append(text)
        if text.startswith("listening"):
            for _ in range(2):
                address = ("127.0.0.1", int(text.rpartition(":")[2]))
                clients.append(socket.create_connection(address))
            threading.Thread(target=read, daemon=True).start()

    received: list[int] = []

    def read() -> None:
        with clients[1].makefile("rb") as file:
            received.append(len(file.readlines()))

    line = b"<filler>" + b"x" * 10_000 + b"</filler>"
    many = iter([line] * 2000)
    sent = asyncio.run(tcp.broadcast(TcpAddress("127.0.0.1", 0), many, Pace(), 2, tell))
    while not received:
        time.sleep(0.01)
    for client in clients:
        client.close()
    assert sent == 2000
    assert received == [2000]
    assert [text.split()[0] for text in told] == ["listening", "dropped"]


def test_pace() -> None:
    def fragment(second: int) -> bytes:
        return f'<filler id="1" validTime="2004-01-01T10:00:{second:02}"/>'.encode()

    clock = iter(range(100)).__next__
    lines = [fragment(second) for second in (0, 0, 20, 10, 40)]
    groups = list(groups_of(iter(lines), Pace(speed=2), lambda: 0.0))
    assert [(pause, len(group)) for pause, group in groups] == [(0, 2), (5, 2), (10, 1)]
    # a late sender does not wait
    assert [pause for pause, _ in groups_of(iter(lines), Pace(rate=1), clock)] == [0] * 5
    assert [len(group) for _, group in groups_of(iter(lines), Pace(rate=50), lambda: 0.0)] == [3, 2]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--to", "nowhere://x"], 1, "error[XCQL0720]: invalid address 'nowhere://x'"),
        (["--to", "tcp://localhost"], 1, "missing port"),
        (["--to", "tcp://localhost:99999"], 1, "error[XCQL0720]"),
        (["--to", "tcp://192.0.2.77:9000"], 1, "error[XCQL0721]"),
        (["--to", "kafka://localhost:9092"], 1, "missing topic"),
        (["--to", "dir:x", "--rate", "0"], 2, "--rate must be a number greater than 0"),
        (["--to", "dir:x", "--rate", "1", "--speed", "1"], 2, "not both"),
    ],
)
def test_mistakes(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(CREDIT / "fragments.xml"), *arguments]) == code
    assert message in capsys.readouterr().err
