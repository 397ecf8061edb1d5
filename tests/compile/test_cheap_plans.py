"""Plans that do not sort, compare all pairs, or compute again what they need only once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import xcql
from tests.compile.conftest import small_auctions

NOW = "2004-01-01"
SITE = 'stream("auction")/site'
ENDS = [
    f"for $a in {SITE}//open_auction return <b>{{$a/bidder[1]/date, $a/bidder[last()]/time}}</b>",
    f"for $a in {SITE}//open_auction return $a/bidder[increase > 3][1]/personref/@person/string()",
    f"({SITE}//bidder)[last()]/increase/text()",
    f"count(({SITE}//item[name = 'no such name'])[1])",
    f"for $i in {SITE}//item let $m := $i/mailbox/mail[1] where $m return count($m)",
]
LINKED = [
    f"""for $a in {SITE}//open_auction, $p in {SITE}//person
    where $a/seller/@person != $p/@id and exists($a/bidder[personref/@person = $p/@id])
    return concat($a/@id, " ", $p/@id)""",
    f"""for $p in {SITE}//person, $i in {SITE}//item
    where exists({SITE}//closed_auction[buyer/@person = $p/@id][itemref/@item = $i/@id])
    return <buyer of="{{ $i/@id }}">{{ $p/name/text() }}</buyer>""",
]
ONCE = [
    f"""let $prices := {SITE}//closed_auction/price/xs:decimal(.)
    for $c in {SITE}//closed_auction
    where $c/price >= max($prices) - 50 and count($prices[. = xs:decimal($c/price)]) = 1
    return $c/price""",
    f"""let $names := {SITE}//item/name/xs:integer(.)
    for $c in {SITE}//category return max($names)""",
]
INSIDE = [
    f"for $s in {SITE} return count($s//description) + count($s//annotation) + count($s//mail)",
    f"for $r in {SITE}/regions/* return (name($r), count($r//mail), count($r//bold))",
    f"for $e in {SITE}//emph return string-join($e/ancestor::*/name(), '/')",
]


@pytest.fixture(scope="module")
def auctions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xcql.Session]:
    store, _, _ = small_auctions(tmp_path_factory.mktemp("auctions"))
    with xcql.Session(store, engine="embedded") as session:
        yield session


def answered(session: xcql.Session, query: str, strategy: xcql.Strategy) -> list[str] | str:
    try:
        return list(session.query(query, strategy, NOW).to_xml())
    except xcql.XcqlError as problem:
        return problem.code


@pytest.mark.parametrize("query", [*ENDS, *LINKED, *ONCE, *INSIDE])
def test_the_evaluator_agrees(auctions: xcql.Session, query: str) -> None:
    assert auctions.query(query, now=NOW).strategy == "qac+"
    assert answered(auctions, query, "auto") == answered(auctions, query, "caq")


def sql(session: xcql.Session, query: str) -> str:
    return session.query(query, now=NOW).explain("sql")


@pytest.mark.parametrize("query", ENDS)
def test_ends_of_groups_are_not_sorted(auctions: xcql.Session, query: str) -> None:
    assert "row_number" not in sql(auctions, query)


@pytest.mark.parametrize("query", LINKED)
def test_pairs_are_found_by_what_links_them(auctions: xcql.Session, query: str) -> None:
    assert "CROSS JOIN" not in sql(auctions, query)
    assert "SEMI JOIN" not in sql(auctions, query)


def test_ranges_are_compared_after_keys(auctions: xcql.Session) -> None:
    """DuckDB would join by the range first, with all tuples that have other keys."""
    joins = [line for line in sql(auctions, INSIDE[-1]).split("\n") if "JOIN" in line]
    assert any(" AND CASE WHEN " in line for line in joins)


def test_a_call_of_the_evaluator_is_not_repeated(auctions: xcql.Session) -> None:
    calls: list[int] = []
    auctions.register("seen", lambda n: calls.append(n) or n, returns="xs:integer")
    query = f"for $c in {SITE}//category let $n := seen(1) where $n > 0 return $n + $n"
    items = answered(auctions, query, "auto")
    assert len(calls) == len(items)
