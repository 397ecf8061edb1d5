"""The report says what was found, missed and left out; its plots are valid XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from bench.report import write_report
from bench.rows import Goal, Results, Row

RESULTS = Results(
    {"cores": "2", "commit": "abc"},
    {},
    ("RumbleDB is left out: 'make bench-peers' installs it",),
    (
        Row("a", "q01", "the paper, caq", 1.8, "s", "0.05"),
        Row("a", "q01", "the paper, caq", 3.6, "s", "0.1"),
        Row("a", "q01", "ours, embedded, first asked, caq", 0.5, "s", "0.1"),
        Row("b", "load", "ours, embedded", 1.1, "s", "1"),
        Row("b", "q01", "ours, embedded, first asked", 0.4, "s", "1"),
        Row("b", "q01", "ours, embedded, asked again", 0.1, "s", "0.1", 0.1),
        Row("b", "q01", "ours, embedded, asked again", 0.2, "s", "1", 0.1),
        Row("b", "q01", "ours, Spark, asked again", 0.2, "s", "0.1", 0.1),
        Row("b", "q01", "ours, Spark, asked again", 0.3, "s", "1", 0.1),
        Row("b", "q01", "BaseX", 0.001, "s", "1", voided="its answer is not that of SaxonC-HE"),
        Row("b", "q08", "SaxonC-HE", 60, "s", "1", bound="more"),
        Row("b", "q01", "ours, embedded / by hand, first asked", 1.2, "x", "1", goal=Goal(2)),
        Row("b", "q01", "ours, Spark / by hand, first asked", 2.5, "x", "1", goal=Goal(2)),
        Row("b", "q02", "ours, Spark / by hand, first asked", 1.5, "x", "1", goal=Goal(2)),
        Row("b", "q05", "ours, Spark / by hand, first asked", 3.5, "x", "1", goal=Goal(2)),
        Row("b", "q01", "ours, Spark, growth of time / of data", 0.2, "x", "0.1 to 1"),
        *(
            Row("b", f"{name}, cold from a store", "ours, embedded", 0.7, "s", "1", goal=Goal(0.8))
            for name in ("q01", "q05", "q08", "q20")
        ),
        Row("e", "1 + 1", "ours, Spark", 200, "ms", goal=Goal(150)),
        Row("d", "now", "ours, Spark, asked again", 0.2, "s", "1"),
        Row(
            "d",
            "now",
            "ours, Spark, asked again",
            0.25,
            "s",
            "1000",
            remark="nobody to compare with",
        ),
    ),
)


def test_report(tmp_path: Path) -> None:
    (tmp_path / "reasons").mkdir()
    (tmp_path / "reasons" / "q01-ours-spark-by-hand-first-asked-at-1.md").write_text(
        "It lists files.\n"
    )
    text = write_report(RESULTS, Path("results.json"), tmp_path).read_text()
    assert "| cores | 2 |" in text
    assert "RumbleDB is left out" in text
    assert "met by 1 of 3 | q01 2.50 x, q05 3.50 x |" in text
    assert (
        "**ours, Spark / by hand, first asked, at 1**: q01 2.50 x, q05 3.50 x; at most 2." in text
    )
    assert "- q01: It lists files." in text
    assert "Not written yet: why, and what it would take, in `reasons/1-+-1-ours-spark.md`" in text
    assert "| 4 figures, cold from a store | ours, embedded | 1 | at most 0.8 |" in text
    assert "| q01 | 1 | 0.400 | 0.200 ±10% | 0.300 ±10% | void |" in text
    assert "- q01, BaseX, at 1: void, its answer is not that of SaxonC-HE" in text
    assert ">60.00" in text
    plots = {path.name for path in (tmp_path / "plots").iterdir()}
    growth = {"b-growth-embedded.svg", "b-growth-spark.svg", "d-growth-spark.svg"}
    assert plots == growth | {"a-q01.svg", "b-bars-ours-by-hand-first-asked-1.svg"}
    for path in (tmp_path / "plots").iterdir():
        ElementTree.parse(path)
        assert f"(plots/{path.name})" in text


def test_engines_are_side_by_side(tmp_path: Path) -> None:
    text = write_report(RESULTS, Path("results.json"), tmp_path).read_text()
    ways = ("ours, embedded / by hand, first asked", "ours, Spark / by hand, first asked")
    assert f"| [x] | at | {ways[0]} | {ways[1]} |" in text
    picture = (tmp_path / "plots" / "b-bars-ours-by-hand-first-asked-1.svg").read_text()
    assert picture.index("q01 embedded") < picture.index("q01 Spark") < picture.index("q02 Spark")


def test_strategies_are_lines(tmp_path: Path) -> None:
    text = write_report(RESULTS, Path("results.json"), tmp_path).read_text()
    assert "| [s] | at | the paper | ours, embedded, first asked |" in text
    assert "| q01, caq | 0.1 | 3.60 | 0.500 |" in text


def test_parts_of_a_table(tmp_path: Path) -> None:
    text = write_report(RESULTS, Path("results.json"), tmp_path).read_text()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    begin = headings.index("## (b) The XMark queries")
    assert headings[begin + 1 : begin + 5] == [
        "### Loading",
        "### First asked, and asked again",
        "### Growth",
        "### Cold, from a store",
    ]
    assert "### The smallest query" in headings
