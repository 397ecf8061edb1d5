"""Runs independent pieces of Python work in this process, or in one process per core.

The pieces and their results must be picklable. An error in a piece is raised again here.

These processes start in a fraction of the time that Spark needs for its first job, and they need no
Java. Each one runs this module with the same Python: it reads a pickled function and piece, replies
with the outcome, and continues until there are no more requests. (Processes of `multiprocessing`
would first run the user's program again, unless it is written for that.)
"""

from __future__ import annotations

import ctypes
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
from typing import Any, BinaryIO, TypeVar, cast

import pyarrow as pa

from xcql.diagnostics import error
from xcql.garbage import uncollected

Piece = TypeVar("Piece")
Result = TypeVar("Result")
# computes a function for all pieces and returns the results in order
Run = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]

_SIZE = struct.Struct("<Q")


def run_here(function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """The results for all pieces, computed in this process."""
    return [function(piece) for piece in pieces]


@contextmanager
def on_cores(cores: int) -> Iterator[Run]:
    """Yield a function like `run_here` that runs as many pieces at a time as there are cores.

    Its processes are started on demand and end with the block.
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

        # this process waits now, so it releases its unused memory to the others
        _release_memory(None)
        with ThreadPoolExecutor(count) as threads:
            results = [result_of(one) for one in threads.map(done, pieces)]
        for process in started:
            # not after each piece, because the next one needs the same memory again
            result_of(process.ask(pickle.dumps((_release_memory, None))))
        return results

    try:
        yield run
    finally:
        for process in started:
            process.end()


def outcome(function: Callable[[Any], Any], piece: Any) -> bytes:
    """The pickled result of a piece, or its error."""
    # the pieces build big lists of plain values, which the collector would traverse again and again
    with uncollected():
        try:
            return pickle.dumps((function(piece), None))
        except Exception as problem:
            return pickle.dumps((None, problem))


def result_of(outcome: bytes) -> Any:
    """The result in an outcome; if it is an error, raise it."""
    result, problem = pickle.loads(outcome)
    if problem is not None:
        raise problem
    return result


def _release_memory(_: None) -> None:
    """Return memory to the system that the allocators keep for reuse."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        # only glibc has it; other allocators do this by themselves
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class _Process:
    """One worker process."""

    def __init__(self) -> None:
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the reply."""
        try:
            _send(cast(BinaryIO, self._process.stdin), request)
            return _received(cast(BinaryIO, self._process.stdout))
        except (OSError, EOFError):
            code = self._process.wait()
            raise error(
                "XCQL0504",
                f"a worker process ended with exit code {code}",
                hints=["check that there is enough memory: each core takes a few hundred MB"],
            ) from None

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
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
    """Serve the requests on standard input."""
    # Ctrl-C is handled by the parent process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # anything that is printed must not end up in the replies
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
