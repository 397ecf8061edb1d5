"""Documents of XMark's shape at any factor, and the history that leads to one.

`python -m bench.history 0.1 auction.xml` writes a document; `python -m bench.history 0.1
fragments.xml --versions 100 --tags tags.xml` fragments in which prices change, bids come in and
auctions close. Both are the same each time, and are streamed to the file, whatever their size.

The proportions are XMark's: at factor 1 there are 25,500 persons, 21,750 items in six regions,
12,000 open and 9,750 closed auctions, and 1,000 categories.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TextIO

from bench.words import CITIES, FIRST_NAMES, LAST_NAMES, WORDS

REGIONS = {
    "africa": 550,
    "asia": 2000,
    "australia": 2200,
    "europe": 6000,
    "namerica": 10000,
    "samerica": 1000,
}
# the begin and length of the history, for any number of versions
BEGIN = datetime(2003, 1, 1)
SPAN = timedelta(days=360)
# one auction in this many closes half-way
CLOSING = 5

_COUNTRIES = ["United States"] * 12 + [
    "Norway",
    "Chile",
    "Japan",
    "Kenya",
    "Peru",
    "Latvia",
    "Oman",
]
_PAYMENTS = ("Creditcard", "Cash", "Money order, Cash", "Personal Check, Creditcard")
_SHIPPING = (
    "Buyer pays fixed shipping charges",
    "Will ship internationally",
    "Will ship only within country",
)
_EDUCATION = ("High School", "College", "Graduate School", "Other")
_PARAGRAPHS = 500
# the word that Q14 looks for
_SOUGHT = "gold"


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many elements of each kind there are."""

    regions: dict[str, int]
    people: int
    open: int
    categories: int

    @property
    def items(self) -> int:
        return sum(self.regions.values())

    @property
    def closed(self) -> int:
        """Every item is in one auction."""
        return max(1, self.items - self.open)


def numbers(factor: float) -> Numbers:
    """
    >>> numbers(1).items, numbers(1).closed
    (21750, 9750)
    """

    def scaled(number: int) -> int:
        return max(1, round(number * factor))

    regions = {name: scaled(number) for name, number in REGIONS.items()}
    return Numbers(regions, scaled(25500), scaled(12000), scaled(1000))


def write_document(path: Path, factor: float, seed: int = 1) -> None:
    """Write a document without history."""
    with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
        file.writelines(_Site(numbers(factor), seed).document())


