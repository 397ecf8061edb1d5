"""How windows are found in arrays: the items of a sequence, numbered from 1."""

from __future__ import annotations

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql

forms = Forms()


def _window(first: str, last: str, closed: str) -> str:
    return (
        f"named_struct('first', CAST({first} AS BIGINT), 'last', CAST({last} AS BIGINT),"
        f" 'closed', {closed})"
    )


_NO_WINDOWS = f"slice(array({_window('1L', '1L', 'true')}), 1, 0)"


@forms
def windows_between_starts(firsts: Sql, size: Sql) -> Sql:
    """From each start to the item before the next one."""
    last = "coalesce(get(firsts, i + 1) - 1L, size)"
    return template(
        f"transform(firsts, (p, i) -> {_window('p', last, 'true')})", firsts=firsts, size=size
    )


@forms
def windows_to_ends(flags: Sql) -> Sql:
    """Windows that do not overlap, from flags that tell where one may start and where one ends."""
    is_open = "s.first > 0L"
    first = f"CASE WHEN {is_open} THEN s.first WHEN f.starts THEN s.at + 1L ELSE 0L END"
    ended = f"concat(s.windows, array({_window(first, 's.at + 1L', 'true')}))"
    rest = f"concat(s.windows, array({_window('s.first', 's.at', 'false')}))"
    return template(
        f"""aggregate(flags,
          named_struct('at', 0L, 'first', 0L, 'windows', {_NO_WINDOWS}),
          (s, f) -> CASE WHEN coalesce({is_open} OR f.starts, false) AND f.ends
            THEN named_struct('at', s.at + 1L, 'first', 0L, 'windows', {ended})
            ELSE named_struct('at', s.at + 1L, 'first', {first}, 'windows', s.windows) END,
          s -> CASE WHEN {is_open} THEN {rest} ELSE s.windows END)""",
        flags=flags,
    )


@forms
def windows_apart(candidates: Sql) -> Sql:
    """Of windows in the order of their starts, those that begin after the previous one ended."""
    return template(
        f"""aggregate(candidates, named_struct('reach', 0L, 'windows', {_NO_WINDOWS}),
          (s, w) -> CASE WHEN w.first > s.reach
            THEN named_struct('reach', w.last, 'windows', concat(s.windows, array(w))) ELSE s END,
          s -> s.windows)""",
        candidates=candidates,
    )


@forms
def windows_of_length(size: Sql, length: Sql) -> Sql:
    """Consecutive windows of a number of items each; the last one may be shorter."""
    window = _window("(n - 1L) * k + 1L", "least(n * k, size)", "n * k <= size")
    return template(
        f"""CASE WHEN size > 0L
          THEN transform(sequence(1L, (size + k - 1L) DIV k), n -> {window})
          ELSE {_NO_WINDOWS} END""",
        size=size,
        k=length,
    )
