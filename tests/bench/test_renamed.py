"""Results from before there were two engines can be compared with new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.compare import slower
from bench.machine import ROOT
from bench.renamed import renamed
from bench.rows import Results, Row, read_results, write_results


@pytest.mark.parametrize(
    ("table", "name", "way", "today"),
    [
        ("a", "q01", "Spark, qac+", "ours, Spark, asked again, qac+"),
        ("a", "q01", "ours, embedded, qac+", "ours, embedded, asked again, qac+"),
        ("a", "q01", "SaxonC, qac+", "SaxonC, qac+"),
        ("b", "q01", "ours", "ours, Spark, asked again"),
        ("b", "q01", "ours, first asking", "ours, Spark, first asked"),
        ("b", "q01", "ours, embedded, first asking", "ours, embedded, first asked"),
        ("b", "q01", "BaseX", "BaseX, asked again"),
        ("b", "q01", "ours / BaseX", "ours, Spark / BaseX, asked again"),
        ("b", "load", "BaseX", "BaseX"),
        ("b", "load", "ours / BaseX", "ours, Spark / BaseX"),
        (
            "b",
            "q01",
            "ours, generated document",
            "ours, Spark, asked again, generated document",
        ),
        ("b", "q01, cold", "ours, not prepared", "ours, Spark, not prepared"),
        ("b", "q01", "ours, growth of time / of data", "ours, Spark, growth of time / of data"),
        ("b", "q01", "by hand", "by hand"),
        ("c", "ingest", "ours", "ours"),
        ("c", "temporalize, peak memory", "ours", "ours, Spark"),
        ("d", "now", "ours", "ours, Spark, asked again"),
        ("d", "now", "ours / at 1", "ours, Spark, asked again / at 1"),
        ("e", "1 + 1", "ours", "ours, Spark, asked again"),
        ("e", "q01", "check and compile to SQL", "check and compile to Spark's SQL"),
        ("e", "q01", "text to plan", "Spark: text to plan"),
        ("e", "q01", "parse", "parse"),
        ("e", "xcqlc --help", "ours", "ours"),
    ],
)
def test_renamed(table: str, name: str, way: str, today: str) -> None:
    row = renamed(Row(table, name, way, 1.0, "s"))
    assert row.way == today
    assert renamed(row) == row


def test_an_older_run_is_compared_with_the_rows_of_spark(tmp_path: Path) -> None:
    write_results(Results({}, rows=(Row("b", "q01", "ours", 1.0, "s", "1"),)), tmp_path / "old")
    old = read_results(tmp_path / "old")
    ways = ("ours, embedded, asked again", "ours, Spark, asked again")
    new = Results({}, rows=tuple(Row("b", "q01", way, 2.0, "s", "1") for way in ways))
    ((before, after),) = slower(old, new)
    assert (before.value, after.way) == (1.0, "ours, Spark, asked again")


def test_the_names_of_the_committed_results_are_todays() -> None:
    for path in (ROOT / "bench" / "results").glob("2026-11-17-*.json"):
        ways = {row.way for row in read_results(path).of("b")}
        assert "ours, Spark, asked again" in ways
        assert "ours" not in ways
