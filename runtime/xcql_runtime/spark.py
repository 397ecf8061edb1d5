"""A local Spark session for users who bring none: quiet, and small."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from xcql.temporary import process_folder
from xcql_runtime.class_archive import archive_options
from xcql_runtime.java import check_java, local_options, memory
from xcql_runtime.java_process import ended_with_this_process
from xcql_runtime.sql_settings import SETTINGS

# what Java and Spark say at their start, whatever they are told
_NOISE = re.compile(rb"WARNING: Using incubator modules.*|Using Spark's default log4j profile.*")


def local_session(
    cores: int | None = None, settings: dict[str, str] | None = None, *, verbose: bool = False
) -> SparkSession:
    """The session that is active, or a new one: local, unless `XCQL_SPARK` names another Spark.

    `XCQL_SPARK` is what Spark calls a master (`spark://host:7077`, `yarn`, `local[4]`), or the
    address of a Spark Connect server (`sc://host:15002`). A session that we make says nothing but
    what matters unless it is to be `verbose`, shows Spark's progress bar only on a terminal, and
    keeps time in UTC; a local one has few partitions, as data on one machine needs them.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    address = os.environ.get("XCQL_SPARK", "")
    # what Spark, and the bridge to Java, say about an error that they raise anyway
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_of_the_bridge)
    if address.startswith("sc://"):
        return SparkSession.builder.remote(address).getOrCreate()
    java_options = archive_options(check_java())
    # workers are to be this very Python, and to find what it finds
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 1
    master = address or f"local[{cores}]"
    folder = process_folder()
    chosen = {
        **SETTINGS,
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.session.timeZone": "UTC",
        # long queries take more rounds than Spark expects
        "spark.sql.analyzer.maxIterations": "1000",
        "spark.sql.optimizer.maxIterations": "1000",
        # what the parser remembers of long queries has no end otherwise
        "spark.sql.parser.parserDfaCacheFlushRatio": "10",
    }
    if not verbose:
        log_settings = Path(__file__).with_name("log4j2.properties").as_uri()
        java_options += (f"-Dlog4j2.configurationFile={log_settings}",)
    if master.startswith("local"):
        java_options += (*local_options(), f"-Djava.io.tmpdir={folder}")
        chosen |= {
            # Spark's temporary files go when ours do; SPARK_LOCAL_DIRS still names another place
            "spark.local.dir": str(folder),
            "spark.sql.warehouse.dir": (folder / "spark-warehouse").as_uri(),
            # what was compiled to Java for one query is there for the next; a hundred is Spark's
            # own limit, which twenty queries in turn go beyond
            "spark.sql.codegen.cache.maxEntries": "1000",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(max(2, cores)),
            # what is sorted may be large, and is handed on part by part: each has to fit in here
            "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "64",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
            # Spark describes every plan that it runs, for pages that nobody sees here
            "spark.sql.ui.explainMode": "simple",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": memory(),
            # what a task found is handed over in the process, not through the block manager
            "spark.task.maxDirectResultSize": "64m",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
    if java_options:
        chosen["spark.driver.extraJavaOptions"] = " ".join(f'"{one}"' for one in java_options)
    builder = SparkSession.builder.master(master).appName("xcql")
    for key, value in (chosen | (settings or {})).items():
        builder = builder.config(key, value)
    with ended_with_this_process(), _temporary_files_in(folder):
        if verbose:
            return builder.getOrCreate()
        with _noise_removed():
            return builder.getOrCreate()


def is_here(spark: SparkSession | None) -> bool:
    """Whether a session, or the one that `local_session` would make, runs on this machine alone."""
    known = spark or SparkSession.getActiveSession()
    if known is None:
        return (os.environ.get("XCQL_SPARK") or "local").startswith("local")
    # that of a Spark Connect server is of another class, and may be anywhere
    master = known.conf.get("spark.master") if isinstance(known, SparkSession) else None
    return master is not None and master.startswith("local")


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let PySpark put what it needs for its start into a folder of ours."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _not_of_the_bridge(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


@contextmanager
def _noise_removed() -> Iterator[None]:
    """Keep the noise of Java's start from standard error, and pass on everything else.

    Java inherits standard error when it starts, and writes to it for as long as it lives: so it
    is given a pipe, which a thread empties.
    """
    try:
        real = os.dup(2)
    except OSError:  # there is none
        yield
        return
    reading, writing = os.pipe()
    started = threading.Event()

    def pass_on() -> None:
        while data := os.read(reading, 1 << 16):
            if not started.is_set():
                data = re.sub(rb"(?:" + _NOISE.pattern + rb")\r?\n", b"", data)
            os.write(real, data)

    threading.Thread(target=pass_on, daemon=True).start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)
        started.set()
