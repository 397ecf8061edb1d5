"""A stream as the user gives it: fragments with a Tag Structure, or a plain document."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from xcql.history.view import View, temporal_view
from xcql.model.read import FragmentSource, is_xml_text, read_all, read_bytes
from xcql.model.tags import TagStructure, parse_tags, read_tags
from xcql.xdm.parse import parse_xml


def stream_view(
    source: FragmentSource | Iterable[FragmentSource],
    tags: TagStructure | str | bytes | Path,
    now: datetime,
) -> View:
    """The temporal view of a stream given as XML strings or paths, with all rejected fragments."""
    structure = tags if isinstance(tags, TagStructure) else _tags(tags)
    batch = read_all(source, structure)
    view = temporal_view(batch.fragments, structure, now)
    return View(view.document, (*batch.rejected, *view.rejected), (*batch.warnings, *view.warnings))


def plain_view(source: str | bytes | Path) -> View:
    """A plain XML document, given as text or path, as a view: a root without history."""
    if isinstance(source, bytes) or (isinstance(source, str) and is_xml_text(source)):
        return View(parse_xml(source))
    path = Path(source)
    return View(parse_xml(read_bytes(path), str(path), path.absolute().as_uri()))


def _tags(source: str | bytes | Path) -> TagStructure:
    if isinstance(source, bytes) or (isinstance(source, str) and is_xml_text(source)):
        return parse_tags(source)
    return read_tags(source)
