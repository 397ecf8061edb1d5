"""Arrays in SQL: sequences of values, in order."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, struct

forms = Forms()

forms.calls(members="named_struct", concat_arrays="concat", join_texts="array_join")
forms.templates(
    {
        "or_empty value": "coalesce(value, array())",
        "size array": "CAST(size(array) AS BIGINT)",
        "slice array start length": "slice(array, CAST(start AS INT), CAST(length AS INT))",
        "get array index": "get(array, CAST(index AS INT))",
        "first_of array": "get(array, 0)",
        "array_sum xs": """aggregate(filter(transform(xs, x -> CAST(x AS BIGINT)),
          x -> x IS NOT NULL), 0L, (total, x) -> total + x)""",
        # begins with the first number, not with 0: the sum of -0 is -0
        "array_sum_doubles xs": """coalesce(aggregate(filter(xs, x -> x IS NOT NULL),
          CAST(NULL AS DOUBLE), (total, x) -> coalesce(total + x, x)), 0.0D)""",
        "range first last": """CASE WHEN first <= last THEN sequence(first, last)
          ELSE slice(sequence(1L, 1L), 1, 0) END""",
    }
)


@forms
def tuple_(*values: Sql) -> Sql:
    """A struct with the fields col1, col2 and so on, whatever the values are called."""
    return struct(**{f"col{index}": value for index, value in enumerate(values, 1)})


@forms
def slice_from_end(array: Sql, position: Sql) -> Sql:
    """The element at a position from the end, as an array; `slice` fails beyond the beginning."""
    body = template(
        """CASE WHEN size(xs) >= position THEN slice(xs, CAST(-position AS INT), 1)
          ELSE slice(xs, 1, 0) END""",
        position=position,
    )
    return let(array, "xs", body)


@forms
def only(array: Sql, otherwise: Sql) -> Sql:
    """The only element of an array."""
    body = template(
        "CASE WHEN size(xs) > 1 THEN otherwise ELSE get(xs, 0) END", otherwise=otherwise
    )
    return let(array, "xs", body)
