"""What a store keeps of an import so that the next one can continue: a small table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from xcql.history.latest import LatestFiller, LatestState
from xcql.model.shapes import ContentShape, HoleSlot, Path
from xcql.model.tags import TagStructure

RECORD = pa.schema(
    [
        # the first row has the settings instead of a filler
        ("filler", pa.string()),
        ("tsid", pa.string()),
        ("alive", pa.bool_()),
        ("content", pa.string()),
        ("parents", pa.list_(pa.string())),
    ]
)


@dataclass(slots=True)
class ImportRecord:
    """The settings of an import, where it stopped, and the latest state of each filler.

    `keys` are those that were inferred, by tag id. `places` has the filler of each document and
    what the source calls its content, `gone` the last filler at each place where there is none now,
    `files` the fillers of all documents there ever were.
    """

    kind: str
    options: dict[str, Any]
    choices: dict[str, list[str]]
    batches: int = 0
    cursor: dict[str, Any] | None = None
    keys: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    root_time: str | None = None
    state: LatestState = field(default_factory=LatestState)


def record_table(record: ImportRecord) -> pa.Table:
    settings = {
        name: getattr(record, name) for name in record.__dataclass_fields__ if name != "state"
    }
    settings["latest"] = record.state.latest.isoformat()
    settings["highest"] = record.state.highest_id
    rows: dict[str, list[Any]] = {name: [] for name in RECORD.names}
    _add(rows, "", "", False, settings, ())
    for id, filler, parents in record.state.fillers():
        content = {
            "shape": _shape_to_json(filler.shape),
            "events": [(time.isoformat(), _shape_to_json(one)) for time, one in filler.events],
        }
        _add(rows, id, filler.tag.id, filler.is_alive, content, parents)
    return pa.table(rows, schema=RECORD)


def record_of(table: pa.Table, structure: TagStructure) -> ImportRecord:
    rows = zip(*(table.column(name).to_pylist() for name in RECORD.names), strict=True)
    settings = json.loads(next(rows)[3])
    state = LatestState()
    latest, highest = datetime.fromisoformat(settings.pop("latest")), settings.pop("highest")
    fillers: dict[str, LatestFiller] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for id, tsid, is_alive, text, above in rows:
        tag, content = structure.by_id(tsid), json.loads(text)
        assert tag is not None
        events = tuple(
            (datetime.fromisoformat(time), _shape_of_json(one)) for time, one in content["events"]
        )
        fillers[id] = LatestFiller(tag, _shape_of_json(content["shape"]), is_alive, events)
        parents[id] = tuple(above)
    state.restore(fillers, parents, latest, highest)
    settings["places"] = {place: tuple(one) for place, one in settings["places"].items()}
    return ImportRecord(**settings, state=state)


def _add(
    rows: dict[str, list[Any]],
    filler: str,
    tsid: str,
    is_alive: bool,
    content: dict[str, Any],
    parents: tuple[str, ...],
) -> None:
    values = filler, tsid, is_alive, json.dumps(content, separators=(",", ":")), list(parents)
    for column, value in zip(rows.values(), values, strict=True):
        column.append(value)


def _shape_to_json(shape: ContentShape) -> list[Any]:
    slots = [(path, slot.holes) for path, slot in shape.slots.items()]
    return [shape.key, shape.digest.hex(), shape.outline.hex(), slots, shape.sketch]


def _shape_of_json(data: list[Any]) -> ContentShape:
    key, digest, outline, slots, sketch = data
    return ContentShape(
        key,
        bytes.fromhex(digest),
        bytes.fromhex(outline),
        {_path(path): HoleSlot(0, False, holes) for path, holes in slots},
        tuple(sketch),
    )


def _path(data: list[list[Any]]) -> Path:
    return tuple((tsid, key, number) for tsid, key, number in data)
