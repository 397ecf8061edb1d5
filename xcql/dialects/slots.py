"""SQL text with slots: places for names that are known only when the text is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# No literal, name or comment in our text has this character, see `literal_text` and `identifier`.
_MARK = "\0"


def slot(name: str) -> str:
    """The placeholder for a slot in text that is still being written."""
    return f"{_MARK}{name}{_MARK}"


# stands for a line break in a literal while the text around it is indented; sqlglot's own choice
# could be in the literal
LINE_BREAK = slot("line break")


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL text and slots in turns: `pieces` begins and ends with text.

    A slot is called like the table or the function that it is for; `:now` is one, too.

    >>> text = SqlText.of(f"SELECT '{{}}' FROM {slot('items')} WHERE t < {slot(':now')}")
    >>> str(text)
    "SELECT '{}' FROM {items} WHERE t < :now"
    >>> text.format_string({":now": ":now"})
    "SELECT '{{}}' FROM {items} WHERE t < :now"
    """

    pieces: tuple[str, ...]

    @staticmethod
    def of(written: str) -> SqlText:
        """The text as it was written, with `slot(name)` in it."""
        return SqlText(tuple(written.split(_MARK)))

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(self.pieces[1::2])

    def format_string(self, names: Mapping[str, str]) -> str:
        """The text for Python's `str.format`: slots without a name are fields of it."""
        parts = list(self.pieces)
        parts[::2] = [one.replace("{", "{{").replace("}", "}}") for one in parts[::2]]
        parts[1::2] = [names.get(one, f"{{{one}}}") for one in parts[1::2]]
        return "".join(parts)

    def filled(self, names: Mapping[str, str]) -> str:
        """The text with all slots filled.

        >>> SqlText.of(f"SELECT * FROM {slot('items')}").filled({"items": "t"})
        'SELECT * FROM t'
        """
        parts = list(self.pieces)
        parts[1::2] = [names[one] for one in parts[1::2]]
        return "".join(parts)

    def filled_partly(self, names: Mapping[str, str]) -> SqlText:
        """The text with the slots filled that have a name.

        >>> SqlText.of(f"SELECT {slot('a')} FROM {slot('b')}").filled_partly({"a": "1"}).pieces
        ('SELECT 1 FROM ', 'b', '')
        """
        pieces = [self.pieces[0]]
        for name, text in zip(self.pieces[1::2], self.pieces[2::2], strict=True):
            if name in names:
                pieces[-1] += names[name] + text
            else:
                pieces += [name, text]
        return SqlText(tuple(pieces))

    def __str__(self) -> str:
        parts = list(self.pieces)
        parts[1::2] = [one if one.startswith(":") else f"{{{one}}}" for one in parts[1::2]]
        return "".join(parts)

    def __len__(self) -> int:
        return sum(map(len, self.pieces))