class _Site:
    """The parts of a document, one after the other, all from one random generator."""

    def __init__(self, count: Numbers, seed: int) -> None:
        self._count = count
        self._random = Random(seed)
        self._paragraphs = [self._paragraph() for _ in range(_PARAGRAPHS)]

    def document(self) -> Iterator[str]:
        count = self._count
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<site>\n<regions>\n'
        first = 0
        for region, items in count.regions.items():
            yield f"<{region}>\n"
            yield from map(self._item, range(first, first + items))
            first += items
            yield f"</{region}>\n"
        yield "</regions>\n<categories>\n"
        yield from map(self._category, range(count.categories))
        yield "</categories>\n<catgraph>\n"
        for _ in range(count.categories):
            yield f'<edge from="{self._one("category")}" to="{self._one("category")}"/>\n'
        yield "</catgraph>\n<people>\n"
        yield from map(self.person, range(count.people))
        yield "</people>\n<open_auctions>\n"
        yield from map(self._open_auction, range(count.open))
        yield "</open_auctions>\n<closed_auctions>\n"
        for number in range(count.closed):
            yield self.closed_auction((count.open + number) % count.items)
        yield "</closed_auctions>\n</site>\n"

    def person(self, number: int) -> str:
        choose, chance = self._random.choice, self._random.random
        first, last = choose(FIRST_NAMES), choose(LAST_NAMES)
        parts = [
            f'<person id="person{number}">\n<name>{first} {last}</name>\n'
            f"<emailaddress>mailto:{last}@{choose(WORDS)}.example</emailaddress>\n"
        ]
        if chance() < 0.5:
            parts.append(f"<phone>+{int(chance() * 90)} {int(chance() * 1e8)}</phone>\n")
        if chance() < 0.5:
            parts.append(
                f"<address>\n<street>{int(chance() * 99) + 1} {choose(LAST_NAMES)} St</street>\n"
                f"<city>{choose(CITIES)}</city>\n<country>{choose(_COUNTRIES)}</country>\n"
                f"<zipcode>{int(chance() * 90000)}</zipcode>\n</address>\n"
            )
        if chance() < 0.5:
            parts.append(f"<homepage>http://www.{choose(WORDS)}.example/~{last}</homepage>\n")
        if chance() < 0.5:
            card = " ".join(str(int(chance() * 9000) + 1000) for _ in range(4))
            parts.append(f"<creditcard>{card}</creditcard>\n")
        if chance() < 0.75:
            parts.append(self._profile())
        watched = "".join(
            f'<watch open_auction="{self._one("open_auction")}"/>\n'
            for _ in range(int(chance() * 6))
        )
        parts.append(f"<watches>\n{watched}</watches>\n</person>\n")
        return "".join(parts)

    def _profile(self) -> str:
        choose, chance = self._random.choice, self._random.random
        income = f' income="{max(9876.0, self._random.gauss(45000, 25000)):.2f}"'
        interests = "".join(
            f'<interest category="{self._one("category")}"/>\n' for _ in range(int(chance() * 6))
        )
        education = f"<education>{choose(_EDUCATION)}</education>\n" if chance() < 0.5 else ""
        gender = f"<gender>{choose(('male', 'female'))}</gender>\n" if chance() < 0.5 else ""
        business = f"<business>{choose(('Yes', 'No'))}</business>\n"
        age = f"<age>{18 + int(chance() * 50)}</age>\n" if chance() < 0.5 else ""
        parts = interests + education + gender + business + age
        return f"<profile{income}>\n{parts}</profile>\n"

    def closed_auction(self, item: int) -> str:
        price = self._random.expovariate(0.01) + 1
        return (
            f'<closed_auction>\n<seller person="{self._one("person")}"/>\n'
            f'<buyer person="{self._one("person")}"/>\n<itemref item="item{item}"/>\n'
            f"<price>{price:.2f}</price>\n<date>{self._date()}</date>\n<quantity>1</quantity>\n"
            f"<type>Regular</type>\n{self._annotation()}</closed_auction>\n"
        )

    def _category(self, number: int) -> str:
        return (
            f'<category id="category{number}">\n<name>{self._name()}</name>\n'
            f"{self._description()}</category>\n"
        )

    def _item(self, number: int) -> str:
        choose, chance = self._random.choice, self._random.random
        featured = ' featured="yes"' if chance() < 0.1 else ""
        categories = "".join(
            f'<incategory category="{self._one("category")}"/>\n'
            for _ in range(1 + int(chance() * 5))
        )
        mails = "".join(self._mail() for _ in range(int(chance() * 3)))
        return (
            f'<item id="item{number}"{featured}>\n<location>{choose(_COUNTRIES)}</location>\n'
            f"<quantity>{1 + int(chance() * 3)}</quantity>\n<name>{self._name()}</name>\n"
            f"<payment>{choose(_PAYMENTS)}</payment>\n{self._description()}"
            f"<shipping>{choose(_SHIPPING)}</shipping>\n{categories}"
            f"<mailbox>\n{mails}</mailbox>\n</item>\n"
        )

    def _mail(self) -> str:
        choose = self._random.choice
        return (
            f"<mail>\n<from>{choose(FIRST_NAMES)} {choose(LAST_NAMES)}</from>\n"
            f"<to>{choose(FIRST_NAMES)} {choose(LAST_NAMES)}</to>\n<date>{self._date()}</date>\n"
            f"<text>\n{choose(self._paragraphs)}\n</text>\n</mail>\n"
        )

    def _open_auction(self, number: int) -> str:
        chance = self._random.random
        price = initial = self._random.expovariate(0.02) + 1
        reserve = f"<reserve>{initial * (1.2 + chance()):.2f}</reserve>\n" if chance() < 0.5 else ""
        people = [int(chance() * self._count.people) for _ in range(int(chance() * chance() * 20))]
        if number % 53 == 7 and self._count.people > 51:
            people += [20, 51]  # the persons that Q4 looks for, in this order
        bidders = []
        for person in people:
            increase = 1.5 * (1 + int(self._random.expovariate(0.12)))
            price += increase
            bidders.append(
                f"<bidder>\n<date>{self._date()}</date>\n<time>{self._time()}</time>\n"
                f'<personref person="person{person}"/>\n<increase>{increase:.2f}</increase>\n'
                "</bidder>\n"
            )
        privacy = "<privacy>Yes</privacy>\n" if chance() < 0.5 else ""
        return (
            f'<open_auction id="open_auction{number}">\n<initial>{initial:.2f}</initial>\n{reserve}'
            f"{''.join(bidders)}<current>{price:.2f}</current>\n{privacy}"
            f'<itemref item="item{number % self._count.items}"/>\n'
            f'<seller person="{self._one("person")}"/>\n{self._annotation()}'
            "<quantity>1</quantity>\n<type>Regular</type>\n"
            f"<interval>\n<start>{self._date()}</start>\n<end>{self._date()}</end>\n</interval>\n"
            "</open_auction>\n"
        )

    def _annotation(self) -> str:
        return (
            f'<annotation>\n<author person="{self._one("person")}"/>\n{self._description()}'
            f"<happiness>{1 + int(self._random.random() * 10)}</happiness>\n</annotation>\n"
        )

    def _description(self) -> str:
        inner = self._text() if self._random.random() < 0.7 else self._list(depth=0)
        return f"<description>\n{inner}</description>\n"

    def _list(self, depth: int) -> str:
        chance = self._random.random
        entries = []
        for _ in range(1 + int(chance() * 3)):
            deeper = depth < 2 and chance() < 0.25
            inner = self._list(depth + 1) if deeper else self._text()
            entries.append(f"<listitem>\n{inner}</listitem>\n")
        return f"<parlist>\n{''.join(entries)}</parlist>\n"

    def _text(self) -> str:
        return f"<text>\n{self._random.choice(self._paragraphs)}\n</text>\n"

    def _paragraph(self) -> str:
        """Words, some of them marked up, and some of those twice."""
        choose, chance = self._random.choice, self._random.random
        parts = []
        for _ in range(16 + int(chance() * chance() * 170)):
            words = " ".join(choose(WORDS) for _ in range(1 + int(chance() * 3)))
            kind = chance()
            if kind < 0.015:
                words = f"<emph> <keyword>{words}</keyword> </emph>"
            elif kind < 0.05:
                mark = choose(("bold", "keyword", "emph"))
                words = f"<{mark}>{words}</{mark}>"
            elif kind < 0.052:
                words += f" {_SOUGHT}"
            parts.append(words)
        return " ".join(parts)

    def _name(self) -> str:
        return " ".join(
            self._random.choice(WORDS) for _ in range(1 + int(self._random.random() * 3))
        )

    def _one(self, what: str) -> str:
        """The id of a random element of a kind."""
        count = self._count
        number = {"person": count.people, "category": count.categories, "open_auction": count.open}
        return f"{what}{int(self._random.random() * number[what])}"

    def _date(self) -> str:
        chance = self._random.random
        return f"{1 + int(chance() * 12):02}/{1 + int(chance() * 28):02}/{1998 + int(chance() * 4)}"

    def _time(self) -> str:
        seconds = int(self._random.random() * 86400)
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


