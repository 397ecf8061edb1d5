"""The shape of a tag's elements as seen in the data: the part of a table's layout not in the tags.

A Tag Structure declares which elements may occur where, but not whether they repeat or mix text
with elements, or which attributes they have. A `Slot` records that for the elements at one place
below a filler's element. It starts with the first element seen there and only ever widens, so
files written with a narrower shape stay valid.

A slot that the data never filled does not exist: a path through it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xcql.column_names import folded

# fields that every element's struct begins with; the underscore distinguishes them from most
# element names, and `_free_name` from the others
START, LENGTH, TEXT = "_start", "_length", "_text"
# the field of an opaque element for its inner texts; no element ever has this name
WAYS = "/ways"

# Each way is a column. Documents have a few dozen; hostile ones have as many as elements
MAX_WAYS = 64
MAX_WAY_LENGTH = 12

# two texts that are never declared
_UNKNOWN = ("?", "??")

# Texts longer than this on average, in bytes, can just as well be read in place; but a few long
# ones are no reason to give up a column
_LONG_TEXT = 128
_MANY_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the elements of a slot: its expanded name and its column."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class Way:
    """A path to texts inside an opaque element: the names of the elements on it.

    `path` has the local names of the elements, none of them in a namespace, from below the opaque
    element down to the parent of the texts, separated by `/`. If `kept` is true, the texts have a
    column, named after the path. Long texts have none: it would be no smaller than the elements
    themselves.
    """

    path: str
    kept: bool

    @classmethod
    def of_texts(cls, path: str, count: int, size: int) -> Way:
        """The way to `count` texts with `size` bytes in total."""
        return cls(path, are_short(count, size))


def are_short(count: int, size: int) -> bool:
    """Whether `count` texts with `size` bytes in total are worth a column of their own."""
    return size <= max(_MANY_BYTES, count * _LONG_TEXT)


@dataclass(frozen=True, slots=True)
class Slot:
    """The elements with one tag at one place of a filler.

    `repeats`: some parent has two of them, so the column is an array.
    `opaque`: mixed content or recursion; stored as a byte range and string value, not shredded.
    `is_leaf`: its tag has no child tags; the string value is a column.
    `spaced`: there is white space between child elements.
    `commented`: there are comments or processing instructions inside.
    `indexed`: the paths to all texts inside are known: for an opaque element they are exactly
    `ways`; for any other element they follow from the slots below. It is false if there is a hole
    or an element in a namespace inside, if there are too many ways or some that SQL cannot
    distinguish, and for data stored before ways existed.
    `strays`: one of them, or a descendant, contains a hole but cannot contain a filler.
    `timed`: an opaque one contains elements with their own lifespan, `vtFrom` and `vtTo`.
    `declared`: the texts of the namespaces in scope at a filler's element, as in the column
    `namespaces`: one if it is the same for all, else two of them. (Also two if unknown, in data
    stored by earlier versions.)
    `declares`: elements inside a filler declare namespaces of their own.
    """

    tag: str
    column: str
    is_leaf: bool = False
    opaque: bool = False
    repeats: bool = False
    spaced: bool = False
    commented: bool = False
    indexed: bool = False
    strays: bool = False
    timed: bool = False
    declared: tuple[str, ...] = ()
    declares: bool = False
    attributes: tuple[Attribute, ...] = ()
    children: tuple[Slot, ...] = ()
    ways: tuple[Way, ...] = ()

    @property
    def has_text(self) -> bool:
        """Whether the string value is a column."""
        return self.is_leaf or self.opaque

    @property
    def way_columns(self) -> list[str]:
        """The paths that have columns."""
        return [way.path for way in self.ways if way.kept]

    def child(self, tag: str) -> Slot | None:
        return next((child for child in self.children if child.tag == tag), None)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute with that expanded name: `local` or `Q{uri}local`."""
        return next((one for one in self.attributes if one.name == name), None)


