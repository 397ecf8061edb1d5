"""The words that generated documents are made of: `words.txt` has them by kind."""

from __future__ import annotations

import re
from pathlib import Path


def _words() -> dict[str, list[str]]:
    entries = re.split(r"\n(?! )", Path(__file__).with_suffix(".txt").read_text())
    pairs = (entry.partition(":") for entry in entries)
    return {name: words.split() for name, _, words in pairs}


_LISTS = _words()
FIRST_NAMES, LAST_NAMES, CITIES = _LISTS["first names"], _LISTS["last names"], _LISTS["cities"]
WORDS = _LISTS["words"]
