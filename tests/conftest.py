"""Fixtures that many tests share: sessions on both engines.

There is one Spark session per process, in an unusual time zone. Tests of answers run on both
engines: on DuckDB at each commit, and on Spark in the full test, because Spark takes longer.
`tests/compile/test_on_spark.py` is the part that runs on Spark at each commit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from tests.hostile.texts import CANARY, SECRET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenSession = Callable[[Path], xcql.Session]

ROOT = Path(__file__).parent.parent
XMARK = ROOT.parent / "shared" / "xmark"

# Spark's Python workers don't see pytest's own search path
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
os.environ["PYSPARK_PYTHON"] = sys.executable
# a secret that Java sees, too, because it is in the environment before Java starts
os.environ[CANARY] = SECRET


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small session in a time zone that no answer may depend on.

    It is local, unless `XCQL_TEST_SPARK` is `local-cluster` or `connect`.
    """
    from pyspark.sql import SparkSession

    from xcql_runtime.spark.start import local_session

    settings = {
        "spark.sql.session.timeZone": "Asia/Kolkata",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        # tests run many queries over small data: compiling them to Java, optimising that code, and
        # replanning after each stage would take most of the time
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        # plans of random queries are long
        "spark.driver.memory": "3g",
    }
    # without the second compiler, Java reserves too little for the code of so many queries, and
    # when that is full, it compiles nothing any more
    os.environ.setdefault(
        "SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    )
    match os.environ.get("XCQL_TEST_SPARK"):
        case "connect":
            for one in ("spark.default.parallelism", "spark.driver.memory"):
                del settings[one]  # not a session setting
            builder = SparkSession.builder.remote("local[2]")
            session = builder.config(map=settings).getOrCreate()
        case "local-cluster":
            settings["spark.master"] = "local-cluster[2,1,1024]"
            session = local_session(cores=2, settings=settings)
        case _:
            session = local_session(cores=2, settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="session", params=["embedded", pytest.param("spark", marks=pytest.mark.slow)])
def new_session(request: pytest.FixtureRequest) -> OpenSession:
    """Opens a store with one of the engines; whoever calls it closes the session."""
    if request.param == "embedded":
        return lambda store: xcql.Session(store, engine="embedded")
    spark = request.getfixturevalue("spark")
    return lambda store: xcql.Session(store, spark, engine="spark")


@pytest.fixture
def open_session(new_session: OpenSession) -> Iterator[OpenSession]:
    """Opens a store with one of the engines; the sessions are closed after the test."""
    with ExitStack() as sessions:
        yield lambda store: sessions.enter_context(new_session(store))
