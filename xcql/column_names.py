"""Column names: which of them an SQL engine may treat as equal."""

from __future__ import annotations

import unicodedata


def folded(name: str) -> str:
    """A normal form that is equal for names an SQL engine may treat as equal.

    Engines ignore case, but by different rules: in some, `ſ` equals `s` and `İ` equals `i`.

    >>> folded("Straße"), folded("ſ") == folded("S"), folded("İ") == folded("ı")
    ('strasse', True, True)
    """
    plain = unicodedata.normalize("NFKD", name).upper().lower()
    return "".join(one for one in plain if not unicodedata.combining(one))
