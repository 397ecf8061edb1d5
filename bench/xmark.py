"""The XMark queries in a warm session, against hand-written DataFrame code and SaxonC.

`python -m bench xmark` measures factor 1; `XCQL_BENCH_FACTOR=0.1` another one. Answers are compared
before times are believed: a row whose answers differ says so instead.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench import Row, by_hand
from bench.translate import TEMPORAL, XMARK
from xcql import Session
from xcql.cli.documents import open_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import tag_structure
from xcql.model.infer_schema import infer_from_dtd
from xcql_runtime.spark import local_session

FACTOR = os.environ.get("XCQL_BENCH_FACTOR", "1")
ONLY = os.environ.get("XCQL_BENCH_QUERIES", "").split()
RUNS = 3
NOW = "2004-01-01T00:00:00"
# longer than this nobody waits for a query
PATIENCE = 60.0


def run() -> list[Row]:
    if not XMARK.is_dir():
        print("xmark: left out, for ../shared/xmark is not there")
        return []
    spark = local_session()
    with tempfile.TemporaryDirectory() as name:
        return _measured(spark, Path(name))


def _measured(spark: SparkSession, folder: Path) -> list[Row]:
    tags = tag_structure(infer_from_dtd(XMARK / "auction.dtd", "site"), TEMPORAL)
    (document,) = XMARK.glob(f"auction-{FACTOR}.xml*")
    fragments = folder / "fragments.xml"
    with open_document(str(document)) as source, fragments.open("wb") as output:
        fragment(source, tags, "2003-01-01", output)
    session = Session(folder / "store", spark)
    session.ingest(fragments, stream="auction", tags=tags)
    tables = by_hand.tables(spark, str(folder / "store"), "auction", tags)
    rows: list[Row] = []
    ratios: list[float] = []
    for path in sorted((XMARK / "queries").glob("*.xcql")):
        if ONLY and path.stem not in ONLY:
            continue
        text = path.read_text()
        planned, _ = best(lambda text=text: session.query(text, now=NOW).df)
        ours, answer = best(lambda text=text: session.query(text, now=NOW).to_xml())
        rows.append(Row(f"{path.stem}, text to Spark plan", planned * 1000, "ms"))
        rows.append(Row(f"{path.stem}, warm", ours, "s"))
        if path.stem in by_hand.QUERIES:
            theirs, items = best(lambda stem=path.stem: _by_hand(stem, tables))
            if items != [_normal(one) for one in answer]:
                rows.append(Row(f"{path.stem}: ANSWERS DIFFER from those by hand", math.nan, ""))
                continue
            ratios.append(ours / theirs)
            rows.append(Row(f"{path.stem}, by hand", theirs, "s"))
            rows.append(Row(f"{path.stem}, ours / by hand", ours / theirs, "x", "at most 2"))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(Row("geometric mean of ours / by hand", mean, "x", "at most 1.2"))
    tiny, _ = best(lambda: session.query("1 + 1", now=NOW).to_xml())
    rows.append(Row("the smallest query", tiny * 1000, "ms", "under 150"))
    return rows


def _by_hand(stem: str, tables: by_hand.Tables) -> list[str]:
    return [row["item"] for row in by_hand.QUERIES[stem](tables).collect()]


def _normal(item: str) -> str:
    """White space between elements that the query writes is not what is compared."""
    return "".join(line.strip() for line in item.splitlines())


def best(action: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several times after a first run, and the result."""
    begin = time.perf_counter()
    result = action()
    if time.perf_counter() - begin > PATIENCE:
        return time.perf_counter() - begin, result
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - begin)
    return min(times), result
