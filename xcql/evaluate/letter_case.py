"""Upper and lower case as in the latest Unicode, whatever version Python has."""

from __future__ import annotations

# upper-case and lower-case letters that Unicode 15 to 17 added
_PAIRS = {
    0x1C89: 0x1C8A,
    0xA7CB: 0x0264,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x019B,
    **{0x10D50 + number: 0x10D70 + number for number in range(22)},  # Garay
    **{0x16EA0 + number: 0x16EBB + number for number in range(25)},  # Beria Erfe
}
_TO_LOWER = dict(_PAIRS)
_TO_UPPER = {small: capital for capital, small in _PAIRS.items()}


def upper(text: str) -> str:
    """Full case mapping, without language-specific rules.

    >>> upper("Straße \\ufb01")
    'STRASSE FI'
    """
    return text.upper() if text.isascii() else text.translate(_TO_UPPER).upper()


def lower(text: str) -> str:
    """Full case mapping: a sigma at the end of a word has its own form.

    >>> lower("ΟΔΟΣ")
    'οδος'
    """
    return text.lower() if text.isascii() else text.translate(_TO_LOWER).lower()
