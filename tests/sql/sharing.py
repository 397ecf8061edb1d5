"""Plans whose values are shared, by title."""

from __future__ import annotations

from xcql.algebra.operators import (
    Aggregate,
    Extract,
    Join,
    Nest,
    Order,
    Plan,
    Project,
    Select,
    SortKey,
)
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Scalar,
    call,
    case,
    conjunction,
    field,
)

ACCOUNTS = Extract("s", ("2",), "a")
ELEMENT = Column("a.element")
NAME, LIMIT = field(ELEMENT, "name"), field(ELEMENT, "limit")
UPPER, LOWER = call("upper", NAME), call("lower", NAME)
IS_NUMBER, NUMBER = call("is_double_text", LIMIT), call("parse_double", LIMIT)
KNOWN = case((IS_NUMBER, NUMBER))


def differs(value: Scalar, *others: str) -> Scalar:
    return conjunction(*(call("<>", value, Constant(one)) for one in others))


CASES: dict[str, Plan] = {
    "a value that is used twice": Select(ACCOUNTS, differs(UPPER, "A", "B")),
    "a value that is used once stays": Select(ACCOUNTS, differs(UPPER, "A")),
    "a field stays": Select(ACCOUNTS, differs(NAME, "A", "B")),
    "values in values": Select(
        ACCOUNTS,
        conjunction(
            differs(UPPER, "A"),
            differs(call("trimmed", UPPER), "B", "C"),
        ),
    ),
    "conditions that need no column come first": Select(
        ACCOUNTS, conjunction(differs(UPPER, "A", "B"), call("is_null", Column("a.vtTo")))
    ),
    "columns are added below the first operator that uses them": Project(
        Select(Project(ACCOUNTS, "l", LOWER), differs(UPPER, "A")),
        "u",
        call("concat", UPPER, LOWER),
    ),
    "fields are columns, too, where elements would be handed on": Project(
        Select(ACCOUNTS, differs(UPPER, "A", "B")), "limit", LIMIT
    ),
    "what can fail stays, but not what cannot fail in it": Select(
        ACCOUNTS,
        call(
            "<",
            *(
                case((call("is_null", KNOWN), call("fail", Constant(n), LIMIT)), otherwise=KNOWN)
                for n in (0, 1)
            ),
        ),
    ),
    "a value with a name": Select(
        ACCOUNTS,
        Call(
            "with_name",
            (UPPER, Lambda((".u",), differs(Column(".u"), "A", "B"))),
        ),
    ),
    "a value that can fail keeps its name": Select(
        ACCOUNTS,
        Call(
            "with_name",
            (NUMBER, Lambda((".n",), call("<>", Column(".n"), Column(".n")))),
        ),
    ),
    "a value inside of a function is used for each element": Project(
        ACCOUNTS,
        "found",
        Call(
            "filter",
            (field(ELEMENT, "names"), Lambda((".n",), call("=", Column(".n"), UPPER))),
        ),
    ),
    "what depends on the parameter of a function stays in it": Project(
        ACCOUNTS,
        "found",
        Call(
            "filter",
            (
                field(ELEMENT, "names"),
                Lambda((".n",), differs(call("upper", Column(".n")), "A", "B")),
            ),
        ),
    ),
    "an operand that SQL repeats": Project(
        ACCOUNTS, "text", call("escape_text", call("coalesce", NAME, Constant("")))
    ),
    "groups": Nest(
        ACCOUNTS,
        (("key", UPPER),),
        (("texts", Aggregate("collect", call("trimmed", UPPER))),),
    ),
    "groups need some values of all their tuples, even if these fail": Nest(
        Select(ACCOUNTS, differs(NAME, "A")),
        (("key", NAME),),
        (
            ("least", Aggregate("min", call("*", NUMBER, Constant(2)))),
            ("most", Aggregate("max", call("*", NUMBER, Constant(2)))),
            ("rest", Aggregate("collect", case((IS_NUMBER, NUMBER)))),
        ),
    ),
    "a reduction that SQL computes of several copies of its value": Nest(
        ACCOUNTS, (("key", NAME),), (("least", Aggregate("min_doubles", call("*", KNOWN, KNOWN))),)
    ),
    "both sides of a join": Join(
        Select(ACCOUNTS, differs(UPPER, "A")),
        Extract("s", ("3",), "p"),
        ((UPPER, field(Column("p.element"), "name")),),
        TRUE,
    ),
    "zeros and digits are not equal": Project(
        ACCOUNTS,
        "zeros",
        call(
            "struct",
            *(call("double_text", call("*", KNOWN, Constant(zero))) for zero in (0.0, -0.0)),
        ),
    ),
    "an order stays": Project(
        Order(ACCOUNTS, (SortKey(UPPER, "text"),)), "u", call("concat", UPPER, UPPER)
    ),
}
