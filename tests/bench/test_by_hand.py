"""The handwritten queries mean the same as the queries they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import xcql
from bench.answers import digest
from bench.by_hand import QUERIES, tables
from bench.data import NOW, Data, xmark_queries
from xcql.history.stream import stream_view
from xcql.model.time import parse_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_same_answers(tmp_path: Path, spark: SparkSession) -> None:
    auction = Data(tmp_path).auction("0.005")
    session = xcql.Session(tmp_path / "store", spark)
    session.ingest(auction.fragments, stream="auction", tags=auction.tags)
    known = tables(spark, str(session.store), "auction", auction.tags)
    view = stream_view(auction.fragments, auction.tags_file, parse_time(NOW)).document
    for name, query in QUERIES.items():
        items = [row["item"] for row in query(known).collect()]
        expected = xcql.evaluate(xmark_queries()[name], streams={"auction": view}, now=NOW)
        assert digest("\n".join(items)) == digest("\n".join(item.xml for item in expected)), name
