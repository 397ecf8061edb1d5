"""The names that figures had before there were two engines, as today's: `ours` was Spark.

So an older run can be compared with a new one, and reported like one.

>>> from bench.rows import Row
>>> renamed(Row("b", "q08", "ours / by hand", 0.4, "x")).way
'ours, Spark / by hand'
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

# a table, the names and the ways of its rows as patterns, and today's way
_RENAMED = (
    ("a", r".*", r"Spark, (.*)", r"ours, Spark, \1"),
    ("b", r".*", r"ours(?!, Spark|, embedded)(.*)", r"ours, Spark\1"),
    ("c", r"temporalize.*", r"ours", r"ours, Spark"),
    ("d", r".*", r"ours(| / .*)", r"ours, Spark\1"),
    ("e", r"1 \+ 1", r"ours", r"ours, Spark"),
    ("e", r"q\d+", r"check and compile to SQL", r"check and compile to Spark's SQL"),
    ("e", r"q\d+", r"text to plan", r"Spark: text to plan"),
)


def renamed(row: Row) -> Row:
    """The row with today's names; those of new rows stay as they are."""
    for table, name, way, today in _RENAMED:
        if row.table == table and re.fullmatch(name, row.name):
            found = re.fullmatch(way, row.way)
            if found is not None:
                return replace(row, way=found.expand(today))
    return row
