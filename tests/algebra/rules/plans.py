"""Small plans for each rule, named by the rule's effect; the specs beside hold them as text.

A case has a plan and the facts that it is rewritten with, if they are not the usual ones.
"""

from __future__ import annotations

from typing import Any

from xcql.algebra.operators import (
    Aggregate,
    Distinct,
    Extract,
    Follow,
    Join,
    Merge,
    Nearest,
    Nest,
    Number,
    Order,
    Plan,
    Project,
    Rise,
    Select,
    SortKey,
    Unit,
    Unnest,
    present,
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

OWNER = Join(Unit(), A, ((Column("p.parent"), Column("a.key")),), TRUE, is_lookup=True)
OTHERS = Join(OWNER, Q, ((Column("a.key"), Column("q.parent")),), TRUE)
AFTER = Nearest(
    Unit(),
    Q,
    ((Column("p.parent"), Column("q.parent")),),
    "<",
    (Column("p.key"), Column("q.key")),
)
# `order_in_groups`
BY_SUM = Nest(P, (("key", Column("p.parent")), ("sum", SUM)), (("at", Aggregate("min", SUM)),))
OF_PARENT = (("parent", Column("key")),)
IN_ORDER = Aggregate("collect", Column("sum"))

# `copies_in_groups`
ONCE = Distinct(Select(A, call(">", LIMIT, Constant(3))), Column("a.key"), "key")
LEAST = Aggregate("min", LIMIT)

# `members_as_tuples`
PACKED = Call("members", (Constant("a.key"), Column("a.key"), Constant("limit"), LIMIT))
GROUPS = Nest(A, (("owner", Column("a.parent")),), (("members", Aggregate("collect", PACKED)),))
MEMBERS = Unnest(GROUPS, Column("members"), "member", "member_at")
MEMBER_LIMIT = field(Column("member"), "limit")
SIZE = call("size", call("or_empty", Column("members")))

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

# `only_tuples`
ALL_SUMS = (("all", Aggregate("collect", SUM)),)
EVERY_SUM = Nest(P, (), ALL_SUMS)
FAILING_X = call(
    "case", call("is_double_text", Column("x")), Column("x"), call("fail", Constant(0), Column("x"))
)

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
        "also one among those of the left tuple; the order stays": Join(P, A, (), AMONG_BIDS),
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
        "pairs that only a test links are joined through it": Select(
            Join(A, Q, (), call("<>", Column("a.key"), Column("q.key"))),
            Nested(
                Select(
                    P,
                    conjunction(
                        call("=", field(Column("p.element"), "to"), Column("a.filler")),
                        call("=", field(Column("p.element"), "of"), Column("q.filler")),
                    ),
                ),
                "exists",
                TRUE,
            ),
        ),
        "a lookup is a left join": Project(P, "owner", Nested(OWNER, "first", Column("a.filler"))),
        "lookups are shared, and what follows them stays nested": Project(
            P,
            "n",
            call(
                "+",
                Nested(Select(OWNER, call(">", LIMIT, Constant(9))), "count", TRUE),
                Nested(OTHERS, "count", TRUE),
            ),
        ),
        "the nearest one is a lookup": Project(
            P, "after", Nested(AFTER, "first", Column("q.filler"))
        ),
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
        "an element is there if its start is": Select(
            A, conjunction(present(field(Column("a.element"), "name")), present(Column("x")))
        ),
    },
    "only_tuples": {
        "what is computed of all values is computed once": Select(
            Join(A, EVERY_SUM, (), TRUE, "left"),
            call("<", LIMIT, call("array_max", call("or_empty", Column("all")))),
        ),
        "what fails does so only if there is a tuple": Project(
            Join(A, EVERY_SUM, (), TRUE, "left"),
            "n",
            call(
                "case",
                call("=", call("size", Column("all")), Constant(1)),
                call("fail", Constant(0)),
                call("size", Column("all")),
            ),
        ),
        "what is not NULL as a whole where it would fail stays": Project(
            Join(A, EVERY_SUM, (), TRUE, "left"),
            "n",
            call("size", call("transform", Column("all"), Lambda(("x",), FAILING_X))),
        ),
        "the array itself stays, and what other columns are part of": Project(
            Join(A, EVERY_SUM, (), TRUE, "left"),
            "n",
            call("array_position", call("or_empty", Column("all")), LIMIT),
        ),
        "values by group stay": Project(
            _counted(A, Nest(P, (("k", Column("p.parent")),), ALL_SUMS), "a.key", "k"),
            "n",
            call("array_max", Column("all")),
        ),
    },
    "sides_apart": {
        "what is compared is computed before": Join(
            A, P, (), conjunction(call(">", LIMIT, PARSED), call("<", PARSED, Constant(3)))
        ),
        "what has no partner does not fail": Join(A, P, (), call("<", LIMIT, FAILING)),
        "only what is NULL where it would fail is computed before": Join(
            A, P, (), call("<", LIMIT, call("coalesce", FAILING, Constant(0)))
        ),
    },
    "evaluations_apart": {
        "each evaluation gets one column": Project(A, "n", call("+", EVALUATED, EVALUATED)),
        "one that is a column already stays": Project(A, "n", EVALUATED),
        "what a condition needed is not evaluated again": Project(
            Select(A, call(">", EVALUATED, Constant(1))), "n", call("+", EVALUATED, Constant(2))
        ),
    },
    "order_in_groups": {
        "what the group has in common, or follows from other keys, does not decide": Nest(
            Order(
                BY_SUM,
                tuple(SortKey(Column(name), "other") for name in ("key", "sum", "at")),
            ),
            OF_PARENT,
            (("all", IN_ORDER),),
        ),
        "what may differ does": Nest(
            Order(BY_SUM, (SortKey(Column("at"), "number"), SortKey(Column("sum"), "other"))),
            OF_PARENT,
            (("all", IN_ORDER),),
        ),
        "the order in which groups collect is needed": Nest(
            P, (("key", Column("p.parent")),), (("all", Aggregate("collect", SUM)),)
        ),
    },
    "copies_in_groups": {
        "copies do not change the least": Nest(ONCE, BY_ACCOUNT, (("least", LEAST),)),
        "below a merge, too": Nest(
            Merge((ONCE, A), (("x", (LIMIT, LIMIT)),), ()),
            (("key", Column("x")),),
            (("least", Aggregate("min", Column("x"))),),
        ),
        "they change the number": Nest(ONCE, BY_ACCOUNT, (("n", COUNT),)),
    },
    "members_as_tuples": {
        "members with the key of their group": (
            Project(MEMBERS, "n", call("+", MEMBER_LIMIT, Column("owner"))),
            {"wanted": {"n"}},
        ),
        "members that are counted, too": (
            Project(Project(MEMBERS, "n", MEMBER_LIMIT), "size", SIZE),
            {"wanted": ["n", "size"]},
        ),
        "positions of members are needed": (MEMBERS, {"wanted": {"member_at"}}),
        "a member is needed as a whole": (
            Project(MEMBERS, "n", Column("member")),
            {"wanted": {"n"}},
        ),
        "all members are needed": (
            Project(MEMBERS, "n", call("first_of", Column("members"))),
            {"wanted": {"n"}},
        ),
    },
    "columns_in_use": {
        "a column that nothing asks for": (
            Project(Project(A, "n", LIMIT), "m", SUM),
            {"wanted": {"n"}},
        ),
        "nothing asks for what an unused column is made of": (
            Nest(
                Project(Project(A, "n", LIMIT), "m", Column("n")),
                BY_ACCOUNT,
                (("count", COUNT), ("all", Aggregate("collect", Column("m")))),
            ),
            {"wanted": {"count"}},
        ),
    },
}
