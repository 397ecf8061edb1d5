"""Generates hours of traffic in the order of events, to be played in a minute.

    python samples/live/generate.py --hours 2 --out live
    xcqlc publish live/credit/fragments.xml --to tcp://localhost:9000 --speed 120

Writes a folder for each stream, with its fragments and tags: purchases with credit cards, one of
which is stolen now and then; SYN and ACK packets; signals that two radars detect; and reports of
vehicles, sensors in the road and traffic lights. The output is the same for the same seed.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

SAMPLES = Path(__file__).parents[1]
sys.path.insert(0, str(SAMPLES))

from generate import GENERATORS, filler, holes  # noqa: E402

_START = datetime(2004, 1, 1)
_TIME = re.compile(r'validTime="([^"]*)"')
# the events per hour in each of the other streams: one per second
_AN_HOUR = 3600


def cards(hours: float, chance: random.Random) -> Iterator[str]:
    """Accounts, and their purchases as they happen; a stolen card is used often, for a while."""
    accounts = [10 * number for number in range(1, 26)]
    limits = {account: chance.randrange(4, 13) * 1000 for account in accounts}
    yield filler(0, 1, _START, f"<creditAccounts>{holes(accounts, 2)}</creditAccounts>")
    for account in accounts:
        inside = f"<customer>Customer {account}</customer>{holes([account + 1], 4)}"
        inside += holes([account + 2], 5)
        yield filler(account, 2, _START, f'<account id="{account}">{inside}</account>')
        yield filler(account + 1, 4, _START, f"<creditLimit>{limits[account]}</creditLimit>")
    time, status, stolen, until = _START, 1000, 0, _START
    end = _START + timedelta(hours=hours)
    while time < end:
        time += timedelta(seconds=chance.randrange(5, 60))
        if time > until and chance.random() < 0.04:
            stolen, until = chance.choice(accounts), time + timedelta(minutes=15)
        is_theft = time < until and chance.random() < 0.6
        account = stolen if is_theft else chance.choice(accounts)
        amount = limits[account] / 6 if is_theft else chance.randrange(100, 20_000) / 100
        status += 1
        bought = f"<vendor>Vendor {chance.randrange(50)}</vendor><amount>{amount:.2f}</amount>"
        bought = f'<transaction id="{status}">{bought}{holes([status], 7)}</transaction>'
        became = "charged" if chance.random() < 0.97 else "denied"
        purchase = filler(account + 2, 5, time, bought)
        outcome = filler(status, 7, time + timedelta(seconds=2), f"<status>{became}</status>")
        # fragments arrive in any order, and sometimes twice
        both = [purchase, outcome] if chance.random() < 0.9 else [outcome, purchase]
        yield from both
        if chance.random() < 0.02:
            yield purchase
        if chance.random() < 0.01:
            limits[account] += 1000
            limit = f"<creditLimit>{limits[account]}</creditLimit>"
            yield filler(account + 1, 4, time, limit)


def streams(hours: float, seed: int) -> dict[str, list[str]]:
    """The fragments of each stream, in the order of their times except for late ones."""
    found = {"credit": list(cards(hours, random.Random(seed)))}
    for sample in ("network", "radar", "traffic"):
        made = GENERATORS[sample](round(hours * _AN_HOUR), random.Random(seed))
        for name, fragments in made.items():
            found[name] = sorted(fragments, key=_valid_time)
    return found


def _valid_time(fragment: str) -> str:
    found = _TIME.search(fragment)
    assert found is not None
    return found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for name, fragments in streams(given.hours, given.seed).items():
        folder = given.out / name
        folder.mkdir(parents=True, exist_ok=True)
        (tags,) = SAMPLES.glob(f"*/{name}/tags.xml") if name != "credit" else _credit_tags()
        shutil.copy(tags, folder / "tags.xml")
        text = "".join(f"{fragment}\n" for fragment in fragments)
        (folder / "fragments.xml").write_text(f"<fragments>\n{text}</fragments>\n", "utf-8")
        print(f"{folder}: {len(fragments)} fragments")


def _credit_tags() -> list[Path]:
    return [SAMPLES / "credit" / "tags.xml"]


if __name__ == "__main__":
    main()
