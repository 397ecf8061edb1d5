"""Regular expressions terminate, whatever the pattern and however long the text.

Java and Python backtrack; Java also uses its stack for each iteration of a loop over a group.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import xcql
from tests.conftest import OpenSession
from xcql.diagnostics import XcqlError

_LENGTH = 100_000
_TEXTS = {
    "a": "a" * _LENGTH + "!",
    "b": "ab" * (_LENGTH // 2),
    "c": "a\U0001f600" * (_LENGTH // 2),
    "d": "a" * 40 + "!",
}
_TAGS = """<structure>
<tag type="snapshot" id="1" name="r"><tag type="event" id="2" name="t"/></tag>
</structure>"""


@pytest.fixture(scope="module")
def session(
    new_session: OpenSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[xcql.Session]:
    folder = tmp_path_factory.mktemp("long")
    holes = "".join(f'<hole id="{number}"/>' for number in range(1, len(_TEXTS) + 1))
    texts = [f'<t id="{name}">{text}</t>' for name, text in _TEXTS.items()]
    fillers = [
        f'<filler id="{number}" tsid="{min(number, 1) + 1}" validTime="2020-01-01">{one}</filler>'
        for number, one in enumerate([f"<r>{holes}</r>", *texts])
    ]
    (folder / "fragments.xml").write_text("\n".join(fillers), encoding="utf-8")
    (folder / "tags.xml").write_text(_TAGS)
    with new_session(folder / "store") as session:
        session.ingest(folder / "fragments.xml", stream="s", tags=folder / "tags.xml", strict=True)
        yield session


# the ids of the texts that each pattern matches
_FOUND = {
    "(a*)*$": "a b c d",
    "(a|aa)+$": "",
    "(a|a)*b": "b",
    "(.*)*x": "",
    "(a|b)*c": "",
    "(a|b)*!": "a d",
    "(ab)+c": "",
    "([a-\U0001f600])+z": "",
    "[^x]{1,900}x": "",
    "[a-\U0001f600]+x": "",
    "(?:a|\U0001f600)+z": "",
    "^a.*!$": "a d",
    "^.*a.*!$": "a d",
    "^[a-\U0001f600]{1,900000}$": "b c",
    "^[a-\U0001f600]+?$": "b c",
    "^([a-\U0001f600]*)$": "b c",
    "a.*z": "",
}


@pytest.mark.slow
def test_matches(session: xcql.Session) -> None:
    tests = ", ".join(f'string-join($t[matches(., "{one}")]/@id, " ")' for one in _FOUND)
    tests += """, string-join($t[matches(., "^.*a.$", "s")]/@id, " "),
        string-join($t[matches(., "^\\w+$", "i")]/@id, " ")"""
    answer = session.query(f'let $t := stream("s")//t return ({tests})')
    *found, any_line, any_case = answer.to_xml()
    assert dict(zip(_FOUND, found, strict=True)) == _FOUND
    assert (any_line, any_case) == ("a b c d", "b c")


def test_replace_and_tokenize(session: xcql.Session) -> None:
    query = """for $t in stream("s")//t return string-join((
        string-length(replace($t, "(a|aa)+!", "[$1]")), string-length(replace($t, "(a|b)+", "-")),
        string-length(replace($t, "a+b", "")), string-length(replace($t, "[a-z]+!", "")),
        count(tokenize($t, "(a|a)*b")), count(tokenize($t, "a*b"))), " ")"""
    assert session.query(query).to_xml() == [
        "3 2 100001 0 1 1",
        "100000 1 0 100000 50001 50001",
        "100000 100000 100000 100000 1 1",
        "3 2 41 0 1 1",
    ]


def test_a_pattern_without_an_end_is_an_error_with_a_place(session: xcql.Session) -> None:
    with pytest.raises(XcqlError) as caught:
        session.query(r'count(stream("s")//t[matches(., "(a*)*\1b")])').to_xml()
    assert caught.value.code == "XCQL0008"
    assert caught.value.diagnostic.span is not None
