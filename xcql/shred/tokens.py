"""Well-formed XML content as arrays: all of its tags, attributes and texts at once.

Where it is known that a text is well-formed, every `<` begins a tag (or a comment, a CDATA
section, an instruction), and where tags begin and end, what they are called, and which end belongs
to which start can be worked out for all of them together, by numpy and Arrow, some twenty times
faster than by a parser that reports them to Python one by one.

What is not written plainly (apostrophes around a value, a comment, ...) is not read, only passed
over: `odd` says where it stands, so that the elements with such things can be read otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from xcql.model.fragments import Namespaces
from xcql.model.scan import START_TAG
from xcql.shred.arrays import Ints, Octets, having, numbers_of, slices, taken
from xcql.xdm.parse import NAME_SEPARATOR, in_context

START, EMPTY, END = 1, 0, -1

# a text with more is none that tables are made of: offsets would not fit, levels cost a pass each
_MAX_BYTES = 1 << 30
_MAX_LEVELS = 200
_MAX_NAMES = 4096

_LESS, _GREATER, _SLASH, _QUOTE, _APOSTROPHE = b"<>/\"'"
# what begins with `<` and is no tag: how it begins and how it ends
_NO_TAGS = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
# a tag up to its first value, or all of it
_HEAD = re.compile(rb"</?([^\s<>/=]+)(?:\s*/?>|\s+([^\s=]+)\s*=\s*)?")
_NEXT_ATTRIBUTE = re.compile(rb'"\s+([^\s=]+)\s*=\s*"')
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-z]+));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_LINE_END = re.compile(r"\r\n?")
_BLANK = re.compile(r"[\t\n]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tags in document order; `texts` has what stands after each of them, as it reads.

    `names` are indices into `name_list`; `kinds` are START, EMPTY or END. Attributes have the tag
    they belong to, their name (an index into `attribute_list`) and their value as it reads. `odd`
    are the byte offsets of what was passed over.
    """

    begins: Ints
    ends: Ints
    kinds: Ints
    names: Ints
    name_list: list[str]
    texts: pa.BinaryArray
    attribute_tags: Ints
    attribute_names: Ints
    attribute_list: list[str]
    attribute_values: pa.BinaryArray
    odd: Ints


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements in document order: their tags, their parents (-1 outside), their levels from 1.

    `owners` says for each tag of which element the text after it is a child.
    """

    first_tags: Ints
    last_tags: Ints
    names: Ints
    parents: Ints
    levels: list[Ints]
    owners: Ints


def is_well_formed(data: bytes, namespaces: Namespaces) -> bool:
    """Whether a text is well-formed as the content of an element with these declarations."""
    lead, trail = in_context(dict(namespaces))
    parser = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
    try:
        parser.Parse(lead, False)
        parser.Parse(data, False)
        parser.Parse(trail, True)
    except expat.ExpatError:
        return False
    return True


def tokenize(data: bytes) -> Tokens | None:
    """The tags, attributes and texts of well-formed content; None if it has none, or too many.

    >>> tokens = tokenize(b'<a id="1">x &lt; y<b/></a>')
    >>> tokens.kinds.tolist(), [tokens.name_list[name] for name in tokens.names]
    ([1, 0, -1], ['a', 'b', 'a'])
    >>> tokens.texts.to_pylist(), tokens.attribute_values.to_pylist()
    ([b'x < y', b'', b''], [b'1'])
    """
    if len(data) > _MAX_BYTES:
        return None
    octets = np.frombuffer(data, np.uint8)
    begins, closes = np.flatnonzero(octets == _LESS), np.flatnonzero(octets == _GREATER)
    passed_over = _no_tags(data, octets, begins)
    if len(passed_over):
        begins, closes = _outside(begins, passed_over), _outside(closes, passed_over)
    if not len(begins):
        return None
    if len(begins) != len(closes) or (begins > closes).any() or (closes[:-1] > begins[1:]).any():
        # some `>` stand in texts or values
        closes = closes[np.searchsorted(closes, begins)]

    # quotes that stand in tags; where there are apostrophes, too, or a value with a `>`, the tag
    # is none of ours, but its end has to be known
    quotes, tags = _in_tags(octets, _QUOTE, begins, closes)
    odd_tags = np.bincount(tags, minlength=len(begins)) % 2 == 1
    if _APOSTROPHE in data:
        odd_tags[_in_tags(octets, _APOSTROPHE, begins, closes)[1]] = True
    cuts = closes + 1
    if odd_tags.any():
        for tag in np.flatnonzero(odd_tags).tolist():
            match = START_TAG.match(data, begins[tag])
            assert match is not None, "well-formed content has only tags that end"
            closes[tag], cuts[tag] = match.end() - 1, match.end(1)
        kept = ~odd_tags[tags]
        quotes, tags = quotes[kept], tags[kept]
    opens, shuts, attribute_tags = quotes[0::2], quotes[1::2], tags[0::2]
    is_first = np.ones(len(opens), np.bool_)
    is_first[1:] = attribute_tags[1:] != attribute_tags[:-1]
    cuts[attribute_tags[is_first]] = opens[is_first]

    heads = slices(data, begins, cuts).dictionary_encode()
    found = [_HEAD.fullmatch(head) for head in heads.dictionary.to_pylist()]
    name_list, head_names = _numbered([match[1] if match else b"" for match in found])
    kinds = np.full(len(begins), START, np.int64)
    kinds[octets[closes - 1] == _SLASH] = EMPTY
    kinds[octets[begins + 1] == _SLASH] = END

    # an attribute's name is in its tag's head, or between the values
    nexts = taken(slices(data, shuts[:-1], opens[1:] + 1), np.flatnonzero(~is_first) - 1)
    nexts = nexts.dictionary_encode()
    next_found = [_NEXT_ATTRIBUTE.fullmatch(one) for one in nexts.dictionary.to_pylist()]
    attribute_list, numbers = _numbered(
        [match[2] or b"" if match else b"" for match in found]
        + [match[1] if match else b"" for match in next_found]
    )
    if max(len(found), len(next_found)) > _MAX_NAMES:
        return None
    codes = numbers_of(heads.indices)
    attribute_names = np.empty(len(opens), np.int64)
    attribute_names[is_first] = numbers[codes[attribute_tags[is_first]]]
    attribute_names[~is_first] = numbers[len(found) + numbers_of(nexts.indices)]

    texts = slices(data, closes + 1, np.append(begins[1:], len(data)))
    return Tokens(
        begins,
        closes + 1,
        kinds,
        head_names[codes],
        name_list,
        _read(texts, b"&\r", _text),
        attribute_tags,
        attribute_names,
        attribute_list,
        _read(slices(data, opens + 1, shuts), b"&\r\n\t", _attribute_value),
        np.concatenate([begins[odd_tags], passed_over[:, 0]]),
    )


def elements_of(tokens: Tokens) -> Elements | None:
    """Which tags belong together, and what is inside of what; None if it is nested too deep."""
    kinds = tokens.kinds
    depths = np.cumsum(kinds)  # after each tag
    first_tags = np.flatnonzero(kinds != END)
    element_levels = depths[first_tags] + (kinds[first_tags] == EMPTY)
    deepest = int(element_levels.max(initial=0))
    if deepest > _MAX_LEVELS:
        return None
    # at one depth, starts and ends take turns
    starts, ends = np.flatnonzero(kinds == START), np.flatnonzero(kinds == END)
    last_of = np.arange(len(kinds))
    last_of[starts[_by_depth(depths[starts])]] = ends[_by_depth(depths[ends] + 1)]
    last_tags = last_of[first_tags]

    order = _by_depth(element_levels)
    borders = np.cumsum(np.bincount(element_levels, minlength=deepest + 1))
    levels = [order[borders[n - 1] : borders[n]] for n in range(1, deepest + 1)]
    parents = np.full(len(first_tags), -1, np.int64)
    for above, here in pairwise(levels):
        parents[here] = above[np.searchsorted(above, here) - 1]
    owners = np.empty(len(kinds), np.int64)
    owners[first_tags] = np.arange(len(first_tags))
    owners[last_tags] = parents
    return Elements(first_tags, last_tags, tokens.names[first_tags], parents, levels, owners)


def _no_tags(data: bytes, octets: Octets, begins: Ints) -> Ints:
    """The spans of comments, CDATA sections and instructions."""
    second = octets[begins + 1]
    spans: list[tuple[int, int]] = []
    past = 0
    for begin in begins[(second == ord("!")) | (second == ord("?"))].tolist():
        if begin >= past:
            for opening, closing in _NO_TAGS:
                if data.startswith(opening, begin):
                    past = data.index(closing, begin + len(opening)) + len(closing)
                    spans.append((begin, past))
                    break
    return np.array(spans, np.int64).reshape(-1, 2)


def _outside(positions: Ints, spans: Ints) -> Ints:
    begun = np.searchsorted(spans[:, 0], positions, "right")
    ended = np.searchsorted(spans[:, 1], positions, "right")
    outside: Ints = positions[begun == ended]
    return outside


def _in_tags(octets: Octets, octet: int, begins: Ints, closes: Ints) -> tuple[Ints, Ints]:
    """Where a byte stands inside a tag, and which tag that is."""
    positions = np.flatnonzero(octets == octet)
    tags = np.searchsorted(begins, positions) - 1
    inside = (tags >= 0) & (positions < closes[tags])
    return positions[inside], tags[inside]


def _numbered(names: list[bytes]) -> tuple[list[str], Ints]:
    """The different names, and which of them each one is."""
    numbers: dict[bytes, int] = {}
    each = [numbers.setdefault(name, len(numbers)) for name in names]
    return [name.decode() for name in numbers], np.array(each, np.int64)


def _by_depth(depths: Ints) -> Ints:
    return np.argsort(depths.astype(np.int16), kind="stable")


def _read(array: pa.BinaryArray, octets: bytes, read: Callable[[str], str]) -> pa.BinaryArray:
    """The values as they read: those with any of the bytes in them have to be looked at."""
    numbers = having(array, octets)
    if not len(numbers):
        return array
    values = [read(array[number].as_py().decode()).encode() for number in numbers.tolist()]
    places = np.arange(len(array))
    places[numbers] = len(array) + np.arange(len(numbers))
    return taken(pa.concat_arrays([array, pa.array(values, pa.binary())]), places)


def _text(text: str) -> str:
    if "<" in text:  # something was passed over, in which `&` may stand for itself
        return text
    return _REFERENCE.sub(_character, _LINE_END.sub("\n", text))


def _attribute_value(text: str) -> str:
    return _REFERENCE.sub(_character, _BLANK.sub(" ", _LINE_END.sub("\n", text)))


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    if name:
        return _ENTITIES[name]
    return chr(int(hexadecimal, 16) if hexadecimal else int(decimal))
