"""Edge values mean the same on each engine as in the evaluator; see `edge_values`.

The quick tests cover known differences between engines; the slow ones cover the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.compile.edge_values import (
    EXPRESSIONS,
    PAIRS,
    TOGETHER,
    Engines,
    edge_store,
    is_native,
    typed,
)
from tests.compile.same_form import same_form
from tests.conftest import OpenSession
from xcql.evaluate import letter_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = {
    "xs:double": (
        "string($x)",
        "-$x",
        "round($x, 2)",
        "1 div $x",
        "sum(($x, $x))",
        "<f a='{$x}'/>",
    ),
    "xs:decimal": ("string($x)", "-$x", "abs($x)", "xs:double($x)"),
    "long decimals": ("string($x)", "-$x", "abs($x)", "$x - 0.5"),
    "xs:string": (
        "$x",
        "upper-case($x)",
        "lower-case($x)",
        "codepoints-to-string(string-to-codepoints($x))",
        "<f a='{$x}'>{$x}</f>",
    ),
    "xs:dayTimeDuration": ("$x * 0.1", "$x div 0.7", "$x * 1.5e0", "$x div 3"),
    "xs:yearMonthDuration": ("$x * 0.1", "$x div 0.7"),
}
QUICK_TOGETHER = [
    (
        "xs:double",
        "for $i in ITEMS let $x := TYPED order by $x empty greatest return $i/@n/string()",
    ),
    (
        "xs:double",
        "declare default order empty greatest;"
        " for $i in ITEMS order by $i[. != '1']/TYPED descending return $i/@n/string()",
    ),
    ("xs:double", "for $i in ITEMS let $x := TYPED group by $x return <g x='{$x}' n='{$i/@n}'/>"),
    ("xs:double", "distinct-values(for $i in ITEMS order by $i/@n descending return TYPED)"),
    ("xs:double", "sum(for $i in ITEMS where $i/v = '-0' return TYPED)"),
    (
        "xs:dayTimeDuration",
        "for $i in ITEMS let $x := TYPED group by $x return ($x * 0.1, $x div 0.3)",
    ),
    (
        "xs:string",
        'declare default collation "http://www.w3.org/2005/xpath-functions/collation/'
        'html-ascii-case-insensitive"; distinct-values(ITEMS/v)',
    ),
]


@pytest.fixture(scope="module")
def engines(
    tmp_path_factory: pytest.TempPathFactory, new_session: OpenSession
) -> Iterator[Engines]:
    with new_session(edge_store(tmp_path_factory.mktemp("edge"))) as session:
        yield Engines(session)


def _each(kind: str) -> tuple[str, str]:
    items = f'stream("s")//i[@t = "{kind}"]'
    return f"for $i in {items} let $x := {typed(kind, '$i')}", "$i/@n"


@pytest.mark.parametrize("kind", QUICK)
def test_expressions_that_engines_differ_in(kind: str, engines: Engines) -> None:
    assert engines.differences(*_each(kind), QUICK[kind]) == []


def _check_together(kind: str, template: str, engines: Engines) -> None:
    query = template.replace("ITEMS", f'stream("s")//i[@t = "{kind}"]')
    query = query.replace("$i ! TYPED", f"$i ! {typed(kind, '.')}")
    query = query.replace("/TYPED", f"/{typed(kind, '.')}").replace("TYPED", typed(kind, "$i"))
    assert same_form(engines.found(query)) == same_form(engines.expected(query)), query


@pytest.mark.parametrize(("kind", "template"), QUICK_TOGETHER)
def test_sequences_that_engines_differ_in(kind: str, template: str, engines: Engines) -> None:
    _check_together(kind, template, engines)


def test_letter_case_of_all_letters_on_spark(spark: SparkSession) -> None:
    """One by one; a byte order mark is lost when texts are decoded here."""
    rows = spark.sql(
        """SELECT id, upper(x) AS upper, lower(x) AS lower FROM (
          SELECT id, decode(unhex(lpad(hex(id), 8, '0')), 'UTF-32') AS x
          FROM range(32, 131072) WHERE id NOT BETWEEN 55296 AND 57343 AND id <> 65279)
        WHERE upper(x) <> x OR lower(x) <> x"""
    ).collect()
    found = {chr(row["id"]): (row["upper"], row["lower"]) for row in rows}
    everything = map(chr, (*range(32, 0xD800), *range(0xE000, 0x110000)))
    expected = {one: (letter_case.upper(one), letter_case.lower(one)) for one in everything}
    assert found == {one: pair for one, pair in expected.items() if pair != (one, one)}


def test_text_is_written_as_references(engines: Engines) -> None:
    """Byte for byte the evaluator's output, which follows the W3C's xml output method."""
    items = 'stream("s")//i[@t = "xs:string"]'
    for query in (
        f"{items}/v/text()",
        f"{items}/v/string()",
        f'for $i in {items} return <c a="&#x85;{{$i/v}}" b="&#x9;&#x2028;">{{$i/v/text()}}x</c>',
    ):
        assert engines.found(query) == engines.expected(query)


def test_a_lone_constant_is_escaped(engines: Engines) -> None:
    assert engines.found('"&amp;&#x85;"') == ["&amp;&#x85;"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_every_expression(kind: str, engines: Engines) -> None:
    native = [one for one in EXPRESSIONS[kind] if is_native(one, kind)]
    for start in range(0, len(native), 12):
        assert engines.differences(*_each(kind), native[start : start + 12]) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAIRS)
def test_every_pair(kind: str, engines: Engines) -> None:
    items = f'stream("s")//i[@t = "{kind}"]'
    lets = f"let $x := {typed(kind, '$i')}, $y := {typed(kind, '$j')}"
    native = [one for one in PAIRS[kind] if is_native(one, kind)]
    head = f"for $i in {items}, $j in {items} {lets}"
    assert engines.differences(head, 'concat($i/@n, "-", $j/@n)', native) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "template"), [(kind, one) for kind, several in TOGETHER.items() for one in several]
)
def test_every_sequence(kind: str, template: str, engines: Engines) -> None:
    _check_together(kind, template, engines)
