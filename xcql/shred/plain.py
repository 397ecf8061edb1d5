"""Reads all plainly written fillers of a part of a file at once.

It does for thousands of fragments together what `model.check` does for one at a time, with
arrays (`tokens`) instead of parser events. Fragments with anything unusual are left to the checker,
which knows all the rules: an unexpected attribute, a prefix, a comment, an undeclared element, a
hole with content. `flatten` turns the others into columns.

It works level by level: the fragments, their elements, the children of these, and so on. The tag of
an element follows from its parent's tag and its own name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xcql.arrays import (
    Flags,
    Ints,
    flags_of,
    having,
    numbers_of,
    octets_of,
    offsets_of,
    slices,
    taken,
)
from xcql.diagnostics import XcqlError
from xcql.model.fragments import ROOT_ID
from xcql.model.scan import MEANINGLESS
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, parse_time
from xcql.shred.tokens import Elements, Tokens, elements_of, tokenize

NO_TAG, HOLE = -1, -2

# the table of (tag, name) pairs must be small
_MAX_PAIRS = 1 << 22

_OPERATIONS = {
    prefix + name: name for name in ("filler", "repeat", "replace") for prefix in ("", "stream:")
}
_FRAGMENTS = {*_OPERATIONS, "remove", "stream:remove", "eos", "stream:eos"}
_HOLES = ("hole", "stream:hole")


@dataclass(frozen=True, slots=True)
class PlainText:
    """The result of reading a text; arrays are over its fragments, its elements, or its holes.

    `needs_slow_path` marks fragments that must be read another way; ignore the rest about them.
    `bodies` are the numbers of the fillers' elements. Tags are indexes into `tags`, or NO_TAG, or
    HOLE. An element is mixed if it has text of its own although its tag is not a leaf, and spaced
    if there is white space between its children.
    """

    data: bytes
    tokens: Tokens
    elements: Elements
    tags: list[Tag]
    begins: Ints
    ends: Ints
    needs_slow_path: Flags
    operations: pa.StringArray
    ids: pa.BinaryArray
    times: pa.Array
    fragment_tags: Ints
    bodies: Ints
    fragment_of: Ints
    element_tags: Ints
    is_mixed: Flags
    is_spaced: Flags
    attribute_elements: Ints
    holes: Ints
    hole_ids: pa.BinaryArray


def read_in_bulk(data: bytes, structure: TagStructure) -> PlainText | None:
    """Read well-formed content that consists of fragments; None if that is not possible.

    It is not possible if there is an `<eos/>` or anything that is not a fragment. There must be no
    default namespace around it.
    """
    tokens = tokenize(data)
    elements = elements_of(tokens) if tokens is not None else None
    tags = list(structure)
    if tokens is None or elements is None or len(tags) * len(tokens.name_list) > _MAX_PAIRS:
        return None
    fragments = elements.levels[0]
    begins = tokens.begins[elements.first_tags[fragments]]
    ends = tokens.ends[elements.last_tags[fragments]]
    if not _are_fragments(data, tokens, elements, begins, ends):
        return None
    numbers = {tag.id: number for number, tag in enumerate(tags)}
    fragment_of = np.searchsorted(fragments, np.arange(len(elements.names)), "right") - 1
    attribute_elements = np.searchsorted(elements.first_tags, tokens.attribute_tags)
    slow = np.zeros(len(fragments), np.bool_)

    holders = np.searchsorted(begins, tokens.skipped, "right") - 1
    slow[holders[(holders >= 0) & (tokens.skipped < ends[holders])]] = True
    slow[fragment_of[_prefixed(tokens, elements, attribute_elements)]] = True

    # the fragments' start tags
    names = elements.names[fragments]
    operations = taken(pa.array(map(_OPERATIONS.get, tokens.name_list), pa.string()), names)
    slow |= _is_null(operations)
    ids, tsids, valid_times = _own_attributes(tokens, elements, attribute_elements, slow)
    slow |= _is_null(ids) | (_lengths(ids) == 0)
    fragment_tags = _tags_by_id(structure, numbers, tsids)
    slow |= fragment_tags == NO_TAG
    is_root = flags_of(pc.equal(ids, ROOT_ID.encode()))
    slow |= is_root & (fragment_tags != numbers[structure.root.id])
    times, unreadable = _instants(valid_times)
    is_event = np.array([tag.kind == "event" for tag in tags])
    slow |= unreadable | (is_event[fragment_tags] & _is_null(valid_times))

    # the content
    bodies, element_tags = _tags_of_elements(structure, tags, tokens, elements, fragment_tags)
    slow |= bodies == NO_TAG
    inner = np.flatnonzero((elements.parents >= 0) & (element_tags == NO_TAG))
    slow[fragment_of[inner]] = True
    has_children = np.array([bool(structure.children(tag)) for tag in tags])
    is_mixed, is_spaced = _own_texts(tokens, elements, element_tags, has_children)
    # neither a filler nor a hole has text of its own
    slow |= is_mixed[fragments]
    holes = np.flatnonzero(element_tags == HOLE)
    slow[fragment_of[holes[is_mixed[holes] | is_spaced[holes]]]] = True
    hole_ids = _attribute(tokens, attribute_elements, "id", holes)
    slow[fragment_of[holes[_is_null(hole_ids) | (_lengths(hole_ids) == 0)]]] = True
    slow[fragment_of[holes[having(hole_ids, b" \t\r\n")]]] = True
    return PlainText(
        data,
        tokens,
        elements,
        tags,
        begins,
        ends,
        slow,
        operations,
        ids,
        times,
        fragment_tags,
        bodies,
        fragment_of,
        element_tags,
        is_mixed,
        is_spaced,
        attribute_elements,
        holes,
        hole_ids,
    )


def _are_fragments(
    data: bytes, tokens: Tokens, elements: Elements, begins: Ints, ends: Ints
) -> bool:
    """Whether exactly the top-level elements are fragments, with nothing between them."""
    is_fragment_name = np.array([name in _FRAGMENTS for name in tokens.name_list])
    is_fragment = is_fragment_name[elements.names]
    if not is_fragment[elements.levels[0]].all() or is_fragment.sum() != len(begins):
        return False
    is_end = np.array([name.endswith("eos") for name in tokens.name_list])
    if is_end[elements.names[elements.levels[0]]].any():
        return False
    gaps = zip([0, *ends.tolist()], [*begins.tolist(), len(data)], strict=True)
    return all(MEANINGLESS.fullmatch(data, begin, end) for begin, end in gaps if begin < end)


def _prefixed(tokens: Tokens, elements: Elements, attribute_elements: Ints) -> Ints:
    """The elements that cannot be read without knowing namespaces."""
    plain = (*_FRAGMENTS, *_HOLES)
    is_prefixed = np.array([":" in name and name not in plain for name in tokens.name_list])
    has_namespace = np.array(
        [":" in name or name in ("", "xmlns") for name in tokens.attribute_list], np.bool_
    )
    return np.concatenate(
        [
            np.flatnonzero(is_prefixed[elements.names]),
            attribute_elements[has_namespace[tokens.attribute_names]],
        ]
    )


def _own_attributes(
    tokens: Tokens, elements: Elements, attribute_elements: Ints, slow: Flags
) -> list[pa.BinaryArray]:
    """The fragments' ids, tsids and validTimes; marks unusual fragments as `slow`."""
    fragments = elements.levels[0]
    expected = ("id", "tsid", "validTime")
    is_other = np.array([name not in expected for name in tokens.attribute_list], np.bool_)
    owners = attribute_elements[is_other[tokens.attribute_names]]
    slow[np.searchsorted(fragments, owners[elements.parents[owners] < 0])] = True
    columns = [_attribute(tokens, attribute_elements, name, fragments) for name in expected]
    for column in columns:
        slow[having(column, b" \t\r\n&<>")] = True
    return columns


