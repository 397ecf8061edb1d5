"""Generates larger streams like those of the samples, of any size, reproducible by seed.

    python samples/generate.py auctions --size 10000 --seed 1 --out big

writes `big/auctions/fragments.xml` and `big/auctions/tags.xml`, for use with the sample's queries.
`--size` is the approximate number of fillers of each stream.
"""

from __future__ import annotations

import argparse
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

SAMPLES = Path(__file__).parent
_START = datetime(2004, 1, 1)

Fragments = Iterator[str]


def filler(id_: int, tsid: int, time: datetime, element: str) -> str:
    return f'<filler id="{id_}" tsid="{tsid}" validTime="{time.isoformat()}">{element}</filler>'


def holes(ids: list[int], tsid: int) -> str:
    return "".join(f'<hole id="{id_}" tsid="{tsid}"/>' for id_ in ids)


def events(
    root: str, size: int, make: Callable[[int, datetime], tuple[datetime, str]]
) -> Fragments:
    """A root with one hole, which all events fill; `make` returns the time and content of each."""
    yield filler(0, 1, _START, f"<{root}>{holes([1], 2)}</{root}>")
    for number in range(size):
        time, element = make(number, _START + timedelta(seconds=number))
        yield filler(1, 2, time, element)


def credit(size: int, chance: random.Random) -> dict[str, Fragments]:
    def fragments() -> Fragments:
        accounts = [4 * number + 1 for number in range(max(1, size // 10))]
        yield filler(0, 1, _START, f"<creditAccounts>{holes(accounts, 2)}</creditAccounts>")
        for number, account in enumerate(accounts):
            inside = holes([account + 1], 4) + holes([account + 2], 5)
            name = f"<customer>Customer {number}</customer>"
            yield filler(account, 2, _START, f'<account id="{number}">{name}{inside}</account>')
            for year in range(2):
                limit = f"<creditLimit>{chance.randrange(1, 20) * 500}</creditLimit>"
                yield filler(account + 1, 4, _START + timedelta(days=200 * year), limit)
        status = 4 * len(accounts) + 1
        for number in range(max(1, size // 3)):
            account = chance.choice(accounts)
            time = _START + timedelta(seconds=chance.randrange(300 * 86400))
            status += 1
            vendor = f"<vendor>Vendor {chance.randrange(50)}</vendor>"
            amount = f"<amount>{chance.randrange(1, 200_000) / 100:.2f}</amount>"
            bought = (
                f'<transaction id="{number}">{vendor}{amount}{holes([status], 7)}</transaction>'
            )
            yield filler(account + 2, 5, time, bought)
            yield filler(status, 7, time + timedelta(seconds=1), "<status>charged</status>")
            if chance.random() < 0.1:
                later = time + timedelta(days=chance.randrange(1, 60))
                yield filler(status, 7, later, "<status>suspended</status>")

    return {"credit": fragments()}


def network(size: int, chance: random.Random) -> dict[str, Fragments]:
    delays = [chance.choice([1, 5, 20, 90, None]) for _ in range(size)]

    def packet(number: int, swapped: bool) -> str:
        ours = f"10.0.{number // 250 % 250}.{number % 250}", 1024 + number % 50_000
        there = ("10.9.9.9", 80)
        source, target = (there, ours) if swapped else (ours, there)
        return (
            f"<packet><id>{number}</id><srcIP>{source[0]}</srcIP><srcPort>{source[1]}</srcPort>"
            f"<destIP>{target[0]}</destIP><destPort>{target[1]}</destPort></packet>"
        )

    answered = [(number, delay) for number, delay in enumerate(delays) if delay is not None]

    def answer(index: int, _: datetime) -> tuple[datetime, str]:
        number, delay = answered[index]
        return _START + timedelta(seconds=number + delay), packet(number, True)

    return {
        "gsyn": events("packets", size, lambda number, time: (time, packet(number, False))),
        "ack": events("packets", len(answered), answer),
    }


def radar(size: int, chance: random.Random) -> dict[str, Fragments]:
    heard = [(chance.randrange(900, 1100) / 10, chance.randrange(10, 80)) for _ in range(size)]

    def event(number: int, time: datetime, second: bool) -> tuple[datetime, str]:
        frequency, angle = heard[number]
        angle = 180 - angle if second else angle
        later = timedelta(milliseconds=number % 1500 if second else 0)
        body = f"<frequency>{frequency}</frequency><angle>{angle}</angle>"
        return time + later, f"<event>{body}</event>"

    return {
        "radar1": events("signals", size, lambda number, time: event(number, time, False)),
        "radar2": events("signals", size, lambda number, time: event(number, time, True)),
    }


def traffic(size: int, chance: random.Random) -> dict[str, Fragments]:
    places = [f"{chance.randrange(200) / 10} {chance.randrange(200) / 10}" for _ in range(20)]

    def reports(root: str, mark: str, more: Callable[[], str]) -> Fragments:
        def event(number: int, time: datetime) -> tuple[datetime, str]:
            place = places[number % len(places)]
            body = f"<id>{mark}{number % 20}</id>{more()}"
            if mark == "V":
                return time, f"<event>{body}<location>{place}</location></event>"
            head, _, tail = body.partition("</id>")
            return time, f"<event>{head}</id><location>{place}</location>{tail}</event>"

        return events(root, size, event)

    kinds, colours = ("ambulance", "bus", "car"), ("red", "green")
    return {
        "vehicle": reports("vehicles", "V", lambda: f"<type>{chance.choice(kinds)}</type>"),
        "road_sensor": reports(
            "sensors", "S", lambda: f"<speed>{chance.randrange(1, 30) / 10}</speed>"
        ),
        "traffic_light": reports(
            "lights", "L", lambda: f"<status>{chance.choice(colours)}</status>"
        ),
    }


def auctions(size: int, chance: random.Random) -> dict[str, Fragments]:
    def fragments() -> Fragments:
        people = list(range(1, max(2, size // 20) + 1))
        first = len(people) + 1
        lots = [first + 4 * number for number in range(max(1, size // 20))]
        yield filler(0, 1, _START, f"<auctions>{holes(people, 2)}{holes(lots, 5)}</auctions>")
        for person in people:
            for year in range(1 + (person % 5 == 0)):
                city = f"<city>City {chance.randrange(30)}</city>"
                who = f'<person id="p{person}"><name>Person {person}</name>{city}</person>'
                yield filler(person, 2, _START + timedelta(days=30 * year), who)
        for number, lot in enumerate(lots):
            opened = _START + timedelta(hours=chance.randrange(24 * 60))
            inside = holes([lot + 1], 7) + holes([lot + 2], 8) + holes([lot + 3], 9)
            seller = chance.choice(people)
            title = f"<title>Lot {number}</title>"
            auction = f'<auction id="a{number}" seller="p{seller}">{title}{inside}</auction>'
            yield filler(lot, 5, opened, auction)
            price = chance.randrange(1, 100)
            yield filler(lot + 1, 7, opened, f"<reserve>{price * 2}</reserve>")
            yield filler(lot + 2, 8, opened, "<state>open</state>")
            time = opened
            for _ in range(chance.randrange(20)):
                time += timedelta(minutes=chance.randrange(1, 300))
                price += chance.randrange(1, 20)
                bid = f'<bid by="p{chance.choice(people)}"><price>{price}</price></bid>'
                yield filler(lot + 3, 9, time, bid)
            yield filler(lot + 2, 8, opened + timedelta(days=7), "<state>sold</state>")

    return {"auctions": fragments()}


def markets(size: int, chance: random.Random) -> dict[str, Fragments]:
    codes = ("USD", "EUR", "GBP", "CHF", "JPY")

    def commodities() -> Fragments:
        vendors = [1000 * number + 1 for number in range(max(1, size // 100))]
        yield filler(0, 1, _START, f"<commodities>{holes(vendors, 2)}</commodities>")
        for number, vendor in enumerate(vendors):
            items = [vendor + 2 * index + 1 for index in range(20)]
            body = f"<name>Vendor {number}</name><items>{holes(items, 5)}</items>"
            yield filler(vendor, 2, _START, f"<vendor>{body}</vendor>")
            for index, item in enumerate(items):
                name = "PDA" if index % 4 == 0 else f"Thing {index}"
                model = "PalmPilot" if index == 0 else f"Model {index}"
                body = f"<name>{name}</name><make>HP</make><model>{model}</model>"
                yield filler(item, 5, _START, f"<item>{body}{holes([item + 1], 9)}</item>")
                currency = chance.choice(codes)
                for week in range(4):
                    price = f'<price currency="{currency}">{chance.randrange(1, 500)}</price>'
                    yield filler(item + 1, 9, _START + timedelta(weeks=week), price)

    def currency() -> Fragments:
        ids = list(range(1, len(codes) + 1))
        yield filler(0, 1, _START, f"<currencies>{holes(ids, 2)}</currencies>")
        for id_, code in zip(ids, codes, strict=True):
            rates = [100 * id_ + index for index in range(len(codes))]
            body = f"<code>{code}</code><name>{code}</name><rates>{holes(rates, 6)}</rates>"
            yield filler(id_, 2, _START, f"<currency>{body}</currency>")
            for rate, other in zip(rates, codes, strict=True):
                for day in range(max(1, size // 100)):
                    buying = 1.0 if code == other else chance.randrange(50, 200) / 100
                    body = f"<buying>{buying}</buying><selling>{buying}</selling>"
                    body = f"<currency><code>{other}</code>{body}</currency>"
                    yield filler(rate, 6, _START + timedelta(days=day), body)

    return {"commodities": commodities(), "currency": currency()}


GENERATORS: dict[str, Callable[[int, random.Random], dict[str, Fragments]]] = {
    one.__name__: one for one in (credit, network, radar, traffic, auctions, markets)
}


def generate(sample: str, size: int, seed: int, out: Path) -> list[Path]:
    """Write the streams of a sample; return the folders."""
    folders = []
    for stream, fragments in GENERATORS[sample](size, random.Random(seed)).items():
        folder = out / stream
        folder.mkdir(parents=True, exist_ok=True)
        tags = SAMPLES / sample / "tags.xml"
        if not tags.exists():
            tags = SAMPLES / sample / stream / "tags.xml"
        shutil.copy(tags, folder / "tags.xml")
        with (folder / "fragments.xml").open("w", encoding="utf-8") as file:
            file.write("<fragments>\n")
            file.writelines(f"{one}\n" for one in fragments)
            file.write("</fragments>\n")
        folders.append(folder)
    return folders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sample", choices=GENERATORS)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for folder in generate(given.sample, given.size, given.seed, given.out):
        print(folder)


if __name__ == "__main__":
    main()
