"""Random fragments for a few filler ids, with everything that may happen to an id."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from hypothesis import strategies as st

from xcql.model.fragments import Fragment, Operation
from xcql.model.tags import parse_tags
from xcql.model.time import START

TAGS = parse_tags("""<structure><tag type="snapshot" id="1" name="r">
  <tag type="snapshot" id="2" name="s"/><tag type="temporal" id="3" name="t"/>
  <tag type="event" id="4" name="e"/></tag></structure>""")
TIMES = (START, *(datetime(2000, 1, day) for day in range(1, 6)))
# the last two are canonically equal
BODIES = ("<x/>", "<x>1</x>", '<x a="1" b="2"/>', "<x b='2'  a='1' />")


class Step(NamedTuple):
    """A fragment to be generated; its id determines its tag, unless `stray` gives another."""

    tag: int
    number: int
    op: Operation
    time: datetime | None
    body: str
    stray: bool


STEPS = st.builds(
    Step,
    st.sampled_from([2, 3, 3, 4]),
    st.integers(1, 2),
    st.sampled_from(["filler"] * 5 + ["repeat", "replace", "remove"]),
    st.sampled_from(TIMES),
    st.sampled_from(BODIES),
    st.integers(0, 19).map(lambda chance: chance == 0),
).map(lambda step: step._replace(time=None) if step.op == "remove" and step.stray else step)


def fragments_of(steps: list[Step]) -> list[Fragment]:
    return [
        Fragment(
            step.op,
            f"{step.tag}.{step.number}",
            None if step.op == "remove" else str(3 if step.stray else step.tag),
            step.time,
            b"" if step.op == "remove" else step.body.encode(),
            (),
            (),
            "<test>",
            number,
        )
        for number, step in enumerate(steps)
    ]
