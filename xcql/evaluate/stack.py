"""Room for deep recursion.

Python's own stack is too small for a query that calls its functions ten thousand levels deep, so
an evaluation runs in a thread with a large stack. Memory is allocated only when it is used.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from xcql.diagnostics import XcqlError, error
from xcql.source import Span

T = TypeVar("T")

# the sizes to try: a machine may not allow the largest
_STACK_SIZES = (1 << 30, 1 << 28, 1 << 26)
# the most stack a Python frame takes, with the C frames around it (measured: 0.9 KB)
_BYTES_PER_FRAME = 1800
# seconds to wait for an evaluation that is being stopped
_PATIENCE = 1
_here = threading.local()


class _Room:
    """The recursion limit of the process: raised while evaluations run."""

    lock = threading.Lock()
    evaluations = 0
    limit_before = 0


class Cancelled(BaseException):
    """Raised in an evaluation that is to stop."""


class Cancellation:
    """Stops evaluations that run in other threads.

    They stop at the next instruction of Python, and so do those that start later.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._is_cancelled = False

    @contextmanager
    def covering(self) -> Iterator[None]:
        """Cover what the current thread does in this block."""
        this = threading.get_ident()
        with self._lock:
            if self._is_cancelled:
                raise Cancelled
            self._running.add(this)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(this)

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            for thread in self._running:
                # the only way to interrupt a thread that computes
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(Cancelled)
                )


def with_deep_stack(work: Callable[[], T], cancellation: Cancellation | None = None) -> T:
    """Run some work where recursion can go deep, and return its result.

    Ctrl-C stops the work, and so does a `cancellation`.
    """
    if getattr(_here, "is_deep", False):
        return _guarded(work)
    outcome: list[Any] = [None, None]
    stopping = cancellation or Cancellation()

    def run() -> None:
        _here.is_deep = True
        try:
            with stopping.covering():
                outcome[0] = _guarded(work)
        except BaseException as problem:
            outcome[1] = problem

    for size in _STACK_SIZES:
        try:
            with _room(size // _BYTES_PER_FRAME):
                thread = _start(run, size)
                try:
                    thread.join()
                except BaseException:
                    stopping.cancel()
                    thread.join(_PATIENCE)
                    raise
            break
        except RuntimeError:
            if size == _STACK_SIZES[-1]:
                raise
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]  # type: ignore[no-any-return]


@contextmanager
def _room(frames: int) -> Iterator[None]:
    with _Room.lock:
        if _Room.evaluations == 0:
            _Room.limit_before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_Room.limit_before, frames))
        _Room.evaluations += 1
    try:
        yield
    finally:
        with _Room.lock:
            _Room.evaluations -= 1
            if _Room.evaluations == 0:
                sys.setrecursionlimit(_Room.limit_before)


def _start(run: Callable[[], None], stack_size: int) -> threading.Thread:
    # the stack size is a process-wide setting for all threads that start next
    with _Room.lock:
        before = threading.stack_size(stack_size)
        try:
            thread = threading.Thread(target=run, daemon=True, name="xcql-evaluate")
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except RecursionError:
        raise too_nested() from None
    except MemoryError:
        raise out_of_memory() from None


def too_nested(span: Span | None = None) -> XcqlError:
    return error("XCQL0003", "the query is nested too deeply, or its function calls are", span)


def out_of_memory() -> XcqlError:
    return error(
        "XCQL0009",
        "not enough memory",
        hints=["filter or count a long sequence instead of binding or joining all of it"],
    )
