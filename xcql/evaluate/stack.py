"""Room for deep recursion.

Python's own stack is too small for a query that calls its functions ten thousand levels deep, so
an evaluation runs in a thread with a large stack. Memory is taken only as it is used.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from xcql.diagnostics import error

T = TypeVar("T")

# the sizes to try: a machine may not grant the largest
_STACK_SIZES = (1 << 30, 1 << 28, 1 << 26)
_FRAMES = 1_000_000
_here = threading.local()
# setting a thread's stack size is a setting of the process
_starting = threading.Lock()


def with_deep_stack(work: Callable[[], T]) -> T:
    """The result of some work, done where recursion may go deep."""
    if getattr(_here, "is_deep", False):
        return _guarded(work)
    outcome: list[Any] = [None, None]

    def run() -> None:
        _here.is_deep = True
        try:
            outcome[0] = _guarded(work)
        except BaseException as problem:
            outcome[1] = problem

    thread = _started(run)
    thread.join()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]  # type: ignore[no-any-return]


def _started(run: Callable[[], None]) -> threading.Thread:
    with _starting:
        if sys.getrecursionlimit() < _FRAMES:
            sys.setrecursionlimit(_FRAMES)
        before = threading.stack_size()
        try:
            for size in _STACK_SIZES:
                threading.stack_size(size)
                thread = threading.Thread(target=run, daemon=True, name="xcql-evaluate")
                try:
                    thread.start()
                except RuntimeError:
                    if size == _STACK_SIZES[-1]:
                        raise
                    continue
                return thread
        finally:
            threading.stack_size(before)
    raise AssertionError("no stack size was tried")


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except RecursionError:
        raise error(
            "XCQL0003",
            "the query is nested too deeply, or calls functions inside each other too often",
        ) from None
