"""Small plans for each rule, named by the rule's effect; the specs beside hold them as text.

A case has a plan and the facts that it is rewritten with, if they are not the usual ones.
"""

from __future__ import annotations

from typing import Any

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
from xcql.algebra.rules.interval_joins import MANY
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

Case = Plan | tuple[Plan, dict[str, Any]]

BANK = Extract("s", ("1",), "bank")
ACCOUNTS = Follow(BANK, "s", "bank", ("2",), "a")
PAYMENTS = Follow(ACCOUNTS, "s", "a", ("3",), "p")
A, P, Q = (Extract("s", (tag,), row) for tag, row in (("2", "a"), ("3", "p"), ("3", "q")))
LIMIT, SUM = field(Column("a.element"), "limit"), field(Column("p.element"), "sum")
LIFESPAN_A = (row_column("a", "vtFrom"), row_column("a", "vtTo"))
LIFESPAN_P = (row_column("p", "vtFrom"), row_column("p", "vtTo"))
COUNT = Aggregate("count", TRUE)

# `fold_holes`
VALID_ACCOUNTS = Select(ACCOUNTS, call("overlaps", *LIFESPAN_A, NOW, NOW))
ACCOUNT_7 = Select(ACCOUNTS, call("=", field(Column("a.element"), "@id"), Constant("7")))

# `in_row`
BIDS = Unnest(Unit(), field(Column("a.element"), "bid"), "b", "b_at")
DEAR = Select(BIDS, call(">", field(Column("b"), "price"), Constant(3)))
SECOND = Select(Number(BIDS, "n"), call("=", Column("n"), Constant(2)))
WHO = field(Column("b"), "who")
THOUSAND = Unnest(Unit(), call("range", Constant(1), Constant(1000)), "i", "i_at")
MILLION = Unnest(THOUSAND, call("range", Constant(1), Constant(1000)), "j", "j_at")

# `join_keys`
CONDITIONS = conjunction(
    call("is_true", call("=", field(Column("p.element"), "to"), Column("a.filler"))),
    call(">", SUM, Constant(9)),
    call("<", Column("a.vtFrom"), Column("p.vtFrom")),
)
AMONG_BIDS = call(
    "exists",
    call("or_empty", field(Column("p.element"), "bid")),
    Lambda(
        ("b",),
        conjunction(call("is_not_null", Column("b")), call("=", Column("b"), Column("a.filler"))),
    ),
)

# `outer_join`
LINKED = Select(P, call("=", field(Column("p.element"), "to"), Column("a.filler")))
LATER = Select(P, call(">", Column("p.vtFrom"), Column("a.vtFrom")))
LINKED_COUNT = Nested(LINKED, "count", TRUE)

# `tallies`
PARENTS = ((Column("a.filler"), Column("p.parent")),)
BY_ACCOUNT = (("key", Column("a.key")),)
LESS = call(">", LIMIT, SUM)
WITH_LIMIT = Join(Select(A, call("is_not_null", LIMIT)), P, (), LESS)

# `presence`
NUMBER = Call(
    "case",
    (
        call("is_decimal_text", LIMIT),
        call("parse_decimal", LIMIT, call("fail", Constant(1))),
        call("is_not_null", LIMIT),
        call("fail", Constant(0)),
        Constant(None),
    ),
)
PRODUCT = call("decimal_multiply", Constant(2), NUMBER, call("fail", Constant(3)))

# `interval_joins`
WINDOW = (Column("a.vtFrom"), call("add_microseconds", Column("a.vtFrom"), Constant(9)))
MEET = call("overlaps", *LIFESPAN_P, *WINDOW)
MEET_UNTIL_NOW = call("overlaps", *WINDOW, Column("p.vtFrom"), NOW)
DURING = conjunction(
    call("<", Column("a.vtFrom"), Column("p.vtFrom")), call("<", Column("p.vtTo"), Column("a.vtTo"))
)
MANY_ROWS = {"rows": {"s": {"2": MANY, "3": 2}}}

