"""Star systems as in astronomical catalogues: binaries inside binaries, with a long history.

`system` and `binary` hold a binary, stars and planets; a binary also holds binaries, which the tag
structure expresses by `ref`. Everything below the root is temporal. The view has a copy of a filler
under each version of its parent filler, so the number of copies is the product of the numbers of
versions along the path: few fragments make a large view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

TAGS = """<stream:structure>
<tag type="snapshot" id="1" name="systems">
  <tag type="temporal" id="2" name="system">
    <tag type="snapshot" id="3" name="name"/>
    <tag type="snapshot" id="4" name="distance"/>
    <tag type="temporal" id="5" name="binary">
      <tag type="snapshot" id="6" name="name"/>
      <tag type="snapshot" id="7" name="separation"/>
      <tag type="temporal" id="8" name="star">
        <tag type="snapshot" id="9" name="name"/>
        <tag type="snapshot" id="10" name="mass"/>
        <tag type="temporal" id="11" name="planet">
          <tag type="snapshot" id="12" name="name"/>
          <tag type="snapshot" id="13" name="mass"/>
          <tag type="snapshot" id="14" name="note"/>
        </tag>
      </tag>
      <tag ref="5"/>
    </tag>
    <tag ref="8"/>
  </tag>
</tag>
</stream:structure>
"""

BEGIN = datetime(2011, 1, 1)
NOW = datetime(2026, 1, 1)

# what catalogues contain where a number or text is expected
_MASSES = ("1.05", "0.3", "2.5e-3", "", "NaN", "1,2", " 11 ", "0", "-1", "INF")
_NOTES = (
    "found by transit",
    "",
    "mass is m sin i &lt; 13",
    "Zo\u00eb \u2014 \u05d0\u05d1 \U0001f52d",
    "<![CDATA[a < b && c]]>",
    "tab\tand\nline",
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How many systems, how deep binaries nest, and how many versions each kind of filler has."""

    systems: int
    depth: int
    system_versions: int = 1
    binary_versions: int = 1
    star_versions: int = 1
    planet_versions: int = 50
    seed: int = 1

    @property
    def planet_copies(self) -> int:
        """How many planets the view has: one planet per star, two stars per binary."""
        in_binaries = sum(self.binary_versions**level * 2 for level in range(1, self.depth + 1))
        below = self.star_versions * self.planet_versions
        return self.systems * self.system_versions * in_binaries * below


def fragments(shape: Shape) -> Iterator[str]:
    """The fillers of a stream, one per line, in order of time within each id."""
    random = Random(shape.seed)
    holes = "".join(f'<hole id="s{number}" tsid="2"/>' for number in range(shape.systems))
    yield _filler("0", 1, BEGIN, f"<systems>{holes}</systems>")
    for number in range(shape.systems):
        name = f"s{number}"
        for time in _times(random, shape.system_versions):
            yield _filler(
                name,
                2,
                time,
                f"<system><name>Kepler-{number}</name>"
                f"<distance>{random.randint(1, 9999)}</distance>"
                f'<hole id="{name}b" tsid="5"/></system>',
            )
        yield from _binary(shape, random, f"{name}b", shape.depth)


def _binary(shape: Shape, random: Random, name: str, depth: int) -> Iterator[str]:
    inner = f'<hole id="{name}b" tsid="5"/>' if depth > 1 else ""
    for time in _times(random, shape.binary_versions):
        yield _filler(
            name,
            5,
            time,
            f"<binary><name>{name}</name><separation>{random.randint(1, 999)}</separation>"
            f'<hole id="{name}1" tsid="8"/>{inner}<hole id="{name}2" tsid="8"/></binary>',
        )
    for number in (1, 2):
        star = f"{name}{number}"
        for time in _times(random, shape.star_versions):
            yield _filler(
                star,
                8,
                time,
                f'<star spectral="G{random.randint(0, 9)}"><name>{star}</name>'
                f'<mass>{random.choice(_MASSES)}</mass><hole id="{star}p" tsid="11"/></star>',
            )
        for time in _times(random, shape.planet_versions):
            yield _filler(
                f"{star}p",
                11,
                time,
                f'<planet method="m{random.randint(0, 5)}"><name>{star} p</name>'
                f"<mass>{random.choice(_MASSES)}</mass><note>{random.choice(_NOTES)}</note></planet>",
            )
    if depth > 1:
        yield from _binary(shape, random, f"{name}b", depth - 1)


def _times(random: Random, count: int) -> list[datetime]:
    days = random.sample(range(1, 5000), count)
    return [BEGIN + timedelta(days=day) for day in sorted(days)]


def _filler(id: str, tsid: int, time: datetime, element: str) -> str:
    return f'<filler id="{id}" tsid="{tsid}" validTime="{time.isoformat()}">{element}</filler>\n'
