"""Which engine answers a query, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import xcql
from xcql.diagnostics import XcqlError
from xcql_runtime import engines

NOW = "2003-12-01"
QUERY = 'stream("credit")//account/customer'


def test_one_machine_is_enough(store: Path) -> None:
    with xcql.Session(store) as session:
        answer = session.query(QUERY, now=NOW)
        assert answer.engine == "embedded"
        assert "because the query reads 1 MB or less" in answer.explain()


def test_too_much_for_one_machine(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_TIMES_MEMORY", 0)
    with xcql.Session(store) as session:
        for text in (QUERY, 'stream("credit")'):
            answer = session.query(text, now=NOW)
            assert answer.engine == "spark"
            assert "too much for one machine" in answer.explain()
        # a query that reads nothing suits any machine
        assert session.query("1 + 1").engine == "embedded"


def test_only_the_columns_count(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    found = engines.bytes_to_read

    def noted(question: engines.Question, enough: int) -> int:
        sizes.append((found(question, 1 << 40), found(question, 0)))
        return 0

    monkeypatch.setattr(engines, "bytes_to_read", noted)
    with xcql.Session(store) as session:
        session.query(QUERY, now=NOW)
    ((files, columns),) = sizes
    assert 0 < columns < files


def test_nodes_count_instead_of_rows(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    found = engines.bytes_to_read

    def noted(question: engines.Question, enough: int) -> int:
        assert question.compiled is not None
        (use,) = question.compiled.tables
        tables = question.store.state.stream(use.stream).tables
        files = [file.nodes for tsid in use.tags for file in tables[tsid].files if file.nodes]
        nodes = replace(use, columns=(("path",), ("start",)), nodes=True)
        question = replace(question, compiled=replace(question.compiled, tables=(nodes,)))
        sizes.append(
            (sum(one.bytes for one in files), found(question, 1 << 40), found(question, 0))
        )
        return 0

    monkeypatch.setattr(engines, "bytes_to_read", noted)
    with xcql.Session(store) as session:
        session.query(QUERY, now=NOW)
    ((files, whole, columns),) = sizes
    assert 0 < columns < whole == files


@pytest.mark.parametrize("name", ["embedded", "spark"])
def test_an_engine_by_name(store: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert xcql.Session(store, engine=name).query(QUERY).engine == name
    monkeypatch.setenv("XCQL_ENGINE", name)
    answer = xcql.Session(store).query(QUERY)
    assert answer.engine == name
    assert f"engine: {name} (because it was requested)" in answer.explain()


def test_a_cluster(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCQL_SPARK", "spark://host:7077")
    answer = xcql.Session(store).query(QUERY)
    assert "engine: spark (because XCQL_SPARK is spark://host:7077)" in answer.explain()


def test_a_spark_session(session: xcql.Session) -> None:
    assert session.query(QUERY, now=NOW).engine == "spark"


def test_both_in_one_session(session: xcql.Session, store: Path) -> None:
    """The embedded engine answers, and DataFrames are Spark's."""
    with xcql.Session(store, session.spark, engine="embedded") as both:
        answer = both.query(QUERY, now=NOW)
        assert answer.engine == "embedded"
        assert [row["item"] for row in answer.df.collect()] == answer.to_xml()
        assert answer.table().count() == answer.count() == 4


def test_unknown_names(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(XcqlError, match="unknown engine 'duck'"):
        xcql.Session(store, engine="duck")  # type: ignore[arg-type]
    monkeypatch.setenv("XCQL_MEMORY", "much")
    with pytest.raises(XcqlError, match="'much' is not a valid size of memory"):
        xcql.Session(store)
