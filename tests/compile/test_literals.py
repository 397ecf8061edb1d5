"""Queries that differ only in literals share a plan; what it says is as if each were compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

import xcql
import xcql_runtime.answers.answer

TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="snapshot" id="4" name="x"/>
  <tag type="temporal" id="2" name="a"><tag type="snapshot" id="3" name="n"/></tag>
</tag></structure>"""
FRAGMENTS = """<f>
<filler id="0" tsid="1"><r><x>no</x><hole id="1"/><hole id="2"/><hole id="3"/></r></filler>
<filler id="1" tsid="2" validTime="2003-01-01"><a k="p1"><n>4</n></a></filler>
<filler id="2" tsid="2" validTime="2003-03-01"><a k="it's &quot;2&quot;"><n>12</n></a></filler>
<filler id="3" tsid="2" validTime="2003-02-01"><a k="5"><n>5</n></a></filler></f>"""
NOW = "2004-01-01"
A = 'stream("s")//a'

# pairs of queries, and whether the second has the plan of the first
PAIRS = {
    f'{A}[@k = "p1"]/n/text()': (f"""{A}[@k = 'it''s "2"']/n/text()""", True),
    f'{A}[@k eq "p1"]': (f'{A}[@k eq "&#53;"]', True),
    f"{A}[n > 4]/n": (f"{A}[n > 11]/n", True),
    f"for $a in {A} where 4 < $a/n return $a/@k/string()": (
        f"for $a in {A} where 11 < $a/n return $a/@k/string()",
        True,
    ),
    # the error is at another place, and tells of another value
    f'{A}[@k = "p1"]/n/xs:integer(../../x)': (f'{A}[@k = "5"]/n/xs:integer(../../x)', True),
    f'{A}[@k != "none"]/xs:date(@k)': (f'{A}[@k != "nothing at all"]/xs:date(@k)', True),
    # equal literals are one, and others are two
    f'{A}[@k = "p1" or n = "p1"]': (f'{A}[@k = "5" or n = "5"]', True),
    f'{A}[@k = "p1" or n = "12"]': (f'{A}[@k = "p1" or n = "p1"]', False),
    # another type is another plan
    f'{A}[n > "4"]': (f"{A}[n > 4]", False),
    f"{A}[n > 4]": (f"{A}[n > 4.0]", False),
    # the plan has looked at these
    f"{A}[position() = 1]/n": (f"{A}[position() = 2]/n", False),
    f"{A}[2]": (f"{A}[3]", False),
    f"count({A}) > 2": (f"count({A}) > 3", False),
    'upper-case("a") = "A"': ('upper-case("a") = "B"', True),
    'declare function local:f($x) { $x = "p" }; local:f("p")': (
        'declare function local:f($x) { $x = "q" }; local:f("p")',
        True,
    ),
    # the evaluator gets it
    'format-integer(count(("a", "b")[. = "a"]), "w")': (
        'format-integer(count(("a", "b")[. = "c"]), "w")',
        False,
    ),
    f"{A}[n > 9223372036854775807]": (f"{A}[n > 9223372036854775808]", False),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("literals")
    (folder / "tags.xml").write_text(TAGS)
    (folder / "f.xml").write_text(FRAGMENTS)
    with xcql.Session(folder / "store", engine="embedded") as session:
        session.ingest(folder / "f.xml", stream="s", tags=folder / "tags.xml", strict=True)
    return folder / "store"


def told(answer: xcql.Answer) -> tuple[str, ...]:
    explained = [answer.explain(mode) for mode in ("plan", "algebra", "sql")]
    return *explained, repr(answer.explanation())


def result(session: xcql.Session, query: str, strategy: str = "auto") -> list[str] | str:
    try:
        return session.query(query, strategy, NOW).to_xml()
    except xcql.XcqlError as problem:
        return str(problem)


@pytest.mark.parametrize("first", PAIRS)
def test_a_shared_plan_is_as_if_compiled(
    first: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, is_shared = PAIRS[first]
    with xcql.Session(store, engine="embedded") as alone:
        expected = told(alone.query(second, now=NOW)), result(alone, second)
    compiled: list[object] = []
    compile_reusable = xcql_runtime.answers.answer.compile_reusable
    with xcql.Session(store, engine="embedded") as session:
        before = result(session, first)

        def counted(*arguments: object) -> object:
            compiled.append(arguments)
            return compile_reusable(*arguments)

        monkeypatch.setattr(xcql_runtime.answers.answer, "compile_reusable", counted)
        assert (told(session.query(second, now=NOW)), result(session, second)) == expected
        assert (not compiled) == is_shared
        # and the first is still what it was
        session._compiled.clear()
        assert result(session, first) == before
        for query, found in ((first, before), (second, expected[1])):
            right = result(session, query, "caq")
            # the messages of errors are other ones
            assert found == right if isinstance(right, list) else found[:15] == right[:15]
