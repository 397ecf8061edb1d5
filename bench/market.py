"""A history of auctions with many versions: prices, reserves, states, bids, and persons who move.

At factor 1, 12,000 auctions have about 120,000 bids in a year, each of which changes a price; a
fifth of the auctions close, and 25,500 persons move or are rated anew. Changes come at random
times, which are the same in each run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TextIO

from bench.history import BEGIN, SPAN, numbers
from bench.words import CITIES, FIRST_NAMES, LAST_NAMES, WORDS

STREAM = "market"
# the mean number of bids of an auction
BIDS = 10
# one auction in this many closes
_CLOSING = 5
_STATES = ("open", "paused", "extended")

# what changes has fillers of its own; an annotation does not change, and has one if it is wanted
_TAGS = """\
<stream:structure xmlns:stream="urn:xcql">
<tag type="snapshot" id="1" name="site">
 <tag type="snapshot" id="2" name="people">
  <tag type="temporal" id="3" name="person">
   <tag type="snapshot" id="4" name="name"/>
   <tag type="snapshot" id="5" name="city"/>
   <tag type="snapshot" id="6" name="rating"/>
  </tag>
 </tag>
 <tag type="snapshot" id="7" name="open_auctions">
  <tag type="temporal" id="8" name="open_auction">
   <tag type="snapshot" id="9" name="initial"/>
   <tag type="temporal" id="10" name="reserve"/>
   <tag type="event" id="11" name="bidder">
    <tag type="snapshot" id="12" name="personref"/>
    <tag type="snapshot" id="13" name="increase"/>
   </tag>
   <tag type="temporal" id="14" name="current"/>
   <tag type="temporal" id="15" name="state"/>
   <tag type="snapshot" id="16" name="itemref"/>
   <tag type="snapshot" id="17" name="seller"/>
   <tag type="{annotation}" id="18" name="annotation">
    <tag type="snapshot" id="19" name="author"/>
    <tag type="snapshot" id="20" name="text"/>
    <tag type="snapshot" id="21" name="happiness"/>
   </tag>
  </tag>
 </tag>
 <tag type="snapshot" id="22" name="closed_auctions">
  <tag type="temporal" id="23" name="closed_auction">
   <tag type="snapshot" id="24" name="itemref"/>
   <tag type="snapshot" id="25" name="buyer"/>
   <tag type="snapshot" id="26" name="price"/>
  </tag>
 </tag>
