"""Each rule of the algebra on a small plan: what it was, and what it becomes."""

from __future__ import annotations

from itertools import count
from textwrap import dedent
from typing import ClassVar

import pytest

from xcql.algebra.operators import (
    Aggregate,
    Extract,
    Follow,
    Join,
    Nest,
    Number,
    Plan,
    Project,
    Rise,
    Select,
    Unit,
    Unnest,
    row_column,
)
from xcql.algebra.printing import plan_text
from xcql.algebra.rules.evaluations import evaluations_apart
from xcql.algebra.rules.fold_holes import fold_holes
from xcql.algebra.rules.hole_joins import hole_joins
from xcql.algebra.rules.in_row import in_row
from xcql.algebra.rules.interval_joins import MANY, interval_joins
from xcql.algebra.rules.join_keys import join_keys
from xcql.algebra.rules.nests_together import nests_together
from xcql.algebra.rules.outer_join import outer_join
from xcql.algebra.rules.presence import presence
from xcql.algebra.rules.sides_apart import sides_apart
from xcql.algebra.rules.tallies import tallies
from xcql.algebra.rules.valid_now import valid_now
from xcql.algebra.rules.windowed_counts import windowed_counts
from xcql.algebra.scalars import (
    NOW,
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    call,
    conjunction,
    field,
    negation,
)
from xcql.analysis.graph import TagGraph
from xcql.model.tags import parse_tags

TAGS = parse_tags(
    """<structure><tag type="snapshot" id="1" name="bank">
         <tag type="temporal" id="2" name="account">
           <tag type="event" id="3" name="payment"/></tag></tag></structure>"""
)
GRAPHS = {"s": TagGraph(TAGS)}
BANK = Extract("s", ("1",), "bank")
ACCOUNTS = Follow(BANK, "s", "bank", ("2",), "a")
PAYMENTS = Follow(ACCOUNTS, "s", "a", ("3",), "p")


def fresh():  # type: ignore[no-untyped-def]
    numbers = count(1)
    return lambda hint: f"{hint}{next(numbers)}"


def check(plan: Plan, expected: str) -> None:
    assert plan_text(plan) == dedent(expected).strip("\n")


class TestFoldHoles:
    def test_a_chain_that_nothing_looks_into_is_a_scan(self) -> None:
        check(
            fold_holes(PAYMENTS, GRAPHS, frozenset({"p.key"})),
            """
            extract p: fillers of s with tag 3
              unit
            """,
        )

    def test_what_is_looked_at_stays(self) -> None:
        check(
            fold_holes(PAYMENTS, GRAPHS, frozenset({"p.key", "a.element"})),
            """
            follow p: holes of a to fillers with tag 3
              extract a: fillers of s with tag 2
                unit
            """,
        )

    def test_a_projection_on_the_way_is_a_condition_on_all_lifespans_above(self) -> None:
        own = [row_column("a", name) for name in ("vtFrom", "vtTo")]
        projected = Select(ACCOUNTS, call("overlaps", *own, NOW, NOW))
        plan = Follow(projected, "s", "a", ("3",), "p")
        check(
            fold_holes(plan, GRAPHS, frozenset({"p.key"})),
            """
            select overlaps($p.pathFrom, $p.pathTo, :now, :now)
              extract p: fillers of s with tag 3
                unit
            """,
        )

    def test_any_other_condition_on_the_way_keeps_the_chain(self) -> None:
        selected = Select(ACCOUNTS, call("=", field(Column("a.element"), "@id"), Constant("7")))
        plan = Follow(selected, "s", "a", ("3",), "p")
        assert isinstance(fold_holes(plan, GRAPHS, frozenset({"p.key"})), Follow)


class TestHoleJoins:
    def test_by_place(self) -> None:
        check(
            hole_joins(ACCOUNTS, "qac+", GRAPHS, fresh()),
            """
            inner join on $bank.key = $a.parent
              extract bank: fillers of s with tag 1
                unit
              extract a: fillers of s with tag 2
                unit
            """,
        )

    def test_upwards_by_ids_is_a_join_with_the_chain_from_the_root(self) -> None:
        plan = Rise(Extract("s", ("1",), "x"), "s", "x", ("2",), "up")
        check(
            hole_joins(plan, "qac", GRAPHS, fresh()),
            """
            inner join on $x.parent = $up.key
              extract x: fillers of s with tag 1
                unit
              follow up: holes of above1 to fillers with tag 2
                extract above1: fillers of s with tag 1
                  unit
            """,
        )


