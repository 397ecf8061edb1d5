"""A writer killed while Spark's workers do its work leaves a store that opens."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.store.test_kill import check_kills

# by default, small batches are processed without Spark, and in one piece
ON_SPARK = """
import xcql.store.ingest as first_pass, xcql.store.write as second_pass
from xcql_runtime.spark.start import local_session
from xcql_runtime.spark.jobs import on_workers
first_pass.WORTH_A_JOB = second_pass.WORTH_A_JOB = 0
first_pass._SMALLEST_CHUNK = first_pass._LARGEST_CHUNK = 500
run = on_workers(local_session(cores=2))
run(len, ["warm up"])
"""


@pytest.mark.slow
def test_a_kill_while_spark_works(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    check_kills(tmp_path, kills=1, seed=seed, setup=ON_SPARK, longest=4)


@pytest.mark.slow
def test_many_kills_while_spark_works(tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        seed = random.randrange(1 << 30)
        check_kills(folder, kills=6, seed=seed, setup=ON_SPARK, longest=6)
