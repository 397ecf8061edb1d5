"""The live samples: after each trigger, their answers equal those of a batch query."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import xcql
from tests.samples.all_samples import SAMPLES
from xcql.check import check
from xcql.continuous import Arrival, applied, open_continuous
from xcql.model.read import read_all
from xcql.model.tags import read_tags

QUERIES = [
    *sorted((SAMPLES / "live" / "queries").glob("*.xcql")),
    SAMPLES / "radar" / "queries" / "positions.xcql",
    SAMPLES / "traffic" / "queries" / "green-for-ambulances.xcql",
]


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Some minutes of traffic; an hour of purchases, because a theft takes time."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "generate", raising=False)
    made = runpy.run_path(str(SAMPLES / "live" / "generate.py"))["streams"]
    found = made(0.05, 1) | {"credit": made(1, 1)["credit"]}
    monkeypatch.delitem(sys.modules, "generate", raising=False)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_live(path: Path, streams: dict[str, list[str]], tmp_path: Path) -> None:
    query = path.read_text(encoding="utf-8")
    names = sorted(check(query).streams or ())
    files = {one.parent.name: one for one in SAMPLES.glob("*/**/tags.xml")}
    tags = {name: read_tags(files[name]) for name in names}
    seen = 0
    with open_continuous(query, tags, tmp_path, "event") as continuous:
        for step in range(1, 4):
            come = {name: streams[name][: len(streams[name]) * step // 3] for name in names}
            new = {name: streams[name][len(streams[name]) * (step - 1) // 3 :] for name in names}
            arrivals = [
                Arrival(name, text)
                for name in names
                for text in new[name][: len(come[name]) - len(streams[name]) * (step - 1) // 3]
            ]
            continuous.advance(step, arrivals, None)
            texts = {name: f"<fs>{''.join(come[name])}</fs>" for name in names}
            times = [
                one.valid_time
                for name in names
                for one in read_all(texts[name], tags[name]).fragments
                if one.valid_time is not None
            ]
            batch = xcql.evaluate(
                query, streams={name: (texts[name], tags[name]) for name in names}, now=max(times)
            )
            assert continuous.answer() == [item.xml for item in batch]
            assert applied(continuous.updates(-1)) == continuous.answer()
            seen += len(continuous.answer())
    assert seen > 0
