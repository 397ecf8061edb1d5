"""Names of columns: which of them SQL may take for one."""

from __future__ import annotations

import unicodedata


def folded(name: str) -> str:
    """The same text for names that an engine may take for one.

    Engines ignore case, but not all by the same rules: to some, `ſ` is an `s` and `İ` is an `i`.

    >>> folded("Straße"), folded("ſ") == folded("S"), folded("İ") == folded("ı")
    ('strasse', True, True)
    """
    plain = unicodedata.normalize("NFKD", name).upper().lower()
    return "".join(one for one in plain if not unicodedata.combining(one))
