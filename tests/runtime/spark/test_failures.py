"""Errors arrive from workers as they were raised there, with their positions."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
from xcql.diagnostics import error
from xcql.source import Source, Span
from xcql_runtime.evaluator.carried_errors import carried
from xcql_runtime.spark.failures import translated

QUERY = Source("1,\n  xs:int('a')", "q.xcql")


def test_an_error_travels_whole() -> None:
    problem = error("FORG0001", "no <int>", Span(QUERY, 5, 16), notes=["n"], hints=["h"])
    arrived = translated(carried(problem, QUERY), QUERY)
    assert arrived.diagnostic == problem.diagnostic


def test_an_error_in_another_text_keeps_its_line() -> None:
    document = Source("<a>\n" + "x" * 5000 + "<b></c>\n</a>", "a.xml")
    problem = error("FODC0006", "not well-formed", Span(document, 5010, 5011))
    arrived = translated(carried(problem, QUERY), QUERY)
    assert (arrived.line, arrived.column) == (problem.line, problem.column)
    assert "--> a.xml:2:5007" in str(arrived)


def test_an_error_elsewhere_is_at_its_place_if_that_is_known() -> None:
    place = Span(QUERY, 5, 16)
    problem = error("XPDY0002", "no context", Span(Source("."), 0, 1))
    assert translated(carried(problem, QUERY, place), QUERY).diagnostic.span == place


def test_long_messages_are_cut() -> None:
    arrived = translated(carried(error("FOER0000", "x" * 100_000), QUERY), QUERY)
    assert len(arrived.message) == 2000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03\n\nJVM stacktrace:\na",
            "Path does not exist: file:/x.",
        ),
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x.py", line 1, in f\nMemoryError: too much\n',
            "MemoryError: too much",
        ),
        ("", "no reason given"),
    ],
)
def test_failures_of_spark_are_told_in_one_line(text: str, message: str) -> None:
    problem = translated(RuntimeError(text), QUERY)
    assert problem.message == f"Spark could not run the query: {message}"
    assert problem.diagnostic.hints


def test_files_that_are_gone(session: xcql.Session, tmp_path: Path) -> None:
    (tmp_path / "tags.xml").write_text(
        '<structure><tag type="snapshot" id="1" name="r"/></structure>'
    )
    (tmp_path / "f.xml").write_text('<f><filler id="0" tsid="1"><r/></filler></f>')
    own = xcql.Session(tmp_path / "store", session.spark)
    own.ingest(tmp_path / "f.xml", stream="s", tags=tmp_path / "tags.xml")
    for file in (tmp_path / "store" / "data").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(xcql.XcqlError, match="the file is missing") as caught:
        own.query('stream("s")', "caq").count()
    assert caught.value.code == "XCQL0319"
    assert caught.value.__cause__ is None


def test_a_user_of_the_data_frame_sees_the_message(session: xcql.Session) -> None:
    frame = session.query("1,\nerror(xs:QName('local:mine'), 'no good')", "caq").df
    with pytest.raises(Exception, match=r"<query>:2:1: error\[.*mine\]: no good"):
        frame.collect()


def test_a_bad_document_is_shown(session: xcql.Session, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<a>\n  <b></c>\n</a>")
    with pytest.raises(xcql.XcqlError) as caught:
        session.query(f'doc("{tmp_path}/bad.xml")', "caq").count()
    assert caught.value.code == "FODC0006"
    assert "\n2 |   <b></c>\n" in str(caught.value)