BIDS = Unnest(Unit(), field(Column("a.element"), "bid"), "b", "b_at")
DEAR = Select(BIDS, call(">", field(Column("b"), "price"), Constant(3)))


class TestInRow:
    @pytest.mark.parametrize(
        ("nested", "expected"),
        [
            (Nested(BIDS, "count", TRUE), "size(or_empty($a.element.bid))"),
            (Nested(BIDS, "exists", TRUE), "(size(or_empty($a.element.bid)) > 0)"),
            (
                Nested(DEAR, "exists", TRUE),
                "is_true(exists(or_empty($a.element.bid), (b) -> ($b.price > 3)))",
            ),
            (
                Nested(DEAR, "collect", field(Column("b"), "who")),
                "transform(filter(or_empty($a.element.bid), (b) -> ($b.price > 3)), (b) -> $b.who)",
            ),
            (
                Nested(
                    Select(Number(BIDS, "n"), call("=", Column("n"), Constant(2))),
                    "collect",
                    field(Column("b"), "who"),
                ),
                "transform(slice(or_empty($a.element.bid), 2, 1), (b) -> $b.who)",
            ),
        ],
    )
    def test_arrays_of_the_tuple(self, nested: Nested, expected: str) -> None:
        plan = in_row(Project(Extract("s", ("2",), "a"), "x", nested))
        assert plan_text(plan).splitlines()[0] == f"project x := {expected}"

    def test_a_plan_that_reads_a_table_stays(self) -> None:
        nested = Nested(Extract("s", ("3",), "p"), "count", TRUE)
        plan = Project(Extract("s", ("2",), "a"), "x", nested)
        assert in_row(plan) == plan


class TestJoinKeys:
    def test_conditions_go_where_they_belong(self) -> None:
        product = Join(Extract("s", ("2",), "a"), Extract("s", ("3",), "p"), (), TRUE)
        condition = conjunction(
            call("is_true", call("=", field(Column("p.element"), "to"), Column("a.filler"))),
            call(">", field(Column("p.element"), "sum"), Constant(9)),
            call("<", Column("a.vtFrom"), Column("p.vtFrom")),
        )
        check(
            join_keys(Select(product, condition)),
            """
            inner join on $a.filler = $p.element.to and ($a.vtFrom < $p.vtFrom)
              extract a: fillers of s with tag 2
                unit
              select ($p.element.sum > 9)
                extract p: fillers of s with tag 3
                  unit
            """,
        )


LINKED = Select(
    Extract("s", ("3",), "p"), call("=", field(Column("p.element"), "to"), Column("a.filler"))
)


class TestOuterJoin:
    def test_equal_values_are_the_keys_of_a_nest(self) -> None:
        plan = Project(Extract("s", ("2",), "a"), "n", Nested(LINKED, "count", TRUE))
        check(
            outer_join(plan, fresh()),
            """
            project n := coalesce($count1, 0)
              left join on $a.filler = $key2
                extract a: fillers of s with tag 2
                  unit
                nest by (key2 := $p.element.to): count1 := count(True)
                  extract p: fillers of s with tag 3
                    unit
            """,
        )

    def test_one_plan_is_nested_once_for_all_that_ask(self) -> None:
        both = call("+", Nested(LINKED, "count", TRUE), Nested(LINKED, "max", Column("p.number")))
        text = plan_text(outer_join(Project(Extract("s", ("2",), "a"), "n", both), fresh()))
        assert text.count("nest by") == 1

    def test_other_dependence_is_nested_for_all_tuples_at_once(self) -> None:
        later = Select(Extract("s", ("3",), "p"), call(">", Column("p.vtFrom"), Column("a.vtFrom")))
        plan = Project(Extract("s", ("2",), "a"), "n", Nested(later, "count", TRUE))
        check(
            outer_join(plan, fresh()),
            """
            project n := coalesce($count1, 0)
              left join on $a.key = $key2
                extract a: fillers of s with tag 2
                  unit
                nest by (key2 := $a.key): count1 := count(True)
                  inner join on ($p.vtFrom > $a.vtFrom)
                    extract a: fillers of s with tag 2
                      unit
                    extract p: fillers of s with tag 3
                      unit
            """,
        )


