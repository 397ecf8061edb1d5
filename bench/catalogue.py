"""A catalogue of star systems with a long history: sixty documents, one per quarter of a year.

Its shape is that of the Open Exoplanet Catalogue: binaries in binaries, stars in them, planets of
stars and of binaries, several names of each, measurements with errors; and notes that answer notes.
From one document to the next, systems and planets are discovered, measured again, renamed, doubted,
withdrawn and restored; a star turns out to be a binary. All of it is the same in each run.

Systems, binaries and planets have fillers of their own, so there is recursion across fillers
(binaries) and inside of them (notes). The fragments are those of `xcqlc fragment --previous`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random

from bench.words import LAST_NAMES, WORDS
from xcql.history.changes import fragment_changes
from xcql.history.latest import LatestState, add_to_state
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import tag_structure
from xcql.model.infer_schema import infer_from_dtd
from xcql.model.shapes import shape_reader
from xcql.model.tags import TagStructure
from xcql.model.time import format_time

STREAM = "catalogue"
TIMES = tuple(datetime(1989 + quarter // 4, 1 + quarter % 4 * 3, 1) for quarter in range(60))
TEMPORAL = ("system", "binary", "planet")
# at full size, a document has about 8 MB
_SYSTEMS = 3000
# the part of the systems that the first document has
_KNOWN = 0.6
_DTD = """\
<!ELEMENT catalogue (system*)>
<!ELEMENT system (name+, rightascension, declination, distance, note*, (binary | star))>
<!ELEMENT binary (name+, separation, eccentricity, (binary | star)+, planet*)>
<!ELEMENT star (name+, mass, radius, temperature, metallicity, spectraltype, planet*)>
<!ELEMENT planet (name+, list, mass, radius?, period, semimajoraxis, eccentricity,
  discoverymethod, discoveryyear, description)>
