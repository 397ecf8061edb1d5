"""The sample streams by name, as pairs of fragments and tags."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "samples"

_FOLDERS = {
    "credit": "credit",
    "gsyn": "network/gsyn",
    "ack": "network/ack",
    "radar1": "radar/radar1",
    "radar2": "radar/radar2",
    "vehicle": "traffic/vehicle",
    "road_sensor": "traffic/road_sensor",
    "traffic_light": "traffic/traffic_light",
}
STREAMS = {
    name: (SAMPLES / folder / "fragments.xml", SAMPLES / folder / "tags.xml")
    for name, folder in _FOLDERS.items()
}


def query(name: str) -> str:
    """The text of a sample query."""
    return (SAMPLES / name).read_text(encoding="utf-8")
