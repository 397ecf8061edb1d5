"""Namespaces in answers: declared once, on the outermost element, in the same bytes on each engine.

Random streams declare namespaces around fillers, on their elements and further inside: one prefix
for several names, names with several prefixes, and the default namespace.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds

NOW = "2003-06-01T00:00:00"
TAGS = """<structure xmlns:p="urn:p"><tag type="snapshot" id="1" name="r">
  <tag type="temporal" id="2" name="p:t"><tag type="snapshot" id="3" name="x">
    <tag type="snapshot" id="4" name="p:y"/></tag>
    <tag type="event" id="5" name="p:e"/><tag type="temporal" id="6" name="u"/></tag>
</tag></structure>"""
QUERIES = (
    'stream("s")',
    'stream("s")//Q{urn:p}t',
    'stream("s")//x',
    'stream("s")//Q{urn:p}y',
    'stream("s")//Q{urn:p}t?[2003-02-01, now]',
    'for $t in stream("s")//Q{urn:p}t return <got n="{ name($t) }">{ $t/x, $t//u }</got>',
    'stream("s")//u/string()',
    'stream("s")//Q{urn:p}e/(name(), string-length(string()))',
    'count(distinct-values(stream("s")//*/namespace-uri()))',
    'stream("s")//@Q{urn:q}k/string()',
    'stream("s")//*/@Q{urn:q}k',
    'stream("s")//*',
    'stream("s")//(x | @*)',
    'stream("s")//*/(name(), local-name(), namespace-uri())',
    '<a>{ stream("s")//x/node() }</a>',
    'stream("s")//Q{urn:p}t[@Q{urn:q}k > 4 or @k > 4]/x',
)
URIS = ("urn:p", "urn:q", "urn:r")
Scope = dict[str, str]


class RandomStream:
    """A stream whose elements declare namespaces at random.

    In every third stream, all declarations are around the fillers.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._is_uniform = seed % 3 == 0
        self._around: Scope = {}
        if self._is_uniform or seed % 4:
            self._around = {**self._declared(), "p": "urn:p"}

    def text(self) -> str:
        fillers = [self._filler("0", "1", "r", '<hole id="1"/><hole id="2"/>')]
        for id in ("1", "2"):
            fillers += [self._filler(id, "2", "p:t", id) for _ in range(self._random.randint(1, 2))]
            fillers.append(self._filler(f"{id}e", "5", "p:e", "<!-- xmlns -->text"))
        fillers.append(self._filler("1u", "6", "u", "text"))
        return f"<f xmlns:stream='urn:s'{_written(self._around)}>{''.join(fillers)}</f>"

    def _filler(self, id: str, tsid: str, name: str, content: str) -> str:
        month = self._random.randint(1, 5)
        head = f'stream:filler id="{id}" tsid="{tsid}" validTime="2003-0{month}-01"'
        return f"<{head}>{self._element(name, content, self._around)}</stream:filler>"

    def _element(self, name: str, content: str, around: Scope) -> str:
        """An element whose start tag declares what it needs, and more."""
        own = {} if self._is_uniform else self._declared()
        uri, local = ("urn:p", name[2:]) if name.startswith("p:") else ("", name)
        scope = {**around, **own}
        known = [prefix for prefix, bound in scope.items() if bound == uri and uri]
        if known:
            prefix = self._random.choice(known)
        else:
            prefix = "p" if uri else ""
            if scope.get(prefix, "") != uri:
                own[prefix] = scope[prefix] = uri
        if name == "p:t":
            holes = f'<hole id="{content}e" xmlns=""/><hole id="{content}u" xmlns=""/>'
            content = f"{self._element('x', '', scope)}{holes}tail"
        elif name == "x":
            content = self._element("p:y", "1", scope)
        elif name == "r":
            content = content.replace("/>", ' xmlns=""/>')
        written = f"{prefix}:{local}".lstrip(":")
        start = f"{written}{_written(own)}{self._attributes(scope)}"
        return f"<{start}>{content}</{written}>"

    def _attributes(self, scope: Scope) -> str:
        """Attributes of one name, in no namespace and in one with any of its prefixes."""
        prefixes = [prefix for prefix, uri in scope.items() if prefix and uri == "urn:q"]
        names = ["k", *(f"{prefix}:k" for prefix in prefixes[:1])]
        kept = self._random.sample(names, self._random.randint(0, len(names)))
        return "".join(f' {name}="{self._random.randint(1, 9)}"' for name in kept)

    def _declared(self) -> Scope:
        prefixes = self._random.sample(["p", "q", "z", ""], self._random.choice([0, 0, 1, 2]))
        return {prefix: self._random.choice(URIS) for prefix in prefixes}


def _written(declared: Scope) -> str:
    return "".join(f" {f'xmlns:{prefix}'.rstrip(':')}='{uri}'" for prefix, uri in declared.items())


@worlds(range(40) if FULL else (0, 1))
def test_same_bytes(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    text = RandomStream(number).text()
    session = open_session(world_store(tmp_path, {"s": text}, {"s": TAGS}))
    for query in QUERIES:
        expected = xcql.evaluate(query, streams={"s": (text, TAGS)}, now=NOW)
        for strategy in ("auto", "qac", "caq") if FULL else ("auto",):
            found = session.query(query, strategy=strategy, now=NOW).to_xml()
            assert found == [item.xml for item in expected], (number, strategy, query, text)


MIXED_TAGS = """<stream:structure xmlns:f="urn:f"><tag type="snapshot" id="1" name="f:r">
  <tag type="snapshot" id="2" name="f:a"><tag type="snapshot" id="3" name="f:b"/></tag>
</tag></stream:structure>"""
MIXED = """<fragments xmlns:f="urn:f"><filler id="0" tsid="1">
  <f:r>x<f:a>y<f:b c="&gt;">t&amp;<![CDATA[<u>]]><!-- v --></f:b></f:a></f:r>
</filler></fragments>"""


def test_text_of_elements_in_mixed_content(tmp_path: Path, open_session: OpenSession) -> None:
    """Their prefixes are declared outside."""
    session = open_session(world_store(tmp_path, {"s": MIXED}, {"s": MIXED_TAGS}))
    query = 'declare namespace f = "urn:f"; stream("s")//f:a/f:b/string(), data(stream("s")//f:a)'
    expected = xcql.evaluate(query, streams={"s": (MIXED, MIXED_TAGS)})
    assert session.query(query).to_xml() == [item.xml for item in expected]
