"""The rows of a store give, for any `now`, the versions of the definition at that `now`.

This tests both forms: `vectorised`, and `bitemporal`, which it calls for the ids that are
not simple.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import md5

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.history.random_arrivals import BODIES, STEPS, TAGS, TIMES, Step, fragments_of
from xcql.history.arrivals import FOREVER, OPERATIONS, Arrivals, Holes, instant, microseconds
from xcql.history.definition import have_same_content, histories
from xcql.history.predicates import counts_at, known_end
from xcql.history.vectorised import Derived, derive
from xcql.model.fragments import Fragment, content_tree
from xcql.model.tags import TagStructure
from xcql.model.time import START
from xcql.xdm.serialize import canonical

NO_INTS = np.empty(0, np.int64)


def arrivals_of(fragments: list[Fragment]) -> Arrivals:
    ids = list(dict.fromkeys(fragment.id for fragment in fragments))
    tags = {tag.id: number for number, tag in enumerate(TAGS)}
    digests = [md5(fragment.content).digest() for fragment in fragments]
    return Arrivals(
        pa.array(ids, pa.string()),
        np.arange(len(fragments)),
        np.array([tags[f.tsid] if f.tsid else -1 for f in fragments], np.int64),
        np.array([ids.index(f.id) for f in fragments], np.int64),
        np.array([OPERATIONS.index(f.op) for f in fragments], np.int64),
        np.array([microseconds(f.valid_time) for f in fragments], np.int64),
        pa.array(digests, pa.binary(16)),
        Holes(NO_INTS, NO_INTS, NO_INTS, NO_INTS),
    )


Shown = dict[str, list[tuple[int, datetime, datetime | None]]]


def rows_at(derived: Derived, fragments: list[Fragment], now: datetime) -> Shown:
    """What is valid at `now`: for each id the fragments with their lifespans, in order."""
    known = derived.versions
    columns = (known.rows, known.numbers, known.vt_from, known.vt_to, known.since, known.until)
    shown: dict[str, list[tuple[int, int, datetime, datetime | None]]] = {}
    for row, number, *times in zip(*(column.tolist() for column in columns), strict=True):
        begin, end, since, until = (None if at == FOREVER else instant(at) for at in times)
        assert begin is not None
        assert since is not None
        if counts_at(since, until, now):
            lifespan = begin, known_end(end, now)
            shown.setdefault(fragments[row].id, []).append((number, row, *lifespan))
    for rows in shown.values():
        rows.sort(key=lambda row: row[0])
        assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    return {id: [row[1:] for row in rows] for id, rows in shown.items()}


def versions_at(fragments: list[Fragment], structure: TagStructure, now: datetime) -> Shown:
    return {
        id: [(one.fragment.offset, one.begin, one.end) for one in history.versions]
        for id, history in histories(fragments, structure, now).by_id.items()
    }


@settings(max_examples=2000 if FULL else 200, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_rows_are_the_versions_of_the_definition(steps: list[Step]) -> None:
    fragments = fragments_of(steps)
    note("\n".join(map(str, steps)))
    derived = derive(
        TAGS, arrivals_of(fragments), lambda row: canonical(content_tree(fragments[row]))
    )
    rejected = {one.offset for one in histories(fragments, TAGS, datetime.max).rejected}
    assert set(derived.clashes) == rejected
    for now in TIMES:
        assert rows_at(derived, fragments, now) == versions_at(fragments, TAGS, now), now


@pytest.mark.parametrize(("one", "other", "same"), [(2, 3, True), (0, 1, False), (1, 1, True)])
def test_bodies_are_compared_canonically(one: int, other: int, same: bool) -> None:
    steps = [Step(3, 1, "filler", START, BODIES[number], False) for number in (one, other)]
    fragments = fragments_of(steps)
    assert have_same_content(*fragments) == same
    derived = derive(
        TAGS, arrivals_of(fragments), lambda row: canonical(content_tree(fragments[row]))
    )
    assert derived.repetitions.tolist() == [False, same]
