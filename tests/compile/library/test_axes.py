"""Paths of all kinds, against the reference evaluator."""

from __future__ import annotations

import os

import pytest

import xcql
from tests.queries import corpus

NOW = "2010-01-01"
FULL = bool(os.environ.get("XCQL_TEST_FULL"))
# by data set; all of them are native
QUERIES = {
    "credit": [
        'stream("credit")//transaction[last()]/@id/string()',
        'stream("credit")//account/*[position() >= 2][1]/name()',
        'stream("credit")//(account|transaction)[@id]/@id/string()',
        'let $a := stream("credit")//account return ($a[@id="5678"], $a[@id="1234"])/@id/string()',
        'let $t := stream("credit")//transaction return ($t[amount > 100] | $t)/@id/string()',
        'stream("credit")//transaction[1]/following::customer/string()',
        'count(stream("credit")//status/preceding::transaction)',
        'stream("credit")//transaction/root()/creditAccounts/account[1]/@id/string()',
    ],
    "odd": [
        'for $p in stream("odd")//part return $p/@id || ":" || count($p//part)',
        'stream("odd")//part[name = "ring"]/string-join(ancestor-or-self::*/name(), "/")',
        'stream("odd")/lab/part[1]',
        'stream("odd")?[2005-02-15]//part/@id/string()',
    ],
}


@pytest.mark.parametrize("strategy", ["qac+", "qac"] if FULL else ["qac+"])
@pytest.mark.parametrize("data", QUERIES)
def test_axes(data: str, strategy: str, corpus_session: xcql.Session) -> None:
    streams = {one.name: (one.fragments, one.tags) for one in corpus.datasets()[data]}
    for text in QUERIES[data]:
        answer = corpus_session.query(text, strategy=strategy, now=NOW)
        assert answer.strategy == strategy, text
        expected = xcql.evaluate(text, streams=streams, now=NOW)
        assert answer.to_xml() == [item.xml for item in expected], text


def test_nodes_that_have_to_be_one(corpus_session: xcql.Session) -> None:
    answer = corpus_session.query('stream("credit")//account is stream("credit")//customer')
    with pytest.raises(xcql.XcqlError) as raised:
        answer.to_xml()
    assert raised.value.code == "XPTY0004"
