"""How much of queries is SQL: noted when they are answered for the first time, and as rows."""

from __future__ import annotations

from bench.asks import Asks
from bench.native import native_rows, noted
from bench.own import Native


class _Engine:
    """Has the part of `Own` that is needed; counts how often it is asked."""

    asked = 0

    def native(self) -> Native:
        self.asked += 1
        return Native("partly", ("a reason",), 100)


def test_it_is_noted_once() -> None:
    engine, natives = _Engine(), dict[str, Native]()
    asks = noted(engine, Asks(lambda _: 2.0, lambda _: 1.0), "q01", natives)  # type: ignore[arg-type]
    assert [asks.first(9), asks.first(9), asks.again(9)] == [2, 2, 1]
    assert (engine.asked, natives) == (1, {"q01": Native("partly", ("a reason",), 100)})


def test_rows() -> None:
    natives = {
        "q01": Native("whole", (), 50),
        "q02": Native("partly", ("one", "another"), 100),
        "q03": Native("evaluator", ("too long",), 0),
        "q04": Native("whole", (), 60),
    }
    rows = {row.name: row for row in native_rows("g", natives, "ours, embedded, coarse")}
    assert (rows["q01"].value, rows["q01"].remark) == (50, "")
    assert rows["q02"].remark == "partly: one; another"
    assert rows["q03"].remark == "evaluator: too long"
    numbers = [(rows[part].value, rows[part].unit) for part in ("whole", "partly", "evaluator")]
    assert numbers == [(2, "queries"), (1, "queries"), (1, "queries")]
