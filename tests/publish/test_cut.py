"""Fragments cut out of a file and put on one line keep their meaning."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xcql.model.fragments import content_tree
from xcql.model.read import read_all
from xcql.model.tags import parse_tags
from xcql.publish.cut import as_text, cut, one_line
from xcql.xdm.serialize import canonical

TAGS = parse_tags(
    '<structure><tag type="snapshot" id="1" name="a"><tag type="snapshot" id="2" name="b"/>'
    '<tag type="event" id="3" name="e"/></tag></structure>'
)

_LINE_END = st.sampled_from(["\n", "\r\n", "\r", " ", "\n\n", "\n\r"])
_PIECE = st.one_of(
    st.sampled_from(["x", "&lt;", "<b>y</b>", "<b/>", "]", "&#10;"]),
    _LINE_END,
    _LINE_END.map(lambda end: f"<!-- {end} -->"),
    _LINE_END.map(lambda end: f"<?pi {end}x?>"),
    _LINE_END.map(lambda end: f"<![CDATA[<{end}>]]>"),
    _LINE_END.map(lambda end: f'<b{end}k="{end}>{end}">{end}</b{end}>'),
    _LINE_END.map(lambda end: f'<hole id="7"{end}/>'),
    _LINE_END.map(lambda end: f"<stream:hole id='7'>{end}</stream:hole>"),
)


def _meaning(file: str | bytes) -> tuple[list[object], int]:
    batch = read_all(file if isinstance(file, bytes) else file.encode(), TAGS)
    good = [
        (one.op, one.id, one.tsid, one.valid_time, canonical(content_tree(one)), len(one.holes))
        for one in batch.fragments
    ]
    return good, len(batch.rejected)


def _lines(file: str | bytes) -> list[bytes]:
    return [one_line(one) for one in cut(file, "f.xml") if isinstance(one, bytes)]


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECE, max_size=8), _LINE_END, st.booleans())
def test_one_line_means_the_same(pieces: list[str], end: str, with_root: bool) -> None:
    text = (
        f'<filler{end}id="0" tsid="1"{end}>{end}<!--{end}--><a{end}>{"".join(pieces)}</a>{end}'
        f'</filler>{end}<filler id="9"{end}tsid="3" validTime="2004-01-01"><e/></filler>'
    )
    file = f"<fs>{text}</fs>" if with_root else text
    lines = _lines(file)
    assert len(lines) == 2
    assert all(b"\n" not in line for line in lines)
    assert _meaning(b"\n".join(lines)) == _meaning(file)
    # each one separately
    good = [_meaning(as_text(line))[0][0] for line in lines]
    assert good == _meaning(file)[0]


def test_namespaces_of_the_root_go_along() -> None:
    tags = parse_tags(
        '<structure xmlns:p="urn:p"><tag type="snapshot" id="1" name="p:a"/></structure>'
    )
    file = (
        '<fs xmlns:p="urn:p" xmlns:q="a&amp;b"><stream:filler id="0" tsid="1"><p:a/>'
        '</stream:filler><filler id="1" xmlns:p="urn:p" tsid="1"><p:a q:x=""/></filler></fs>'
    )
    whole = read_all(file, tags)
    assert not whole.rejected
    for line, fragment in zip(_lines(file), whole.fragments, strict=True):
        (alone,) = read_all(line, tags).fragments
        assert (alone.content, alone.namespaces) == (fragment.content, fragment.namespaces)


def test_what_is_no_fragment_comes_out_too() -> None:
    file = (
        '<fs>stray<filler id="1" tsid="3"><e></filler><filler id="0" tsid="1"><a/></filler>'
        '<filler id="2" tsid="1"><a><filler id="3" tsid="1"><a/></filler></fs>'
    )
    lines = _lines(file)
    assert lines[0] == b"stray"
    together = [_meaning(as_text(line)) for line in lines]
    assert [one for good, _ in together for one in good] == _meaning(file)[0]
    assert sum(bad for _, bad in together) == _meaning(file)[1]


def test_nothing_comes_after_the_end_of_a_stream() -> None:
    file = (
        '<fs><filler id="0" tsid="1"><a/></filler><eos/><filler id="1" tsid="1"><a/></filler></fs>'
    )
    found = list(cut(file, "f.xml"))
    assert found[1] == b"<eos/>"
    assert [getattr(one, "code", None) for one in found[2:]] == ["XCQL0301"]


def test_bytes_that_are_no_text_stay_bad() -> None:
    good, bad = _meaning(as_text(b'<filler id="0" tsid="1"><a>\xff</a></filler>'))
    assert (good, bad) == ([], 1)
