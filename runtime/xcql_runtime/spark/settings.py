"""The Spark settings under which our SQL text means what we intend.

The session may be the user's own, with other settings. They are changed only while Spark analyses
our text: the resulting plan keeps them. Spark Connect analyses the text again whenever the
DataFrame is used, so there they stay changed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

SETTINGS = {
    # `${env:HOME}` in a query is plain text
    "spark.sql.variable.substitute": "false",
    # the value of the literal r'\d' does not include its quotes
    "spark.sql.parser.escapedStringLiterals": "false",
    # numbers that are too large are errors; they do not wrap around
    "spark.sql.ansi.enabled": "true",
}
_CHANGING = threading.Lock()


@contextmanager
def our_settings(spark: SparkSession) -> Iterator[None]:
    """Apply our settings while SQL is analysed, then restore the session's own."""
    with _CHANGING:
        ours = {
            name: value
            for name, value in SETTINGS.items()
            if str(spark.conf.get(name)).lower() != value
        }
        if ours and not is_remote():
            with changed(spark, ours):
                yield
            return
        for name, value in ours.items():
            spark.conf.set(name, value)
    yield


@contextmanager
def changed(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for the duration of the block."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
