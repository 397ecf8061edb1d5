"""Random streams for tests, and the view described by a store's tables, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import strategies as st

from xcql.history.places import STEP, encode
from xcql.history.predicates import counts_at, known_end, stands_at
from xcql.model.tags import TagKind, parse_tags
from xcql.model.time import format_begin, format_end
from xcql.shred.assembly import Copy
from xcql.store.commit import read_state
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

TAGS = parse_tags("""<structure xmlns:p="urn:p">
  <tag type="snapshot" id="1" name="r">
    <tag type="snapshot" id="2" name="a"><tag type="temporal" id="3" name="t">
      <tag type="snapshot" id="4" name="x"/>
      <tag type="event" id="5" name="e"><tag type="temporal" id="6" name="p:u"/></tag>
      <tag type="temporal" id="7" name="w"><tag ref="3"/></tag>
    </tag></tag>
    <tag type="event" id="8" name="e"/>
    <tag type="snapshot" id="9" name="s"><tag type="temporal" id="10" name="t"/></tag>
  </tag>
</structure>""")

TIMES = ["", *(f' validTime="2003-0{month}-01"' for month in range(1, 7))]
NOWS = [datetime(2003, month, day) for month, day in ((1, 1), (2, 15), (4, 1), (5, 31), (12, 1))]

_TSID = {"0": "1", "1": "3", "2": "3", "3": "5", "4": "6", "5": "7", "6": "8", "7": "9", "8": "10"}
_NAMES = {"3": "t", "5": "e", "6": "p:u", "7": "w", "8": "e", "9": "s", "10": "t"}


@st.composite
def _filler(draw: st.DrawFn) -> str:
    id = draw(st.sampled_from(sorted(_TSID)))
    tsid = _TSID[id] if draw(st.integers(0, 19)) else draw(st.sampled_from(["3", "8", "10"]))
    operation = draw(st.sampled_from(["filler", "filler", "filler", "repeat", "replace"]))
    time = draw(st.sampled_from(TIMES))
    return f'<{operation} id="{id}" tsid="{tsid}"{time}>{draw(_element(tsid))}</{operation}>'


@st.composite
def _remove(draw: st.DrawFn) -> str:
    return f'<remove id="{draw(st.sampled_from(sorted(_TSID)))}"{draw(st.sampled_from(TIMES))}/>'


@st.composite
def _element(draw: st.DrawFn, tsid: str) -> str:
    ids = st.sampled_from(["1", "1", "2", "3", "4", "5", "6", "7", "8", "0", "77"])
    holes = draw(st.lists(ids, max_size=4))
    parts = [f'<hole id="{id}"/>' for id in holes]
    text = draw(st.sampled_from(["", " ", "v", "&lt;é"]))
    if tsid == "1":
        cut = draw(st.integers(0, len(parts)))
        inside = "".join(parts[:cut])
        return f"<r>{text}<a>{inside}</a>{''.join(parts[cut:])}</r>"
    if tsid == "3" and draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), f"<x>{text}</x>")
    name = _NAMES[tsid]
    attributes = draw(st.sampled_from(["", ' k="1"', " vtTo=\"old\" k = '2'"]))
    if name.startswith("p:"):
        attributes += draw(st.sampled_from(["", ' xmlns:p="urn:p"']))
    return f"<{name}{attributes}>{''.join(parts)}{text}</{name}>"


def _filled_root(times: list[str]) -> list[str]:
    """Enough of a stream to make the view non-trivial."""
    return [
        f'<filler id="0" tsid="1"{times[0]}><r><a><hole id="1"/><hole id="2"/></a><hole id="6"/>'
        '<hole id="7"/></r></filler>',
        f'<filler id="1" tsid="3"{times[1]}><t><hole id="3"/><x>1</x><hole id="5"/></t></filler>',
        f'<filler id="1" tsid="3"{times[2]}><t><hole id="3"/><hole id="3"/></t></filler>',
    ]


FRAGMENTS = st.builds(
    lambda times, rest, seed: seed.sample(whole := _filled_root(times) + rest, len(whole)),
    st.lists(st.sampled_from(TIMES), min_size=3, max_size=3),
    st.lists(st.one_of(_filler(), _filler(), _filler(), _remove()), max_size=14),
    st.randoms(use_true_random=False),
)


def as_file(fragments: list[str]) -> str:
    return f'<f xmlns:p="urn:p">\n{chr(10).join(fragments)}\n</f>'


def copies_in(store: Path, now: datetime, at: datetime | None = None) -> list[Copy]:
    """The copies in the view of the stream `s`, or in its document `at` an instant."""
    copies = []
    for row, kind in _counting_rows(store, "s", now):
        begin, end = row["vtFrom"], known_end(row["vtTo"], now)
        if at is None or stands_at(kind, begin or datetime.min, end, at):
            copies += [
                Copy(
                    place["key"] + encode(row["number"]),
                    row["raw"],
                    [hole["start"] for hole in row["holes"]],
                    [hole["length"] for hole in row["holes"]],
                    row["namespaces"],
                    at is None and kind != "snapshot",
                    begin,
                    begin if kind == "event" else end,
                )
                for place in row["places"]
                if _counts(place, now)
            ]
    return sorted(copies, key=lambda copy: copy.key)


def _counting_rows(
    store: Path, name: str, now: datetime
) -> Iterator[tuple[dict[str, Any], TagKind]]:
    stream = read_state(store).stream(name)
    for tsid, table in stream.tables.items():
        tag = stream.tags.by_id(tsid)
        assert tag is not None
        for file in table.files:
            for row in pq.read_table(store / file.path, partitioning=None).to_pylist():
                if _counts(row, now):
                    yield row, tag.kind


def view_of_tables(store: Path, name: str, now: datetime) -> str:
    """The temporal view that the rows and places of a store describe, in canonical form.

    It only reads valid versions and places, without any lookup, as a plan over the tables
    does.
    """
    texts: dict[bytes, dict[int, list[tuple[int, str]]]] = {}
    rows: list[tuple[bytes, dict[str, Any], TagKind]] = []
    for row, kind in _counting_rows(store, name, now):
        rows += [(place["key"], row, kind) for place in row["places"] if _counts(place, now)]
    rows.sort(key=lambda found: (-len(found[0]), found[0], found[1]["number"]))
    document = ""
    for key, row, kind in rows:
        inside = texts.get(key + encode(row["number"]), {})
        text = _start(row, kind, now)
        for hole in row["holes"]:
            raw = row["raw"]
            text += "".join(text for _, text in sorted(inside.get(hole["start"], [])))
            text += raw[hole["start"] + hole["length"] : _next(row, hole)].decode()
        if not key:
            document += text
        else:
            parent, offset = key[: -STEP // 2], int.from_bytes(key[-STEP // 2 :], "big")
            texts.setdefault(parent, {}).setdefault(offset, []).append((row["number"], text))
    root = canonical(parse_xml(f"<root>{document}</root>"))
    return root.removeprefix("<root>").removesuffix("</root>")


def _counts(row: dict[str, Any], now: datetime) -> bool:
    return counts_at(row["since"] or datetime.min, row["until"], now)


def _next(row: dict[str, Any], hole: dict[str, Any]) -> int:
    later = [other["start"] for other in row["holes"] if other["start"] > hole["start"]]
    return min(later, default=len(row["raw"]))


def _start(row: dict[str, Any], kind: TagKind, now: datetime) -> str:
    """The text before the first hole, with the namespaces and the lifespan."""
    end = min((hole["start"] for hole in row["holes"]), default=len(row["raw"]))
    text = row["raw"][:end].decode()
    name_end = min(text.find(sign) for sign in (" ", ">", "/") if sign in text)
    name, rest = text[:name_end], text[name_end:]
    if kind != "snapshot":
        rest = rest.replace(' vtTo="old"', "")
        begin = row["vtFrom"] or datetime.min
        shown = format_begin(begin) if kind == "event" else format_end(known_end(row["vtTo"], now))
        rest = f' vtFrom="{format_begin(begin)}" vtTo="{shown}"' + rest
    return name + row["namespaces"] + rest
