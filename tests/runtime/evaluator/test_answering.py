"""Answers of the evaluator, and parts of queries that it computes for many rows."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import xcql
from tests.compile.conftest import world_store
from xcql.diagnostics import XcqlError
from xcql.xdm.nodes import Node
from xcql.xdm.serialize import serialize
from xcql_runtime.evaluator import answering
from xcql_runtime.evaluator.items import decoded, encoded

TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="snapshot" id="2" name="a"/>
  </tag></structure>"""
NOW = "2003-01-20T00:00:00"


def _session(folder: Path, count: int) -> xcql.Session:
    elements = "".join(f"<a k='{number}'>{number}<!-- c --></a>" for number in range(count))
    filler = f'<filler id="0" tsid="1" validTime="2003-01-01"><r>{elements}</r></filler>'
    store = world_store(folder, {"s": f"<f>{filler}</f>"}, {"s": TAGS})
    return xcql.Session(store, engine="embedded")


def test_a_view_leaves_no_garbage(tmp_path: Path) -> None:
    with _session(tmp_path, 5000) as session:
        gc.collect()
        assert session.query('count(stream("s")//a)', "caq", now=NOW).to_xml() == ["5000"]
        assert gc.collect() < 5000


@pytest.mark.parametrize("portion", [1, 2000, 1 << 20])
def test_many_rows(portion: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of all kinds, and none, for rows that are parsed together in portions."""
    monkeypatch.setattr(answering, "_PORTION", portion)
    query = """for $a in stream("s")//a
               let $b := ($a/@k, $a/text(), $a/comment(), $a)[position() <= $a/@k mod 5]
               return <x>{ try { ($b, $b/local-name(), $b/string()) } catch * { () } }</x>"""
    with _session(tmp_path, 100) as session:
        answer = session.query(query, now=NOW)
        assert "evaluated row by row" in answer.explain()
        assert answer.to_xml() == session.query(query, "caq", now=NOW).to_xml()


def test_items_travel() -> None:
    query = """<a xmlns:p="urn:p" p:b="1">x<p:c/></a>, <a b="&lt;'"/>/@b, attribute p:q { "1" }, 1,
               "a&lt;b", text { "" }, text { "a&amp;b" }, comment { "c" }, 1.5, xs:QName("p:d"),
               processing-instruction d { "e" }, document { <f/>, "g" }, namespace p { "urn:p" }"""
    items = xcql.evaluate('declare namespace p = "urn:p"; ' + query).values
    pairs = [encoded(one) for one in items]
    found = decoded(*zip(*pairs, strict=True))
    assert [encoded(one) for one in found] == pairs
    nodes = [one for one in found if isinstance(one, Node)]
    assert all(one.parent is None for one in nodes)
    orders = [one.order for one in nodes]
    assert orders == sorted(set(orders))
    assert serialize(found[0]) == serialize(items[0])


def test_an_error_is_at_its_place(tmp_path: Path) -> None:
    query = """for $a in stream("s")//a return
      fold-left($a/@k, 0, function($s, $k) { $s + xs:date($k) })"""
    with _session(tmp_path, 3) as session, pytest.raises(XcqlError) as caught:
        session.query(query, now=NOW).to_xml()
    assert caught.value.line == 2
