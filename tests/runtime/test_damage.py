"""Damage is detected and reported with a remedy, and the remaining data restores the store."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xcql
from tests.conftest import OpenSession
from tests.store.histories import view_of_tables
from xcql import Session, XcqlError
from xcql.history.view import temporal_view
from xcql.model.read import read_all
from xcql.model.tags import parse_tags, tags_to_xml
from xcql.model.time import parse_time
from xcql.store.commit import read_state
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.store.repair import repair
from xcql.store.upkeep import vacuum
from xcql.store.verify import verify
from xcql.strategies import Strategy
from xcql.xdm.serialize import canonical

TAGS = parse_tags("""<structure><tag type="snapshot" id="1" name="r">
  <tag type="snapshot" id="2" name="a"><tag type="temporal" id="3" name="t">
    <tag type="snapshot" id="4" name="x"/><tag type="event" id="5" name="e"/>
  </tag></tag>
  <tag type="event" id="8" name="e"/>
</tag></structure>""")
NOW = "2003-12-01T00:00:00"
BATCHES = [
    [
        '<filler id="0" tsid="1"><r><a><hole id="1"/><hole id="2"/></a><hole id="6"/></r></filler>',
        '<filler id="1" tsid="3" validTime="2003-01-01"><t>one<hole id="3"/></t></filler>',
        '<filler id="6" tsid="8" validTime="2003-01-02"><e>&lt;é</e></filler>',
        "<bad/>",
    ],
    [
        '<filler id="1" tsid="3" validTime="2003-03-01"><t>two<x>v</x><hole id="3"/></t></filler>',
        '<filler id="2" tsid="3" validTime="2003-02-01"><t>other</t></filler>',
        '<filler id="3" tsid="5" validTime="2003-04-01"><e>event</e></filler>',
        '<filler id="6" tsid="8" validTime="2003-05-02"><e>later</e></filler>',
    ],
    [
        '<remove id="2" validTime="2003-06-01"/>',
        '<filler id="6" tsid="8" validTime="2003-06-02"><e>last</e></filler>',
    ],
]
QUERIES: list[tuple[str, Strategy]] = [
    ('stream("s")//t', "auto"),
    ('count(stream("s")//e)', "auto"),
    ('for $t in stream("s")//t?[now] return <v at="{vtFrom($t)}">{$t/text()}</v>', "auto"),
    ('stream("s")', "caq"),
]
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three batches, and a store with all of them; tests must not change it."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "tags.xml").write_text(tags_to_xml(TAGS))
    for number, fragments in enumerate(BATCHES):
        (folder / f"{number}.xml").write_text(as_file(fragments))
        ingest(folder / "store", folder / f"{number}.xml", "s", TAGS, run_here, 1)
    return folder


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    """A store that a test may damage."""
    return Path(shutil.copytree(sound / "store", tmp_path / "store"))


def as_file(fragments: list[str]) -> str:
    return "\n".join(["<f>", *fragments, "</f>"])


def first(sound: Path, batches: int) -> Path:
    """The accepted fragments of the first batches, as one file."""
    file = sound / f"first{batches}.xml"
    fragments = [one for batch in BATCHES[:batches] for one in batch if one != "<bad/>"]
    file.write_text(as_file(fragments))
    return file


def evaluated(sound: Path) -> list[list[str]]:
    """The answers of the evaluator."""
    streams = {"s": (first(sound, len(BATCHES)), TAGS)}
    return [
        [item.xml for item in xcql.evaluate(text, streams=streams, now=NOW)] for text, _ in QUERIES
    ]


def check_view(sound: Path, store: Path, batches: int = len(BATCHES)) -> None:
    """Check that the store is sound, and contains the first batches."""
    assert verify(store) == []
    now = parse_time(NOW)
    fragments = read_all([first(sound, batches)], TAGS).fragments
    expected = canonical(temporal_view(fragments, TAGS, now).document)
    assert view_of_tables(store, "s", now) == expected


def answers(store: Path, open_session: OpenSession) -> list[list[str]]:
    session = open_session(store)
    return [session.query(text, strategy, now=NOW).to_xml() for text, strategy in QUERIES]


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def files_of(store: Path) -> list[Path]:
    return sorted(path for path in store.rglob("*") if path.is_file() and path.stat().st_size)


def is_seen(store: Path) -> bool:
    try:
        return verify(store) != []
    except XcqlError as problem:
        return problem.code == "XCQL0319"


def answer_or_refusal(session: Session, text: str, strategy: Strategy) -> list[str] | str:
    try:
        return session.query(text, strategy, now=NOW).to_xml()
    except XcqlError as problem:
        is_told = problem.code == "XCQL0319" and "store repair" in str(problem)
        return "refused" if is_told else str(problem)


def check_flips(
    sound: Path, folder: Path, open_session: OpenSession, flips: int, asked: int
) -> int:
    """Flip a different bit in each copy of the store: it is detected, and no answer is wrong.

    Each time `asked` of the queries run, in rotation; returns how many of them were refused.
    """
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    expected = evaluated(sound)
    assert answers(sound / "store", open_session) == expected
    refused = 0
    for number in range(flips):
        # a separate folder, so that nothing is cached from another store
        store = Path(shutil.copytree(sound / "store", folder / f"store{number}"))
        path = chance.choice(files_of(store))
        bit = chance.randrange(path.stat().st_size * 8)
        flip(path, bit)
        assert is_seen(store), (path, bit)
        session = open_session(store)
        for turn in range(number * asked, (number + 1) * asked):
            (text, strategy), right = (some[turn % len(QUERIES)] for some in (QUERIES, expected))
            found = answer_or_refusal(session, text, strategy)
            assert found in (right, "refused"), (path, bit, text)
            refused += found == "refused"
        shutil.rmtree(store)
    return refused


def test_no_flipped_bit_goes_unseen(sound: Path, tmp_path: Path, open_session: OpenSession) -> None:
    check_flips(sound, tmp_path, open_session, flips=8, asked=1)


@pytest.mark.slow
def test_none_of_many_flipped_bits_goes_unseen(
    sound: Path, tmp_path: Path, open_session: OpenSession
) -> None:
    assert check_flips(sound, tmp_path, open_session, flips=200, asked=len(QUERIES)) > 20


def test_damage_is_seen_all_over_a_file(store: Path) -> None:
    for file in (store / read_state(store).stream("s").removes[0].path, *store.glob("co*/*3.json")):
        data = file.read_bytes()
        for number in range(0, len(data), len(data) // 20):
            flip(file, number * 8 + number % 8)
            assert is_seen(store), (file, number)
            file.write_bytes(data)
    assert not is_seen(store)


def test_settings_of_a_session_do_not_hide_damage(store: Path, spark: SparkSession) -> None:
    for file in read_state(store).stream("s").tables["3"].files:
        data = bytearray((store / file.path).read_bytes())
        assert file.checksums
        # every page, and nothing else: each column that is read has damage
        for position in _pages(store / file.path):
            data[position] ^= 1
        (store / file.path).write_bytes(data)
    names = [f"spark.sql.files.ignore{kind}Files" for kind in ("Corrupt", "Missing")]
    for name in names:
        spark.conf.set(name, "true")
    try:
        with pytest.raises(XcqlError, match=r"XCQL0319.*(page|checksum|read)"):
            Session(store, spark).query('stream("s")//t', now=NOW).to_xml()
    finally:
        for name in names:
            spark.conf.unset(name)


def _pages(path: Path) -> Iterator[int]:
    """The byte offset of the last byte of each page."""
    import base64
    import zlib

    import numpy as np
    import pyarrow.parquet as pq

    packed = pq.read_metadata(path).metadata[b"xcql.lengths"]
    lengths = np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<u4")
    ends = np.cumsum(lengths)[1::2]
    yield from (ends[lengths[1::2] > 0] - 1).tolist()


def newest(store: Path) -> Path:
    return max((store / "commits").iterdir())


def break_copy(store: Path) -> None:
    max((store / "copies").iterdir()).write_bytes(b"{")


BREAKS: dict[str, Change] = {
    "empty": lambda store: newest(store).write_bytes(b"") and None,
    "noise": lambda store: newest(store).write_bytes(random.Random(1).randbytes(500)) and None,
    "missing": lambda store: newest(store).unlink(),
    "another": lambda store: (
        shutil.copy(min((store / "commits").iterdir()), newest(store)) and None
    ),
    **{
        f"shape{number}": lambda store, text=text: newest(store).write_text(text) and None
        for number, text in enumerate(
            [
                "[]",
                "7",
                "null",
                '{"format": 1}',
                '{"format": "x"}',
                '{"format": 2, "number": 3, "streams": []}',
                '{"format": 3, "number": 3, "streams": []}',
                '{"format": 1, "number": 3, "streams": [{"name": "s"}]}',
                '{"format": 1, "number": 3, "streams": {"s": 1}}',
            ]
        )
    },
}


def check_told(store: Path) -> XcqlError:
    """Check that every use of the store reports the damage, and what to do."""
    fragments = store.parent / "more.xml"
    fragments.write_text(as_file(['<filler id="9" tsid="3"><t/></filler>']))
    uses: list[Callable[[], object]] = [
        lambda: Session(store).query('stream("s")'),
        lambda: ingest(store, fragments, "s", TAGS, run_here, 1),
        lambda: verify(store),
        lambda: vacuum(store),
    ]
    for use in uses:
        with pytest.raises(XcqlError, match=r"XCQL0319[^\n]*is damaged[^\n]*\.json: ") as told:
            use()
        assert "help: " in str(told.value)
    return told.value


@pytest.mark.parametrize("kind", BREAKS)
def test_a_broken_commit_is_told_and_restored_from_its_copy(store: Path, kind: str) -> None:
    before = read_state(store)
    BREAKS[kind](store)
    told = check_told(store)
    assert "the copy of commit 3 is intact" in str(told)
    done = repair(store)
    assert any("from its copy" in one for one in done)
    assert read_state(store).streams == before.streams
    assert read_state(store).number == 4
    assert verify(store) == []
    assert repair(store) == []


def test_a_truncated_commit_is_told(store: Path) -> None:
    data = newest(store).read_bytes()
    for length in range(0, len(data), 97):
        newest(store).write_bytes(data[:length])
        with pytest.raises(XcqlError, match="XCQL0319"):
            read_state(store)


def test_without_a_copy_the_store_goes_back(sound: Path, store: Path) -> None:
    broken = newest(store)
    broken.write_bytes(b"{}")
    break_copy(store)
    assert "the last commit that can be read is 2" in str(check_told(store))
    done = "\n".join(repair(store))
    assert "back to commit 2: ingest what came after it again" in done
    check_view(sound, store, 2)
    assert (store / "damaged" / "000000000004" / "commits" / broken.name).read_bytes() == b"{}"
    assert list((store / "damaged").rglob("removes/*.parquet"))
    ingest(store, sound / "2.xml", "s", TAGS, run_here, 1)
    check_view(sound, store)


def test_a_store_without_any_commit_that_can_be_read(store: Path) -> None:
    for path in store.glob("co*/*"):
        path.write_bytes(b"")
    assert "no other commit can be read" in str(check_told(store))
    with pytest.raises(XcqlError, match="XCQL0319"):
        repair(store)


def kinds_of_files(store: Path) -> dict[str, Path]:
    stream = read_state(store).stream("s")
    found = {f"table {tsid}": table.files[-1].path for tsid, table in stream.tables.items()}
    found |= {
        f"nodes {tsid}": table.files[-1].nodes.path
        for tsid, table in stream.tables.items()
        if table.files[-1].nodes
    }
    found |= {"removes": stream.removes[0].path, "quarantine": stream.quarantine[0].path}
    return {kind: store / path for kind, path in found.items()}


@pytest.mark.parametrize(
    "kind", ["table 1", "table 3", "table 5", "table 8", "nodes 3", "removes", "quarantine"]
)
@pytest.mark.parametrize("vacuumed", [False, True])
def test_a_deleted_file(
    sound: Path, store: Path, open_session: OpenSession, kind: str, vacuumed: bool
) -> None:
    """It is reported; after the repair, ingesting the fragments again completes the rest."""
    if vacuumed:
        vacuum(store)
    path = kinds_of_files(store)[kind]
    path.unlink()
    assert f"{path}: the file is missing" in verify(store)
    if kind not in ("quarantine", "nodes 3"):
        with pytest.raises(XcqlError, match=r"XCQL0319.*is missing") as told:
            ingest(store, sound / "tags.xml", "s", TAGS, run_here, 1)
        assert "store repair" in str(told.value)
    if kind.startswith("table"):
        with pytest.raises(XcqlError, match=r"XCQL0319.*is missing"):
            open_session(store).query('stream("s")', now=NOW).to_xml()
    done = "\n".join(repair(store))
    assert verify(store) == [], done
    if kind == "nodes 3":
        assert "nothing is lost" in done
    elif kind != "quarantine":
        assert "again" in done
        for number in range(len(BATCHES)):
            ingest(store, sound / f"{number}.xml", "s", TAGS, run_here, 1)
    check_view(sound, store)


def test_what_is_derived_is_rebuilt(sound: Path, store: Path, open_session: OpenSession) -> None:
    """Damage in columns that can be derived from the fragments loses nothing."""
    import pyarrow.parquet as pq

    vacuum(store)
    path = kinds_of_files(store)["table 3"]
    columns = pq.read_metadata(path).row_group(0)
    for number in range(columns.num_columns):
        column = columns.column(number)
        if column.path_in_schema.startswith(("places", "vtFrom", "element")):
            begin = column.dictionary_page_offset or column.data_page_offset
            flip(path, (begin + column.total_compressed_size - 1) * 8)
    assert is_seen(store)
    assert any("rebuilt from its fragments; nothing is lost" in one for one in repair(store))
    assert verify(store) == []
    assert answers(store, open_session) == evaluated(sound)


def test_a_store_of_an_earlier_version(
    sound: Path, store: Path, open_session: OpenSession, capsys: pytest.CaptureFixture[str]
) -> None:
    from xcql.cli.main import main

    shutil.rmtree(store / "copies")
    for commit in (store / "commits").iterdir():
        data = json.loads(commit.read_text())
        del data["checksum"]
        for stream in data["streams"]:
            tables = [table["files"] for table in stream["tables"].values()]
            for files in (*tables, stream["removes"], stream["quarantine"]):
                for file in files:
                    del file["checksums"], file["nodes"]
            for table in stream["tables"].values():
                del table["paths"]
        commit.write_text(json.dumps({**data, "format": 1}))
    assert answers(store, open_session) == evaluated(sound)
    assert main(["store", "verify", str(store)]) == 0
    assert "have no checksums: xcqlc store compact" in capsys.readouterr().out
    assert "without checksums" in str(Session(store).info())
    Session(store).compact()
    assert main(["store", "verify", str(store)]) == 0
    assert capsys.readouterr().out == "sound\n"
    check_view(sound, store)
    kinds_of_files(store)["table 3"].unlink()
    assert main(["store", "repair", str(store)]) == 0
    assert "back to commit 3" in capsys.readouterr().out
    check_view(sound, store)