# what changes: the price is temporal, a bid is an event, an auction closes
_TAGS = """\
<stream:structure xmlns:stream="urn:xcql">
<tag type="snapshot" id="1" name="site">
 <tag type="snapshot" id="2" name="open_auctions">
  <tag type="temporal" id="3" name="open_auction">
   <tag type="snapshot" id="4" name="initial"/>
   <tag type="event" id="5" name="bidder">
    <tag type="snapshot" id="6" name="personref"/>
    <tag type="snapshot" id="7" name="increase"/>
   </tag>
   <tag type="temporal" id="8" name="current"/>
   <tag type="snapshot" id="9" name="itemref"/>
  </tag>
 </tag>
 <tag type="snapshot" id="10" name="closed_auctions">
  <tag type="temporal" id="11" name="closed_auction">
   <tag type="snapshot" id="12" name="itemref"/>
   <tag type="snapshot" id="13" name="price"/>
  </tag>
 </tag>
</tag>
</stream:structure>
"""


def write_tags(path: Path) -> None:
    """Write the Tag Structure of a history."""
    path.write_text(_TAGS)


def write_history(path: Path, factor: float, versions: int, seed: int = 1) -> None:
    """Write fragments in which every price has this many versions.

    The last version of everything is the same, and at the same time, whatever the number of
    earlier ones: what is valid now does not grow with the history. A bid changes a price.
    """
    count = numbers(factor)
    random = Random(seed)
    firsts = [1 + int(random.expovariate(0.02) * 100) / 100 for _ in range(count.open)]
    lasts = [first + 100 + int(random.random() * 10000) / 100 for first in firsts]
    with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<fragments>\n')
        _write_auctions(file, firsts, lasts)
        for version in range(versions):
            # the last one has the same time and price in every history
            part = (version + 1) / versions
            before = version / versions
            for number, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
                time = _time_of(number, part, count.open).isoformat()
                price = first + (last - first) * part
                if version:
                    increase = price - (first + (last - first) * before)
                    person = int(random.random() * count.people)
                    file.write(
                        f'<filler id="{_bidder(number)}" tsid="5" validTime="{time}"><bidder>'
                        f'<personref person="person{person}"/><increase>{increase:.2f}</increase>'
                        "</bidder></filler>\n"
                    )
                file.write(
                    f'<filler id="{_current(number)}" tsid="8" validTime="{time}">'
                    f"<current>{price:.2f}</current></filler>\n"
                )
        _write_closings(file, lasts)
        file.write("</fragments>\n")


