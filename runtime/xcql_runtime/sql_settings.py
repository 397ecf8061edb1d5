"""The settings of Spark under which our SQL text means what we wrote.

A session may be the user's own, with other settings. They are changed only while Spark reads a
text of ours: what it makes of the text keeps them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

SETTINGS = {
    # `${env:HOME}` in a text is text
    "spark.sql.variable.substitute": "false",
    # numbers that are too large are errors, not other numbers
    "spark.sql.ansi.enabled": "true",
}
_CHANGING = threading.Lock()


@contextmanager
def our_settings(spark: SparkSession) -> Iterator[None]:
    """Read SQL under our settings, and give the session its own back."""
    with _CHANGING:
        others = {
            name: value
            for name, ours in SETTINGS.items()
            if (value := str(spark.conf.get(name))).lower() != ours
        }
        if others:
            for name in others:
                spark.conf.set(name, SETTINGS[name])
            try:
                yield
            finally:
                for name, value in others.items():
                    spark.conf.set(name, value)
            return
    yield
