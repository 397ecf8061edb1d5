"""Function items, and the two kinds that hold data: maps and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xcql.diagnostics import error
from xcql.xdm.atomic import Atomic, atomic_key
from xcql.xdm.names import QName

Item = Any  # a node, an atomic value or a function item
Items = Sequence[Item]  # a value that has been computed, as a tuple or list of items


class XdmFunction:
    """A function item: something that can be called with `arity` sequences.

    `call` takes the arguments as one list of sequences, and converts them to the parameters'
    types; it returns an iterable of items. `signature` holds the sequence types of the parameters
    and of the result (None for a map or an array: they match many function types).
    """

    __slots__ = ("annotations", "arity", "call", "name", "signature")

    def __init__(
        self,
        name: QName | None,
        arity: int,
        signature: Any,
        call: Callable[[list[Iterable[Item]]], Iterable[Item]],
        annotations: tuple[QName, ...] = (),
    ) -> None:
        self.name = name
        self.arity = arity
        self.signature = signature
        self.call = call
        self.annotations = annotations

    def __repr__(self) -> str:
        return f"{self.name or 'function'}#{self.arity}"


class XdmMap(XdmFunction):
    """An immutable map: atomic keys (equal by `op:same-key`), each with a sequence as value.

    >>> XdmMap([("a", [1]), ("b", [2, 3])]).get("b")
    (2, 3)
    """

    __slots__ = ("_entries",)

    _entries: dict[tuple[Any, ...], tuple[Atomic, Items]]

    def __init__(self, entries: Iterable[tuple[Atomic, Iterable[Item]]] = ()) -> None:
        super().__init__(None, 1, None, self._call)
        self._entries = {atomic_key(key): (key, tuple(value)) for key, value in entries}

    def _call(self, arguments: list[Iterable[Item]]) -> Iterable[Item]:
        return self.get(one_key(arguments[0])) or ()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Atomic) -> bool:
        return atomic_key(key) in self._entries

    def get(self, key: Atomic) -> Items | None:
        """The value of a key, or None if the map has no such key."""
        found = self._entries.get(atomic_key(key))
        return None if found is None else found[1]

    def keys(self) -> Iterator[Atomic]:
        return (key for key, _ in self._entries.values())

    def items(self) -> Iterator[tuple[Atomic, Items]]:
        return iter(self._entries.values())

    def put(self, key: Atomic, value: Iterable[Item]) -> XdmMap:
        """A map with the key's value replaced, or the key added at the end."""
        entries = dict(self._entries)
        entries[atomic_key(key)] = (key, tuple(value))
        return self._of(entries)

    def remove(self, keys: Iterable[Atomic]) -> XdmMap:
        entries = dict(self._entries)
        for key in keys:
            entries.pop(atomic_key(key), None)
        return self._of(entries)

    @classmethod
    def _of(cls, entries: dict[tuple[Any, ...], tuple[Atomic, Items]]) -> XdmMap:
        made = cls()
        made._entries = entries
        return made

    def __repr__(self) -> str:
        inner = ", ".join(f"{key!r}: {value!r}" for key, value in self.items())
        return f"map {{{inner}}}"


class XdmArray(XdmFunction):
    """An immutable array; a member is a sequence.

    >>> len(XdmArray([[1], [], [2, 3]]))
    3
    """

    __slots__ = ("members",)

    def __init__(self, members: Iterable[Iterable[Item]] = ()) -> None:
        super().__init__(None, 1, None, self._call)
        self.members: tuple[Items, ...] = tuple(tuple(member) for member in members)

    def _call(self, arguments: list[Iterable[Item]]) -> Iterable[Item]:
        return self.get(one_key(arguments[0]))

    def __len__(self) -> int:
        return len(self.members)

    def get(self, position: int) -> Items:
        """The member at a position, counted from 1."""
        if not 1 <= position <= len(self.members):
            size = len(self.members)
            raise error(
                "FOAY0001",
                f"the array has no member {position}",
                notes=[f"it has {size} member{'' if size == 1 else 's'}, counted from 1"],
            )
        return self.members[position - 1]

    def flattened(self) -> Iterator[Item]:
        """All items of all members, including those of nested arrays."""
        for member in self.members:
            for item in member:
                if isinstance(item, XdmArray):
                    yield from item.flattened()
                else:
                    yield item

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.members))}]"


def one_key(argument: Iterable[Item]) -> Any:
    """The single atomic value of a converted argument."""
    for item in argument:
        return item
    raise error("XPTY0004", "a key or position is required, but this is an empty sequence")
