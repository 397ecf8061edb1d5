"""How windows are found in arrays: the items of a sequence, numbered from 1."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql

forms = Forms()


@forms
def window_starts(reaches: Sql) -> Sql:
    """For each position the first one of the window around it, or 0.

    A window may start where the array has the position of its last item, and not where it has 0.
    """
    first = "CASE WHEN s.at < s.reach THEN s.first WHEN reach > 0L THEN s.at + 1L ELSE 0L END"
    return template(
        f"""aggregate(transform(reaches, r -> CAST(r AS BIGINT)),
          named_struct('at', 0L, 'first', 0L, 'reach', 0L,
            'starts', slice(array(0L), 1, 0)),
          (s, reach) -> named_struct('at', s.at + 1L, 'first', {first},
            'reach', CASE WHEN s.at < s.reach THEN s.reach ELSE reach END,
            'starts', concat(s.starts, array({first}))),
          s -> s.starts)""",
        reaches=reaches,
    )


@forms
def zipped(left: Sql, right: Sql) -> Sql:
    """Pairs of elements at the same place."""
    pair = "named_struct('first', a, 'second', b)"
    return template(f"zip_with(left, right, (a, b) -> {pair})", left=left, right=right)
