"""The assembled text is what the serialiser writes for the model's view, byte for byte."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, note

from tests.effort import examples
from tests.store.histories import FRAGMENTS, NOWS, TAGS, as_file, copies_in
from xcql.history.places import encode
from xcql.history.view import document_at, temporal_view
from xcql.model.read import read_all
from xcql.model.tags import TagStructure, parse_tags
from xcql.shred.assembly import Copy, document_text
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.xdm.serialize import serialize

NOW = datetime(2004, 1, 1)


def check(fragments: str, tags: TagStructure, nows: list[datetime]) -> str:
    """Check the view and the documents at some instants; return the last view."""
    view = ""
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder) / "s.xml", Path(folder) / "store"
        file.write_text(fragments)
        ingest(store, file, "s", tags, run_here, cores=1)
        known = read_all([file], tags).fragments
        for now in nows:
            view = b"".join(document_text(copies_in(store, now))).decode()
            assert view == serialize(temporal_view(known, tags, now).document)
            for at in NOWS:
                text = b"".join(document_text(copies_in(store, now, at))).decode()
                assert text == serialize(document_at(known, tags, at, now).document)
    return view


@examples(at_commit=30, full=1000)
@given(FRAGMENTS)
def test_random_histories(fragments: list[str]) -> None:
    note("\n".join(fragments))
    check(as_file(fragments), TAGS, NOWS)


RECURSIVE = parse_tags("""<structure xmlns:p="urn:p" xmlns:d="urn:d">
  <tag type="snapshot" id="1" name="r">
    <tag type="temporal" id="2" name="a"><tag type="snapshot" id="3" name="a">
      <tag ref="2"/></tag><tag type="event" id="4" name="p:e"/></tag>
    <tag type="snapshot" id="5" name="d:s"><tag ref="2"/></tag>
  </tag>
</structure>""")


def filler(id: int, tsid: int, element: str, time: str = "2003-01-01") -> str:
    return f'<filler id="{id}" tsid="{tsid}" validTime="{time}">{element}</filler>'


@pytest.mark.parametrize(
    ("fillers", "expected"),
    [
        ([filler(0, 1, '<r><hole id="1"/></r>')], "<r/>"),
        ([filler(0, 1, '<r> <hole id="1"/></r>')], "<r> </r>"),
        ([filler(0, 1, '<r k="1"><hole id="1"/><hole id="2"/></r>')], '<r k="1"/>'),
        ([filler(0, 1, '<r><!-- <r k="1"> --><hole id="1"/></r>')], '<r><!-- <r k="1"> --></r>'),
        ([filler(0, 1, '<r><?t <r>?><hole id="1"/></r>')], "<r><?t <r>?></r>"),
        (
            [filler(0, 1, '<r><hole id="1"/></r>'), filler(1, 2, '<a vtTo="x"/>')],
            '<r><a vtFrom="2003-01-01T00:00:00" vtTo="now"/></r>',
        ),
        (
            [
                filler(0, 1, '<r><hole id="1"/></r>'),
                filler(1, 2, '<a vtFrom="x" k=" vtTo=\'1\'"><a><hole id="2"/></a></a>'),
            ],
            """<r><a k=" vtTo='1'" vtFrom="2003-01-01T00:00:00" vtTo="now"><a/></a></r>""",
        ),
    ],
)
def test_elements_that_are_left_empty(fillers: list[str], expected: str) -> None:
    assert check(f"<f>{''.join(fillers)}</f>", RECURSIVE, [NOW]) == expected


@pytest.mark.parametrize(
    "root",
    [
        '<r xmlns:p="urn:p"><hole id="1"/></r>',
        '<r><d:s xmlns:d="urn:d" xmlns:p="urn:q"><hole id="1"/></d:s><hole id="1"/></r>',
        '<r><s xmlns="urn:d"><!-- <x> --><hole id="1"/><?t <x>?></s><hole id="1"/></r>',
        '<r xmlns:p="urn:&amp;&#9;"><hole id="1"/></r>',
    ],
)
@pytest.mark.parametrize("own", ["", ' xmlns:p="urn:p"', ' xmlns:p="urn:&amp;&#9;"'])
@pytest.mark.parametrize("inner", ["", ' xmlns:o="urn:o" xmlns:p="urn:p" k="1"'])
def test_namespaces_are_declared_where_they_change(root: str, own: str, inner: str) -> None:
    fillers = [
        filler(0, 1, root),
        filler(1, 2, f'<a{own}><a{inner}><hole id="3"/></a><a{inner}/><hole id="2"/></a>'),
        filler(2, 4, '<p:e xmlns:p="urn:p"/>'),
        filler(3, 2, f"<a{own}>3</a>"),
    ]
    check(f"<f>{''.join(fillers)}</f>", RECURSIVE, [NOW])


def test_names_may_look_like_the_end_of_a_comment() -> None:
    for content, expected in (("", "<a--/>"), ("<!-- <a-->", "<a--><!-- <a--></a-->")):
        raw = f"<a-->{content}<hole/></a-->".encode()
        hole = raw.index(b"<hole/>")
        copy = Copy(encode(1), raw, [hole], [len("<hole/>")], "", False, None, None)
        assert b"".join(document_text([copy])).decode() == expected


def test_text_is_written_as_soon_as_it_is_known() -> None:
    """A root with many holes: no more than the open copies is held."""
    hole, count = b"<hole/>", 50_000
    raw = b"<r>" + hole * count + b"</r>"
    starts = range(3, 3 + count * len(hole), len(hole))
    taken = 0

    def copies() -> Iterator[Copy]:
        nonlocal taken
        yield Copy(encode(1), raw, starts, [len(hole)] * count, "", False, None, None)
        for start in starts:
            taken += 1
            key = encode(1) + encode(start) + encode(1)
            yield Copy(key, b"<a/>", (), (), "", False, None, None)

    text = b""
    for piece in document_text(copies()):
        text += piece
        assert len(text) >= 4 * (taken - 3)
    assert text == b"<r>" + b"<a/>" * count + b"</r>"
