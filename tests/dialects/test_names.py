"""Names and text of a query in SQL do not clash with the names in templates."""

from __future__ import annotations

from string import ascii_lowercase

import pytest
import sqlglot
from sqlglot import exp

from xcql.dialects.forms import FORMS
from xcql.dialects.slots import SqlText, slot
from xcql.dialects.spark import literal_text, spark_text
from xcql.dialects.templates import let, template
from xcql.dialects.trees import column, lambda_, variable
from xcql.shred.tables import COMMON


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("Ann & Co", "'Ann & Co'"),
        ("", "''"),
        ("$1", "'$1'"),
        ("{x} :now /* -- %s `", "'{x} :now /* -- %s `'"),
        (r"\d+", r"r'\d+'"),
        ("it's", "string(X'69742773')"),
        ("${env:HOME}", "string(X'247b656e763a484f4d457d')"),
        ("a\nb", "string(X'610a62')"),
        ("a\u2028b", "string(X'61e280a862')"),
        ("\\", "string(X'5c')"),
    ],
)
def test_text(value: str, written: str) -> None:
    assert literal_text(value) == written
    assert sqlglot.parse_one(written, dialect="spark")


def test_a_variable_is_not_a_column_of_a_table() -> None:
    assert spark_text(variable("raw")) == "`$raw`"
    assert spark_text(variable("item.key")) == "`$item@key`"
    assert spark_text(column("raw")) == "`raw`"


# typical operands in queries: columns of the algebra, of tables, and of unnested scans
OPERANDS = [
    *(variable(name) for name in ("an_operand", *ascii_lowercase, "xs", "inner_text", "every")),
    *(column(name) for name in (*COMMON.names, "place_key", "place_since")),
]


@pytest.mark.parametrize("name", sorted(FORMS))
def test_forms_leave_alone_what_they_are_given(name: str) -> None:
    """Whatever the name of an operand, it occurs in the result just as often."""
    for number in range(1, 6):
        counts = set()
        for operand in OPERANDS:
            try:
                tree = FORMS[name](*(operand.copy() for _ in range(number)))
            except (TypeError, ValueError, AttributeError, IndexError):
                break  # another number of operands, or constants
            uses = [one for one in tree.find_all(exp.Column) if one == operand]
            assert not any(map(_is_bound, uses)), (name, operand)
            counts.add(len(uses))
        assert len(counts) <= 1, name


def _is_bound(use: exp.Expression) -> bool:
    """Whether an enclosing lambda has the name as a parameter."""
    node = use.parent
    while node is not None:
        if isinstance(node, exp.Lambda) and use.name in {one.name for one in node.expressions}:
            return True
        node = node.parent
    return False


def test_a_value_is_not_captured_by_a_lambda_around_its_place() -> None:
    body = exp.Anonymous(this="f", expressions=[column("xs"), lambda_("e", column("y"))])
    assert spark_text(let(column("e"), "y", body)) == "f(`xs`, `e2` -> `e`)"
    assert spark_text(template("transform(xs, e -> m.p + e)", m=column("e"))).replace("\n", "") == (
        "(  transform(xs, e2 -> `e`.p + e2))"
    )


def test_slots_are_filled_and_nothing_else() -> None:
    text = SqlText.of(f"SELECT '{{items}} :now f(' FROM {slot('items')} WHERE {slot('f')}(1)")
    assert text.slots == {"items", "f"}
    assert (
        text.format_string({"f": "f_1"}) == "SELECT '{{items}} :now f(' FROM {items} WHERE f_1(1)"
    )
