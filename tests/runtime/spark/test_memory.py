"""Java's memory while an answer is fetched, and what happens when it runs out."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from xcql import XcqlError
from xcql_runtime.spark.failures import understood
from xcql_runtime.spark.jobs import interruptible
from xcql_runtime.spark.jobs import iterate_rows
from xcql_runtime.spark.start import local_session

spark = local_session(cores=2)
parts = spark.range(0, 50, 1, 50).selectExpr("repeat('x', 16000000) AS text")
print(sum(len(row["text"]) for row in iterate_rows(parts)), flush=True)
large = spark.range(1).selectExpr("repeat('x', 1000000000) AS text")
for _ in range(2):
    try:
        with understood():
            interruptible(spark, lambda: large.toArrow())
    except XcqlError as problem:
        print(problem.code, flush=True)
"""


@pytest.mark.slow
def test_parts_are_not_kept_and_without_memory_java_ends() -> None:
    # it used to keep fetched rows, and queries waited forever for threads that had died
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "XCQL_MEMORY": "600m"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.stdout.split() == ["800000000", "XCQL0505", "XCQL0505"], run.stderr
    assert run.stderr == ""
