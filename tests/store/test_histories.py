"""Random histories: whatever arrives, in any batches, the tables describe the model's view."""

from __future__ import annotations

import os
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.store.histories import FRAGMENTS, NOWS, TAGS, as_file, view_of_tables
from xcql.history.view import temporal_view
from xcql.model.read import read_all
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.xdm.serialize import canonical

EXAMPLES = 1000 if os.environ.get("XCQL_TEST_FULL") else 30


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(FRAGMENTS, st.lists(st.integers(0, 20), max_size=3))
def test_tables_describe_the_view(fragments: list[str], cuts: list[int]) -> None:
    borders = [0, *sorted(min(cut, len(fragments)) for cut in cuts), len(fragments)]
    batches = [fragments[a:b] for a, b in pairwise(borders)]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        files = []
        for number, batch in enumerate(batches):
            file = Path(folder) / f"{number}.xml"
            # the number makes the files of two batches different
            file.write_text(as_file([f"<!-- {number} -->", *batch]))
            files.append(str(file))
            ingest(store, file, "s", TAGS, run_here, cores=1)
        note("\n".join(fragments))
        known = read_all([Path(file) for file in files], TAGS).fragments
        for now in NOWS:
            expected = canonical(temporal_view(known, TAGS, now).document)
            assert view_of_tables(store, "s", now) == expected, now