class TestSemiJoin:
    @pytest.mark.parametrize("kind", ["semi", "anti"])
    def test_existence(self, kind: str) -> None:
        condition = Nested(LINKED, "exists", TRUE)
        plan = Select(
            Extract("s", ("2",), "a"), condition if kind == "semi" else negation(condition)
        )
        check(
            outer_join(plan, fresh()),
            f"""
            {kind} join on $a.filler = $p.element.to
              extract a: fillers of s with tag 2
                unit
              extract p: fillers of s with tag 3
                unit
            """,
        )


def test_evaluations_get_columns() -> None:
    computed = call("evaluate", Constant("f"), Column("a.filler"))
    total = call("+", computed, computed)
    check(
        evaluations_apart(Project(Extract("s", ("2",), "a"), "n", total), fresh()),
        """
        project n := ($evaluated1 + $evaluated1)
          project evaluated1 := evaluate('f', $a.filler)
            extract a: fillers of s with tag 2
              unit
        """,
    )


A, P = Extract("s", ("2",), "a"), Extract("s", ("3",), "p")
LIMIT, SUM = field(Column("a.element"), "limit"), field(Column("p.element"), "sum")


class TestTallies:
    @pytest.mark.parametrize(
        ("condition", "said"),
        [
            (call(">", LIMIT, SUM), "$a.element.limit > $p.element.sum"),
            (call(">=", SUM, LIMIT), "$a.element.limit <= $p.element.sum"),
        ],
    )
    def test_counted_pairs_are_never_made(self, condition: Call, said: str) -> None:
        pairs = Join(A, P, ((Column("a.filler"), Column("p.parent")),), condition)
        keys = (("key", Column("a.key")),)
        check(
            tallies(Nest(pairs, keys, (("n", Aggregate("count", TRUE)),)), fresh()),
            f"""
            nest by (key := $a.key): n := sum($tally1)
              select ($tally1 > 0)
                tally tally1 of $a.filler = $p.parent and {said}
                  extract a: fillers of s with tag 2
                    unit
                  extract p: fillers of s with tag 3
                    unit
            """,
        )

    @pytest.mark.parametrize(
        "nest",
        [
            Nest(Join(A, P, (), TRUE), (), (("n", Aggregate("count", TRUE)),)),
            Nest(Join(A, P, (), call(">", LIMIT, SUM)), (), (("n", Aggregate("collect", SUM)),)),
            Nest(
                Join(A, P, (), call(">", LIMIT, SUM)),
                (("key", Column("p.key")),),
                (("n", Aggregate("count", TRUE)),),
            ),
        ],
    )
    def test_other_pairs_stay(self, nest: Nest) -> None:
        assert tallies(nest, fresh()) == nest

    def test_tuples_and_their_own_tallies_are_not_joined(self) -> None:
        there = call("is_not_null", LIMIT)
        pairs = Join(Select(A, there), P, (), call(">", LIMIT, SUM))
        nest = Nest(pairs, (("key", Column("a.key")),), (("n", Aggregate("count", TRUE)),))
        joined = Join(A, nest, ((Column("a.key"), Column("key")),), TRUE, "left")
        value = "case(is_not_null($a.element.limit), $a.element.limit, None)"
        check(
            tallies(joined, fresh()),
            f"""
            project n := $tally1
              tally tally1 of {value} > $p.element.sum
                extract a: fillers of s with tag 2
                  unit
                extract p: fillers of s with tag 3
                  unit
            """,
        )


class TestValidNow:
    def test_what_is_valid_now_has_not_ended(self) -> None:
        now = call("overlaps", Column("a.vtFrom"), Column("a.vtTo"), NOW, NOW)
        check(
            valid_now(Select(A, now), frozenset({"s"})),
            """
            select is_null($a.vtTo)
              extract a: fillers of s with tag 2
                unit
            """,
        )
        assert valid_now(Select(A, now), frozenset()) == Select(A, now)

    def test_other_intervals_stay(self) -> None:
        then = call("overlaps", Column("a.vtFrom"), Column("a.vtTo"), Column("a.vtFrom"), NOW)
        assert valid_now(Select(A, then), frozenset({"s"})) == Select(A, then)


