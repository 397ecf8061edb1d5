"""Lines on disk, and a broadcast client that writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.streaming.worlds import Server, until
from xcql.publish.addresses import TcpAddress
from xcql_runtime.streaming.sources import receiver as receiving
from xcql_runtime.streaming.sources import spool as spooling
from xcql_runtime.streaming.sources.receiver import Receiver
from xcql_runtime.streaming.sources.spool import Spool, spooled


def test_lines_keep_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "_LINES", 4)
    lines = [f"line {number}".encode() for number in range(30)]
    spool = Spool(tmp_path)
    for begin in range(0, 20, 3):
        spool.append(lines[begin : min(begin + 3, 20)])
    assert spool.synced_end() == 20
    assert spooled(tmp_path, 0, 20) == lines[:20]
    assert spooled(tmp_path, 7, 13) == lines[7:13]
    spool.forget(13)
    assert spooled(tmp_path, 13, 20) == lines[13:20]
    spool.close()

    # as if a process was killed while writing
    last = max(tmp_path.glob("*.lines"))
    with last.open("ab") as file:
        file.write(b"half a li")
    spool = Spool(tmp_path)
    assert spool.synced_end() == 20
    spool.append(lines[20:])
    assert spooled(tmp_path, 17, 30) == lines[17:]
    spool.forget(30)
    spool.close()
    spool = Spool(tmp_path)
    assert spool.synced_end() == 30
    spool.close()


def test_receiver_connects_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MAX_LINE", 200)
    server = Server()
    receiver = Receiver(TcpAddress("127.0.0.1", server.port), tmp_path)

    def has(count: int) -> bool:
        return receiver.end(0) == count

    try:
        until(lambda: len(server.clients) == 1)
        server.send("a", "", "b\r")
        until(lambda: has(2))
        server.clients[0].sendall(b"cut o")
        until(lambda: has(2))
        server.hang_up()
        until(lambda: has(3) and len(server.clients) == 1)
        server.clients[0].sendall(b"x" * 500_000)
        server.send("", "after")
        until(lambda: has(5))
        found = spooled(tmp_path, 0, 5)
        assert found[:3] == [b"a", b"b\r", b"cut o"]
        assert found[4] == b"after"
        server.send("<eos/>")
        until(lambda: has(6))
        server.hang_up()
    finally:
        receiver.stop()
        server.close()


def test_receiver_waits_if_too_much_is_there(tmp_path: Path) -> None:
    server = Server()
    receiver = Receiver(TcpAddress("127.0.0.1", server.port), tmp_path, max_waiting=100)
    try:
        until(lambda: len(server.clients) == 1)
        server.send("x" * 200)
        until(lambda: receiver.end(0) == 1)
        server.send("y")
        assert receiver.end(0) == 1
    finally:
        receiver.stop()
        server.close()
