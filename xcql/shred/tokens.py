"""Well-formed XML content as arrays: all of its tags, attributes and texts at once.

If a text is known to be well-formed, every `<` begins a tag (or a comment, a CDATA section, an
instruction). Then numpy and Arrow can compute for all tags at once where they begin and end, what
their names are, and which end tag belongs to which start tag. This is about twenty times faster
than a parser that reports them to Python one by one.

Anything that is not written plainly (apostrophes around a value, a comment, ...) is left out;
`skipped` holds its position, so that the elements that contain it can be read another way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from xcql.arrays import Flags, Ints, Octets, having, numbers_of, slices, taken
from xcql.model.fragments import Namespaces
from xcql.model.scan import START_TAG
from xcql.shred.normal import Edits, in_order
from xcql.xdm.parse import NAME_SEPARATOR, in_context
from xcql.xdm.serialize import escape_attribute, escape_text

START, EMPTY, END = 1, 0, -1

# larger texts are not suitable: offsets would not fit, and each level costs a pass
_MAX_BYTES = 1 << 30
_MAX_LEVELS = 200
_MAX_NAMES = 4096

_LESS, _GREATER, _SLASH, _QUOTE, _APOSTROPHE = b"<>/\"'"
# markup that begins with `<` but is not a tag: how it begins and how it ends
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
    """Tags in document order; `texts` has the decoded text after each of them.

    `names` are indexes into `name_list`; `kinds` are START, EMPTY or END. Each attribute has its
    tag, its name (an index into `attribute_list`) and its decoded value; `opening_quotes` and
    `closing_quotes` have the byte offsets of the quotes around it. `skipped` has the byte offsets
    of skipped markup. `edits` bring the rest into the serialiser's form.
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
    opening_quotes: Ints
    closing_quotes: Ints
    skipped: Ints
    edits: Edits


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements in document order: their tags, parents (-1 at the top), and elements by level.

    `owners` has, for each tag, the element that is the parent of the text after it.
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
    skipped_markup = _no_tags(data, octets, begins)
    if len(skipped_markup):
        begins, closes = _outside(begins, skipped_markup), _outside(closes, skipped_markup)
    if not len(begins):
        return None
    to_be_read = b"&\r"
    if len(begins) != len(closes) or (begins > closes).any() or (closes[:-1] > begins[1:]).any():
        # some `>` are in texts or values
        to_be_read += b">"
        closes = closes[np.searchsorted(closes, begins)]

    # quotes inside tags; a tag that also has apostrophes around values, or a value with a `>`, is
    # not read here, but its end must be known
    quotes, tags = _in_tags(octets, _QUOTE, begins, closes)
    skipped_tags = np.bincount(tags, minlength=len(begins)) % 2 == 1
    if _APOSTROPHE in data:
        apostrophes, tags_with_them = _in_tags(octets, _APOSTROPHE, begins, closes)
        quotes_before = np.searchsorted(quotes, apostrophes) - np.searchsorted(tags, tags_with_them)
        skipped_tags[tags_with_them[quotes_before % 2 == 0]] = True
    cuts = closes + 1
    if skipped_tags.any():
        for tag in np.flatnonzero(skipped_tags).tolist():
            match = START_TAG.match(data, begins[tag])
            assert match is not None, "well-formed content has only tags that end"
            closes[tag], cuts[tag] = match.end() - 1, match.end(1)
        kept = ~skipped_tags[tags]
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

    # an attribute's name is in its tag's head, or between two values
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

    text_ends = np.append(begins[1:], len(data))
    texts, text_edits = _read(slices(data, closes + 1, text_ends), to_be_read, _text, escape_text)
    values, value_edits = _read(
        slices(data, opens + 1, shuts), b"&\r\n\t", _attribute_value, escape_attribute
    )
    is_pair = np.zeros(len(begins), np.bool_)
    is_pair[:-1] = (kinds[:-1] == START) & (kinds[1:] == END) & (begins[1:] == closes[:-1] + 1)
    tags_read = _TagsRead(begins, closes + 1, cuts, kinds, is_pair, skipped_tags)
    edits = in_order(
        [
            *_head_edits(tags_read, found, codes, heads.dictionary.to_pylist()),
            *_tail_edits(tags_read, shuts, attribute_tags),
            _between_edits(shuts, opens, is_first, next_found, nexts),
            _moved_edits(text_edits, closes + 1, text_ends),
            _moved_edits(value_edits, opens + 1, shuts),
        ]
    )
    return Tokens(
        begins,
        closes + 1,
        kinds,
        head_names[codes],
        name_list,
        texts,
        attribute_tags,
        attribute_names,
        attribute_list,
        values,
        opens,
        shuts,
        np.concatenate([begins[skipped_tags], skipped_markup[:, 0], _controls(octets)]),
        edits,
    )


