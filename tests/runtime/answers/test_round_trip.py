"""Documents to fragments, into a store and back: canonically equal."""

from __future__ import annotations

import gzip
import io
from datetime import datetime
from pathlib import Path

import pytest

from tests.conftest import XMARK, OpenSession
from xcql import Session, XcqlError
from xcql.cli.main import main
from xcql.history.view import temporal_view
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.read import read_all
from xcql.model.tags import TagStructure, tags_to_xml
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

AUCTION = ["//item", "//person", "//open_auction", "//closed_auction", "//category", "//bidder"]


def infer(document: bytes, temporal: list[str], event: list[str]) -> TagStructure:
    tree = infer_from_document(read_document(io.BytesIO(document), "doc.xml"))
    return tag_structure(tree, temporal=temporal, event=event)


def check_round_trip(
    open_session: OpenSession, folder: Path, document: bytes, tags: TagStructure
) -> None:
    with (folder / "fragments.xml").open("wb") as target:
        fragment(
            read_document(io.BytesIO(document), "doc.xml"), tags, "2003-10-23T00:00:00", target
        )
    session = open_session(folder / "store")
    summary = session.ingest(folder / "fragments.xml", stream="d", tags=tags)
    assert summary.quarantined == {}
    back = "".join(session.temporalize("d", at="2004-01-01"))
    assert canonical(parse_xml(back)) == canonical(parse_xml(document))


@pytest.mark.skipif(not XMARK.is_dir(), reason="../shared/xmark is not there")
def test_xmark_001(open_session: OpenSession, tmp_path: Path) -> None:
    document = gzip.decompress((XMARK / "auction-0.01.xml.gz").read_bytes())
    check_round_trip(open_session, tmp_path, document, infer(document, AUCTION[:5], AUCTION[5:]))


@pytest.mark.slow
@pytest.mark.skipif(not XMARK.is_dir(), reason="../shared/xmark is not there")
def test_xmark_01(open_session: OpenSession, tmp_path: Path) -> None:
    document = gzip.decompress((XMARK / "auction-0.1.xml.gz").read_bytes())
    check_round_trip(open_session, tmp_path, document, infer(document, AUCTION[:5], AUCTION[5:]))


def nested(depth: int, version: int) -> str:
    """An element with this many levels, mixed content, and namespaces on every other level."""
    if depth == 0:
        return f"deepest &amp; <!-- {version} --> <![CDATA[<{version}>]]>"
    prefix, declaration = ("p:", ' xmlns:p="urn:p"') if depth % 2 else ("", "")
    inside = nested(depth - 1, version)
    return (
        f"<{prefix}l{depth}{declaration} id='{depth}' n=\"{version}\">text {version}"
        f"<?pi {depth}?>{inside}<q:x xmlns:q='urn:q' q:a='1'/>tail</{prefix}l{depth}>"
    )


def check_history(open_session: OpenSession, folder: Path, depth: int, versions: int) -> Session:
    """A document of this depth, and this many states of it; each state changes every level."""
    states = [
        f"<root xmlns='urn:d'>{nested(depth, number)}</root>".encode() for number in range(versions)
    ]
    tags = infer(states[0], [f"//l{level}" for level in range(1, depth + 1)], [])
    (folder / "tags.xml").write_text(tags_to_xml(tags))
    session = open_session(folder / "store")
    files: list[Path] = []
    for number, state in enumerate(states, 1):
        document, output = folder / f"doc{number}.xml", folder / f"{number}.xml"
        document.write_bytes(state)
        command = ["fragment", str(document), "--tags", str(folder / "tags.xml")]
        command += ["--valid-time", f"2003-0{number}-01", "-o", str(output)]
        for file in files:
            command += ["--previous", str(file)]
        assert main(command) == 0
        files.append(output)
        assert session.ingest(output, stream="d", tags=tags).quarantined == {}
    for number in (1, versions):
        back = "".join(session.temporalize("d", at=f"2003-0{number}-15"))
        assert canonical(parse_xml(back)) == canonical(parse_xml(states[number - 1]))
    return session


def test_two_levels_three_versions_of_everything(open_session: OpenSession, tmp_path: Path) -> None:
    session = check_history(open_session, tmp_path, depth=2, versions=3)
    now = datetime(2004, 1, 1)
    known = read_all([tmp_path / f"{number}.xml" for number in (1, 2, 3)], session.tags("d"))
    view = "".join(session.temporalize("d", now=now))
    expected = temporal_view(known.fragments, session.tags("d"), now).document
    assert canonical(parse_xml(view)) == canonical(expected)


@pytest.mark.slow
def test_ten_levels_five_versions_of_everything(open_session: OpenSession, tmp_path: Path) -> None:
    session = check_history(open_session, tmp_path, depth=10, versions=5)
    # the whole view would have 5 ** 10 copies of the innermost element
    with pytest.raises(XcqlError, match="XCQL0318"):
        "".join(session.temporalize("d"))
