"""The settings of Spark under which our SQL text means what we wrote.

A session may be the user's own, with other settings. They are changed only while Spark reads a
text of ours: what it makes of the text keeps them. Spark Connect reads the text again whenever the
DataFrame is used, so there they stay changed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

SETTINGS = {
    # `${env:HOME}` in a text is text
    "spark.sql.variable.substitute": "false",
    # the literal r'\d' has no quotes in its value
    "spark.sql.parser.escapedStringLiterals": "false",
    # numbers that are too large are errors, not other numbers
    "spark.sql.ansi.enabled": "true",
}
_CHANGING = threading.Lock()


@contextmanager
def our_settings(spark: SparkSession) -> Iterator[None]:
    """Read SQL under our settings, and give the session its own back."""
    with _CHANGING:
        others = _others(spark)
        for name in others:
            spark.conf.set(name, SETTINGS[name])
        if others and not is_remote():
            try:
                yield
            finally:
                for name, value in others.items():
                    spark.conf.set(name, value)
            return
    yield


def _others(spark: SparkSession) -> dict[str, str]:
    """The settings of a session that are not as ours."""
    found = {name: str(spark.conf.get(name)) for name in SETTINGS}
    return {name: value for name, value in found.items() if value.lower() != SETTINGS[name]}
