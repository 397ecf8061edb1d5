"""Random streams cut into triggers, and the reference evaluator over all fragments as the judge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import xcql
from tests.queries.random_histories import LAST_DAY, Tag, random_fragments, random_tags
from xcql.continuous import Arrival, applied, open_continuous
from xcql.continuous.engine import NowChoice
from xcql.evaluate.times import lifespan_columns
from xcql.model.tags import TagStructure, parse_tags
from xcql.model.time import to_utc

_FRAGMENT = re.compile(r"<(filler|repeat|replace|remove) .*?</\1>", re.DOTALL)


# tags in which all shapes of queries find something, and that most loops can be maintained by
_RICH = Tag(
    "r",
    "snapshot",
    1,
    (
        Tag(
            "a",
            "temporal",
            2,
            (
                Tag("n", "temporal", 3),
                Tag("w", "snapshot", 4),
                Tag("b", "event", 5, (Tag("n", "temporal", 6), Tag("w", "snapshot", 7))),
            ),
        ),
        Tag("b", "event", 8, (Tag("n", "snapshot", 9),)),
    ),
)


@dataclass(frozen=True, slots=True)
class Trigger:
    arrivals: tuple[Arrival, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class World:
    """Streams with their tags, and the arrivals in each trigger."""

    tags: dict[str, TagStructure]
    triggers: tuple[Trigger, ...]


def random_world(random: Random, streams: tuple[str, ...] = ("s", "t")) -> World:
    """Two streams whose fragments arrive mixed, in any order, some repeated, over some triggers;
    `now` usually moves forward, and sometimes back."""
    tags: dict[str, TagStructure] = {}
    arrivals: list[Arrival] = []
    for stream in streams:
        root = random.choice([_RICH, random_tags(random)])
        tags[stream] = parse_tags(root.structure())
        for _ in range(random.randint(1, 3)):
            found = _FRAGMENT.finditer(random_fragments(random, root))
            arrivals += (Arrival(stream, match[0]) for match in found)
    if random.randrange(2):
        random.shuffle(arrivals)
    for _ in range(random.randint(0, 4)):
        arrivals.insert(random.randrange(len(arrivals) + 1), random.choice(arrivals))
    for _ in range(random.randint(0, 2)):
        id = re.search(r'id="([^"]*)"', random.choice(arrivals).text)
        assert id is not None
        removal = Arrival(random.choice(streams), f'<remove id="{id[1]}"/>')
        arrivals.insert(random.randrange(len(arrivals) + 1), removal)
    if random.randrange(4) == 0:
        arrivals.insert(random.randrange(len(arrivals) + 1), Arrival(streams[0], "<filler id='9'>"))
    cuts = sorted(random.choices(range(len(arrivals) + 1), k=random.randint(1, 8)))
    day = random.choice([1, 5, 10, 20])
    triggers: list[Trigger] = []
    for begin, end in zip([0, *cuts], [*cuts, len(arrivals)], strict=True):
        now = datetime(2003, 1, 1) + timedelta(days=day, hours=random.choice([0, 0, 7]))
        triggers.append(Trigger(tuple(arrivals[begin:end]), now))
        day += random.choice([0, 0, 1, 2, 3, 5, -2])
        day = max(1, min(day, LAST_DAY + 3))
    return World(tags, tuple(triggers))


def reference(
    query: str, world: World, arrivals: list[Arrival], now: datetime
) -> list[tuple[str, datetime | None, datetime | None]]:
    """The answer over everything that has arrived, and its lifespans."""
    streams = {
        name: (
            "<fragments>" + "".join(a.text for a in arrivals if a.stream == name) + "</fragments>",
            tags,
        )
        for name, tags in world.tags.items()
    }
    result = xcql.evaluate(query, streams=streams, now=now)
    return [(item.xml, *lifespan_columns(item.value, to_utc(now))) for item in result]


def check(
    query: str,
    world: World,
    folder: Path,
    choice: NowChoice = "wall",
    restarts: bool = False,
) -> None:
    """Check that after each trigger the answer and the display equal the reference's."""
    arrived: list[Arrival] = []
    display: list[str] = []
    keys: list[str] = []
    known: set[str] = set()
    continuous = open_continuous(query, world.tags, folder, choice)
    try:
        for number, trigger in enumerate(world.triggers):
            arrived += trigger.arrivals
            now = trigger.now
            advance = continuous.advance(number, trigger.arrivals, now)
            if choice == "event":
                assert continuous.now is not None
                now = continuous.now
            wanted = reference(query, world, arrived, now)
            texts = [text for text, _, _ in wanted]
            assert continuous.answer() == texts, (number, now)
            applied(advance.updates, display)
            assert display == texts, (number, now)
            for update in advance.updates:
                at = update.position - 1
                if update.op == "insert":
                    assert update.key not in known
                    keys.insert(at, update.key)
                    known.add(update.key)
                else:
                    assert keys[at] == update.key
                    if update.op == "delete":
                        known.remove(keys.pop(at))
            assert continuous.lifespans() == [(begin, end) for _, begin, end in wanted], number
            if restarts:
                continuous.close()
                continuous = open_continuous(query, world.tags, folder, choice)
                assert continuous.advance(number, trigger.arrivals, now) == advance
        assert applied(continuous.updates()) == display
    finally:
        continuous.close()
