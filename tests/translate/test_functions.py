"""Functions of the query: one copy per kind of nodes with holes that they are called with.

Many queries in `one_a_line.xcql` test that the answers are correct.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.translate import saxon
from tests.translate.test_histories import FRAGMENTS, NOW, TAGS
from xcql.translate import translate

PRICES = "declare function local:prices($x as element()*) as element()* { $x/price };"


def text(query: str, strategy: str = "qac") -> str:
    return " ".join(translate(query, {"s": TAGS}, strategy).text.split())  # type: ignore[arg-type]


def test_a_copy_follows_holes() -> None:
    emitted = text(f'{PRICES} for $i in stream("s")//item return local:prices($i)')
    assert (
        "declare function local:prices-item($x as element()*) as element()*"
        " { xcql:get_fillers($s, $x/hole/@id)/price }" in emitted
    )
    assert "return local:prices-item($i)" in emitted
    # the original function is not called
    assert "function local:prices(" not in emitted


def test_each_combination_of_types_has_its_copy() -> None:
    query = f'{PRICES} local:prices(stream("s")//item), local:prices(stream("s")//aisle)'
    emitted = text(f'{query}, local:prices(stream("s")//item), local:prices(stream("s")//owner)')
    assert emitted.count("declare function local:prices-item(") == 1
    # no aisle has a price
    assert "declare function local:prices-aisle($x as element()*) as element()* { () }" in emitted
    # an owner has no holes, and needs no copy of the function
    assert "declare function local:prices($x as element()*) as element()* { $x/price }" in emitted


def test_a_stream_as_an_argument() -> None:
    emitted = text('declare function local:all($s) { $s//by }; local:all(stream("s"))')
    assert "declare function local:all-stream($s)" in emitted
    assert "local:all-stream(xcql:get_fillers($s2, 0))" in emitted
    with_type = "declare function local:all($s as document-node()) { $s//by };"
    assert "local:temporalize-shop($s2)" in text(f'{with_type} local:all(stream("s"))')


def test_what_is_to_be_atomic_is_whole() -> None:
    query = 'declare function local:n($x as xs:string*) { count($x) }; local:n(stream("s")//item)'
    assert "local:n( local:temporalize-item(" in text(query)


def test_names_do_not_clash() -> None:
    own = "declare function local:prices-item($x) { 1 };"
    emitted = text(f'{PRICES} {own} local:prices(stream("s")//item), local:prices-item(1)')
    assert "declare function local:prices-item-2(" in emitted


def test_no_end_of_types() -> None:
    """A function that wraps and unwraps its argument is given up, not expanded forever."""
    query = """declare function local:f($x, $n) {
        if ($n = 0) then $x else local:f(($x, $x/*, <x/>), $n - 1) };
        count(local:f(stream("s")/shop, 3))"""
    assert "declare function local:f(" in text(query)


@pytest.mark.parametrize(
    "query",
    [
        f'{PRICES} local:prices(stream("s")//item), local:prices(stream("s")//owner)',
        "declare function local:f($x, $n) { if ($n = 0) then $x else"
        ' local:f(($x, $x/*, <x/>), $n - 1) }; count(local:f(stream("s")/shop, 3))',
    ],
)
def test_same_answer(query: str, tmp_path: Path) -> None:
    file = tmp_path / "fragments.xml"
    file.write_text(FRAGMENTS)
    saxon.agree(query, {"s": (file, TAGS)}, NOW, tmp_path)