<!ELEMENT note (text, note*)>
<!ELEMENT name (#PCDATA)> <!ELEMENT rightascension (#PCDATA)> <!ELEMENT declination (#PCDATA)>
<!ELEMENT distance (#PCDATA)> <!ELEMENT separation (#PCDATA)> <!ELEMENT eccentricity (#PCDATA)>
<!ELEMENT mass (#PCDATA)> <!ELEMENT radius (#PCDATA)> <!ELEMENT temperature (#PCDATA)>
<!ELEMENT metallicity (#PCDATA)> <!ELEMENT spectraltype (#PCDATA)> <!ELEMENT list (#PCDATA)>
<!ELEMENT period (#PCDATA)> <!ELEMENT semimajoraxis (#PCDATA)> <!ELEMENT description (#PCDATA)>
<!ELEMENT discoverymethod (#PCDATA)> <!ELEMENT discoveryyear (#PCDATA)> <!ELEMENT text (#PCDATA)>
"""
CONFIRMED, DOUBTED = "Confirmed planets", "Controversial"
_METHODS = ("transit", "RV", "RV", "transit", "transit", "imaging", "microlensing", "timing")
# the measurements of each kind of body: the name, a typical value, the number of digits
_MEASURES = {
    "system": (("distance", 120.0, 1),),
    "binary": (("separation", 40.0, 1), ("eccentricity", 0.3, 3)),
    "star": (("mass", 1.0, 2), ("radius", 1.0, 2), ("temperature", 5600.0, 0)),
    "planet": (("mass", 1.5, 3), ("radius", 0.9, 3), ("period", 40.0, 2), ("eccentricity", 0.1, 3)),
}


@dataclass(slots=True)
class _Measure:
    value: float
    error: float
    digits: int

    def xml(self, name: str) -> str:
        minus, plus = (f"{self.error * part:.{self.digits + 1}f}" for part in (1, 1.2))
        value = f"{self.value:.{self.digits}f}"
        return f'<{name} errorminus="{minus}" errorplus="{plus}">{value}</{name}>\n'


@dataclass(slots=True)
class _Note:
    author: str
    text: str
    answers: list[_Note] = field(default_factory=list)

    def xml(self) -> str:
        answers = "".join(answer.xml() for answer in self.answers)
        return f'<note by="{self.author}"><text>{self.text}</text>{answers}</note>\n'


@dataclass(slots=True)
class _Body:
    """A system, a binary, a star or a planet, with all that is in it."""

    kind: str
    id: str
    names: list[str]
    measures: dict[str, _Measure]
    # what is written before and after the measurements
    facts: tuple[str, str] = ("", "")
    status: str = ""
    notes: list[_Note] = field(default_factory=list)
    bodies: list[_Body] = field(default_factory=list)

    def xml(self) -> str:
        names = "".join(f"<name>{name}</name>\n" for name in self.names)
        status = f"<list>{self.status}</list>\n" if self.status else ""
        before, after = self.facts
        measures = "".join(measure.xml(name) for name, measure in self.measures.items())
        notes = "".join(note.xml() for note in self.notes)
        bodies = "".join(body.xml() for body in self.bodies)
        inside = f"{names}{status}{before}{measures}{after}{notes}{bodies}"
        return f'<{self.kind} id="{self.id}">\n{inside}</{self.kind}>\n'

    def all(self) -> Iterator[_Body]:
        """This body, and all that are in it."""
        yield self
        for body in self.bodies:
            yield from body.all()


class _Sky:
    """The systems, as they are known in one quarter after the other."""

    def __init__(self, size: float, seed: int) -> None:
        self._random = Random(seed)
        # the number of bodies that each system has had
        self._numbers: dict[str, int] = {}
        self._systems = [self._system(number) for number in range(max(4, round(_SYSTEMS * size)))]
        self._since = [self._first_quarter() for _ in self._systems]
        self._withdrawn: dict[str, list[tuple[_Body, _Body]]] = {}

    def documents(self) -> Iterator[Iterator[str]]:
        """The documents in pieces, one document per quarter."""
        texts = [system.xml() for system in self._systems]
        for quarter in range(len(TIMES)):
            for number, system in enumerate(self._systems):
                if self._since[number] < quarter and self._pass_quarter(system):
                    texts[number] = system.xml()
            known = (
                text for text, since in zip(texts, self._since, strict=True) if since <= quarter
            )
            yield _document(known)

    def _first_quarter(self) -> int:
        is_known = self._random.random() < _KNOWN
        return 0 if is_known else self._random.randrange(1, len(TIMES))

    def _pass_quarter(self, system: _Body) -> bool:
        """Let happen to a system what happens in a quarter; whether anything does."""
        happens = [action for action, likely in self._likely if self._random.random() < likely]
        for action in happens:
            action(system)
        return bool(happens)

    @property
    def _likely(self) -> tuple[tuple[Callable[[_Body], None], float], ...]:
        """What may happen, and how likely it is in a quarter."""
        return (
            (self._measure, 0.15),
            (self._name, 0.01),
            (self._find, 0.01),
            (self._doubt, 0.006),
            (self._withdraw, 0.003),
            (self._restore, 0.05),
            (self._split, 0.002),
            (self._note, 0.03),
        )

    def _measure(self, system: _Body) -> None:
        body = self._random.choice(list(system.all()))
        measure = self._random.choice(list(body.measures.values()))
        measure.value *= 1 + self._random.gauss(0, 0.1)
        measure.error *= 0.8

    def _name(self, system: _Body) -> None:
        self._random.choice(list(system.all())).names.append(self._designation())

    def _find(self, system: _Body) -> None:
        hosts = [body for body in system.all() if body.kind in ("star", "binary")]
        host = self._random.choice(hosts)
        host.bodies.append(self._planet(system.id, host.names[0]))

    def _doubt(self, system: _Body) -> None:
        for _, planet in _places(system, "planet")[:1]:
            planet.status = DOUBTED if planet.status == CONFIRMED else CONFIRMED

    def _withdraw(self, system: _Body) -> None:
        if planets := _places(system, "planet"):
            host, planet = self._random.choice(planets)
            host.bodies.remove(planet)
            self._withdrawn.setdefault(system.id, []).append((host, planet))

    def _restore(self, system: _Body) -> None:
        if withdrawn := self._withdrawn.get(system.id):
            host, planet = withdrawn.pop()
            host.bodies.append(planet)

    def _split(self, system: _Body) -> None:
        """A star turns out to be two, with its planets in orbit around one of them."""
        host, star = self._random.choice(_places(system, "star"))
        host.bodies[host.bodies.index(star)] = self._binary(
            system.id, [star, self._star(system.id)]
        )

    def _note(self, system: _Body) -> None:
        """A note on the system, or an answer to one."""
        notes = system.notes
        while notes and self._random.random() < 0.7:
            notes = self._random.choice(notes).answers
        notes.append(_Note(self._random.choice(LAST_NAMES), self._words(8)))

    def _system(self, number: int) -> _Body:
        random, id = self._random, f"s{number}"
        bodies = [self._star(id) for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3, 4)))]
        while len(bodies) > 1:
            one, other = random.sample(bodies, 2)
            bodies = [body for body in bodies if body is not one and body is not other]
            bodies.append(self._binary(id, [one, other]))
        for body in list(bodies[0].all()):
            for _ in range(random.choice((0, 1, 1, 2, 3)) if body.kind == "star" else 0):
                body.bodies.append(self._planet(id, body.names[0]))
        hours, minutes = random.randrange(24), random.randrange(60)
        place = (
            f"<rightascension>{hours:02} {minutes:02}</rightascension>\n"
            f"<declination>{random.randrange(-89, 90):+03}</declination>\n"
        )
        return self._body("system", id, self._designation(), (place, ""), bodies=bodies)

    def _binary(self, system: str, bodies: list[_Body]) -> _Body:
        return self._body("binary", self._new_id(system, "b"), self._designation(), bodies=bodies)

    def _star(self, system: str) -> _Body:
        kind = self._random.choice("FGKM") + str(self._random.randrange(10))
        after = f"<metallicity>{self._random.gauss(0, 0.2):.2f}</metallicity>\n"
        after += f"<spectraltype>{kind} V</spectraltype>\n"
        return self._body("star", self._new_id(system, "a"), self._designation(), ("", after))

    def _planet(self, system: str, host: str) -> _Body:
        random, id = self._random, self._new_id(system, "p")
        after = (
            f"<semimajoraxis>{random.expovariate(1):.3f}</semimajoraxis>\n"
            f"<discoverymethod>{random.choice(_METHODS)}</discoverymethod>\n"
            f"<discoveryyear>{random.randrange(1985, 2003)}</discoveryyear>\n"
            f"<description>{self._words(40)}</description>\n"
        )
        name = f"{host} {id.rpartition('p')[2]}"
        return self._body("planet", id, name, ("", after), CONFIRMED)

    def _body(
        self,
        kind: str,
        id: str,
        name: str,
        facts: tuple[str, str] = ("", ""),
        status: str = "",
        bodies: Sequence[_Body] = (),
    ) -> _Body:
        measures = {}
        for measure, typical, digits in _MEASURES[kind]:
            value = typical * self._random.lognormvariate(0, 0.6)
            measures[measure] = _Measure(value, value * 0.1, digits)
        return _Body(kind, id, [name], measures, facts, status, bodies=list(bodies))

    def _designation(self) -> str:
        return f"{self._random.choice(WORDS).capitalize()} {self._random.randrange(1, 10000)}"

    def _words(self, number: int) -> str:
        return " ".join(self._random.choices(WORDS, k=number))

    def _new_id(self, system: str, letter: str) -> str:
        self._numbers[system] = self._numbers.get(system, 0) + 1
        return f"{system}{letter}{self._numbers[system]}"


def _places(system: _Body, kind: str) -> list[tuple[_Body, _Body]]:
    """The bodies of a kind in a system, each with the one that it is in."""
    pairs = ((host, body) for host in system.all() for body in host.bodies)
    return [pair for pair in pairs if pair[1].kind == kind]


def _document(systems: Iterator[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<catalogue>\n'
    yield from systems
    yield "</catalogue>\n"


def write_snapshots(folder: Path, size: float, seed: int = 1) -> None:
    """Write the documents, by their times: `1989-01-01.xml` is the first."""
    for time, document in zip(TIMES, _Sky(size, seed).documents(), strict=True):
        with (folder / f"{time:%Y-%m-%d}.xml").open("w", encoding="utf-8") as file:
            file.writelines(document)


def write_fragments(snapshots: Path, tags: TagStructure, folder: Path) -> None:
    """Write the fragments of a folder of documents: the first as a whole, then what changed."""
    shape_of, state = shape_reader(tags, {}), LatestState()
    for path in sorted(snapshots.iterdir()):
        time, changes = datetime.fromisoformat(path.stem), folder / path.name
        with path.open("rb") as source, changes.open("wb", 1 << 20) as target:
            document = read_document(source, path.name)
            if state.is_empty:
                fragment(document, tags, format_time(time), target)
            else:
                fragment_changes(document, tags, state, shape_of, time, target)
        if state.is_empty:
            with changes.open("rb") as source:
                add_to_state(state, read_document(source, path.name), tags, shape_of)


def catalogue_tags(folder: Path) -> TagStructure:
    """The Tag Structure of the catalogue's DTD, which is written to a folder."""
    dtd = folder / "catalogue.dtd"
    dtd.write_text(_DTD)
    return tag_structure(infer_from_dtd(dtd), temporal=[f"//{name}" for name in TEMPORAL])
