"""A small stream of accounts for tests of single rules."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from xcql.continuous import Arrival, Continuous, open_continuous
from xcql.model.tags import parse_tags

TAGS = parse_tags("""
<stream:structure>
  <tag type="snapshot" id="1" name="creditAccounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="creditLimit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="temporal" id="7" name="status"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag>
    </tag>
  </tag>
</stream:structure>""")
NOW = datetime(2004, 1, 10)


def filler(id: str, tsid: int, time: str, element: str, op: str = "filler") -> Arrival:
    text = f'<{op} id="{id}" tsid="{tsid}" validTime="{time}">{element}</{op}>'
    return Arrival("credit", text)


def root(*accounts: str) -> Arrival:
    holes = "".join(f'<hole id="{account}" tsid="2"/>' for account in accounts)
    return filler("0", 1, "2004-01-01", f"<creditAccounts>{holes}</creditAccounts>")


def account(name: str, time: str = "2004-01-01", customer: str = "Ann") -> Arrival:
    inside = f'<hole id="l{name}" tsid="4"/><hole id="t{name}" tsid="5"/>'
    element = f'<account id="{name}"><customer>{customer}</customer>{inside}</account>'
    return filler(name, 2, time, element)


def limit(name: str, time: str, amount: int) -> Arrival:
    return filler(f"l{name}", 4, time, f"<creditLimit>{amount}</creditLimit>")


def bought(name: str, time: str, amount: int, status: str = "") -> Arrival:
    hole = f'<hole id="{status}" tsid="7"/>' if status else ""
    element = f"<transaction><vendor>V</vendor>{hole}<amount>{amount}</amount></transaction>"
    return filler(f"t{name}", 5, time, element)


def opened(query: str, folder: Path, **choices: object) -> Continuous:
    return open_continuous(query, {"credit": TAGS}, folder, **choices)  # type: ignore[arg-type]