class TestPresence:
    def test_a_product_is_there_if_its_factors_are(self) -> None:
        text = field(Column("a.element"), "limit")
        number = Call(
            "case",
            (
                call("is_decimal_text", text),
                call("parse_decimal", text, call("fail", Constant(1))),
                call("is_not_null", text),
                call("fail", Constant(0)),
                Constant(None),
            ),
        )
        product = call("decimal_multiply", Constant(2), number, call("fail", Constant(3)))
        check(
            presence(Select(A, call("is_not_null", product))),
            """
            select case(is_decimal_text($a.element.limit), is_not_null($a.element.limit), is_not_null($a.element.limit), fail(0), False)
              extract a: fillers of s with tag 2
                unit
            """,  # noqa: E501
        )

    def test_what_may_be_null_by_itself_is_asked(self) -> None:
        there = Select(A, call("is_not_null", call("nullif", Column("a.key"), Constant(1))))
        assert presence(there) == there


class TestWindowedCounts:
    MEET = call("overlaps", Column("p.vtFrom"), Column("p.vtTo"), Column("a.vtFrom"), NOW)

    def test_what_meets_an_interval_of_another_tuple_is_counted(self) -> None:
        number = Nested(P, "sum", call("case", self.MEET, Constant(1), Constant(0)))
        check(
            windowed_counts(Project(A, "n", number)),
            "project n := count(True for {select overlaps($p.vtFrom, $p.vtTo, $a.vtFrom, :now);"
            """ extract p: fillers of s with tag 3; unit})
              extract a: fillers of s with tag 2
                unit
            """.replace("            ", ""),
        )

    def test_other_sums_stay(self) -> None:
        alone = call("overlaps", Column("p.vtFrom"), Column("p.vtTo"), NOW, NOW)
        for value in (call("case", alone, Constant(1), Constant(0)), SUM):
            plan = Project(A, "n", Nested(P, "sum", value))
            assert windowed_counts(plan) == plan


class TestIntervalJoins:
    ROWS: ClassVar = {"s": {"2": MANY, "3": 2}}
    WINDOW = (Column("a.vtFrom"), call("add_microseconds", Column("a.vtFrom"), Constant(9)))

    def test_lifespans_that_meet_an_interval_are_found_by_buckets(self) -> None:
        meet = call("overlaps", Column("p.vtFrom"), Column("p.vtTo"), *self.WINDOW)
        window = "$a.vtFrom to add_microseconds($a.vtFrom, 9)"
        start = "datetime.datetime(1, 1, 1, 0, 0)"
        condition = "overlaps($p.vtFrom, $p.vtTo, $a.vtFrom, add_microseconds($a.vtFrom, 9))"
        check(
            interval_joins(Join(A, P, (), meet), fresh(), self.ROWS),
            f"""
            inner join on $near1 = $near2 and ({condition} and ($near1.first or $near2.first))
              spread near1 over {window}
                extract a: fillers of s with tag 2
                  unit
              spread near2 over coalesce($p.vtFrom, {start}) to coalesce($p.vtTo, :now)
                extract p: fillers of s with tag 3
                  unit
            """,
        )

    def test_so_are_those_between_the_ends_of_others(self) -> None:
        during = conjunction(
            call("<", Column("a.vtFrom"), Column("p.vtFrom")),
            call("<", Column("p.vtTo"), Column("a.vtTo")),
        )
        plan = interval_joins(Join(A, P, (), during), fresh(), self.ROWS)
        assert "spread near1 over $a.vtFrom to $a.vtTo" in plan_text(plan)
        assert "spread near2 over $p.vtTo to $p.vtFrom" in plan_text(plan)

    @pytest.mark.parametrize(
        "join",
        [
            Join(A, P, (), call("<", Column("a.vtFrom"), Column("p.vtFrom"))),
            Join(A, P, ((LIMIT, SUM),), call("overlaps", *WINDOW, Column("p.vtFrom"), NOW)),
            Join(A, P, (), call("overlaps", *WINDOW, Column("p.vtFrom"), NOW), "semi"),
            Join(A, P, (), conjunction(call("<", LIMIT, SUM), call("<", SUM, Column("a.vtTo")))),
        ],
    )
    def test_other_joins_stay(self, join: Join) -> None:
        assert interval_joins(join, fresh(), self.ROWS) == join

    def test_so_do_few_pairs(self) -> None:
        join = Join(A, P, (), call("overlaps", *self.WINDOW, Column("p.vtFrom"), NOW))
        assert interval_joins(join, fresh(), {"s": {"2": 1000, "3": 1000}}) == join


