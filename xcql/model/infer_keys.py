"""Infers keys: attributes and texts of child elements that tell siblings apart.

A candidate is unique among the siblings wherever an element repeats. Of several, the one with a
usual name counts (`id`, `code`, `name`, …), then a text that is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from xcql.model.infer import NameTree
from xcql.model.keys import Key
from xcql.xdm.parse import NAME_SEPARATOR

# names of what usually identifies something, the best first
_USUAL = ("id", "uuid", "key", "code", "isbn", "path", "uri", "url", "href", "name", "title")
_SUFFIXES = ("_id", "-id", "Id", "ID", "_key", "Key", "_code", "Code")
_NUMBER = re.compile(r"[\s\d.,:+\-/eETZ%]*")

# longer texts are not keys
_MAX_LENGTH = 200
# an attribute or a child without a usual name must tell this many elements apart
_ENOUGH = 10
# siblings beyond this number are not compared
_MAX_SIBLINGS = 20_000

# values by the steps and the attribute of a key
_Values = dict[Key, str]


@dataclass(slots=True)
class _Count:
    present: int = 0
    numbers: int = 0
    is_unique: bool = True


@dataclass(slots=True)
class _Seen:
    """All that was seen of the elements at one place of the tree."""

    elements: int = 0
    parents: int = 0
    candidates: dict[Key, _Count] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    element: NameTree
    values: _Values
    siblings: dict[int, list[_Values]] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    is_leaf: bool = True


@dataclass(frozen=True, slots=True)
class InferredKey:
    """A key with its evidence: it tells `elements` apart in `parents` parents."""

    element: NameTree
    key: Key
    elements: int
    parents: int

    @property
    def evidence(self) -> str:
        """The evidence in words.

        >>> from xcql.xdm.names import QName
        >>> InferredKey(NameTree(QName("", "planet")), Key(("name",)), 12, 3).evidence
        'tells 12 elements in 3 parents apart'
        """
        parents = f"{self.parents:,} parent{'' if self.parents == 1 else 's'}"
        return f"tells {self.elements:,} elements in {parents} apart"


class KeyWatcher:
    """Collects the evidence for keys while documents are read."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._seen: dict[int, _Seen] = {}
        self._elements: dict[int, NameTree] = {}
        self._keys: dict[str, Key] = {}

    def start(self, element: NameTree, attributes: dict[str, str]) -> None:
        if self._open:
            self._open[-1].is_leaf = False
        values = {
            self._key(f"@{name}"): value
            for name, value in attributes.items()
            if NAME_SEPARATOR not in name and len(value) <= _MAX_LENGTH
        }
        self._open.append(_Open(element, values))

    def text(self, data: str) -> None:
        innermost = self._open[-1]
        if innermost.is_leaf:
            innermost.text.append(data)

    def end(self) -> None:
        closed = self._open.pop()
        for place, siblings in closed.siblings.items():
            if len(siblings) > 1:
                self._compare(place, siblings)
        if not self._open:
            return
        parent = self._open[-1]
        if closed.is_leaf:
            text = "".join(closed.text)
            if text.strip() and len(text) <= _MAX_LENGTH:
                parent.values.setdefault(self._key(closed.element.name.local), text)
        self._elements[id(closed.element)] = closed.element
        siblings = parent.siblings.setdefault(id(closed.element), [])
        if len(siblings) < _MAX_SIBLINGS:
            siblings.append(closed.values)

    def drop(self) -> None:
        """Forget a document that turned out to be broken."""
        self._open.clear()

    def inferred(self) -> Iterator[InferredKey]:
        """The best key of each element that has one."""
        for place, seen in self._seen.items():
            ranked = [
                (rank, str(key), key)
                for key, count in seen.candidates.items()
                if (rank := _rank(key, count, seen)) is not None
            ]
            if ranked:
                key = min(ranked)[2]
                yield InferredKey(self._elements[place], key, seen.elements, seen.parents)

    def _key(self, text: str) -> Key:
        """The key of an attribute (`@no`) or a child element; the same object each time."""
        if text not in self._keys:
            is_attribute = text.startswith("@")
            self._keys[text] = Key((), text[1:]) if is_attribute else Key((text,))
        return self._keys[text]

    def _compare(self, place: int, siblings: list[_Values]) -> None:
        seen = self._seen.setdefault(place, _Seen())
        seen.elements += len(siblings)
        seen.parents += 1
        columns: dict[Key, list[str]] = {}
        for values in siblings:
            for key, value in values.items():
                columns.setdefault(key, []).append(value)
        for key, column in columns.items():
            count = seen.candidates.setdefault(key, _Count())
            count.present += len(column)
            if count.is_unique:
                count.numbers += sum(_NUMBER.fullmatch(value) is not None for value in column)
                count.is_unique = len(set(column)) == len(column)


def _rank(key: Key, count: _Count, seen: _Seen) -> tuple[int, int] | None:
    """The smaller, the better; None if it is not a key."""
    name = key.attribute if key.attribute is not None else key.steps[-1]
    if not count.is_unique or count.present < 0.9 * seen.elements:
        return None
    is_child = int(key.attribute is None)
    if name.lower() in _USUAL:
        return _USUAL.index(name.lower()), is_child
    if name.endswith(_SUFFIXES):
        return len(_USUAL), is_child
    is_text = count.numbers < 0.1 * count.present
    if is_text and count.present == seen.elements >= _ENOUGH:
        return len(_USUAL) + 1, is_child
    return None
