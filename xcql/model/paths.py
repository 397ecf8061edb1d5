"""Simple paths to elements, for the command line: `//item`, `/site/people/person`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeVar

from xcql.diagnostics import error
from xcql.xdm.names import QName

Found = TypeVar("Found")

_STEP = re.compile(r"(//?|^)((?:Q\{[^}]*\})?[^/{}]+)")


def find_at(path: str, places: Sequence[tuple[Found, tuple[QName, ...]]]) -> list[Found]:
    """The items that a path selects, where each item comes with the names from the root to it.

    A path that does not begin with `/` may begin anywhere. `*` is any name, and a name without a
    prefix matches every element with that local name.

    >>> site, item = QName("", "site"), QName("", "item")
    >>> find_at("//item", [(1, (site,)), (2, (site, item))])
    [2]
    """
    steps = _STEP.findall(path.strip())
    if not steps or "".join(axis + name for axis, name in steps) != path.strip():
        raise error(
            "XCQL0260",
            f"'{path}' is not a path to elements",
            hints=["write paths like //item, /site/people/person or people/*"],
        )
    steps[0] = (steps[0][0] or "//", steps[0][1])
    found = [place for place, names in places if _leads(steps, names)]
    if not found:
        known = [names for _, names in places]
        hints = _near_paths(steps[-1][1], known)
        raise error("XCQL0260", f"no element matches the path '{path}'", hints=hints)
    return found


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """A hint with similar names, if there are any."""
    near = get_close_matches(name, known, 3)
    return [f"did you mean {' or '.join(near)}?"] if near else []


def _leads(steps: Sequence[tuple[str, str]], names: Sequence[QName]) -> bool:
    """Whether the steps of a path match the given names from the root to an element."""
    (axis, step), before = steps[-1], steps[:-1]
    if not _is_named(names[-1], step):
        return False
    if not before:
        return axis == "//" or len(names) == 1
    ends = range(1, len(names)) if axis == "//" else [len(names) - 1]
    return any(end > 0 and _leads(before, names[:end]) for end in ends)


def _is_named(name: QName, step: str) -> bool:
    return step in ("*", str(name), name.local, name.clark)


def _near_paths(name: str, known: Sequence[tuple[QName, ...]]) -> list[str]:
    """Suggestions: paths where the name does occur, or similar names."""
    ends = [names for names in known if _is_named(names[-1], name)]
    if ends:
        paths = ["".join(f"/{step}" for step in names) for names in ends[:3]]
        return [f"there is {' and '.join(paths)}"]
    return near_names(name, sorted({str(names[-1]) for names in known}))