class TestSidesApart:
    def test_what_is_compared_is_computed_before(self) -> None:
        number = call("parse_double", SUM)
        plan = Join(A, P, (), conjunction(call(">", LIMIT, number), call("<", number, Constant(3))))
        check(
            sides_apart(plan, fresh()),
            """
            inner join on (($a.element.limit > $side1) and $side2)
              extract a: fillers of s with tag 2
                unit
              project side2 := (parse_double($p.element.sum) < 3)
                project side1 := parse_double($p.element.sum)
                  extract p: fillers of s with tag 3
                    unit
            """,
        )

    def test_what_has_no_partner_does_not_fail(self) -> None:
        failing = call("case", call("is_double_text", SUM), SUM, call("fail", Constant(0), SUM))
        plan = sides_apart(Join(A, P, (), call("<", LIMIT, failing)), fresh())
        safe, again = (
            f"case(is_double_text($p.element.sum), $p.element.sum, {otherwise})"
            for otherwise in ("None", "fail(0, $p.element.sum)")
        )
        check(
            plan,
            f"""
            inner join on ($a.element.limit < coalesce($side1, {again}))
              extract a: fillers of s with tag 2
                unit
              project side1 := {safe}
                extract p: fillers of s with tag 3
                  unit
            """,
        )


class TestMembership:
    def test_a_value_among_others_is_a_key(self) -> None:
        wanted = conjunction(
            call("is_not_null", Column("b")), call("=", Column("b"), Column("a.filler"))
        )
        bids = call("or_empty", field(Column("p.element"), "bid"))
        condition = call("is_true", call("exists", bids, Lambda(("b",), wanted)))
        there = "filter(or_empty($p.element.bid), (b) -> is_not_null($b))"
        check(
            join_keys(Select(Join(A, P, (), TRUE), condition)),
            f"""
            inner join on $a.filler = $b.member
              extract a: fillers of s with tag 2
                unit
              unnest b.member at b.member.at: array_distinct(transform({there}, (b) -> $b))
                extract p: fillers of s with tag 3
                  unit
            """,
        )


COUNT = Aggregate("count", TRUE)
LARGE = call(">", SUM, Constant(9))


class TestNestsTogether:
    def test_one_table_is_counted_in_one_pass(self) -> None:
        again = Extract("s", ("3",), "q")
        first = Nest(Select(P, LARGE), (("k1", Column("p.parent")),), (("n", COUNT),))
        second = Nest(again, (("k2", Column("q.parent")),), (("m", COUNT),))
        plan = Join(A, first, ((Column("a.key"), Column("k1")),), TRUE, "left")
        check(
            nests_together(
                Join(plan, second, ((Column("a.key"), Column("k2")),), TRUE, "left"), fresh()
            ),
            """
            left join on $a.key = $k1
              extract a: fillers of s with tag 2
                unit
              nest by (k1 := $p.parent): n := count_if(($p.element.sum > 9)), m := count_if(True)
                extract p: fillers of s with tag 3
                  unit
            """,
        )

    def test_several_tables_are_merged_before(self) -> None:
        plan = Join(Nest(P, (), (("n", COUNT),)), Nest(A, (), (("m", COUNT),)), (), TRUE, "left")
        check(
            nests_together(plan, fresh()),
            """
            nest by (): n := count_if($holds1), m := count_if($holds2)
              merge holds1, holds2
                extract p: fillers of s with tag 3
                  unit
                extract a: fillers of s with tag 2
                  unit
            """,
        )

    def test_counts_for_other_values_stay_apart(self) -> None:
        first = Nest(P, (("k1", Column("p.parent")),), (("n", COUNT),))
        second = Nest(P, (("k2", Column("p.parent")),), (("m", COUNT),))
        plan = Join(A, first, ((Column("a.key"), Column("k1")),), TRUE, "left")
        plan = Join(plan, second, ((Column("a.parent"), Column("k2")),), TRUE, "left")
        assert nests_together(plan, fresh()) == plan