def _attribute(
    tokens: Tokens, attribute_elements: Ints, name: str, elements: Ints
) -> pa.BinaryArray:
    """The values of an attribute for the given elements, NULL if it is absent."""
    if name not in tokens.attribute_list:
        return pa.nulls(len(elements), pa.binary())
    those = np.flatnonzero(tokens.attribute_names == tokens.attribute_list.index(name))
    having_it = attribute_elements[those]
    if not len(those):
        return pa.nulls(len(elements), pa.binary())
    found = np.minimum(np.searchsorted(having_it, elements), len(those) - 1)
    is_there = having_it[found] == elements
    return taken(tokens.attribute_values, those[found], is_there)


def _tags_of_elements(
    structure: TagStructure,
    tags: list[Tag],
    tokens: Tokens,
    elements: Elements,
    fragment_tags: Ints,
) -> tuple[Ints, Ints]:
    """Each fragment's element (NO_TAG unless there is exactly one, of its tag), and all tags."""
    names, size = tokens.name_list, len(tokens.name_list)
    numbers = {tag.id: number for number, tag in enumerate(tags)}
    found = np.full(len(elements.names), NO_TAG)
    bodies = np.full(len(fragment_tags), NO_TAG)
    if len(elements.levels) > 1:
        level = elements.levels[1]
        above = np.searchsorted(elements.levels[0], elements.parents[level])
        expected = fragment_tags[above]
        called = np.array(
            [names.index(one) if one in names else NO_TAG for one in map(_plain_name, tags)]
        )
        is_it = (expected != NO_TAG) & (elements.names[level] == called[expected])
        found[level[is_it]] = expected[is_it]
        bodies[above[is_it]] = level[is_it]
        bodies[np.bincount(above, minlength=len(bodies)) != 1] = NO_TAG

    child_tags = np.full(len(tags) * size, NO_TAG)
    is_known = np.zeros(len(tags) * size, np.bool_)
    for level in elements.levels[2:]:
        above = found[elements.parents[level]]
        level, above = level[above >= 0], above[above >= 0]
        pairs = above * size + elements.names[level]
        for pair in distinct(pairs, len(child_tags)):
            if not is_known[pair]:
                is_known[pair] = True
                child_tags[pair] = _child(
                    structure, numbers, tags[pair // size], names[pair % size]
                )
        found[level] = child_tags[pairs]
    return bodies, found


def _tags_by_id(structure: TagStructure, numbers: dict[str, int], ids: pa.BinaryArray) -> Ints:
    encoded = ids.dictionary_encode()
    tags = [structure.by_id(id.decode()) for id in encoded.dictionary.to_pylist()]
    known = pa.array([numbers[tag.id] if tag else NO_TAG for tag in tags], pa.int64())
    return numbers_of(known.take(encoded.indices), NO_TAG)


def _plain_name(tag: Tag) -> str:
    """The name of the tag's elements if no namespace is in scope."""
    return tag.name.local if not tag.name.uri else ""


def _child(structure: TagStructure, numbers: dict[str, int], parent: Tag, name: str) -> int:
    if name in _HOLES:
        return HOLE
    tag = structure.child(parent, "", name)
    return NO_TAG if tag is None or tag.is_fragmented else numbers[tag.id]


def _own_texts(
    tokens: Tokens, elements: Elements, element_tags: Ints, has_children: Flags
) -> tuple[Flags, Flags]:
    """Which non-leaf elements have text other than white space, and which have white space."""
    borders = offsets_of(tokens.texts)
    texts = np.flatnonzero((borders[1:] > borders[:-1]) & (elements.owners >= 0))
    owner_tags = element_tags[elements.owners[texts]]
    texts = texts[(owner_tags < 0) | has_children[owner_tags]]
    owners = elements.owners[texts]
    is_blank = _are_blank(tokens.texts, texts) if len(texts) else np.empty(0, np.bool_)
    is_mixed, is_spaced = np.zeros((2, len(elements.names)), np.bool_)
    is_mixed[owners[~is_blank]] = True
    is_spaced[owners[is_blank]] = True
    return is_mixed, is_spaced


def _are_blank(texts: pa.BinaryArray, numbers: Ints) -> Flags:
    """Which texts, none empty, are white space; other control characters are not legal XML."""
    borders = offsets_of(texts)
    octets = np.frombuffer(texts.buffers()[2], np.uint8)
    result = octets[borders[numbers]] <= ord(" ")
    # few texts begin with white space and continue
    longer = np.flatnonzero(result & (borders[numbers + 1] - borders[numbers] > 1))
    if len(longer):
        begins, ends = borders[numbers[longer]], borders[numbers[longer] + 1]
        those = slices(texts.buffers()[2], begins, ends)
        highest = np.maximum.reduceat(octets_of(those), offsets_of(those)[:-1])
        result[longer] = highest <= ord(" ")
    return result


def distinct(numbers: Ints, bound: int) -> Iterator[int]:
    """The distinct numbers below a bound, in ascending order."""
    is_there = np.zeros(bound, np.bool_)
    is_there[numbers] = True
    return iter(np.flatnonzero(is_there).tolist())


def _instants(values: pa.BinaryArray) -> tuple[pa.Array, Flags]:
    """Times as stored in columns, NULL for `start`, and flags for those that cannot be parsed."""
    encoded = values.dictionary_encode()
    read = [read_time(value.decode()) for value in encoded.dictionary.to_pylist()]
    times = pa.array([None if time == START else time for time in read], pa.timestamp("us"))
    unreadable = pa.array([time is None for time in read], pa.bool_())
    return (times.take(encoded.indices), flags_of(unreadable.take(encoded.indices)))


def _is_null(array: pa.Array) -> Flags:
    return flags_of(array.is_null())


def _lengths(array: pa.BinaryArray) -> Ints:
    return np.diff(offsets_of(array))


@lru_cache(maxsize=4096)
def read_time(text: str) -> datetime | None:
    """Parse a validTime; None if that fails."""
    try:
        return parse_time(text)
    except XcqlError:
        return None
