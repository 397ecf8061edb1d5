"""A document as it was at a time, rebuilt from fragments by text substitution.

It is as simple as possible, to check the fragmenter: no trees, no timeline.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from xcql.model.fragments import ROOT_ID, Fragment
from xcql.model.read import read_all
from xcql.model.tags import TagStructure
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical


def canonical_text(document: str | bytes) -> str:
    return canonical(parse_xml(document))


def rebuilt(files: list[bytes], structure: TagStructure, at: datetime) -> str:
    """The canonical text of the document at a time, from files of fragments in order."""
    versions: dict[str, list[Fragment]] = defaultdict(list)
    for file in files:
        batch = read_all(file, structure)
        assert not batch.rejected, [rejected.reason for rejected in batch.rejected]
        for fragment in batch.fragments:
            if fragment.op == "replace":
                versions[fragment.id].clear()
            versions[fragment.id].append(fragment)

    def contents(id: str) -> list[bytes]:
        kinds = {structure.by_id(f.tsid).kind for f in versions[id] if f.tsid is not None}
        snapshot = kinds == {"snapshot"}
        known = sorted(
            (f for f in versions[id] if snapshot or f.valid_time <= at),
            key=lambda f: f.valid_time,
        )
        if kinds != {"event"}:
            known = known[-1:]
        return [filled(f) for f in known if f.op != "remove"]

    def filled(fragment: Fragment) -> bytes:
        parts, position = [], 0
        for hole in fragment.holes:
            parts += [fragment.content[position : hole.start], *contents(hole.id)]
            position = hole.end
        return b"".join([*parts, fragment.content[position:]])

    (document,) = contents(ROOT_ID)
    return canonical_text(document)
