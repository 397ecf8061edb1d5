"""try/catch: values, errors and clauses are the evaluator's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import xcql
from tests.compile.both_ways import answered, natively, reference
from tests.conftest import OpenSession

UNTYPED = 'for $t in ("1", "x", "2.5", "", "-7") ! xs:untypedAtomic(.)'
TEXT = 'for $t in ("0", "1", "z", "")'
RAISED = (
    'if ($t = "0") then error(xs:QName("my"), "x") else if ($t = "1") then error() else xs:date($t)'
)
NATIVE = [
    f"{UNTYPED} return try {{ xs:integer($t) }} catch * {{ -1 }}",
    f'{UNTYPED} return try {{ xs:integer($t) }} catch err:FORG0001 {{ "no: " || $t }}',
    f"{UNTYPED} return try {{ xs:integer($t) }} catch err:FOAR0001 {{ -1 }}",
    f"{UNTYPED} return <a>{{ try {{ xs:decimal($t) + 0.5 }} catch *:FORG0001 {{ $t }} }}</a>",
    f'{TEXT} return try {{ 10 idiv xs:integer($t) }} catch err:FOAR0001 {{ "0" }} catch * {{ 1 }}',
    f"{TEXT} return try {{ {RAISED} }} catch my {{ 1 }} catch *:FOER0000 {{ 2 }} catch * {{ 3 }}",
    f"{TEXT} return try {{ {RAISED} }} catch my | err:FOER0000 {{ 1 }}",
    f"{TEXT} return try {{ ($t, xs:integer($t)) }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ sum((1, 2, 3) ! (. + xs:integer($t))) }} catch * {{ 'other' }}",
    f'{TEXT} return try {{ $t = "z" and xs:integer($t) = 1 }} catch * {{ "other" }}',
    f'{TEXT} return try {{ $t = "0" or xs:integer($t) = 1 }} catch * {{ "other" }}',
    f"{TEXT} let $i := try {{ xs:integer($t) }} catch * {{ () }} where $i > 0 return $i",
    f"{TEXT} let $i := try {{ xs:integer($t) }} catch * {{ -1 }} order by $i return $i + 1",
    f"{TEXT} return try {{ xs:integer($t) }} catch * {{ xs:double($t) }}",
    f"{TEXT} return try {{ try {{ xs:integer($t) }} catch * {{ xs:date($t) }} }} catch * {{ $t }}",
    f"{TEXT} return try {{ try {{ xs:integer($t) }} catch my {{ 5 }} }} catch * {{ $t }}",
    f"{TEXT} return try {{ (xs:integer($t), 2)[. > 0] }} catch * {{ <b/> }}",
    'for $t in ("1 2", "1 x") return try { sum(tokenize($t) ! xs:integer(.)) } catch * { 0 }',
    'for $t in ("1 2", "1 x") return try { tokenize($t) ! xs:integer(.) } catch * { 0 }',
    'for $t in ("0", "-1") return try { exactly-one((1, 2)[. > xs:integer($t)]) } catch * { 5 }',
    'for $t in ("x", "true") return try { if (xs:boolean($t)) then 1 else 2 } catch * { 3 }',
    'for $t in ("2004-01-01", "2004-13-01") return try { xs:date($t) } catch * { 0 }',
    'for $t in ("x", "2004-01-01T00:00:00+01:00") return try { xs:dateTime($t) } catch * { 0 }',
    "declare function local:f($x) { xs:integer($x) };"
    ' for $t in ("x", "3") return try { local:f($t) } catch * { 0 }',
    "for $x in (1, 2) return try { error(xs:QName('a')) } catch b { 1 }",
    "for $x in (1, 2) return if ($x = 1) then () else error()",
    "try { error() } catch * { 1 }",
    f"{TEXT} return try {{ let $i := xs:integer($t) return if ($i > 0) then $i else 0 }}"
    " catch * { 'other' }",
    f"{TEXT} return try {{ [xs:integer($t)](1) }} catch err:FOAY0001 {{ 0 }}",
    "try { 1 } catch * { 2 }",
]
EVALUATED = [
    # an error of what the value does not need is caught, too
    f"{TEXT} return try {{ let $i := xs:integer($t) return 'valid' }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ count(xs:integer($t)) }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ try {{ count(xs:integer($t)) }} catch my {{ 1 }} }} catch * {{ 2 }}",
    f"{TEXT} return try {{ [xs:integer($t)](string-length($t)) }} catch err:FORG0001 {{ 0 }}",
    f"{TEXT} return try {{ let $i := xs:integer($t) return if ($t = '1') then $i else 2 }}"
    " catch * { 'other' }",
    f"{TEXT} return try {{ for $i in xs:integer($t) return if ($t = '1') then $i else 2 }}"
    " catch * { 'other' }",
    "declare function local:f($i, $t) { if ($t = '1') then $i else 2 };"
    f"{TEXT} return try {{ local:f(xs:integer($t), $t) }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ error(xs:QName('my'), 'x', $t) }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ analyze-string($t, '(')//text() }} catch * {{ 'other' }}",
    f"{TEXT} let $i := xs:integer($t) return try {{ $i }} catch * {{ 'other' }}",
    f"{TEXT} return try {{ <a>{{ xs:integer($t) }}</a> }} catch * {{ <b/> }}",
    f"{TEXT} return try {{ xs:integer(($t, $t)) }} catch err:XPTY0004 {{ 'two' }}",
    f"{TEXT} return try {{ xs:integer($t) }} catch * {{ string($err:code) }}",
    f"{TEXT} return try {{ xs:integer($t) }} catch * {{ $err:description }}",
    f"{TEXT} return try {{ some $n in (1, 3) satisfies $n = xs:integer($t) }} catch * {{ 0 }}",
    'for $t in ("1", "99999999999999999999") return try { xs:integer($t) } catch * { 0 }',
]


@pytest.fixture(scope="module")
def session(
    new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[xcql.Session]:
    """Over an empty store."""
    with new_session(tmp_path_factory.mktemp("empty")) as session:
        yield session


def test_native(session: xcql.Session) -> None:
    for query in NATIVE:
        assert natively(session, query) == reference(query), query


@pytest.mark.parametrize("query", EVALUATED)
def test_what_the_evaluator_does(session: xcql.Session, query: str) -> None:
    assert answered(session, query) == reference(query)
