"""Figures: verdicts, what counts as slower, and the round trip through JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.compare import slower
from bench.rows import Goal, Results, Row, read_results, significant, write_results


@pytest.mark.parametrize(
    ("value", "bound", "goal", "verdict"),
    [
        (1.2, "", Goal(1.2), "met"),
        (1.3, "", Goal(1.2), "missed"),
        (31, "", Goal(30, least=True), "met"),
        (29, "", Goal(30, least=True), "missed"),
        # less than 0.9 is at most 1; more than 0.9 may be anything
        (0.9, "less", Goal(1), "met"),
        (0.9, "more", Goal(1), "open"),
        (60, "more", Goal(1), "missed"),
        (60, "less", Goal(1), "open"),
        (40, "more", Goal(30, least=True), "met"),
        (None, "", Goal(1), "open"),
        (1, "", None, ""),
    ],
)
def test_verdict(value: float | None, bound: str, goal: Goal | None, verdict: str) -> None:
    row = Row("b", "q01", "ours", value, "x", goal=goal, bound=bound)  # type: ignore[arg-type]
    assert row.verdict == verdict


def test_a_void_figure_meets_nothing() -> None:
    row = Row("b", "q01", "ours", 0.1, "s", goal=Goal(1), voided="its answer is wrong")
    assert (row.verdict, row.shown) == ("open", "void")


def test_values_are_shown_with_the_digits_that_count() -> None:
    assert [significant(value) for value in (0, 0.00123, 0.0456, 4.567, 1234.5)] == [
        "0",
        "0.00123",
        "0.046",
        "4.57",
        "1,234",
    ]
    assert Row("b", "q08", "SaxonC-HE", 60, "s", bound="more").shown == ">60.00"


def _run(*rows: Row) -> Results:
    return Results({"cores": "2"}, {}, (), rows)


def test_slower_is_more_than_the_spread_of_both() -> None:
    def time(value: float, spread: float, way: str = "ours") -> Results:
        return _run(Row("b", "q01", way, value, "s", "1", spread))

    assert not slower(time(1.0, 0.1), time(1.2, 0.1))
    assert slower(time(1.0, 0.1), time(1.21, 0.1))
    assert not slower(time(1.0, 0.0, "BaseX"), time(9.0, 0.0, "BaseX"))
    assert slower(
        _run(Row("c", "ingest", "ours", 10, "MB/s")), _run(Row("c", "ingest", "ours", 9, "MB/s"))
    )
    wrong = _run(Row("b", "q01", "ours", 0.1, "s", "1", voided="its answer is wrong"))
    assert slower(time(1.0, 0.1), wrong)


def test_results_come_back_from_json(tmp_path: Path) -> None:
    results = _run(
        Row("a", "q01", "ours", 1.5, "s", "0.1", 0.2, Goal(2)),
        Row("b", "q02", "BaseX, first asked", None, "s"),
    ).without("RumbleDB is left out")
    write_results(results, tmp_path / "new" / "results.json")
    assert read_results(tmp_path / "new" / "results.json") == results
