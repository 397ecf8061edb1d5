"""The samples: their streams, and the instant of their answers."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "samples"

NOW = {
    "credit": "2003-11-15T10:00:00",
    "network": "2004-06-13T10:06:00",
    "radar": "2004-06-13T12:01:00",
    "traffic": "2004-06-13T08:01:00",
    "auctions": "2004-05-04T00:00:00",
    "markets": "2004-03-10T00:00:00",
}


def streams(sample: str) -> dict[str, tuple[Path, Path]]:
    """The streams of a sample: one with its own name, or one per folder that has tags."""
    folder = SAMPLES / sample
    folders = {path.parent.name: path.parent for path in folder.glob("**/tags.xml")}
    return {name: (path / "fragments.xml", path / "tags.xml") for name, path in folders.items()}


def queries(sample: str) -> list[Path]:
    return sorted((SAMPLES / sample / "queries").glob("*.xcql"))


def expected(query: Path) -> str:
    return (query.parents[1] / "expected" / f"{query.stem}.xml").read_text(encoding="utf-8")
