"""The data: one document, cut coarsely or finely; what the market has in common with both."""

from __future__ import annotations

from pathlib import Path

from bench.answers import digest
from bench.data import COARSE, FINE, NOW, Data
from xcql.history.stream import stream_view
from xcql.model.tags import TagStructure
from xcql.model.time import parse_time
from xcql.xdm.serialize import serialize


def _with_fillers(tags: TagStructure) -> set[str]:
    return {tag.name.local for tag in tags if tag.is_fragmented}


def test_a_document_is_cut_in_two_ways(tmp_path: Path) -> None:
    data = Data(tmp_path, generated=True)
    coarse, fine = (data.auction("0.001", cut) for cut in (COARSE, FINE))
    assert coarse.document == fine.document
    assert _with_fillers(coarse.tags) == set(COARSE.temporal)
    assert _with_fillers(fine.tags) - _with_fillers(coarse.tags) == {"bidder", "mail", "annotation"}
    for one in (coarse, fine):
        view = stream_view(one.fragments, one.tags_file, parse_time(NOW))
        assert digest(serialize(view.document)) == digest(one.document)


def test_the_same_happens_however_the_market_is_cut(tmp_path: Path) -> None:
    coarse, fine = (Data(tmp_path).market("0.002", cut) for cut in (COARSE, FINE))
    assert _with_fillers(fine.tags) - _with_fillers(coarse.tags) == {"annotation"}
    views = [stream_view(one.fragments, one.tags_file, parse_time(NOW)) for one in (coarse, fine)]
    assert not any(view.warnings or view.rejected for view in views)
    one, other = (digest(serialize(view.document)) for view in views)
    assert one == other