</tag>
</stream:structure>
"""


def market_tags(temporal: Collection[str]) -> str:
    """The Tag Structure; an annotation has a filler of its own if it is `temporal`."""
    return _TAGS.format(annotation="temporal" if "annotation" in temporal else "snapshot")


def write_market(path: Path, factor: float, temporal: Collection[str], seed: int = 1) -> None:
    """Write the fragments; how they are cut does not change what happens."""
    with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
        _Writer(file, factor, "annotation" in temporal, seed).write()


class _Writer:
    def __init__(self, file: TextIO, factor: float, cuts_annotations: bool, seed: int) -> None:
        self._file = file
        self._count = numbers(factor)
        self._cuts_annotations = cuts_annotations
        self._random = Random(seed)
        self._last_id = 0

    def write(self) -> None:
        self._file.write('<?xml version="1.0" encoding="UTF-8"?>\n<fragments>\n')
        people = [self._person(number) for number in range(self._count.people)]
        closed: list[int] = []
        auctions = [self._auction(number, closed) for number in range(self._count.open)]
        self._filler(
            0,
            1,
            BEGIN,
            f"<site><people>{_holes(people, 3)}</people>"
            f"<open_auctions>{_holes(auctions, 8)}</open_auctions>"
            f"<closed_auctions>{_holes(closed, 23)}</closed_auctions></site>",
        )
        self._file.write("</fragments>\n")

    def _person(self, number: int) -> int:
        """A person with one to four versions: each moves, or changes the rating."""
        random, id = self._random, self._new_id()
        name = f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}"
        city, rating = random.choice(CITIES), random.randint(1, 10)
        for time in (BEGIN, *self._times(random.randint(0, 3), BEGIN, BEGIN + SPAN)):
            self._filler(
                id,
                3,
                time,
                f'<person id="person{number}"><name>{name}</name><city>{city}</city>'
                f"<rating>{rating}</rating></person>",
            )
            if random.random() < 0.5:
                city = random.choice(CITIES)
            else:
                rating = random.randint(1, 10)
        return id

    def _auction(self, number: int, closed: list[int]) -> int:
        """An auction with all that happens in it; returns the id of its filler."""
        random = self._random
        id, reserve, bidder, current, state = (self._new_id() for _ in range(5))
        begin = BEGIN + timedelta(seconds=random.randrange(90 * 86400))
        closes = number % _CLOSING == 0
        end = begin + SPAN / 3 if closes else BEGIN + SPAN
        initial = round(1 + random.expovariate(0.02), 2)
        self._filler(
            id,
            8,
            begin,
            f'<open_auction id="open_auction{number}"><initial>{initial:.2f}</initial>'
            f"{_holes([reserve], 10)}{_holes([bidder], 11)}{_holes([current], 14)}"
            f'{_holes([state], 15)}<itemref item="item{number}"/>'
            f'<seller person="{self._someone()}"/>{self._annotation(begin)}</open_auction>',
        )
        self._reserves(reserve, initial, begin, end)
        self._states(state, begin, end)
        price, buyer = self._bids(bidder, current, initial, begin, end)
        if closes:
            closed.append(self._new_id())
            when = end.isoformat()
            self._file.write(f'<remove id="{id}" tsid="8" validTime="{when}"/>\n')
            self._filler(
                closed[-1],
                23,
                end,
                f'<closed_auction><itemref item="item{number}"/><buyer person="{buyer}"/>'
                f"<price>{price:.2f}</price></closed_auction>",
            )
        return id

    def _reserves(self, id: int, initial: float, begin: datetime, end: datetime) -> None:
        random = self._random
        reserve = initial * (1.5 + random.random())
        for time in (begin, *self._times(random.randint(0, 2), begin, end)):
            self._filler(id, 10, time, f"<reserve>{reserve:.2f}</reserve>")
            reserve *= 0.6 + random.random() / 2

    def _states(self, id: int, begin: datetime, end: datetime) -> None:
        random, state = self._random, _STATES[0]
        for time in (begin, *self._times(random.randint(0, 4), begin, end)):
            self._filler(id, 15, time, f"<state>{state}</state>")
            state = random.choice([one for one in _STATES if one != state])

    def _bids(
        self, bidder: int, current: int, initial: float, begin: datetime, end: datetime
    ) -> tuple[float, str]:
        """The bids, each with a new price; returns the last price and who bid it."""
        random, price, person = self._random, initial, self._someone()
        self._filler(current, 14, begin, f"<current>{price:.2f}</current>")
        for time in self._times(random.randint(0, 2 * BIDS), begin, end):
            increase, person = 1.5 * random.randint(1, 12), self._someone()
            price += increase
            ref = f'<personref person="{person}"/>'
            body = f"<bidder>{ref}<increase>{increase:.2f}</increase></bidder>"
            self._filler(bidder, 11, time, body)
            self._filler(current, 14, time, f"<current>{price:.2f}</current>")
        return price, person

    def _annotation(self, time: datetime) -> str:
        """The annotation of an auction, or a hole for it."""
        words = " ".join(self._random.choices(WORDS, k=12))
        text = (
            f'<annotation><author person="{self._someone()}"/><text>{words}</text>'
            f"<happiness>{self._random.randint(1, 10)}</happiness></annotation>"
        )
        if not self._cuts_annotations:
            return text
        id = self._new_id()
        self._filler(id, 18, time, text)
        return _holes([id], 18)

    def _filler(self, id: int, tag: int, time: datetime, body: str) -> None:
        valid = time.isoformat()
        self._file.write(f'<filler id="{id}" tsid="{tag}" validTime="{valid}">{body}</filler>\n')

    def _times(self, number: int, begin: datetime, end: datetime) -> Iterator[datetime]:
        """So many different times between two, in order."""
        seconds = int((end - begin).total_seconds())
        for offset in sorted(self._random.sample(range(1, seconds), number)):
            yield begin + timedelta(seconds=offset)

    def _someone(self) -> str:
        return f"person{self._random.randrange(self._count.people)}"

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id


def _holes(ids: Collection[int], tag: int) -> str:
    return "".join(f'<hole id="{id}" tsid="{tag}"/>' for id in ids)
