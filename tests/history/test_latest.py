"""The latest state is the defined state at the end of time; more tests are in `test_changes`."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.random_arrivals import STEPS, TAGS, Step, fragments_of
from xcql.history.definition import histories
from xcql.history.latest import LatestState
from xcql.model.fragments import Fragment, content_tree
from xcql.model.shapes import ContentShape
from xcql.xdm.serialize import canonical


def shape_of(fragment: Fragment) -> ContentShape:
    digest = canonical(content_tree(fragment)).encode()
    return ContentShape(None, digest, digest, {})


@settings(deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_the_latest_state_is_that_of_the_definition(steps: list[Step]) -> None:
    fragments = fragments_of(steps)
    state = LatestState()
    for one in fragments:
        tag = None if one.tsid is None else TAGS.by_id(one.tsid)
        state.add(one, tag, shape_of(one) if one.op != "remove" else None)
    expected = histories(fragments, TAGS, datetime.max).by_id
    for id in {fragment.id for fragment in fragments}:
        found = state.filler(id)
        last = expected[id].versions[-1] if id in expected else None
        is_event = found is not None and found.tag.kind == "event"
        assert (found is not None and found.is_alive) == (
            last is not None and (is_event or last.end is None)
        )
        if found is not None and found.is_alive:
            assert last is not None
            assert found.shape == shape_of(last.fragment)
        if found is not None and is_event:
            events = tuple((one.begin, shape_of(one.fragment)) for one in expected[id].versions)
            assert found.events == events
