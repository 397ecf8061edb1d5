"""The engine, rule by rule: what causes changes, what is reported, what survives."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.continuous.credit import NOW, TAGS, account, bought, filler, limit, opened, root
from xcql.continuous import Arrival, applied, open_continuous
from xcql.diagnostics import XcqlError

LARGE = 'for $t in stream("credit")//transaction where $t/amount > 100 return $t/amount/string()'
SPENT = 'for $a in stream("credit")//account return <s>{sum($a/transaction/amount)}</s>'


def test_an_event_changes_its_own_unit_alone(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        query.advance(0, [root("a"), account("a"), bought("a", "2004-01-02", 200)], NOW)
        advance = query.advance(1, [bought("a", "2004-01-03", 300)], NOW)
        assert [(u.op, u.position, u.item) for u in advance.updates] == [("insert", 2, "300")]
        advance = query.advance(2, [bought("a", "2004-01-01", 400)], NOW)
        assert [(u.op, u.position, u.item) for u in advance.updates] == [("insert", 1, "400")]
        assert query.answer() == ["400", "200", "300"]


def test_a_filler_may_come_before_its_hole(tmp_path: Path) -> None:
    with opened(SPENT, tmp_path) as query:
        advance = query.advance(0, [bought("a", "2004-01-02", 7), account("a")], NOW)
        assert query.answer() == []
        assert advance.figures.empty_holes == 1  # the hole of the limit
        query.advance(1, [root("a")], NOW)
        assert query.answer() == ["<s>7</s>"]
        query.advance(2, [root("b", "a")], NOW)
        assert query.answer() == ["<s>7</s>"]
        query.advance(3, [account("b")], NOW)
        assert query.answer() == ["<s>0</s>", "<s>7</s>"]


def test_replace_and_remove(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        events = [bought("a", "2004-01-02", 200), bought("a", "2004-01-03", 300)]
        query.advance(0, [root("a"), account("a"), *events], NOW)
        query.advance(1, [Arrival("credit", '<remove id="ta" validTime="2004-01-02"/>')], NOW)
        assert query.answer() == ["300"]
        element = "<transaction><vendor/><amount>500</amount></transaction>"
        query.advance(2, [filler("ta", 5, "2004-01-05", element, "replace")], NOW)
        assert query.answer() == ["500"]
        query.advance(3, [Arrival("credit", '<remove id="a"/>')], NOW)
        assert query.answer() == []
        query.advance(4, [account("a")], NOW)
        assert query.answer() == ["500"]


def test_what_is_repeated_or_late_is_counted(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        query.advance(0, [root("a"), account("a"), bought("a", "2004-01-05", 200)], NOW)
        again = [bought("a", "2004-01-05", 200), bought("a", "2004-01-04", 300)]
        figures = query.advance(1, again, NOW).figures
        assert (figures.fragments, figures.repeated, figures.late) == (2, 1, 1)
        assert query.answer() == ["300", "200"]


def test_a_pattern_that_could_take_forever(tmp_path: Path) -> None:
    text = """for $t in stream("credit")//transaction
        where not(matches($t/vendor, "^(a|aa)+$")) return string-length($t/vendor)"""
    with opened(text, tmp_path) as query:
        element = f"<transaction><vendor>{'a' * 50_000}!</vendor><amount>5</amount></transaction>"
        event = filler("ta", 5, "2004-01-05", element)
        query.advance(0, [root("a"), account("a"), event], NOW)
        assert query.answer() == ["50001"]


def test_a_window_moves_by_itself(tmp_path: Path) -> None:
    text = 'for $a in stream("credit")//account return count($a/transaction?[now-PT1H, now])'
    with opened(text, tmp_path) as query:
        advance = query.advance(
            0,
            [root("a"), account("a"), bought("a", "2004-01-10T00:00:00", 1)],
            datetime(2004, 1, 10, 0, 30),
        )
        assert query.answer() == ["1"]
        # at one o'clock it is still in the window, whose end is inclusive
        assert advance.next_change == datetime(2004, 1, 10, 1)
        assert query.advance(1, [], datetime(2004, 1, 10, 1)).updates == ()
        after = query.advance(2, [], datetime(2004, 1, 10, 1, 0, 0, 1))
        assert [(u.op, u.item) for u in after.updates] == [("replace", "0")]
        assert after.next_change is None


def test_a_window_may_reach_beyond_the_end_of_time(tmp_path: Path) -> None:
    text = 'for $a in stream("credit")//account return count($a/transaction?[now-P999D, now])'
    with opened(text, tmp_path) as query:
        arrivals = [root("a"), account("a"), bought("a", "9999-12-31", 1)]
        advance = query.advance(0, arrivals, datetime(9999, 12, 31, 1))
        assert (query.answer(), advance.next_change) == (["1"], None)


def test_the_future_becomes_the_present(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        advance = query.advance(0, [root("a"), account("a"), bought("a", "2004-02-01", 200)], NOW)
        assert query.answer() == []
        assert advance.next_change == datetime(2004, 2, 1)
        assert query.advance(1, [], datetime(2004, 2, 1)).updates[0].item == "200"
        assert query.advance(2, [], NOW).updates[0].op == "delete"


def test_now_by_events(tmp_path: Path) -> None:
    with opened("string(now())", tmp_path, now="event") as query:
        query.advance(0, [root("a")], None)
        assert query.answer() == ["2004-01-01T00:00:00"]
        advance = query.advance(1, [bought("a", "2004-03-01", 1)], None)
        assert query.answer() == ["2004-03-01T00:00:00"]
        assert advance.next_change is None


def test_a_batch_that_was_done_changes_nothing(tmp_path: Path) -> None:
    arrivals = [root("a"), account("a"), bought("a", "2004-01-02", 200)]
    with opened(LARGE, tmp_path) as query:
        first = query.advance(0, arrivals, NOW)
        assert query.advance(0, arrivals, NOW) == first
    with opened(LARGE, tmp_path) as query:
        assert query.last_batch == 0
        assert query.advance(0, arrivals, NOW) == first
        assert query.answer() == applied(query.updates()) == ["200"]


def test_what_is_malformed_goes_to_quarantine(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        bad = [
            Arrival("credit", "<filler id='1' tsid='2'><account></filler>"),
            Arrival("credit", "no fragment at all"),
            Arrival("elsewhere", "<filler id='1'/>"),
            filler("a", 4, "2004-01-01", "<creditLimit>1</creditLimit>"),
            Arrival("credit", "\ud800"),
        ]
        arrivals = [root("a"), account("a"), *bad, bought("a", "2004-01-02", 200)]
        advance = query.advance(0, arrivals, NOW)
        assert advance.figures.quarantined == 5
        assert query.answer() == ["200"]
        kinds = [kind for _, _, _, kind, _, _ in query.quarantine()]
        assert kinds[:4] == ["malformed", "not a fragment", "not a fragment", "tag conflict"]


def test_an_end_of_stream_ends_its_own_text(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        query.advance(0, [root("a"), Arrival("credit", "<eos/>"), account("a")], NOW)
        query.advance(1, [bought("a", "2004-01-02", 200)], NOW)
        assert query.answer() == ["200"]
        assert query.quarantine() == []


def test_order_by_gives_positions(tmp_path: Path) -> None:
    text = (
        'for $t in stream("credit")//transaction order by number($t/amount) descending'
        " return $t/amount/string()"
    )
    with opened(text, tmp_path) as query:
        events = [bought("a", f"2004-01-0{day}", day * 100) for day in (1, 2, 3)]
        query.advance(0, [root("a"), account("a"), *events], NOW)
        assert query.answer() == ["300", "200", "100"]
        advance = query.advance(1, [bought("a", "2004-01-04", 250)], NOW)
        assert [(u.op, u.position) for u in advance.updates] == [("insert", 2)]


def test_looking_beside_a_unit_makes_larger_ones(tmp_path: Path) -> None:
    text = (
        'for $t in stream("credit")//transaction'
        " return count($t/../transaction[amount > $t/amount])"
    )
    with opened(text, tmp_path) as query:
        events = [bought("a", f"2004-01-0{day}", day * 100) for day in (1, 2, 3)]
        query.advance(0, [root("a"), account("a"), *events], NOW)
        assert query.answer() == ["2", "1", "0"]
        assert "/creditAccounts/account" in str(query.explanation())
        query.advance(1, [bought("a", "2004-01-04", 250)], NOW)
        assert query.answer() == ["3", "2", "0", "1"]


def test_an_error_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    text = 'for $t in stream("credit")//transaction return xs:integer($t/vendor)'
    good = filler(
        "ta", 5, "2004-01-02", "<transaction><vendor>1</vendor><amount>1</amount></transaction>"
    )
    with opened(text, tmp_path) as query:
        query.advance(0, [root("a"), account("a"), good], NOW)
        with pytest.raises(XcqlError, match="FORG0001"):
            query.advance(1, [bought("a", "2004-01-03", 1)], NOW)
        assert query.last_batch == 0
        query.advance(1, [limit("a", "2004-01-03", 1)], NOW)
        assert query.answer() == ["1"]


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    opened(LARGE, tmp_path).close()
    with pytest.raises(XcqlError, match="another query"):
        opened(SPENT, tmp_path)
    with pytest.raises(XcqlError, match="another choice of now"):
        opened(LARGE, tmp_path, now="event")
    with pytest.raises(XcqlError, match="another tag structure"):
        open_continuous(LARGE, {"credit": TAGS, "more": TAGS}, tmp_path)
    with opened(LARGE, tmp_path), pytest.raises(XcqlError, match="XCQL0601"):
        opened(LARGE, tmp_path)
    (tmp_path / "continuous.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(XcqlError, match="XCQL0600"):
        opened(LARGE, tmp_path)


def test_variables_and_functions(tmp_path: Path) -> None:
    text = (
        "declare variable $least external; declare function local:twice($n) { 2 * $n };"
        ' for $t in stream("credit")//transaction where $t/amount > $least'
        " return local:twice($t/amount)"
    )
    with opened(text, tmp_path, variables={"least": 100}) as query:
        events = [bought("a", "2004-01-02", 50), bought("a", "2004-01-03", 200)]
        query.advance(0, [root("a"), account("a"), *events], NOW)
        assert query.answer() == ["400"]
    with pytest.raises(XcqlError, match="another value of a variable"):
        opened(text, tmp_path, variables={"least": 1})


def test_updates_that_no_sink_asks_for_again_can_be_dropped(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        query.advance(0, [root("a"), account("a"), bought("a", "2004-01-02", 200)], NOW)
        last = query.advance(1, [bought("a", "2004-01-03", 300)], NOW)
        assert [update.batch for update in query.updates()] == [0, 1]
        query.forget_updates(10)
        assert tuple(query.updates()) == last.updates
        assert query.advance(1, [], NOW) == last
        assert query.answer() == ["200", "300"]


def test_figures_read_well(tmp_path: Path) -> None:
    with opened(LARGE, tmp_path) as query:
        figures = query.advance(12, [root("a"), account("a")], NOW).figures
    assert str(figures).startswith(
        "batch 12: 2 fragments, 0 repeated, 0 late, 2 holes still empty, 0 rows changed, "
    )
