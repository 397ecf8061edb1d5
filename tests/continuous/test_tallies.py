"""Counts and sums over the events of a unit: which are maintained, and what is read for them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.continuous.credit import TAGS
from xcql.check import check
from xcql.continuous import Arrival, open_continuous
from xcql.continuous.fillers import Fillers
from xcql.continuous.plan import UnitPlan, plan_query
from xcql.diagnostics import XcqlError
from xcql.history.definition import History
from xcql.model.tags import parse_tags

_LOOP = 'for $a in stream("credit")//account return'


@pytest.mark.parametrize(
    ("query", "tallies"),
    [
        (f"{_LOOP} sum($a/transaction/amount)", ["sum"]),
        (f"{_LOOP} (count($a/transaction), count($a/transaction))", ["count"]),
        (f"{_LOOP} <x>{{avg($a/transaction/@id), empty($a/transaction/vendor)}}</x>",
         ["avg", "empty"]),
        (f"{_LOOP} fn:exists($a/transaction)", ["exists"]),
        (f"{_LOOP} sum($a/transaction/amount/text())", ["sum"]),
        ('for $a in stream("credit")//account[@id = "7"] return count($a/transaction)', ["count"]),
        # not over events
        (f"{_LOOP} count($a/creditLimit)", None),
        (f"{_LOOP} count($a/customer)", None),
        # the counted value is not in the event's filler
        (f"{_LOOP} sum($a/transaction)", None),
        (f"{_LOOP} count($a/transaction/status)", None),
        (f"{_LOOP} count($a/transaction[status = 'charged'])", None),
        (f"{_LOOP} count($a/transaction//vendor)", None),
        # a comment is not a number
        (f"{_LOOP} sum($a/transaction/comment())", None),
        # it depends on other events
        (f"{_LOOP} count($a/transaction[2])", None),
        (f"{_LOOP} count($a/transaction[@id = $a/@id])", None),
        (f"{_LOOP} (1 to 2) ! count(('x')[$a/transaction])", None),
        # or on time
        (f"{_LOOP} count($a/transaction?[now-PT1H, now])", None),
        (f"{_LOOP} (count($a/transaction), now())", None),
        # the variable name is used twice
        (f"{_LOOP} (for $a in 1 to 2 return $a, count($a/transaction))", None),
        # the loop does not iterate over units
        ('for $t in stream("credit")//account/transaction return count($t/status)', None),
        ('for $c in stream("credit")//account?[now] return count($c/transaction)', None),
        ('for $a in stream("credit")//account/customer return count($a/../transaction)', None),
        # names have another meaning there
        (f'{_LOOP} <x xmlns="urn:x">{{count($a/transaction)}}</x>', None),
        (f"{_LOOP} max($a/transaction/amount)", None),
    ],
)  # fmt: skip
def test_tallies_of_a_query(query: str, tallies: list[str] | None) -> None:
    plan = plan_query(check(query, {"credit": TAGS}))
    found = plan.tallied if isinstance(plan, UnitPlan) else None
    assert (None if found is None else [tally.name for tally in found.tallies]) == tallies


_EVENTS = parse_tags(
    """<stream:structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="a">
    <tag type="event" id="3" name="e"/></tag></tag></stream:structure>"""
)
_SUM = 'for $a in stream("s")//a return <s>{sum($a/e), count($a/e)}</s>'


def _event(value: str, day: int) -> Arrival:
    return Arrival(
        "s", f'<filler id="e" tsid="3" validTime="2001-01-{day:02}"><e>{value}</e></filler>'
    )


_BEGIN = [
    Arrival("s", '<filler id="0" tsid="1"><r><hole id="a"/></r></filler>'),
    Arrival("s", '<filler id="a" tsid="2"><a><hole id="e"/></a></filler>'),
]
_NOW = datetime(2001, 2, 1)


def test_events_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    histories = Fillers.histories

    def watched(*arguments: object) -> dict[str, History]:
        found = histories(*arguments)  # type: ignore[arg-type]
        read.extend(len(history.versions) for id, history in found.items() if id == "e")
        return found

    monkeypatch.setattr(Fillers, "histories", watched)
    with open_continuous(_SUM, {"s": _EVENTS}, tmp_path) as continuous:
        continuous.advance(0, [*_BEGIN, *(_event("2", day) for day in range(1, 21))], _NOW)
        assert continuous.answer() == ["<s>40 20</s>"]
        read.clear()
        continuous.advance(1, [_event("3", 21), _event("2", 5)], _NOW)
        assert continuous.answer() == ["<s>43 21</s>"]
        assert sum(read) == 2


@pytest.mark.parametrize(
    ("arrivals", "answer"),
    [
        ([_event("5", 1)], "<s>9 3</s>"),
        ([Arrival("s", '<remove id="e" validTime="2001-01-01"/>')], "<s>2 1</s>"),
        ([Arrival("s", '<replace id="e" tsid="3" validTime="2001-01-09"><e>7</e></replace>')],
         "<s>7 1</s>"),
        ([Arrival("s", '<remove id="e"/>')], "<s>0 0</s>"),
        ([Arrival("s", '<remove id="e"/>'), _event("4", 1)], "<s>4 1</s>"),
        ([_event("0.5", 3)], "<s>4.5 3</s>"),
        ([_event("9e15", 3), _event("1", 4)], "<s>9.000000000000005E15 4</s>"),
        ([Arrival("s", '<filler id="e" tsid="3" validTime="2001-03-01"><e>9</e></filler>')],
         "<s>4 2</s>"),
    ],
)  # fmt: skip
def test_what_changes_a_sum(tmp_path: Path, arrivals: list[Arrival], answer: str) -> None:
    with open_continuous(_SUM, {"s": _EVENTS}, tmp_path) as continuous:
        continuous.advance(0, [*_BEGIN, _event("2", 1), _event("2", 2)], _NOW)
        assert continuous.answer() == ["<s>4 2</s>"]
        continuous.advance(1, arrivals, _NOW)
        assert continuous.answer() == [answer]
        assert continuous.answer() == continuous.recomputed()
        # future events appear as time passes, and disappear when it goes back
        for now in (datetime(2001, 4, 1), datetime(2001, 1, 1), _NOW):
            continuous.advance(continuous.last_batch + 1, [], now)  # type: ignore[operator]
            assert continuous.answer() == continuous.recomputed()


@pytest.mark.parametrize("query", [_SUM, 'sum(stream("s")//e)'])
def test_what_only_python_reads_as_a_number_is_none(tmp_path: Path, query: str) -> None:
    with open_continuous(query, {"s": _EVENTS}, tmp_path) as continuous:
        with pytest.raises(XcqlError) as raised:
            continuous.advance(0, [*_BEGIN, _event("1_000", 1)], _NOW)
        assert raised.value.code == "FORG0001"
