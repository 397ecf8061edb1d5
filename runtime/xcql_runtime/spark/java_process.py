"""The Java process of a Spark session: whether it has ended, and how to continue after that.

PySpark assumes that Java never ends: it keeps the bridge to Java, the context and the session for
as long as Python lives, and cannot start Spark again in a process whose Java has ended.
`clear_state` clears all of this, so that the next session starts a new Java.

Java ends by itself when the pipe to it closes, but some time after the process that started it.
Until then it uses our temporary folder, so this process waits for it before removing the folder.
"""

from __future__ import annotations

import atexit
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyspark.util
from pyspark import SparkContext, java_gateway
from pyspark.sql import SparkSession, SQLContext

# with -XX:+ExitOnOutOfMemoryError, which `java.local_options` sets
_OUT_OF_MEMORY = 3
# seconds to wait for the end of a process whose connections are closed
_PATIENCE = 2.0
# seconds to wait for Java at exit; archiving its classes (`xcqlc prepare`) takes the longest
_PATIENCE_AT_EXIT = 60


@dataclass(slots=True)
class _Forgotten:
    """The exit code of the last Java that was forgotten; threads may still fail because of it."""

    code: int | None = None


_last = _Forgotten()


def has_ended(spark: SparkSession) -> bool:
    """Whether the Java of a session has ended, or the session was stopped.

    False for a Spark Connect session: its Java runs elsewhere.
    """
    if not isinstance(spark, SparkSession):
        return False
    # sessions of a forgotten Java have another bridge
    is_current = spark._jvm is SparkContext._jvm and spark._sc._jsc is not None
    return not is_current or exit_code() is not None


def exit_code(patience: float = 0) -> int | None:
    """The exit code of the Java that this process's sessions run in; None while it runs.

    `patience` is how many seconds to wait for a process that is about to end.
    """
    process = _process()
    if process is None:
        return None
    if patience:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience)
    return process.poll()


def is_gone() -> bool:
    """Whether Java has ended, or is about to end."""
    return exit_code(_PATIENCE) is not None


def reason_of_end() -> str:
    """What happened to Java, judging by its exit code; called when connections have failed."""
    code = exit_code(_PATIENCE)
    match _last.code if code is None else code:
        case None:
            return "no longer responds"
        case code if code == _OUT_OF_MEMORY:
            return "ran out of memory"
        case code if code < 0:
            return f"was killed ({signal.Signals(-code).name})"
        case code:
            return f"has ended with exit code {code}"


@contextmanager
def ended_with_this_process() -> Iterator[None]:
    """End Java processes started in this block when this process ends, or when the block fails."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*arguments, **options)
        started.append(process)
        atexit.register(_end, process)
        return process

    # PySpark only exposes the process after waiting for it to be ready
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


def suppress_tracebacks(spark: SparkSession) -> None:
    """Keep PySpark from printing a traceback when the connection to Java breaks."""
    server: Any = spark._sc._accumulatorServer if isinstance(spark, SparkSession) else None
    if server is not None:
        server.handle_error = partial(_report_unless_ended, server)
    if not isinstance(sys.unraisablehook, _Unraisable):
        sys.unraisablehook = _Unraisable(sys.unraisablehook)


@dataclass(frozen=True, slots=True)
class _Unraisable:
    """Reports errors in destructors, except PySpark's when it closes a broken connection.

    That happens to the connection whose rows were being read when Java ended.
    """

    report: Callable[[sys.UnraisableHookArgs], object]

    def __call__(self, problem: sys.UnraisableHookArgs) -> None:
        of = getattr(problem.object, "__module__", "")
        if not (of == pyspark.util.__name__ and isinstance(problem.exc_value, ConnectionError)):
            self.report(problem)


def clear_state(folder: Path | None) -> None:
    """Clear PySpark's state of a Java that has ended, and remove the files it left behind."""
    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    _last.code = exit_code()
    with SparkContext._lock:
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    SQLContext._instantiatedContext = None
    if context is not None:
        context._jsc = None
        if context._accumulatorServer is not None:
            context._accumulatorServer.shutdown()
            context._accumulatorServer = None
    if gateway is not None:
        gateway.close(keep_callback_server=True)
        gateway.shutdown_callback_server()
        gateway.proc.stdin.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _process() -> subprocess.Popen[bytes] | None:
    """Java's process; None if there is none, or if it is not our child process."""
    gateway: Any = SparkContext._gateway
    # with getattr, a missing attribute would be looked up in Java
    return None if gateway is None else gateway.__dict__.get("proc")


def _report_unless_ended(server: Any, *request: Any) -> None:
    if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
        type(server).handle_error(server, *request)


def _end(process: subprocess.Popen[bytes]) -> None:
    # a second Ctrl-C must not interrupt the wait
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_PATIENCE_AT_EXIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
