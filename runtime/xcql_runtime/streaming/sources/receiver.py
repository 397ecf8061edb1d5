"""A client of a broadcast: a thread that writes the lines it receives to a spool.

It reconnects after a failure, with growing pauses. No other thread waits for it.

Tests: tests/runtime/streaming/sources/test_spool.py
"""

from __future__ import annotations

import random
import re
import socket
import threading
from pathlib import Path

from xcql.publish.addresses import TcpAddress
from xcql_runtime.streaming.sources.spool import Spool

# a longer line is not a fragment; it is cut here, and the rest is skipped
MAX_LINE = 1 << 26
# with this many bytes waiting on disk, nothing more is read, which slows down the server
MAX_WAITING = 1 << 30

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 15.0
_CHUNK = 1 << 18
_END_OF_STREAM = re.compile(rb"\s*<(?:stream:)?eos\s*(?:/>|>\s*</(?:stream:)?eos\s*>)\s*")


class Receiver:
    """Receives lines from an address into the spool of a folder, until it is stopped."""

    def __init__(self, address: TcpAddress, folder: Path, max_waiting: int = MAX_WAITING) -> None:
        self._address = address
        self._folder = folder
        self._max_waiting = max_waiting
        self._stopped = threading.Event()
        self._spool: Spool | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"xcql {address}")
        self._thread.start()

    def end(self, otherwise: int) -> int:
        """The number after the last line on disk; `otherwise` before any is known."""
        return otherwise if self._spool is None else self._spool.synced_end()

    def forget(self, before: int) -> None:
        """Drop the lines before this one: Spark has processed them."""
        if self._spool is not None:
            self._spool.forget(before)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(5)

    def _run(self) -> None:
        spool = self._spool = Spool(self._folder)
        pause = _SHORTEST_PAUSE
        while not self._stopped.is_set():
            heard = has_ended = False
            try:
                with socket.create_connection((self._address.host, self._address.port), 10) as one:
                    _keep_alive(one)
                    heard, has_ended = self._listen(one, spool)
            except OSError:
                pass
            if has_ended:
                break
            pause = _SHORTEST_PAUSE if heard else min(pause * 2, _LONGEST_PAUSE)
            # clients that lost a server should not all reconnect at once
            self._stopped.wait(pause * random.uniform(0.5, 1))
        self._stopped.wait()
        spool.close()

    def _listen(self, connection: socket.socket, spool: Spool) -> tuple[bool, bool]:
        """Receive from a connection; return whether data came, and whether the stream ended."""
        connection.settimeout(1)
        rest, is_too_long, heard = b"", False, False
        while not self._stopped.is_set():
            if spool.size > self._max_waiting:
                self._stopped.wait(0.2)
                continue
            try:
                data = connection.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError:
                data = b""
            *lines, rest = (rest + data).split(b"\n") if data else [rest, b""]
            if is_too_long and lines:
                del lines[0]  # the end of a line whose start was already taken
                is_too_long = False
            if len(rest) > MAX_LINE:
                if not is_too_long:
                    lines.append(rest)
                rest, is_too_long = b"", True
            lines = [line for line in lines if line.strip()]
            if lines:
                heard = True
                spool.append(lines)
            if any(_END_OF_STREAM.fullmatch(line) for line in lines):
                return heard, True
            if not data:
                break
        return heard, False


def _keep_alive(connection: socket.socket) -> None:
    """Detect a server that is gone without closing the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
