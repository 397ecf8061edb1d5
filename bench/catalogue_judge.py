"""The right answers of the queries over the catalogue, from its documents, in plain Python.

Nothing of XCQL is used here. Each document is read once, and what the queries ask about is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from bench.catalogue import DOUBTED

Judge = Callable[["Years"], Iterator[str]]
JUDGES: dict[str, Judge] = {}


@dataclass(frozen=True, slots=True)
class Planet:
    """A planet in one document; `hosts` are the ids of all that it is in, from the system on."""

    id: str
    hosts: tuple[str, ...]
    binaries: int
    names: tuple[str, ...]
    status: str
    mass: str
    error: str
    period: float
    method: str
    # of the star, if it has one
    temperature: str
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    author: str
    answers: tuple[Note, ...]

    @property
    def depth(self) -> int:
        return 1 + max((answer.depth for answer in self.answers), default=0)

    def all(self) -> Iterator[Note]:
        yield self
        for answer in self.answers:
            yield from answer.all()


@dataclass(frozen=True, slots=True)
class System:
    """A system in one document; `own` is its content without that of its planets and binaries."""

    id: str
    name: str
    distance: str
    binaries: int
    # the ids of stars, each with the number of binaries that it is in
    stars: tuple[tuple[str, int], ...]
    has_star: bool
    notes: tuple[Note, ...]
    own: str
    planets: tuple[Planet, ...]


@dataclass(frozen=True, slots=True)
class Sky:
    """A document: its systems in order."""

    time: datetime
    systems: dict[str, System]

    @property
    def planets(self) -> Iterator[Planet]:
        return (planet for system in self.systems.values() for planet in system.planets)

    @property
    def by_id(self) -> dict[str, Planet]:
        return {planet.id: planet for planet in self.planets}


@dataclass(frozen=True, slots=True)
class Version:
    """A planet as it was for a while."""

    planet: Planet
    since: datetime
    until: datetime
    is_last: bool


class Years:
    """All documents, in the order of time; the last one is valid until `now`."""

    def __init__(self, skies: Sequence[Sky], now: datetime) -> None:
        self.skies, self.now = skies, now

    def at(self, day: str) -> Sky:
        """The document that was valid on a day; none began on it."""
        return [sky for sky in self.skies if sky.time < datetime.fromisoformat(day)][-1]

    @cached_property
    def versions(self) -> dict[str, list[Version]]:
        """By planet: a version begins where it differs from before, or is in another place."""
        found: dict[str, list[Version]] = {}
        ends = [*(sky.time for sky in self.skies[1:]), self.now]
        before: dict[str, Planet] = {}
        for sky, end in zip(self.skies, ends, strict=True):
            by_id = sky.by_id
            for id, planet in by_id.items():
                several, old = found.setdefault(id, []), before.get(id)
                if old and (old.hosts, old.text) == (planet.hosts, planet.text):
                    several[-1] = Version(planet, several[-1].since, end, end == self.now)
                else:
                    several.append(Version(planet, sky.time, end, end == self.now))
            before = by_id
        return found

    def versions_of(self, id: str) -> list[tuple[datetime, System]]:
        """The versions of a system: when each began."""
        found: list[tuple[datetime, System]] = []
        for sky in self.skies:
            system = sky.systems.get(id)
            if system and (not found or found[-1][1].own != system.own):
                found.append((sky.time, system))
        return found


def read_years(snapshots: Path, now: str) -> Years:
    """Read a folder of documents whose names are their times."""
    skies: list[Sky] = []
    for path in sorted(snapshots.iterdir()):
        before = skies[-1].systems if skies else {}
        systems = {}
        for element in ElementTree.parse(path).getroot():
            system = _system(element)
            # most are as they were: one copy is enough
            old = before.get(system.id)
            systems[system.id] = old if old == system else system
        skies.append(Sky(datetime.fromisoformat(path.stem), systems))
    return Years(skies, datetime.fromisoformat(now))


@dataclass(frozen=True, slots=True)
class _Place:
    """A body, the one that it is in, the ids of all of these, and how many of them are binaries."""

    body: Element
    host: Element
    hosts: tuple[str, ...]
    binaries: int


def _places(host: Element, hosts: tuple[str, ...], binaries: int) -> Iterator[_Place]:
    """All bodies in another, in document order."""
    inside, outer = (*hosts, host.attrib["id"]), binaries + (host.tag == "binary")
    for body in host:
        if body.tag in ("binary", "star", "planet"):
            yield _Place(body, host, inside, outer)
            yield from _places(body, inside, outer)


def _system(element: Element) -> System:
    places = list(_places(element, (), 0))
    stars = ((one.body.attrib["id"], one.binaries) for one in places if one.body.tag == "star")
    return System(
        element.attrib["id"],
        _text(element, "name"),
        _text(element, "distance"),
        sum(one.body.tag == "binary" for one in places),
        tuple(stars),
        element.find("star") is not None,
        tuple(map(_note, element.findall("note"))),
        _own_text(element),
        tuple(_planet(one) for one in places if one.body.tag == "planet"),
    )


def _planet(place: _Place) -> Planet:
    element = place.body
    mass = element.find("mass")
    assert mass is not None
    return Planet(
        element.attrib["id"],
        place.hosts,
        place.binaries,
        tuple(name.text or "" for name in element.findall("name")),
        _text(element, "list"),
        mass.text or "",
        mass.attrib["errorplus"],
        float(_text(element, "period")),
        _text(element, "discoverymethod"),
        _text(place.host, "temperature"),
        ElementTree.tostring(element, encoding="unicode").rstrip(),
    )


def _note(element: Element) -> Note:
    return Note(element.attrib["by"], tuple(map(_note, element.findall("note"))))


def _own_text(system: Element) -> str:
    """The content of a system, with only the ids of its planets and binaries."""
    text = ElementTree.tostring(system, encoding="unicode").rstrip()
    text = re.sub(r'(<planet id="\w+">).*?</planet>', r"\1", text, flags=re.DOTALL)
    return re.sub(r'(<binary id="\w+">).*</binary>', r"\1", text, flags=re.DOTALL)


def _text(element: Element, name: str) -> str:
    return element.findtext(name) or ""


# the judges, by the numbers of the queries


def _judge(number: str) -> Callable[[Judge], Judge]:
    def add(judge: Judge) -> Judge:
        JUDGES[number] = judge
        return judge

    return add


@_judge("01")
def _planets_now(years: Years) -> Iterator[str]:
    methods = Counter(planet.method for planet in years.skies[-1].planets)
    for method, number in sorted(methods.items()):
        yield _element("method", name=method, planets=number)


@_judge("02")
def _sky_on_a_day(years: Years) -> Iterator[str]:
    sky = years.at("1996-05-15")
    yield _element(
        "sky",
        systems=len(sky.systems),
        binaries=sum(system.binaries for system in sky.systems.values()),
        stars=_stars(sky),
        planets=len(list(sky.planets)),
    )


@_judge("03")
def _growth_by_year(years: Years) -> Iterator[str]:
    for year in range(1989, 2004):
        sky = years.at(f"{year}-08-15")
        yield _element("year", of=year, stars=_stars(sky), planets=len(list(sky.planets)))


@_judge("04")
def _deepest_binaries(years: Years) -> Iterator[str]:
    systems = years.skies[-1].systems.values()
    deepest = max(depth for system in systems for _, depth in system.stars)
    for system in systems:
        if any(depth == deepest for _, depth in system.stars):
            ids = " ".join(id for id, _ in system.stars)
            yield _element("system", ids, id=system.id, depth=deepest)


@_judge("05")
def _many_stars(years: Years) -> Iterator[str]:
    systems = [s for s in years.at("2003-08-15").systems.values() if len(s.stars) >= 4]
    for system in sorted(systems, key=lambda s: (-len(s.stars), s.id)):
        yield _element("system", system.name, id=system.id, stars=len(system.stars))


@_judge("06")
def _first_and_last_version(years: Years) -> Iterator[str]:
    for id in ("s0", "s1", "s2", "s3"):
        versions = [system for _, system in years.versions_of(id)]
        first, last = versions[0].distance, versions[-1].distance
        yield _element("system", id=id, versions=len(versions), first=first, last=last)


@_judge("07")
def _history_of_planets(years: Years) -> Iterator[str]:
    for id, versions in sorted(years.versions.items()):
        for version in versions:
            if version.planet.hosts[0] in ("s1", "s2", "s3"):
                since = version.since.isoformat()
                yield _element("version", version.planet.mass, planet=id, since=since)


@_judge("08")
def _changes_by_year(years: Years) -> Iterator[str]:
    begun: dict[int, list[str]] = {}
    for id, versions in years.versions.items():
        for version in versions:
            begun.setdefault(version.since.year, []).append(id)
    for year, ids in sorted(begun.items()):
        yield _element("year", of=year, versions=len(ids), planets=len(set(ids)))


@_judge("09")
def _withdrawn_planets(years: Years) -> Iterator[str]:
    for id, versions in sorted(years.versions.items()):
        if not versions[-1].is_last:
            yield _element("withdrawn", planet=id, until=versions[-1].until.isoformat())


@_judge("10")
def _restored_planets(years: Years) -> Iterator[str]:
    for id, versions in sorted(years.versions.items()):
        pairs = pairwise(versions)
        gone = [one.until.isoformat() for one, other in pairs if one.until < other.since]
        if gone:
            yield _element("restored", " ".join(gone), planet=id)


@_judge("11")
def _masses_on_several_days(years: Years) -> Iterator[str]:
    for day in ("1990-05-15", "1995-05-15", "2000-05-15"):
        system = years.at(day).systems.get("s3")
        for planet in system.planets if system else ():
            yield _element("mass", planet.mass, day=day, planet=planet.id, errorplus=planet.error)


@_judge("12")
def _revised_masses(years: Years) -> Iterator[str]:
    before, after = years.at("1992-05-15").by_id, years.at("2002-05-15").by_id
    for id in sorted(before.keys() & after.keys()):
        old, new = before[id], after[id]
        if Decimal(new.mass) >= Decimal(old.mass) * Decimal("1.1"):
            names = ", ".join(new.names)
            yield _element("revised", names, planet=id, **{"from": old.mass, "to": new.mass})


@_judge("13")
def _steps_of_distances(years: Years) -> Iterator[str]:
    for number in range(8):
        versions = years.versions_of(f"s{number}")
        for (_, old), (time, new) in pairwise(versions):
            if old.distance != new.distance:
                step = Decimal(new.distance) - Decimal(old.distance)
                # as XQuery writes decimals
                text = f"{step.normalize():f}"
                yield _element("step", text, system=f"s{number}", at=time.isoformat())


@_judge("14")
def _hot_giants(years: Years) -> Iterator[str]:
    for planet in sorted(years.at("2001-05-15").planets, key=lambda planet: planet.id):
        is_hot = planet.temperature and float(planet.temperature) > 6000
        if is_hot and planet.period < 30 and float(planet.mass) > 1.5:
            yield _element(
                "hot",
                planet.temperature,
                star=planet.hosts[-1],
                planet=planet.id,
                inside=planet.binaries,
            )


@_judge("15")
def _better_known_masses(years: Years) -> Iterator[str]:
    before, after = years.at("1991-05-15").by_id, years.at("2001-05-15").by_id
    for id in sorted(before.keys() & after.keys()):
        if float(after[id].error) * 3 <= float(before[id].error) * 2:
            yield _element("planet", after[id].mass, id=id, errorplus=before[id].error)


@_judge("16")
def _stars_that_are_binaries(years: Years) -> Iterator[str]:
    now = years.skies[-1].systems
    for id, system in years.at("1989-02-15").systems.items():
        if system.has_star and not now[id].has_star:
            yield _element("split", " ".join(star for star, _ in now[id].stars), id=id)


@_judge("17")
def _doubted_by_year(years: Years) -> Iterator[str]:
    for year in range(1989, 2004):
        planets = [p for p in years.at(f"{year}-02-15").planets if p.status == DOUBTED]
        inside = sum(planet.binaries > 0 for planet in planets)
        yield _element("year", inside, of=year, planets=len(planets))


@_judge("18")
def _how_long_doubted(years: Years) -> Iterator[str]:
    totals: dict[str, timedelta] = {}
    for id, versions in years.versions.items():
        doubted = (one for one in versions if one.planet.status == DOUBTED)
        totals[id] = sum((one.until - one.since for one in doubted), timedelta())
    for id, total in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])):
        if total.days > 1461:
            yield _element("doubted", f"P{total.days}D", planet=id)


@_judge("19")
def _first_entries(years: Years) -> Iterator[str]:
    firsts = (versions[0] for versions in years.versions.values())
    entries = Counter((first.since.year, first.planet.method) for first in firsts)
    for (year, method), number in sorted(entries.items()):
        yield _element("entered", year=year, method=method, planets=number)


@_judge("20")
def _threads_of_notes(years: Years) -> Iterator[str]:
    found = []
    for system in years.at("2003-05-15").systems.values():
        depth = max((note.depth for note in system.notes), default=0)
        if depth >= 3:
            found.append((-depth, system.id, [one for note in system.notes for one in note.all()]))
    for depth, id, notes in sorted(found, key=lambda one: one[:2]):
        last = " ".join(note.author for note in notes if not note.answers)
        yield _element("thread", last, system=id, depth=-depth, notes=len(notes))


def _stars(sky: Sky) -> int:
    return sum(len(system.stars) for system in sky.systems.values())


def _element(tag: str, content: object = "", /, **attributes: object) -> str:
    pairs = "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())
    return f"<{tag}{pairs}>{content}</{tag}>"


def judged(years: Years, names: Iterable[str]) -> dict[str, str]:
    """The right answers by the names of queries, as XML."""
    return {name: "\n".join(JUDGES[name[:2]](years)) for name in names}
