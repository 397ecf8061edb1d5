"""Continuous queries on Spark: all kinds of sources, several at once, and failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.runtime.streaming.worlds import (
    QUERY,
    ROOT,
    TAGS,
    Server,
    batch_answer,
    bid,
    drop,
    until,
)
from xcql import Session, XcqlError
from xcql.continuous import Update, applied
from xcql_runtime.streaming.sinks import FrameCallback, read_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = 'count(stream("s")//bid)'


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Session:
    return Session(tmp_path / "store", spark)


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def _quiet(**settings: Any) -> dict[str, Any]:
    return {"tags": TAGS, "now": "event", "warn": lambda _: None, **settings}


def test_a_folder_then_again_from_its_checkpoint(session: Session, tmp_path: Path) -> None:
    inbox, log = tmp_path / "inbox", tmp_path / "log"
    fragments = [ROOT, *map(bid, range(20))]
    drop(inbox, "a.xml", fragments[:11])
    heard: list[Update] = []
    settings = _quiet(checkpoint=tmp_path / "ck", sink=[heard.extend, f"parquet:{log}"])
    with session.stream(QUERY, f"dir:{inbox}", **settings) as running:
        until(lambda: len(running.answer()) == 0 and len(running.progress) == 2)
        drop(inbox, "b.xml", fragments[11:])
        until(lambda: len(running.answer()) == 10)
        assert [one.batch for one in running.progress] == [0, 1, 2]
        assert running.progress[-1].fragments == 10
        assert applied(running.updates()) == running.answer()
    assert running.answer() == batch_answer(QUERY, fragments)
    assert not running.is_active

    late = bid(70, 15)
    drop(inbox, "c.xml", [late])
    with session.stream(QUERY, inbox, **{**settings, "trigger": "once"}) as running:
        assert running.await_termination(60)
    expected = batch_answer(QUERY, [*fragments, late])
    assert running.answer() == expected
    assert applied(heard) == expected
    assert read_log(log) == heard


def test_a_file_with_the_same_content_is_passed_over(session: Session, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    drop(inbox, "a.xml", [ROOT, bid(1)])
    drop(inbox, "b.xml", ['<remove id="1"/>'])
    drop(inbox, "c.xml", [ROOT, bid(1)])
    with session.stream(COUNT, inbox, trigger="once", **_quiet()) as running:
        assert running.await_termination(60)
    assert running.answer() == ["0"]


def test_history_of_a_store(session: Session, tmp_path: Path) -> None:
    history, inbox = tmp_path / "history.xml", tmp_path / "inbox"
    history.write_text(f"<fs>{ROOT}{bid(1)}{bid(2)}<remove id='1'/>{bid(3)}</fs>")
    session.ingest(history, stream="s", tags=TAGS)
    drop(inbox, "same.xml", [ROOT])
    (inbox / "history again.xml").write_bytes(history.read_bytes())
    drop(inbox, "new.xml", [bid(4), bid(3)])
    settings = _quiet(tags=None, max_fragments=2, trigger="once")
    with session.stream(COUNT, inbox, **settings) as running:
        assert running.await_termination(60)
    assert running.answer() == ["2"]
    assert [one.fragments for one in running.progress[:3]] == [2, 2, 1]


def test_broadcast_to_two_and_a_server_that_goes_away(
    session: Session, server: Server, tmp_path: Path
) -> None:
    """Both receive everything; the one with a checkpoint resumes where it stopped."""
    address = f"tcp://127.0.0.1:{server.port}"
    one = session.stream(QUERY, address, checkpoint=tmp_path / "ck", **_quiet())
    with session.stream(COUNT, address, max_fragments=7, **_quiet()) as two:
        until(lambda: len(server.clients) == 2)
        server.send(ROOT, *map(bid, range(10)))
        until(lambda: two.answer() == ["10"])
        server.hang_up()
        until(lambda: len(server.clients) == 2)
        server.send(*map(bid, range(10, 15)), "", "<filler id='9' tsid='7'/>", "no fragment")
        until(lambda: two.answer() == ["15"] and len(one.answer()) == 5)
        assert max(figures.fragments for figures in two.progress) <= 7
        until(lambda: len(two.quarantine()) == 2)
    one.stop()
    until(lambda: all(client.recv(1) == b"" for client in server.clients), 20)
    assert one.answer() == batch_answer(QUERY, [ROOT, *map(bid, range(15))])
    server.hang_up()
    with session.stream(QUERY, address, checkpoint=tmp_path / "ck", **_quiet()) as one:
        until(lambda: len(server.clients) == 1)
        server.send(bid(50))
        until(lambda: len(one.answer()) == 6)


def test_a_dead_source_beside_a_living_one(session: Session, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    drop(inbox, "a.xml", [ROOT, bid(1)])
    sources = {"s": inbox, "dead": "tcp://127.0.0.1:9"}
    query = 'count(stream("s")//bid), count(stream("dead")//bid)'
    with session.stream(query, sources, **_quiet(tags={"s": TAGS, "dead": TAGS})) as running:
        until(lambda: running.answer() == ["1", "0"])
        begun = time.monotonic()
        drop(inbox, "b.xml", [bid(2), "<filler id='5' tsid='2'><bid></filler>", bid(3)])
        until(lambda: running.answer() == ["3", "0"])
        assert time.monotonic() - begun < 10
        assert [row[3] for row in running.quarantine()] == ["malformed"]


def test_time_passes(session: Session, tmp_path: Path) -> None:
    """A window slides although nothing arrives, exactly when its answer changes."""
    inbox = tmp_path / "inbox"
    time_of_bid = datetime.now(UTC).replace(tzinfo=None)
    event = f'<filler id="1" tsid="2" validTime="{time_of_bid.isoformat()}"><bid>1</bid></filler>'
    drop(inbox, "a.xml", [ROOT, event])
    query = 'count(stream("s")//bid?[now-PT6S,now])'
    with session.stream(query, inbox, **_quiet(now="wall", checkpoint=tmp_path / "ck")) as running:
        until(lambda: running.answer() == ["1"], 6)
        triggers = len(running.progress)
        until(lambda: running.answer() == ["0"])
        late = datetime.now(UTC).replace(tzinfo=None) - time_of_bid - timedelta(seconds=6)
        assert timedelta(0) < late < timedelta(seconds=2)
        assert len(running.progress) <= triggers + 2


def test_a_frame_as_source_and_frames_for_updates(
    session: Session, spark: SparkSession, tmp_path: Path
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text(f"{ROOT}\n{bid(11)}\n{bid(12)}\n")
    rows: list[Any] = []

    def take(frame: DataFrame, batch: int) -> None:
        rows.extend(frame.collect())

    frame = spark.readStream.text(str(texts))
    sink = FrameCallback(spark, take)
    with session.stream(QUERY, {"s": frame}, **_quiet(sink=sink, trigger="once")) as running:
        assert running.await_termination(60)
    assert [(row.op, row.position, row.item) for row in rows] == [
        ("insert", 1, "<b>11</b>"),
        ("insert", 2, "<b>12</b>"),
    ]


def test_an_error_of_the_query_ends_it(session: Session, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    drop(inbox, "a.xml", [ROOT, bid(1, 0)])
    query = 'for $b in stream("s")//bid return 1 idiv xs:integer($b)'
    running = session.stream(query, inbox, **_quiet())
    with pytest.raises(XcqlError) as caught:
        running.await_termination(60)
    assert caught.value.code == "FOAR0001"
    running.stop()


def test_stopped_from_a_sink(session: Session, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    drop(inbox, "a.xml", [ROOT, bid(11)])
    handles: list[Any] = []
    running = session.stream(
        QUERY, inbox, **_quiet(sink=lambda updates: [one.stop() for one in handles])
    )
    handles.append(running)
    drop(inbox, "b.xml", [bid(12)])
    assert running.await_termination(60)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"source": "no/such/folder"}, "XCQL0725"),
        ({"source": "ftp://host/"}, "XCQL0720"),
        ({"source": "kafka://localhost:9092/topic"}, "XCQL0724"),
        ({"source": {}}, "XCQL0727"),
        ({"source": ".", "tags": None}, "XCQL0733"),
        ({"source": ".", "trigger": "often"}, "XCQL0732"),
        ({"source": ".", "sink": "paper"}, "XCQL0731"),
        ({"source": ".", "now": "later"}, "XCQL0501"),
    ],
)
def test_mistakes(session: Session, settings: dict[str, Any], code: str) -> None:
    with pytest.raises(XcqlError) as caught:
        session.stream(QUERY, **{"tags": TAGS, "warn": lambda _: None, **settings})
    assert caught.value.code == code
    assert caught.value.diagnostic.hints
