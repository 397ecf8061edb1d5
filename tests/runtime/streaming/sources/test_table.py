"""A new source needs a module and an entry in the table, and no other change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.runtime.streaming.sources.lines_source import LinesSource
from tests.runtime.streaming.worlds import ROOT, TAGS, bid
from xcql import Session, XcqlError
from xcql.cli.main import main
from xcql.model.tags import tags_to_xml
from xcql.publish.addresses import parse_address
from xcql_runtime.streaming.sources.table import SOURCES
from xcql_runtime.streaming.sources.tcp_source import TcpSource

COUNT = 'count(stream("s")//bid)'


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of three fragments; the table has the source that reads it."""
    monkeypatch.setattr("xcql_runtime.streaming.sources.table.SOURCES", (*SOURCES, LinesSource))
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "bids.txt").write_text(f"{ROOT}\n{bid(1)}\n{bid(2)}\n")
    return folder


def test_a_source_of_ones_own(spark: SparkSession, inbox: Path, tmp_path: Path) -> None:
    session = Session(tmp_path / "store", spark)
    with session.stream(
        COUNT, f"lines:{inbox}", tags=TAGS, now="event", trigger="once", warn=lambda _: None
    ) as running:
        assert running.await_termination(60)
    assert running.answer() == ["2"]


def test_the_command_line_knows_it(
    spark: SparkSession, inbox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = tmp_path / "tags.xml"
    tags.write_text(tags_to_xml(TAGS))
    watch = ["watch", "-e", COUNT, "--tags", str(tags), "--trigger", "once", "--format", "lines"]
    assert main([*watch, "--source", f"lines:{inbox}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "replace 1 2"
    assert main([*watch, "--source", "odd://x"]) == 1
    assert "kafka://BROKER:PORT/TOPIC or lines:FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("odd://x", "'odd' is not one of tcp, dir and kafka"),
        ("tcp:localhost", "'tcp' must be followed by '://'"),
        ("tcp://localhost", "missing port"),
        ("tcp://:1", "missing host"),
        ("tcp://localhost:x", "port could not be cast to integer value as 'x'"),
        ("kafka://broker", "missing topic"),
        ("kafka:///topic", "missing broker"),
        ("dir:", "missing folder"),
    ],
)
def test_what_is_no_address(text: str, reason: str) -> None:
    with pytest.raises(XcqlError) as caught:
        parse_address(text, SOURCES)
    assert caught.value.message == f"invalid address '{text}': {reason}"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://[::1]:7", "tcp://[::1]:7"),
        ("dir:///a/b", "dir:/a/b"),
        ("a:b", "dir:a:b"),
        ("inbox", "dir:inbox"),
        ("kafka://one:1,two:2/t", "kafka://one:1,two:2/t"),
    ],
)
def test_addresses_print_as_they_are_written(text: str, address: str) -> None:
    assert str(parse_address(text, SOURCES)) == address


def test_a_source_is_its_address() -> None:
    assert parse_address("tcp://localhost:9", SOURCES) == TcpSource("localhost", 9)
