"""The view that a worker assembles is the model's, down to the order of attributes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, note

from tests.effort import examples
from tests.store.histories import FRAGMENTS, NOWS, TAGS, as_file, copies_in
from xcql.history.view import temporal_view
from xcql.model.read import read_all
from xcql.store.ingest import ingest
from xcql.store.processes import run_here
from xcql.xdm.nodes import ElementNode, descendants
from xcql.xdm.serialize import serialize
from xcql_runtime.evaluator.views import parse_view


@examples(at_commit=30, full=1000)
@given(FRAGMENTS)
def test_random_histories(fragments: list[str]) -> None:
    note("\n".join(fragments))
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder) / "s.xml", Path(folder) / "store"
        file.write_text(as_file(fragments))
        ingest(store, file, "s", TAGS, run_here, cores=1)
        known = read_all([file], TAGS).fragments
        for now in NOWS:
            view = parse_view(copies_in(store, now), "xcql-0123456789")
            assert serialize(view) == serialize(temporal_view(known, TAGS, now).document)
            orders = [node.order for node in descendants(view) if isinstance(node, ElementNode)]
            assert orders == sorted(orders)
