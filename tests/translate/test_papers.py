"""The queries of paper 1 over streams like its own: every strategy gives the evaluator's answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.translate import saxon

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "samples" / "papers"
CREDIT = (ROOT / "samples" / "credit" / "fragments.xml", ROOT / "samples" / "credit" / "tags.xml")


def _query(name: str) -> str:
    return (PAPERS / f"{name}.xcql").read_text()


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("1-3.1-maxed-out", "2003-12-15T00:00:00"),
        ("1-3.1-fraud", "2003-11-15T10:00:00"),
        ("1-6.1-charged", "2003-12-15T00:00:00"),
        ("1-6.1-charged-now", "2003-12-15T00:00:00"),
    ],
)
def test_credit(name: str, now: str, tmp_path: Path) -> None:
    query = _query(name).replace('"creditSystem"', '"credit"')
    assert saxon.agree(query, {"credit": CREDIT}, now, tmp_path)


def test_first_ten(tmp_path: Path) -> None:
    query = _query("1-6-first-ten").replace("transactions", "transaction")
    assert saxon.agree(query, {"credit": CREDIT}, "2003-12-15T00:00:00", tmp_path)


EVENTS = '<structure><tag type="snapshot" id="1" name="log">{}</tag></structure>'


def _events(folder: Path, stream: str, tag: str, events: list[tuple[str, str]]) -> Path:
    """A stream of events below one root, each given by its time and content."""
    holes = "".join(f'<hole id="{n}"/>' for n, _ in enumerate(events, start=1))
    fillers = [f'<filler id="0" tsid="1"><log>{holes}</log></filler>']
    for number, (time, content) in enumerate(events, start=1):
        body = f"<{tag}>{content}</{tag}>"
        fillers.append(f'<filler id="{number}" tsid="2" validTime="{time}">{body}</filler>')
    file = folder / f"{stream}.xml"
    file.write_text(f"<fragments>{''.join(fillers)}</fragments>")
    return file


def _tags(tag: str, *names: str) -> str:
    inner = "".join(
        f'<tag type="snapshot" id="{n}" name="{name}"/>' for n, name in enumerate(names, start=3)
    )
    return EVENTS.format(f'<tag type="event" id="2" name="{tag}">{inner}</tag>')


def test_packets_without_an_answer(tmp_path: Path) -> None:
    tags = _tags("packet", "id", "srcIP", "destIP", "srcPort", "destPort")
    content = "<id>{0}</id><srcIP>{1}</srcIP><destIP>{2}</destIP><srcPort>{3}</srcPort>"
    content += "<destPort>{4}</destPort>"
    syn = [(f"2003-10-23T12:00:0{n}", content.format(n, "a", "b", 80, 81)) for n in range(3)]
    ack = [
        ("2003-10-23T12:00:30", content.format(0, "b", "a", 81, 80)),
        ("2003-10-23T12:05:30", content.format(1, "b", "a", 81, 80)),
    ]
    streams = {
        "gsyn": (_events(tmp_path, "gsyn", "packet", syn), tags),
        "ack": (_events(tmp_path, "ack", "packet", ack), tags),
    }
    answer = saxon.agree(_query("1-2-syn-ack"), streams, "2003-10-24", tmp_path)
    assert [item for item in answer if "<id>1</id>" in item] == []
    assert len(answer) == 2


def test_radars(tmp_path: Path) -> None:
    tags = _tags("event", "frequency", "angle")
    content = "<frequency>{}</frequency><angle>{}</angle>"
    one = [(f"2003-10-23T12:00:0{n}", content.format(n, n * 10)) for n in range(4)]
    two = [(f"2003-10-23T12:00:0{n}.5", content.format(n % 3, n)) for n in range(5)]
    streams = {
        "radar1": (_events(tmp_path, "radar1", "event", one), tags),
        "radar2": (_events(tmp_path, "radar2", "event", two), tags),
    }
    triangulate = "declare function local:triangulate($a, $b) { $a * 100 + $b };\n"
    query = triangulate + _query("1-2-radar").replace("triangulate", "local:triangulate")
    assert len(saxon.agree(query, streams, "2003-10-24", tmp_path)) == 3


def test_traffic_lights(tmp_path: Path) -> None:
    def stream(name: str, content: str) -> tuple[Path, str]:
        names = ["location", "type", "speed", "id"]
        times = ["2003-10-23T12:00:00", "2003-10-23T12:00:05"]
        events = [(time, content) for time in times]
        return _events(tmp_path, name, "event", events), _tags("event", *names)

    streams = {
        "vehicle": stream("vehicle", "<location>5</location><type>ambulance</type>"),
        "road_sensor": stream("road_sensor", "<location>5</location><speed>2</speed>"),
        "traffic_light": stream("traffic_light", "<location>9</location><id>L</id>"),
    }
    distance = "declare function local:distance($a, $b) { abs(number($a) - number($b)) };\n"
    query = distance + _query("1-2-traffic-light").replace("distance(", "local:distance(")
    answer = saxon.agree(query, streams, "2003-10-24", tmp_path)
    assert "2003-10-23T12:00:02" in answer[0]
