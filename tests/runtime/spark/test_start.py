"""Which Spark is used, a local one or that of `XCQL_SPARK`; and the check of Java before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xcql import XcqlError
from xcql_runtime.spark import start as spark
from xcql_runtime.spark.java import check_java, java_version, local_options


class Builder:
    """Records its arguments, and starts nothing."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def master(self, address: str) -> Builder:
        self.told["master"] = address
        return self

    def remote(self, address: str) -> Builder:
        self.told["remote"] = address
        return self

    def appName(self, name: str) -> Builder:
        return self

    def config(self, key: str, value: str) -> Builder:
        self.told[key] = value
        return self

    def getOrCreate(self) -> Any:
        return self.told


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        builder = Builder()

        @staticmethod
        def getActiveSession() -> None:
            return None

    monkeypatch.setattr(spark, "SparkSession", Session)
    monkeypatch.setattr(spark, "check_java", lambda: "")
    monkeypatch.setattr(spark, "has_own_folder", lambda: False)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("address", "told", "is_local"),
    [
        ("", {"master": "local[3]"}, True),
        ("local[1]", {"master": "local[1]"}, True),
        ("spark://host:7077", {"master": "spark://host:7077"}, False),
        ("sc://host:15002", {"remote": "sc://host:15002"}, False),
    ],
)
def test_where_spark_is(
    address: str, told: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XCQL_SPARK", address)
    chosen: Any = spark.local_session(cores=3)
    assert told.items() <= chosen.items()
    assert ("spark.driver.host" in chosen) is is_local
    assert spark.is_local(None) is is_local


@pytest.mark.usefixtures("no_spark")
def test_only_a_verbose_session_logs() -> None:
    quiet: Any = spark.local_session(cores=1)
    assert "log4j2.properties" in quiet.pop("spark.driver.extraJavaOptions")
    loud: Any = spark.local_session(cores=1, verbose=True)
    assert "log4j2.properties" not in loud["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS"])
def test_java_collects_garbage_as_the_user_says(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert "-XX:+UseParallelGC" in local_options()
    monkeypatch.setenv(variable, "-Xss4m -XX:+UseG1GC")
    assert "-XX:+UseParallelGC" not in local_options()
    monkeypatch.delenv(variable)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "-XX:+UseParallelGC" in local_options()
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -XX:+UseZGC\n")
    assert "-XX:+UseParallelGC" not in local_options()


@pytest.mark.usefixtures("no_spark")
def test_java_has_the_memory_that_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = spark.local_session(cores=1)
    assert given["spark.driver.memory"] == "2g"
    monkeypatch.setenv("XCQL_MEMORY", "3500m")
    given = spark.local_session(cores=1)
    assert given["spark.driver.memory"] == "3500m"
    for no_size in "4 GB", "300m", "0g", "lots":
        monkeypatch.setenv("XCQL_MEMORY", no_size)
        with pytest.raises(XcqlError, match="XCQL0506"):
            spark.local_session(cores=1)


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_412"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("something else", None),
    ],
)
def test_versions_of_java(
    told: str, version: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    java.chmod(0o755)
    assert java_version(told) == version
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if version is not None and version < 17:
        with pytest.raises(XcqlError, match="XCQL0511"):
            check_java()
    else:
        assert check_java().strip() == told  # an unknown version is left to Spark
