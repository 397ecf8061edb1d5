"""Ingest on Spark's workers, and what a session reports about a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.store.histories import TAGS
from tests.store.test_ingest import ROOT, check_parallel, take
from xcql import Session, XcqlError


def test_quarantine_is_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(tmp_path / "store", spark)
    take(tmp_path, ROOT)
    assert session.quarantine("s").collect() == []
    take(tmp_path, "<filler/>", name="g.xml")
    row = session.quarantine("s").collect()[0].asDict()
    assert row["file"].endswith("g.xml")
    assert row["offset"] == (tmp_path / "g.xml").read_text().index("<filler/>")
    assert row["reason"].startswith("tag: ")
    assert row["raw"] == b"<filler/>"
    assert str(session.info()).startswith(
        "commit 2, 1 stream\nstream 's': 2 batches, 1 quarantined"
    )
    assert session.streams() == ["s"]
    assert session.tags("s") == TAGS
    with pytest.raises(XcqlError, match="XCQL0311"):
        session.quarantine("other")


def test_workers_of_spark_read_in_parallel(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcql_runtime.spark.start.is_local", lambda _: False)
    session = Session(tmp_path / "store", spark)
    check_parallel(tmp_path, monkeypatch, lambda file: session.ingest(file, stream="s", tags=TAGS))
