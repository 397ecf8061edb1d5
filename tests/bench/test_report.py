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
        Row("b", "q01", "ours", 0.2, "s", "0.1", 0.1),
        Row("b", "q01", "ours", 0.3, "s", "1", 0.1),
        Row("b", "q01", "BaseX", 0.001, "s", "1", voided="its answer is not that of SaxonC-HE"),
        Row("b", "q08", "SaxonC-HE", 60, "s", "1", bound="more"),
        Row("b", "q01", "ours / by hand", 2.5, "x", "1", goal=Goal(2)),
        Row("b", "q02", "ours / by hand", 1.5, "x", "1", goal=Goal(2)),
        Row("b", "q05", "ours / by hand", 3.5, "x", "1", goal=Goal(2)),
        Row("e", "1 + 1", "ours", 200, "ms", goal=Goal(150)),
        Row("d", "now", "ours", 0.2, "s", "1"),
        Row("d", "now", "ours", 0.25, "s", "1000", remark="nobody to compare the answer with"),
    ),
)


def test_report(tmp_path: Path) -> None:
    (tmp_path / "reasons").mkdir()
    (tmp_path / "reasons" / "q01-ours-by-hand-at-1.md").write_text("It lists files.\n")
    text = write_report(RESULTS, Path("results.json"), tmp_path).read_text()
    assert "| cores | 2 |" in text
    assert "RumbleDB is left out" in text
    assert "met by 1 of 3 | q01 2.50 x, q05 3.50 x |" in text
    assert "**ours / by hand, at 1**: q01 2.50 x, q05 3.50 x; at most 2." in text
    assert "- q01: It lists files." in text
    assert "Not written yet: why, and what it would take, in `reasons/1-+-1-ours.md`" in text
    assert "| q01 | 1 | 0.300 ±10% | void |" in text
    assert "- q01, BaseX, at 1: void, its answer is not that of SaxonC-HE" in text
    assert ">60.00" in text
    plots = {path.name for path in (tmp_path / "plots").iterdir()}
    assert {"b-growth.svg", "a-q01.svg", "d-growth.svg", "b-bars-ours-by-hand-1.svg"} == plots
    for path in (tmp_path / "plots").iterdir():
        ElementTree.parse(path)
        assert f"(plots/{path.name})" in text
