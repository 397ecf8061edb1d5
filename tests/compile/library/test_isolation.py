"""Parts of queries that the evaluator answers, against the evaluator's answer to the whole."""

from __future__ import annotations

import pytest

import xcql

NOW = "2003-12-01T00:00:00"


@pytest.mark.parametrize(
    "query",
    [
        'for $l in stream("credit")//creditLimit return try { $l } catch * { () }',
        'for $a in stream("credit")//account return <x>{ try { $a/creditLimit } catch * { 1 } }</x>',
        'analyze-string("a", "a"), <a vtFrom="2003-01-01" vtTo="now">{ parse-xml("<b/>") }</a>',
    ],
)
def test_lifespans_of_evaluated_items(query: str, corpus_session: xcql.Session) -> None:
    native = corpus_session.query(query, strategy="qac+", now=NOW)
    assert native.strategy == "qac+"
    assert native.arrow() == corpus_session.query(query, strategy="caq", now=NOW).arrow()