def widen(known: Slot | None, seen: Slot) -> Slot:
    """The shape that covers both; existing columns keep their names.

    >>> once = Slot("1", "list", children=(Slot("2", "item", is_leaf=True),))
    >>> twice = Slot("1", "list", children=(Slot("2", "item", is_leaf=True, repeats=True),))
    >>> widen(once, twice).children[0].repeats
    True
    """
    if known is None:
        known = replace(seen, attributes=(), children=(), ways=())
    opaque = known.opaque or seen.opaque
    taken = {folded(name) for name in (START, LENGTH, TEXT)}
    taken |= {folded(attribute.column) for attribute in known.attributes}
    taken |= {folded(child.column) for child in known.children}
    attributes = list(known.attributes)
    for attribute in seen.attributes:
        if known.attribute(attribute.name) is None:
            column = _free_name(attribute.column, taken)
            attributes.append(replace(attribute, column=column))
    children: list[Slot] = []
    ways: tuple[Way, ...] = ()
    indexed = known.indexed and seen.indexed
    if opaque:
        ways = _joined([*_ways_inside(known), *_ways_inside(seen)]) if indexed else ()
        indexed = indexed and _are_columns(ways)
        ways = ways if indexed else ()
    else:
        merged = {
            child.tag: widen(child, seen.child(child.tag) or child) for child in known.children
        }
        for child in seen.children:
            if child.tag not in merged:
                column = _free_name(child.column, taken)
                # a way is identified by the columns' names
                indexed = indexed and column == child.column
                merged[child.tag] = widen(None, replace(child, column=column))
        children = list(merged.values())
        indexed = indexed and all(child.indexed for child in children)
    return replace(
        known,
        opaque=opaque,
        repeats=known.repeats or seen.repeats,
        spaced=known.spaced or seen.spaced,
        commented=known.commented or seen.commented,
        indexed=indexed,
        strays=known.strays or seen.strays,
        declares=known.declares or seen.declares,
        declared=tuple(dict.fromkeys((*known.declared, *seen.declared)))[:2],
        timed=known.timed or seen.timed or (opaque and _has_lifespans_below(known, seen)),
        attributes=tuple(attributes),
        children=tuple(children),
        ways=ways,
    )


def has_lifespan(slot: Slot) -> bool:
    """Whether elements of a slot have the attributes of a lifespan of their own."""
    return {"vtFrom", "vtTo"} <= {one.name for one in slot.attributes}


def _has_lifespans_below(*slots: Slot) -> bool:
    """Whether descendants, which will lose their slots, have lifespans."""
    return any(
        child.timed or has_lifespan(child)
        for slot in slots
        for child in walk(slot)
        if child is not slot
    )


def _ways_inside(slot: Slot) -> Iterable[Way]:
    """All paths at which texts may occur inside elements of an indexed slot."""
    yield from slot.ways
    for child in slot.children:
        if child.has_text or child.spaced:
            yield Way(child.column, kept=True)
        for way in _ways_inside(child):
            yield Way(f"{child.column}/{way.path}", way.kept)


def _joined(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Each way once; it has a column only if it has one everywhere."""
    kept: dict[str, bool] = {}
    for way in ways:
        kept[way.path] = way.kept and kept.get(way.path, True)
    return tuple(Way(path, kept[path]) for path in sorted(kept))


def _are_columns(ways: Sequence[Way]) -> bool:
    """Whether each way can be a column: they are few, and SQL does not distinguish A from a."""
    return (
        len(ways) <= MAX_WAYS
        and len({folded(way.path) for way in ways}) == len(ways)
        and all(way.path.count("/") < MAX_WAY_LENGTH for way in ways)
    )


def is_layout_kept(old: Slot, new: Slot) -> bool:
    """Whether a file written with the old shape can be read with the new one.

    New columns may be added (they read as NULL); existing ones must not change.
    """
    if (old.opaque, old.repeats) != (new.opaque, new.repeats):
        return False
    return all(
        is_layout_kept(child, new_child)
        for child in old.children
        if (new_child := new.child(child.tag)) is not None
    )


_FLAGS = ("is_leaf", "opaque", "repeats", "spaced", "commented", "indexed")


def slot_to_json(slot: Slot) -> dict[str, Any]:
    return {
        "tag": slot.tag,
        "column": slot.column,
        "flags": [name for name in _FLAGS if getattr(slot, name)],
        "strays": slot.strays,
        "timed": slot.timed,
        "declared": slot.declared,
        "declares": slot.declares,
        "attributes": {one.name: one.column for one in slot.attributes},
        "children": [slot_to_json(child) for child in slot.children],
        "ways": {way.path: way.kept for way in slot.ways},
    }


def slot_from_json(data: dict[str, Any]) -> Slot:
    flags = data["flags"]
    return Slot(
        data["tag"],
        data["column"],
        # commits of earlier versions lack these: assume the worst case
        strays=data.get("strays", "indexed" not in flags),
        timed=data.get("timed", "opaque" in flags),
        declared=tuple(data.get("declared", _UNKNOWN)),
        declares=data.get("declares", True),
        attributes=tuple(Attribute(*one) for one in data["attributes"].items()),
        children=tuple(slot_from_json(child) for child in data["children"]),
        # commits of earlier versions have none
        ways=tuple(Way(*one) for one in data.get("ways", {}).items()),
        **dict.fromkeys(flags, True),
    )


def walk(slot: Slot) -> Iterable[Slot]:
    """The slot and all its descendants, in column order."""
    yield slot
    for child in slot.children:
        yield from walk(child)


def _free_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, with a number if it is taken: SQL does not distinguish `A` from `a`."""
    name, number = wanted, 1
    while folded(name) in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(folded(name))
    return name
