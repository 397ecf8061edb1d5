"""A local Spark session for users who bring none: quiet, and small."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

# what Java and Spark say at their start, whatever they are told
_NOISE = re.compile(rb"WARNING: Using incubator modules.*|Using Spark's default log4j profile.*")


def local_session(cores: int | None = None, settings: dict[str, str] | None = None) -> SparkSession:
    """The session that is active, or a new local one.

    One that we make says nothing but what matters, shows Spark's progress bar only on a
    terminal, has few partitions, as data on one machine needs them, and keeps time in UTC.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # workers are to be this very Python, and to find what it finds
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 1
    log_settings = Path(__file__).with_name("log4j2.properties").as_uri()
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.shuffle.partitions": str(max(2, cores)),
        "spark.sql.session.timeZone": "UTC",
        # what the parser remembers of long queries has no end otherwise
        "spark.sql.parser.parserDfaCacheFlushRatio": "10",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log_settings}",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **(settings or {}),
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("xcql")
    for key, value in chosen.items():
        builder = builder.config(key, value)
    # the same goes for what it has to say about an error that it raises anyway
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    with _noise_removed():
        return builder.getOrCreate()


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
