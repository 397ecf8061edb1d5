"""How much of each query is SQL, and how long the SQL is, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bench.asks import Asks
from bench.own import Native, Own
from bench.rows import Row

PARTS = ("whole", "partly", "evaluator")


def noted(engine: Own, asks: Asks, name: str, natives: dict[str, Native]) -> Asks:
    """The same query, but when it is answered for the first time, it is noted how."""

    def first(patience: float) -> float:
        seconds = asks.first(patience)
        if name not in natives:
            natives[name] = engine.native()
        return seconds

    return replace(asks, first=first)


def native_rows(table: str, natives: Mapping[str, Native], way: str) -> Iterator[Row]:
    """How long the SQL of each query is; how many queries are SQL as a whole, partly or not."""
    for name, native in natives.items():
        is_whole = native.part == "whole"
        remark = "" if is_whole else f"{native.part}: {'; '.join(native.reasons)}"
        yield Row(table, name, way, native.sql, "bytes of SQL", remark=remark)
    for part in PARTS:
        number = sum(native.part == part for native in natives.values())
        yield Row(table, part, way, number, "queries")
