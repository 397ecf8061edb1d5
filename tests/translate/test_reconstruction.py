"""Functions that fill holes, generated from the Tag Structure."""

from __future__ import annotations

import re
from pathlib import Path

from tests.translate import saxon
from xcql.translate import translate

NOW = "2004-01-01T00:00:00"
TAGS = """
<structure>
  <tag type="snapshot" id="1" name="r">
    <tag type="temporal" id="2" name="a">
      <tag type="temporal" id="3" name="b"/>
      <tag type="event" id="4" name="c"/>
    </tag>
    <tag type="temporal" id="5" name="n"><tag ref="5"/><tag type="snapshot" id="6" name="x"/></tag>
  </tag>
</structure>
"""
FRAGMENTS = """
<fragments>
  <filler id="0" tsid="1"><r>1<hole id="a"/>2<hole id="n"/><hole id="none"/>3</r></filler>
  <filler id="a" tsid="2" validTime="2003-01-01"><a>4<hole id="b"/>5<hole id="c"/></a></filler>
  <filler id="a" tsid="2" validTime="2003-02-01"><a><hole id="c"/><hole id="b"/></a></filler>
  <filler id="b" tsid="3" validTime="2003-01-02"><b>6</b></filler>
  <filler id="b" tsid="3" validTime="2003-01-03"><b>7</b></filler>
  <filler id="c" tsid="4" validTime="2003-01-02"><c>8</c></filler>
  <filler id="n" tsid="5" validTime="2003-01-01"><n>9<hole id="m"/><x/></n></filler>
  <filler id="m" tsid="5" validTime="2003-01-01"><n><hole id="n"/><hole id="m"/>10</n></filler>
</fragments>
"""


def functions(query: str, strategy: str) -> dict[str, str]:
    """The bodies of the generated functions, by name."""
    text = translate(query, {"s": TAGS}, strategy).text  # type: ignore[arg-type]
    found = re.findall(r"declare function (local:[\w-]+)\((.*?)\n\};", text, re.DOTALL)
    return {name: " ".join(body.split()) for name, body in found}


def test_no_function_calls_itself() -> None:
    for query in ('stream("s")', 'stream("s")//a', 'stream("s")//c/..', 'stream("s")//a/text()'):
        for strategy in ("caq", "qac", "qac+"):
            for name, body in functions(query, strategy).items():
                assert f"{name}(" not in body


def test_recursion_only_at_recursive_tags() -> None:
    (view,) = functions('stream("s")', "caq").values()
    recursive = 'xcql:whole($stream, $v2, ("2", "3", "4", "5"), $n1/@id)'
    assert f"case element(n) return {recursive}" in view
    assert view.count("xcql:whole(") == 1
    (a,) = functions('stream("s")/r/a', "qac").values()
    assert "xcql:whole(" not in a


def test_what_is_not_looked_at_is_left_as_it_is() -> None:
    (view,) = functions('stream("s")//c/../name()', "qac").values()
    assert 'if (xcql:tsid($stream, $n1/@id) = "2") then' in view
    assert 'if (xcql:tsid($stream, $n2/@id) = "4") then' in view


def test_same_answers(tmp_path: Path) -> None:
    file = tmp_path / "fragments.xml"
    file.write_text(FRAGMENTS)
    for query in (
        'stream("s")',
        'stream("s")/r/a',
        'stream("s")//a/node()',
        'stream("s")//c/../b',
        'stream("s")//n',
        'stream("s")//n/text()',
        'string(stream("s"))',
        'declare function local:temporalize-r($x) { count($x) }; local:temporalize-r(stream("s"))',
    ):
        saxon.agree(query, {"s": (file, TAGS)}, NOW, tmp_path)


def test_deep_structures(tmp_path: Path) -> None:
    depth = 90
    tags = "".join(f'<tag type="temporal" id="{n}" name="t{n}">' for n in range(1, depth))
    file = tmp_path / "fragments.xml"
    fillers = "".join(
        f'<filler id="{n}" tsid="{n + 1}" validTime="2003-01-01">'
        f'<t{n + 1}>{n}<hole id="{n + 1}"/></t{n + 1}></filler>'
        for n in range(depth - 1)
    )
    file.write_text(f"<fragments>{fillers}</fragments>")
    structure = f"<structure>{tags}{'</tag>' * (depth - 1)}</structure>"
    for query in ('count(stream("s")//node())', 'string(stream("s")//t9)'):
        saxon.agree(query, {"s": (file, structure)}, NOW, tmp_path)
