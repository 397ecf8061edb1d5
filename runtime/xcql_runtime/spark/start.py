"""A quiet, small local Spark session for users who do not provide one."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from xcql.diagnostics import XcqlError, error
from xcql.source import Span
from xcql.temporary import new_temporary_folder
from xcql_runtime.spark import java_process
from xcql_runtime.spark.class_archive import archive_options
from xcql_runtime.spark.java import check_java, has_own_folder, local_options, memory
from xcql_runtime.spark.settings import SETTINGS

# messages that Java and Spark always print at startup
_NOISE = re.compile(
    rb"(?:WARNING: Using incubator modules.*|Using Spark's default log4j profile.*)\r?\n"
)
# Java's message at its end; the error of the query explains it better
_LAST_WORDS = re.compile(rb"Terminating due to java\.lang\.OutOfMemoryError.*\r?\n")


@dataclass(frozen=True, slots=True)
class _Started:
    """A Spark that was started here: its arguments, and the folder of its temporary files."""

    context: SparkContext | None
    cores: int | None
    settings: Mapping[str, str]
    verbose: bool
    folder: Path | None


class _Own:
    """The Spark of this process if it was started here; the last one, if its Java has ended."""

    lock = threading.RLock()
    started = _Started(None, None, {}, False, None)

    @classmethod
    def is_current(cls) -> bool:
        context = cls.started.context
        return context is not None and context is SparkContext._active_spark_context


def local_session(
    cores: int | None = None, settings: Mapping[str, str] | None = None, *, verbose: bool = False
) -> SparkSession:
    """The active session, or a new one: local, unless `XCQL_SPARK` names another Spark.

    `XCQL_SPARK` is a Spark master (`spark://host:7077`, `yarn`, `local[4]`), or the address of a
    Spark Connect server (`sc://host:15002`). A session created here only prints what matters unless
    it is `verbose`, shows Spark's progress bar only on a terminal, and keeps time in UTC; a local
    one has few partitions, which suits data on one machine.

    If the Java of a session that was created here has ended, a new one is started in its place,
    with the same settings.
    """
    with _Own.lock:
        if java_process.exit_code() is not None:
            if not _Own.is_current():
                raise ended()
            before = _Own.started
            java_process.clear_state(before.folder)
            cores = cores or before.cores
            settings = {**before.settings, **(settings or {})}
            verbose = verbose or before.verbose
        found = SparkSession.getActiveSession() or _new_session(cores, settings or {}, verbose)
    java_process.suppress_tracebacks(found)
    return found


def ended(place: Span | None = None) -> XcqlError:
    """The error for a Java that has ended, with a remedy that depends on who started it."""
    reason = java_process.reason_of_end()
    if not _Own.is_current():
        return error(
            "XCQL0505",
            f"the Java process of your SparkSession {reason}",
            place,
            hints=[
                "restart this Python process (in a notebook, the kernel): PySpark cannot replace"
                " the Java of a SparkSession; what was committed to a store is safe",
                "give it more memory: spark.driver.memory is a setting of your SparkSession",
                "without spark=…, xcql.Session starts Spark itself, and restarts it when Java ends",
            ],
        )
    return error(
        "XCQL0505",
        f"Spark's Java process {reason}",
        place,
        notes=["the next query of the session restarts Spark; the store is unchanged"],
        hints=[
            f"give Java more memory: XCQL_MEMORY={_twice(memory())} (it has {memory()})",
            "request less at a time: items() instead of to_xml(), a projection such as ?[now],"
            " or one element instead of all of them",
        ],
    )


def _twice(size: str) -> str:
    """Double a size of memory.

    >>> _twice("2g"), _twice("600m")
    ('4g', '1200m')
    """
    return f"{2 * int(size[:-1])}{size[-1]}"


def _new_session(cores: int | None, settings: Mapping[str, str], verbose: bool) -> SparkSession:
    address = os.environ.get("XCQL_SPARK", "")
    # Spark and Py4J log errors that they also raise
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_of_the_bridge)
    if address.startswith("sc://"):
        return SparkSession.builder.remote(address).getOrCreate()
    java_options = archive_options(check_java())
    # a Java that already runs, for a context that was stopped, stays as it is
    is_new = SparkContext._gateway is None
    folder = None if is_new else _Own.started.folder
    if is_new and has_own_folder():
        folder = new_temporary_folder()
        java_options += (f"-Djava.io.tmpdir={folder}",)
    # workers must use this Python, and find the same modules
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 1
    master = address or f"local[{cores}]"
    chosen = {
        **SETTINGS,
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.session.timeZone": "UTC",
        # long queries take more iterations than Spark expects
        "spark.sql.analyzer.maxIterations": "1000",
        "spark.sql.optimizer.maxIterations": "1000",
        # otherwise the parser's cache grows without bound with long queries
        "spark.sql.parser.parserDfaCacheFlushRatio": "10",
    }
    if not verbose:
        log_settings = Path(__file__).with_name("log4j2.properties").as_uri()
        java_options += (f"-Dlog4j2.configurationFile={log_settings}",)
    if master.startswith("local"):
        java_options += local_options()
        chosen |= {
            # keep generated Java code for later queries; Spark's default limit of 100 entries is
            # exceeded by twenty different queries
            "spark.sql.codegen.cache.maxEntries": "1000",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(max(2, cores)),
            # sorted data may be large, and is fetched by partition: each has to fit in memory
            "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "64",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
            # Spark describes every plan that it runs, for a web UI that is disabled here
            "spark.sql.ui.explainMode": "simple",
            # and keeps the descriptions of a thousand plans, which may be megabytes each
            "spark.sql.ui.retainedExecutions": "10",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": memory(),
            # results of tasks are passed within the process, not through the block manager
            "spark.task.maxDirectResultSize": "64m",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
    if master.startswith("local") and folder is not None:
        chosen["spark.sql.warehouse.dir"] = (folder / "spark-warehouse").as_uri()
        # SPARK_LOCAL_DIRS still takes precedence
        chosen["spark.local.dir"] = str(folder)
    if java_options:
        chosen["spark.driver.extraJavaOptions"] = " ".join(f'"{one}"' for one in java_options)
    builder = SparkSession.builder.master(master).appName("xcql")
    for key, value in {**chosen, **settings}.items():
        builder = builder.config(key, value)
    is_first = SparkContext._active_spark_context is None
    try:
        with (
            java_process.ended_with_this_process(),
            _temporary_files_in(folder),
            nullcontext() if verbose else _noise_removed(),
        ):
            session = builder.getOrCreate()
    except BaseException:
        # a Java killed during startup would be mistaken for the user's
        if is_new and (SparkContext._gateway is None or java_process.is_gone()):
            java_process.clear_state(folder)
        raise
    if is_first and (context := SparkContext._active_spark_context) is not None:
        _Own.started = _Started(context, cores, settings, verbose, folder)
    return session


def is_local(spark: SparkSession | None) -> bool:
    """Whether a session, or the one that `local_session` would make, runs only on this machine."""
    known = spark
    if known is None and java_process.exit_code() is None:
        known = SparkSession.getActiveSession()
    if known is None or java_process.has_ended(known):
        return (os.environ.get("XCQL_SPARK") or "local").startswith("local")
    # a Spark Connect session is of another class, and its server may be anywhere
    master = known.conf.get("spark.master") if isinstance(known, SparkSession) else None
    return master is not None and master.startswith("local")


@contextmanager
def _temporary_files_in(folder: Path | None) -> Iterator[None]:
    """Make PySpark put its temporary files for startup into our folder."""
    before = tempfile.tempdir
    if folder is not None:
        tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _not_of_the_bridge(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


@contextmanager
def _noise_removed() -> Iterator[None]:
    """Remove the noise of Java's startup from standard error, and pass on everything else.

    Java inherits standard error at startup and writes to it for as long as it lives, so it gets a
    pipe, which a thread reads.
    """
    try:
        real = os.dup(2)
    except OSError:  # standard error is closed
        yield
        return
    reading, writing = os.pipe()
    started = threading.Event()

    def pass_on() -> None:
        while data := os.read(reading, 1 << 16):
            noise = _LAST_WORDS if started.is_set() else _NOISE
            os.write(real, noise.sub(b"", data))

    threading.Thread(target=pass_on, daemon=True).start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)
        started.set()