def _write_auctions(file: TextIO, firsts: list[float], lasts: list[float]) -> None:
    begin = BEGIN.isoformat()
    holes = "".join(f'<hole id="{_auction(n)}" tsid="3"/>' for n in range(len(firsts)))
    ends = "".join(f'<hole id="{_closed(n)}" tsid="11"/>' for n in range(len(lasts)) if _closes(n))
    file.write(
        f'<filler id="0" tsid="1" validTime="{begin}"><site><open_auctions>{holes}</open_auctions>'
        f"<closed_auctions>{ends}</closed_auctions></site></filler>\n"
    )
    for number, first in enumerate(firsts):
        file.write(
            f'<filler id="{_auction(number)}" tsid="3" validTime="{begin}">'
            f'<open_auction id="open_auction{number}"><initial>{first:.2f}</initial>'
            f'<hole id="{_bidder(number)}" tsid="5"/><hole id="{_current(number)}" tsid="8"/>'
            f'<itemref item="item{number}"/></open_auction></filler>\n'
        )


def _write_closings(file: TextIO, lasts: list[float]) -> None:
    for number, last in enumerate(lasts):
        if _closes(number):
            time = _time_of(number, 1, len(lasts)).isoformat()
            file.write(
                f'<remove id="{_auction(number)}" tsid="3" validTime="{time}"/>\n'
                f'<filler id="{_closed(number)}" tsid="11" validTime="{time}"><closed_auction>'
                f'<itemref item="item{number}"/><price>{last:.2f}</price>'
                "</closed_auction></filler>\n"
            )


def _time_of(number: int, part: float, auctions: int) -> datetime:
    """The time when an auction has come this far; one that closes does so at half of the time."""
    reached = SPAN * part * (0.5 if _closes(number) else 1)
    # no two auctions at the same instant
    return BEGIN + timedelta(seconds=round(reached.total_seconds()), microseconds=number + 1)


def _closes(number: int) -> bool:
    return number % CLOSING == CLOSING - 1


def _auction(number: int) -> int:
    return 4 * number + 1


def _bidder(number: int) -> int:
    return 4 * number + 2


def _current(number: int) -> int:
    return 4 * number + 3


def _closed(number: int) -> int:
    return 4 * number + 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("factor", type=float)
    parser.add_argument("output", type=Path)
    parser.add_argument("--versions", type=int, help="write fragments with this many versions")
    parser.add_argument(
        "--tags", type=Path, help="where to write the Tag Structure of the fragments"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.versions is None:
        write_document(arguments.output, arguments.factor, arguments.seed)
    else:
        write_history(arguments.output, arguments.factor, arguments.versions, arguments.seed)
    if arguments.tags is not None:
        write_tags(arguments.tags)


if __name__ == "__main__":
    main()