def elements_of(tokens: Tokens) -> Elements | None:
    """Match start and end tags and find parents; None if the nesting is too deep."""
    kinds = tokens.kinds
    depths = np.cumsum(kinds)  # after each tag
    first_tags = np.flatnonzero(kinds != END)
    element_levels = depths[first_tags] + (kinds[first_tags] == EMPTY)
    deepest = int(element_levels.max(initial=0))
    if deepest > _MAX_LEVELS:
        return None
    # at each depth, starts and ends alternate
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
    """The byte ranges of comments, CDATA sections and instructions."""
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
    """The positions of a byte inside tags, and the tag for each."""
    positions = np.flatnonzero(octets == octet)
    tags = np.searchsorted(begins, positions) - 1
    inside = (tags >= 0) & (positions < closes[tags])
    return positions[inside], tags[inside]


def _numbered(names: list[bytes]) -> tuple[list[str], Ints]:
    """The distinct names, and the index of each name among them."""
    numbers: dict[bytes, int] = {}
    each = [numbers.setdefault(name, len(numbers)) for name in names]
    return [name.decode() for name in numbers], np.array(each, np.int64)


def _by_depth(depths: Ints) -> Ints:
    return np.argsort(depths.astype(np.int16), kind="stable")


def _read(
    array: pa.BinaryArray, octets: bytes, read: Callable[[str], str], write: Callable[[str], str]
) -> tuple[pa.BinaryArray, dict[int, bytes]]:
    """Decode the values; only those that contain any of the bytes need work.

    Also returns, by number, the values that must be written differently.
    """
    numbers = having(array, octets)
    if not len(numbers):
        return array, {}
    values: list[bytes] = []
    rewritten: dict[int, bytes] = {}
    for number in numbers.tolist():
        written: bytes = array[number].as_py()
        value = read(written.decode())
        values.append(value.encode())
        normal = write(value).encode()
        if normal != written:
            rewritten[number] = normal
    places = np.arange(len(array))
    places[numbers] = len(array) + np.arange(len(numbers))
    return taken(pa.concat_arrays([array, pa.array(values, pa.binary())]), places), rewritten


def _controls(octets: Octets) -> Ints:
    """The positions of characters that the serialiser, but not a parser, treats specially.

    It writes them as references. They are rare: DEL, U+0080 to U+009F, U+2028 and U+2029.
    """
    high = np.flatnonzero(octets >= 0x7F)
    values = octets[high]
    twos = high[values == 0xC2]
    threes = high[values == 0xE2]
    threes = threes[octets[threes + 1] == 0x80]
    return np.concatenate(
        [
            high[values == 0x7F],
            twos[octets[twos + 1] <= 0x9F],
            threes[np.isin(octets[threes + 2], (0xA8, 0xA9))],
        ]
    )


# edits: tags, values and texts that must be written differently

_Edits = tuple[Ints, Ints, list[bytes]]


