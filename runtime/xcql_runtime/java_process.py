"""The Java process that Spark runs in: it ends before this process does.

Java ends by itself when the pipe to it closes, but a while after the process that started it. Until
then it uses our temporary folder, which is to be removed, so this process waits for it. PySpark's
function that starts Java may be interrupted, and then nobody knows of the process that it started.
"""

from __future__ import annotations

import atexit
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyspark import java_gateway

# what Java may take for its own end; keeping its classes (`xcqlc prepare`) takes the longest
_PATIENCE_SECONDS = 60


@contextmanager
def ended_with_this_process() -> Iterator[None]:
    """The Java processes that are started in this block end with this process, or if it fails."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*arguments, **options)
        started.append(process)
        atexit.register(_end, process)
        return process

    # PySpark tells of the process only after it has waited for it to be ready
    module: Any = java_gateway
    original = module.Popen
    module.Popen = start
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        module.Popen = original


def _end(process: subprocess.Popen[bytes]) -> None:
    # a second Ctrl-C must not interrupt this
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