# `sides_apart`
PARSED = call("parse_double", SUM)
FAILING = call("case", call("is_double_text", SUM), SUM, call("fail", Constant(0), SUM))

# `windowed_counts`
MEET_OTHER = call("overlaps", *LIFESPAN_P, Column("a.vtFrom"), NOW)
MEET_NOW = call("overlaps", *LIFESPAN_P, NOW, NOW)

# `evaluations_apart`
EVALUATED = call("evaluate", Constant("f"), Column("a.filler"))


def _flag(condition: Call) -> Call:
    return call("case", condition, Constant(1), Constant(0))


def _counted(base: Plan, nest: Nest, outer: str, key: str) -> Join:
    return Join(base, nest, ((Column(outer), Column(key)),), TRUE, "left")


CASES: dict[str, dict[str, Case]] = {
    "fold_holes": {
        "a chain that nothing inspects is a scan": (PAYMENTS, {"wanted": ["p.key"]}),
        "what is inspected stays": (PAYMENTS, {"wanted": ["p.key", "a.element"]}),
        "a projection on the way is a condition on all lifespans above": (
            Follow(VALID_ACCOUNTS, "s", "a", ("3",), "p"),
            {"wanted": ["p.key"]},
        ),
        "any other condition on the way keeps the chain": (
            Follow(ACCOUNT_7, "s", "a", ("3",), "p"),
            {"wanted": ["p.key"]},
        ),
        "QaC follows holes": (PAYMENTS, {"wanted": ["p.key"], "strategy": "qac"}),
    },
    "hole_joins": {
        "by place": ACCOUNTS,
        "upwards by ids: a join with the chain from the root": (
            Rise(Extract("s", ("1",), "x"), "s", "x", ("2",), "up"),
            {"strategy": "qac"},
        ),
    },
    "in_row": {
        "the number of elements of an array": Project(A, "x", Nested(BIDS, "count", TRUE)),
        "whether there are any": Project(A, "x", Nested(BIDS, "exists", TRUE)),
        "whether there are any that meet a condition": Project(
            A, "x", Nested(DEAR, "exists", TRUE)
        ),
        "a value of each": Project(A, "x", Nested(DEAR, "collect", WHO)),
        "the second element": Project(A, "x", Nested(SECOND, "collect", WHO)),
        "a plan that reads a table stays": Project(A, "x", Nested(P, "count", TRUE)),
        "a short range": Project(Unit(), "x", Nested(THOUSAND, "count", TRUE)),
        "long ranges stay: not every array fits in memory": Project(
            Unit(), "x", Nested(MILLION, "count", TRUE)
        ),
    },
    "windowed_counts": {
        "what meets an interval of another tuple is counted": Project(
            A, "n", Nested(P, "sum", _flag(MEET_OTHER))
        ),
        "what meets a fixed interval stays": Project(A, "n", Nested(P, "sum", _flag(MEET_NOW))),
        "other sums stay": Project(A, "n", Nested(P, "sum", SUM)),
    },
    "join_keys": {
        "conditions go where they belong": Select(Join(A, P, (), TRUE), CONDITIONS),
        "a value among others is a key": Select(Join(A, P, (), TRUE), call("is_true", AMONG_BIDS)),
    },
    "outer_join": {
        "equal values are the keys of a nest": Project(A, "n", LINKED_COUNT),
        "one plan is nested once for all that need it": Project(
            A, "n", call("+", LINKED_COUNT, Nested(LINKED, "max", Column("p.number")))
        ),
        "other dependence is nested for all tuples at once": Project(
            A, "n", Nested(LATER, "count", TRUE)
        ),
        "what a condition needed is not computed again": Project(
            Select(A, call(">", LINKED_COUNT, Constant(1))), "n", LINKED_COUNT
        ),
        "existence is a semi-join": Select(A, Nested(LINKED, "exists", TRUE)),
        "its negation is an anti-join": Select(A, negation(Nested(LINKED, "exists", TRUE))),
    },
    "valid_now": {
        "what is valid now has not ended": (
            Select(A, call("overlaps", *LIFESPAN_A, NOW, NOW)),
            {"settled": ["s"]},
        ),
        "other streams may still change": Select(A, call("overlaps", *LIFESPAN_A, NOW, NOW)),
        "other intervals stay": (
            Select(A, call("overlaps", *LIFESPAN_A, Column("a.vtFrom"), NOW)),
            {"settled": ["s"]},
        ),
    },
    "nests_together": {
        "one table is counted in one pass": _counted(
            _counted(
                A,
                Nest(
                    Select(P, call(">", SUM, Constant(9))),
                    (("k1", Column("p.parent")),),
                    (("n", COUNT),),
                ),
                "a.key",
                "k1",
            ),
            Nest(Q, (("k2", Column("q.parent")),), (("m", COUNT),)),
            "a.key",
            "k2",
        ),
        "several tables are merged before": Join(
            Nest(P, (), (("n", COUNT),)), Nest(A, (), (("m", COUNT),)), (), TRUE, "left"
        ),
        "counts for other values stay apart": _counted(
            _counted(A, Nest(P, (("k1", Column("p.parent")),), (("n", COUNT),)), "a.key", "k1"),
            Nest(P, (("k2", Column("p.parent")),), (("m", COUNT),)),
            "a.parent",
            "k2",
        ),
    },
    "tallies": {
        "counted pairs are never built": Nest(
            Join(A, P, PARENTS, LESS), BY_ACCOUNT, (("n", COUNT),)
        ),
        "nor if the comparison is turned": Nest(
            Join(A, P, PARENTS, call(">=", SUM, LIMIT)), BY_ACCOUNT, (("n", COUNT),)
        ),
        "tuples and their own tallies are not joined": _counted(
            A, Nest(WITH_LIMIT, BY_ACCOUNT, (("n", COUNT),)), "a.key", "key"
        ),
        "pairs without a comparison stay": Nest(Join(A, P, (), TRUE), (), (("n", COUNT),)),
        "pairs that are more than counted stay": Nest(
            Join(A, P, (), LESS), (), (("n", Aggregate("collect", SUM)),)
        ),
        "pairs that are grouped by the other side stay": Nest(
            Join(A, P, (), LESS), (("key", Column("p.key")),), (("n", COUNT),)
        ),
    },
    "interval_joins": {
        "lifespans that meet an interval are found by buckets": (
            Join(A, P, (), MEET),
            MANY_ROWS,
        ),
        "so are those between the ends of others": (Join(A, P, (), DURING), MANY_ROWS),
        "a single comparison is not enough": (
            Join(A, P, (), call("<", Column("a.vtFrom"), Column("p.vtFrom"))),
            MANY_ROWS,
        ),
        "a join with keys stays": (Join(A, P, ((LIMIT, SUM),), MEET_UNTIL_NOW), MANY_ROWS),
        "a semi-join stays": (Join(A, P, (), MEET_UNTIL_NOW, "semi"), MANY_ROWS),
        "comparisons of something else than times stay": (
            Join(A, P, (), conjunction(call("<", LIMIT, SUM), call("<", SUM, Column("a.vtTo")))),
            MANY_ROWS,
        ),
        "few pairs are compared": (
            Join(A, P, (), MEET_UNTIL_NOW),
            {"rows": {"s": {"2": 1000, "3": 1000}}},
        ),
    },
    "presence": {
        "a product is there if its factors are": Select(A, call("is_not_null", PRODUCT)),
        "what may be NULL by itself is tested": Select(
            A, call("is_not_null", call("nullif", Column("a.key"), Constant(1)))
        ),
    },
    "sides_apart": {
        "what is compared is computed before": Join(
            A, P, (), conjunction(call(">", LIMIT, PARSED), call("<", PARSED, Constant(3)))
        ),
        "what has no partner does not fail": Join(A, P, (), call("<", LIMIT, FAILING)),
    },
    "evaluations_apart": {
        "each evaluation gets one column": Project(A, "n", call("+", EVALUATED, EVALUATED)),
        "one that is a column already stays": Project(A, "n", EVALUATED),
    },
}
