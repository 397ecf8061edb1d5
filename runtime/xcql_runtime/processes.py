"""Independent pieces of Python work on the cores of this machine, in processes of their own.

They are there in a fraction of the time in which Spark has its first job and its workers going, and
need no Java. A process is this module, run by the same Python. It gets a pickle of a function and a
piece, and says what came of it, until nobody asks any more. (Those of `multiprocessing` would first
run the user's own program again, unless it is written for that.)
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, BinaryIO, cast

from xcql.diagnostics import error
from xcql_runtime.unused_memory import give_back
from xcql_runtime.workers import Run, outcome, result_of

_SIZE = struct.Struct("<Q")


@contextmanager
def on_cores(cores: int) -> Iterator[Run]:
    """A function that does what `run_here` does, as many pieces at a time as there are cores.

    Its processes are started when they are needed, and end with the block.
    """
    started: list[_Process] = []

    def run(function: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
        count = min(cores, len(pieces))
        if not count:
            return []
        while len(started) < count:
            started.append(_Process())
        idle: SimpleQueue[_Process] = SimpleQueue()
        for process in started:
            idle.put(process)

        def done(piece: Any) -> bytes:
            process = idle.get()
            try:
                return process.ask(pickle.dumps((function, piece)))
            finally:
                idle.put(process)

        # whoever waits leaves memory to those that work
        give_back()
        with ThreadPoolExecutor(count) as threads:
            results = [result_of(one) for one in threads.map(done, pieces)]
        for process in started:
            # not after each piece: the next one needs the same memory again
            result_of(process.ask(pickle.dumps((_idle, None))))
        return results

    try:
        yield run
    finally:
        for process in started:
            process.end()


def _idle(_: None) -> None:
    """What a process does that has nothing to do."""
    give_back()


class _Process:
    """One process that works."""

    def __init__(self) -> None:
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    def ask(self, request: bytes) -> bytes:
        """What it says to a request."""
        try:
            _send(cast(BinaryIO, self._process.stdin), request)
            return _received(cast(BinaryIO, self._process.stdout))
        except (OSError, EOFError):
            code = self._process.wait()
            raise error(
                "XCQL0504",
                f"a process that was to do a part of the work has ended with code {code}",
                hints=["look whether there is enough memory: each core takes some hundred MB"],
            ) from None

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


def _send(target: BinaryIO, message: bytes) -> None:
    target.write(_SIZE.pack(len(message)))
    target.write(message)
    target.flush()


def _received(source: BinaryIO) -> bytes:
    head = source.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    (size,) = _SIZE.unpack(head)
    message = source.read(size)
    if len(message) < size:
        raise EOFError
    return message


def _work() -> None:
    """Do what is asked for on standard input."""
    # Ctrl-C is for the one who asks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # what is printed is no answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = _received(requests)
        except EOFError:
            return
        function, piece = pickle.loads(request)
        _send(answers, outcome(function, piece))


if __name__ == "__main__":
    _work()
