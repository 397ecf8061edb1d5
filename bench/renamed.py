"""The names that figures had in older runs, as today's.

Before there were two engines, `ours` was Spark. Before queries were first asked and asked again, a
figure was that of a query which was asked again.

So an older run can be compared with a new one, and reported like one.

>>> from bench.rows import Row
>>> renamed(Row("b", "q08", "ours / by hand", 0.4, "x")).way
'ours, Spark / by hand, asked again'
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

_OURS, _PEERS = r"ours, (?:Spark|embedded)", r"(?:SaxonC-HE|BaseX|RumbleDB)"
_STRATEGY, _RATIOS = r"(?:caq|qac\+?)", r"q\d+|geometric mean"
# a table, the names and the ways of its rows as patterns, and today's way
_RENAMED = (
    ("a", r".*", r"Spark, (.*)", r"ours, Spark, \1"),
    ("b", r".*", r"ours(?!, Spark|, embedded)(.*)", r"ours, Spark\1"),
    ("c", r"temporalize.*", r"ours", r"ours, Spark"),
    ("d", r".*", r"ours(| / .*)", r"ours, Spark\1"),
    ("e", r"1 \+ 1", r"ours", r"ours, Spark"),
    ("e", r"q\d+", r"check and compile to SQL", r"check and compile to Spark's SQL"),
    ("e", r"q\d+", r"text to plan", r"Spark: text to plan"),
    ("e", r"q\d+", r"embedded: first asking", r"embedded: first asked"),
    ("a", r".*", rf"({_OURS}), ({_STRATEGY})", r"\1, asked again, \2"),
    ("b", r"q\d+", rf"({_OURS}), first asking", r"\1, first asked"),
    ("b", r"q\d+", rf"({_OURS}|{_PEERS})", r"\1, asked again"),
    ("b", r"q\d+", rf"({_OURS}), generated document", r"\1, asked again, generated document"),
    ("b", _RATIOS, rf"({_OURS} / ({_PEERS}|by hand)(, parsing included)?)", r"\1, asked again"),
    ("d", r".*", rf"({_OURS})( / at \d+)?", r"\1, asked again\2"),
    ("e", r"1 \+ 1", rf"({_OURS})", r"\1, asked again"),
)


def renamed(row: Row) -> Row:
    """The row with today's names; those of new rows stay as they are."""
    for table, name, way, today in _RENAMED:
        if row.table == table and re.fullmatch(name, row.name):
            found = re.fullmatch(way, row.way)
            if found is not None:
                row = replace(row, way=found.expand(today))
    return row