@dataclass(frozen=True, slots=True)
class _TagsRead:
    """Tags: their begin, their end, the begin of their first value, and their kind.

    A pair is a start tag directly followed by its end tag.
    """

    begins: Ints
    ends: Ints
    cuts: Ints
    kinds: Ints
    is_pair: Flags
    is_skipped: Flags

    @property
    def ends_pair(self) -> Flags:
        return np.concatenate([[False], self.is_pair[:-1]])


def _head_edits(
    tags: _TagsRead, found: list[re.Match[bytes] | None], codes: Ints, heads: list[bytes]
) -> Iterator[_Edits]:
    """Edits for tags up to their first value, or whole tags without attributes."""
    ends_pair = tags.ends_pair
    gone = np.flatnonzero(ends_pair)
    yield tags.begins[gone], tags.ends[gone], [b""] * len(gone)
    has_values = tags.cuts < tags.ends
    for code, (match, head) in enumerate(zip(found, heads, strict=True)):
        if match is None:
            continue
        lead = (b"</" if head.startswith(b"</") else b"<") + match[1]
        if match[2] is not None:
            kinds = [(has_values, lead + b" " + match[2] + b"=")]
        else:
            closing = b"/>" if head.endswith(b"/>") else b">"
            kinds = [
                (~has_values & ~tags.is_pair, lead + closing),
                (~has_values & tags.is_pair, lead + b"/>"),
            ]
        for applies, normal in kinds:
            if normal != head:
                those = np.flatnonzero((codes == code) & applies & ~ends_pair & ~tags.is_skipped)
                yield tags.begins[those], tags.cuts[those], [normal] * len(those)


def _tail_edits(tags: _TagsRead, shuts: Ints, attribute_tags: Ints) -> Iterator[_Edits]:
    """Edits for tags after their last value."""
    if not len(shuts):
        return
    is_last = np.append(attribute_tags[1:] != attribute_tags[:-1], True)
    those, after = attribute_tags[is_last], shuts[is_last] + 1
    is_empty = (tags.kinds[those] == EMPTY) | tags.is_pair[those]
    # an empty element has one more character, which the start tag of a pair lacks
    for empty, closing in ((True, b"/>"), (False, b">")):
        length = tags.ends[those] - after
        wrong = (is_empty == empty) & ((length != len(closing)) | tags.is_pair[those])
        numbers = np.flatnonzero(wrong)
        yield after[numbers], tags.ends[those[numbers]], [closing] * len(numbers)


def _between_edits(
    shuts: Ints,
    opens: Ints,
    is_first: Flags,
    found: list[re.Match[bytes] | None],
    nexts: pa.DictionaryArray,
) -> _Edits:
    """Edits between two values."""
    normal = [b'" ' + match[1] + b'="' if match else b"" for match in found]
    written = nexts.dictionary.to_pylist()
    is_wrong = np.array(
        [match is not None and a != b for match, a, b in zip(found, normal, written, strict=True)],
        np.bool_,
    )
    codes = numbers_of(nexts.indices)
    those = np.flatnonzero(is_wrong[codes]) if len(codes) else np.empty(0, np.int64)
    values = np.flatnonzero(~is_first)[those]
    texts = [normal[code] for code in codes[those].tolist()]
    return shuts[values - 1], opens[values] + 1, texts


def _moved_edits(rewritten: dict[int, bytes], begins: Ints, ends: Ints) -> _Edits:
    """Edits for texts or values that must be written differently, by number."""
    numbers = np.array(list(rewritten), np.int64)
    return begins[numbers], ends[numbers], list(rewritten.values())


def _text(text: str) -> str:
    if "<" in text:  # something was skipped, in which `&` may be literal
        return text
    return _REFERENCE.sub(_character, _LINE_END.sub("\n", text))


def _attribute_value(text: str) -> str:
    return _REFERENCE.sub(_character, _BLANK.sub(" ", _LINE_END.sub("\n", text)))


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    if name:
        return _ENTITIES[name]
    return chr(int(hexadecimal, 16) if hexadecimal else int(decimal))
