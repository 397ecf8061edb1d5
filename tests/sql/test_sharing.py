"""Values that are used more than once, before and after they become columns.

`XCQL_WRITE_GOLDEN=1` rewrites the plans in `sharing.spec`; review the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.sql.sharing import CASES
from xcql.algebra.operators import Plan, columns
from xcql.algebra.printing import plan_text
from xcql.dialects.duckdb import DUCKDB
from xcql.sql.sharing import shared

SPEC = Path(__file__).parent / "sharing.spec"


def _spec(title: str, plan: Plan) -> str:
    after, _ = shared(plan, columns(plan), DUCKDB)
    became = "(the same)" if after == plan else plan_text(after)
    return "\n".join([f"# {title}", plan_text(plan), "=>", became, ""])


def test_plans_before_and_after() -> None:
    text = "\n".join(_spec(title, plan) for title, plan in CASES.items())
    if os.environ.get("XCQL_WRITE_GOLDEN"):
        SPEC.write_text(text)
    assert text == SPEC.read_text()


def test_equal_plans_stay_equal() -> None:
    plan = CASES["a value that is used twice"]
    # the same values, found in another order
    both = [shared(one, columns(one), DUCKDB)[0] for one in (plan, plan)]
    assert both[0] == both[1]


def test_columns_that_are_computed_once() -> None:
    plan = CASES["fields are columns, too, where elements would be handed on"]
    _, once = shared(plan, columns(plan), DUCKDB)
    # a field is as good as a column
    assert once == {"shared.1"}
