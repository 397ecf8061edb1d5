"""Bytes of fillers in the serializer's form: read one by one, and in bulk."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.effort import FULL
from xcql.model.scan import UNDECLARED
from xcql.model.tags import parse_tags
from xcql.shred.normal import element_text
from xcql.shred.staging import Chunk, stage_chunk
from xcql.shred.tables import read_staged
from xcql.shred.tokens import tokenize
from xcql.xdm.parse import parse_element
from xcql.xdm.serialize import serialize

TAGS = parse_tags("""<structure><tag type="snapshot" id="1" name="a">
  <tag type="snapshot" id="2" name="b"><tag ref="1"/><tag type="snapshot" id="3" name="c"/></tag>
  <tag type="snapshot" id="4" name="c"/></tag></structure>""")
# each is valid text; those after the first few contain what a parser would have to interpret
PLAIN = ("", "x", " ", "\n ", "y z", "1 &lt; 2", "&amp;", "&gt;", "\u00e9\u20ac", "'", '"')
UNCOMMON = ("&#65;", ">", "&quot;&apos;", "\r\n", "\r", "&#13;", "&#x9;", "\x7f", "\x85", "\u2028")
MARKUP = ("<![CDATA[<&>]]>", "<![CDATA[]]>", "<!-- c > d -->", "<?p  q ?>", "<?p?>")
CASES = [
    ("<a></a>", "<a/>"),
    ("<a ></a >", "<a/>"),
    ("<a\n/>", "<a/>"),
    ('<a  b="1"\tc = "2" ></a>', '<a b="1" c="2"/>'),
    ("<a b='\"'/>", '<a b="&quot;"/>'),
    ('<a b="&#10;&#x41;>\n"/>', '<a b="&#xA;A&gt; "/>'),
    ("<a>&#x41;&apos;></a>", "<a>A'&gt;</a>"),
    ("<a><b></b><![CDATA[x<]]><b> </b></a>", "<a><b/>x&lt;<b> </b></a>"),
    ("<a><![CDATA[]]></a>", "<a/>"),
    ("<a>\r\n\r</a>", "<a>\n\n</a>"),
    ("<a xml:id=' x  y '/>", '<a xml:id="x y"/>'),
    ("<a b='1' xmlns:p='urn:p'><c xmlns:p='urn:p'/></a>", '<a xmlns:p="urn:p" b="1"><c/></a>'),
]


@pytest.mark.parametrize(("written", "expected"), CASES)
def test_one_element(written: str, expected: str) -> None:
    found = element_text(written.encode(), {}, b"<x>").decode()
    assert found == expected == serialize(parse_element(written.encode(), {}))


def random_element(random: Random, name: str = "a", depth: int = 0) -> str:
    """An element in any notation, mostly plain."""

    def text() -> str:
        chance = random.randrange(24)
        return random.choice(MARKUP if chance == 0 else UNCOMMON if chance < 3 else PLAIN)

    def value() -> str:
        quote = "'" if random.randrange(20) == 0 else '"'
        chosen = random.choice(UNCOMMON if random.randrange(8) == 0 else PLAIN)
        return quote + chosen.replace(quote, "") + quote

    def blank() -> str:
        return random.choice([" ", " ", " ", "  ", "\n"])

    names = random.sample("pqr", random.randint(0, 2))
    sign = random.choice(["=", "=", "=", " = "])
    attributes = "".join(f"{blank()}{one}{sign}{value()}" for one in names)
    closing = random.choice(["", "", "", " "])
    below = {"a": "bc", "b": "ac", "c": ""}[name] if depth < 3 else ""
    content = [
        random_element(random, random.choice(below), depth + 1)
        for _ in range(random.randint(0, 3))
        if below
    ]
    texts = [text() for _ in range(random.randint(0, 2))]
    inside = content + texts
    random.shuffle(inside)
    if not inside and random.randrange(2):
        return f"<{name}{attributes}{closing}/>"
    return f"<{name}{attributes}{closing}>{''.join(inside)}</{name}{closing}>"


@pytest.mark.parametrize("seed", range(300 if FULL else 20))
def test_many_at_once(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    elements = [random_element(random) for _ in range(40)]
    fillers = [
        f'<filler id="{number}" tsid="1">{element}</filler>'
        for number, element in enumerate(elements)
    ]
    file = tmp_path / "f.xml"
    file.write_bytes("\n".join(fillers).encode())
    size = file.stat().st_size
    chunk = Chunk(str(file), "f.xml", 0, size, UNDECLARED, b"", True, True)
    staged = stage_chunk(chunk, TAGS, tmp_path / "staged")
    assert staged is not None
    found = {}
    for table in staged.tables:
        for row in read_staged(table.source.rows).to_pylist():
            found[int(row["filler"])] = row["raw"].decode()
            _check_spans(row["element"], row["raw"])
    expected = {n: serialize(parse_element(e.encode(), {})) for n, e in enumerate(elements)}
    assert found == expected
    assert all(
        element_text(e.encode(), {}, b"<x>").decode() == expected[n] for n, e in enumerate(elements)
    )


def _check_spans(element: dict[str, object], raw: bytes) -> None:
    """Check that every element that has a span starts and ends there."""
    start, length = element["_start"], element["_length"]
    assert isinstance(start, int)
    assert isinstance(length, int)
    text = raw[start : start + length]
    assert text[:1] == b"<"
    assert text[-1:] == b">"
    assert serialize(parse_element(text, {})).encode() == text
    for value in element.values():
        for below in value if isinstance(value, list) else [value]:
            if isinstance(below, dict) and "_start" in below:
                _check_spans(below, raw)


def test_what_is_in_that_form_is_left_alone() -> None:
    data = b'<a b="1" c="&quot;">x &lt; y<b/><b d="">z</b></a>'
    tokens = tokenize(data)
    assert tokens is not None
    assert not len(tokens.edits.begins)
    assert element_text(data, {}, b"<x>") == data
