"""The nodes of elements, read from their bytes: all plain elements at once, the others one by one.

An element is plain if it is in normal form and has no comments, processing instructions or
namespace declarations inside. `read_plain` reads plain elements with arrays (`tokens`);
`SlowReader` reads any element with a parser. Both describe a node by its step from its parent
(`node_paths`) and its byte range; `nodes` turns that into paths and a table.

Tests: tests/shred/test_nodes.py
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from xcql.arrays import Flags, Ints, Numbers, having, offsets_of, taken
from xcql.model.scan import START_TAG
from xcql.model.tags import STREAM_NAMESPACE, Tag, TagStructure
from xcql.shred.namespaces import context, namespaces_of
from xcql.shred.node_paths import (
    COMMENT_STEP,
    HOLE_STEP,
    INSTRUCTION_STEP,
    KINDS,
    TEXT_STEP,
    attribute_step,
    read_path,
    tag_step,
)
from xcql.shred.tokens import EMPTY, Elements, Tokens, elements_of, tokenize
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

# an attribute in a start tag
_ATTRIBUTE = re.compile(rb"""(?<=\s)([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")

_NO_TAG, _HOLE = -1, -2
# the table of (tag, name) pairs must be small
_MAX_PAIRS = 1 << 22


class Steps:
    """The steps from elements to their children and attributes, and a number for each.

    The first numbers are those of the tags; they are the steps to elements.
    """

    def __init__(self, structure: TagStructure) -> None:
        self.structure = structure
        self.tags = list(structure)
        self.tag_numbers = {tag.id: number for number, tag in enumerate(self.tags)}
        self.names = [tag_step(tag.id) for tag in self.tags]
        # steps other than those to elements
        self._others: dict[str, int] = {}
        self.text = self.number(TEXT_STEP)
        self.comment = self.number(COMMENT_STEP)
        self.instruction = self.number(INSTRUCTION_STEP)
        self.hole = self.number(HOLE_STEP)
        self.xml_id = self.attribute(QName(XML_NAMESPACE, "id"))

    def number(self, step: str) -> int:
        """The number of a step that does not lead to elements."""
        number = self._others.get(step)
        if number is None:
            number = self._others[step] = len(self.names)
            self.names.append(step)
        return number

    def kind_and_name(self, path: str) -> tuple[int, str, str]:
        """The kind of the nodes on a path, and their expanded name; then the path itself."""
        kind, id, name = read_path(path)
        if kind == "element":
            tag = self.tags[self.tag_numbers[id]]
            name = tag.name.clark if tag.name.uri else tag.name.local
        return KINDS[kind], name, path

    def attribute(self, name: QName) -> int:
        return self.number(attribute_step(name.clark if name.uri else name.local))

    def child(self, parent: Tag, name: QName) -> int:
        """The number of the step to a child element, _HOLE, or _NO_TAG if it is not declared."""
        if name.local == "hole" and (name.prefix == "stream" or not name.uri):
            return _HOLE
        tag = self.structure.child(parent, name.uri, name.local)
        return _NO_TAG if tag is None else self.tag_numbers[tag.id]


@dataclass(frozen=True, slots=True)
class NodePart:
    """Some nodes, elements before others; nodes with the same step are in document order by row.

    `parents` are numbers of nodes, -1 for a filler's element. `values` are indexes into `pool`, -1
    for a node without a value.
    """

    rows: Numbers
    parents: Numbers
    steps: Numbers
    starts: Numbers
    lengths: Numbers
    levels: Numbers
    values: Numbers
    pool: pa.BinaryArray

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class _Text:
    """Concatenated elements: their tokens, and what is known about each element and attribute."""

    tokens: Tokens
    elements: Elements
    # of each element
    rows: Ints
    levels: Ints
    steps: Ints
    # the element of each attribute, and the step to it; _NO_TAG for a declaration
    owners: Ints
    attribute_steps: Ints


def read_plain(
    data: bytes, borders: Ints, declarations: str, tag: int, steps: Steps
) -> tuple[NodePart | None, Flags]:
    """The nodes of concatenated elements of a tag, and flags for those that are not plain.

    `borders` are the offsets of the elements, `declarations` the namespaces around all of them. The
    rows are numbered from 0. None of the elements may be plain.
    """
    none_is_plain = np.ones(len(borders) - 1, np.bool_)
    tokens = tokenize(data)
    elements = elements_of(tokens) if tokens is not None else None
    if tokens is None or elements is None or len(elements.levels[0]) != len(none_is_plain):
        return None, none_is_plain
    if len(steps.tags) * len(tokens.name_list) > _MAX_PAIRS:
        return None, none_is_plain
    text = _resolved(tokens, elements, _Scope(declarations), tag, steps)
    hole_ids = _hole_ids(text)
    slow = _slow_rows(text, borders, hole_ids)
    if slow.all():
        return None, slow
    # elements are numbered again without those in slow rows; the last number is the parent of the
    # fillers' elements
    kept = np.flatnonzero(~slow[text.rows])
    numbers = np.full(len(text.rows) + 1, -1)
    numbers[kept] = np.arange(len(kept))
    parts = (
        _elements(text, kept, numbers, borders, hole_ids, steps.hole),
        _texts(text, numbers, borders, steps.text, len(data)),
        _attributes(text, numbers, borders),
    )
    pool = pa.concat_arrays([tokens.texts, tokens.attribute_values, pa.array([b""])])
    rows, parents, numbered_steps, starts, lengths, levels, values = (
        _joined(*columns) for columns in zip(*parts, strict=True)
    )
    return NodePart(rows, parents, numbered_steps, starts, lengths, levels, values, pool), slow


def _resolved(tokens: Tokens, elements: Elements, scope: _Scope, tag: int, steps: Steps) -> _Text:
    attributes = [scope.attribute(name) for name in tokens.attribute_list]
    numbers = [_NO_TAG if name is None else steps.attribute(name) for name in attributes]
    levels = np.empty(len(elements.names), np.int64)
    for number, level in enumerate(elements.levels):
        levels[level] = number
    return _Text(
        tokens,
        elements,
        np.cumsum(elements.parents < 0) - 1,
        levels,
        _element_steps(tokens, elements, scope, tag, steps),
        np.searchsorted(elements.first_tags, tokens.attribute_tags),
        np.array(numbers, np.int64)[tokens.attribute_names],
    )


def _slow_rows(text: _Text, borders: Ints, hole_ids: Ints) -> Flags:
    """The rows that must be read another way."""
    tokens, rows = text.tokens, text.rows
    slow = np.zeros(len(borders) - 1, np.bool_)
    for positions in (tokens.skipped, tokens.edits.begins):
        slow[np.searchsorted(borders, positions, "right") - 1] = True
    slow[rows[text.steps == _NO_TAG]] = True
    slow[rows[text.owners[text.attribute_steps == _NO_TAG]]] = True
    holes = np.flatnonzero(text.steps == _HOLE)
    has_content = tokens.kinds[text.elements.first_tags[holes]] != EMPTY
    slow[rows[holes[has_content | (hole_ids[holes] < 0)]]] = True
    return slow


def _hole_ids(text: _Text) -> Ints:
    """For each element, the attribute with the id of a hole; -1 if it has none, or an odd one."""
    ids = np.full(len(text.rows), -1)
    if "id" in text.tokens.attribute_list:
        number = text.tokens.attribute_list.index("id")
        is_id = (text.tokens.attribute_names == number) & (text.steps[text.owners] == _HOLE)
        those = np.flatnonzero(is_id)
        values = taken(text.tokens.attribute_values, those)
        is_odd = np.diff(offsets_of(values)) == 0
        is_odd[having(values, b" \t\r\n")] = True
        ids[text.owners[those[~is_odd]]] = those[~is_odd]
    return ids


# the columns of a `NodePart`, except the pool, for nodes of one kind
_Columns = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]


def _elements(
    text: _Text, kept: Ints, numbers: Ints, borders: Ints, hole_ids: Ints, hole: int
) -> _Columns:
    """The kept elements, with holes."""
    tokens, elements, rows = text.tokens, text.elements, text.rows[kept]
    first_tags, last_tags = elements.first_tags[kept], elements.last_tags[kept]
    # their values are their only text, or nothing
    values = np.where(last_tags == first_tags + 1, first_tags, -1)
    values[tokens.kinds[first_tags] == EMPTY] = len(tokens.texts) + len(tokens.attribute_values)
    is_hole = text.steps[kept] == _HOLE
    values[is_hole] = len(tokens.texts) + hole_ids[kept[is_hole]]
    begins, ends = tokens.begins[first_tags], tokens.ends[last_tags]
    return (
        rows,
        numbers[elements.parents[kept]],
        np.where(is_hole, hole, text.steps[kept]),
        begins - borders[rows],
        ends - begins,
        text.levels[kept],
        values,
    )


def _texts(text: _Text, numbers: Ints, borders: Ints, step: int, size: int) -> _Columns:
    """The texts in kept elements."""
    tokens, owners = text.tokens, text.elements.owners
    is_there = np.diff(offsets_of(tokens.texts)) > 0
    those = np.flatnonzero(is_there & (owners >= 0) & (numbers[owners] >= 0))
    rows = text.rows[owners[those]]
    begins, ends = tokens.ends[those], np.append(tokens.begins[1:], size)[those]
    return (
        rows,
        numbers[owners[those]],
        np.full(len(those), step),
        begins - borders[rows],
        ends - begins,
        text.levels[owners[those]] + 1,
        those,
    )


def _attributes(text: _Text, numbers: Ints, borders: Ints) -> _Columns:
    """The attributes of kept elements; those of holes are no nodes."""
    tokens, owners = text.tokens, text.owners
    those = np.flatnonzero((numbers[owners] >= 0) & (text.steps[owners] != _HOLE))
    rows = text.rows[owners[those]]
    lengths = np.array([len(name.encode()) for name in tokens.attribute_list], np.int64)
    # in normal form, nothing is between a name and its value
    begins = tokens.opening_quotes[those] - 1 - lengths[tokens.attribute_names[those]]
    return (
        rows,
        numbers[owners[those]],
        text.attribute_steps[those],
        begins - borders[rows],
        tokens.closing_quotes[those] + 1 - begins,
        text.levels[owners[those]] + 1,
        len(tokens.texts) + those,
    )


def _joined(*parts: Ints) -> Numbers:
    return np.concatenate(parts).astype(np.int32)


class _Scope:
    """Names as they are written, resolved with the declarations around elements."""

    def __init__(self, declarations: str) -> None:
        self._uris = {"": "", "stream": STREAM_NAMESPACE, "xml": XML_NAMESPACE}
        self._uris |= namespaces_of(declarations)

    def element(self, name: str) -> QName | None:
        """The name of an element; None if it cannot be resolved."""
        prefix, _, local = name.rpartition(":")
        uri = self._uris.get(prefix)
        return None if uri is None or not local else QName(uri, local, prefix)

    def attribute(self, name: str) -> QName | None:
        """The name of an attribute; None if it is a declaration or cannot be resolved."""
        if ":" in name:
            return self.element(name)
        return QName("", name) if name not in ("", "xmlns") else None


def _element_steps(
    tokens: Tokens, elements: Elements, scope: _Scope, tag: int, steps: Steps
) -> Ints:
    """The step to each element: the number of its tag, _HOLE, or _NO_TAG."""
    names = [scope.element(name) for name in tokens.name_list]
    size = len(names)
    found = np.full(len(elements.names), _NO_TAG)
    child_steps = np.full(len(steps.tags) * size, _NO_TAG)
    is_known = np.zeros(len(child_steps), np.bool_)
    is_called = np.array([name == steps.tags[tag].name for name in names])
    top = elements.levels[0]
    found[top[is_called[elements.names[top]]]] = tag
    for level in elements.levels[1:]:
        above = found[elements.parents[level]]
        level, above = level[above >= 0], above[above >= 0]
        pairs = above * size + elements.names[level]
        is_there = np.zeros(len(child_steps), np.bool_)
        is_there[pairs] = True
        for pair in np.flatnonzero(is_there & ~is_known).tolist():
            name = names[pair % size]
            if name is not None:
                child_steps[pair] = steps.child(steps.tags[pair // size], name)
        is_known |= is_there
        found[level] = child_steps[pairs]
    return found


@dataclass(slots=True)
class _Nodes:
    """Columns of nodes that are filled one by one."""

    rows: array[int] = field(default_factory=lambda: array("i"))
    parents: array[int] = field(default_factory=lambda: array("i"))
    steps: array[int] = field(default_factory=lambda: array("i"))
    starts: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    levels: array[int] = field(default_factory=lambda: array("i"))
    values: array[int] = field(default_factory=lambda: array("i"))

    def add(
        self, row: int, parent: int, step: int, span: tuple[int, int], level: int, value: int
    ) -> None:
        self.rows.append(row)
        self.parents.append(parent)
        self.steps.append(step)
        self.starts.append(span[0])
        self.lengths.append(span[1] - span[0])
        self.levels.append(level)
        self.values.append(value)


class SlowReader:
    """Reads elements one by one, whatever they contain."""

    def __init__(self, tag: int, steps: Steps) -> None:
        self._tag = tag
        self._steps = steps
        self._elements = _Nodes()
        self._others = _Nodes()
        self._pool = [b""]
        # (tag, name as reported by expat) -> step
        self._children: dict[tuple[int, str], int] = {}
        self._attributes: dict[str, int] = {}
        # the row that is read: its element, and where it begins in the parsed text
        self._row = 0
        self._element = b""
        self._shift = 0
        self._parser = expat.ParserCreate()
        self._stack: list[int] = []  # the numbers of the open elements
        self._tag_ends: list[int] = []  # where their start tags end
        self._text: list[str] = []  # since the last markup
        self._markup_end = 0  # where that markup ends

    def add(self, row: int, element: bytes, declarations: str) -> None:
        """Read one filler's element, with the namespaces declared around it."""
        lead, _ = context(declarations)
        self._row, self._element, self._shift = row, element, len(lead)
        self._parser = parser = expat.ParserCreate("utf-8", NAME_SEPARATOR)
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.Parse(lead, False)
        parser.CharacterDataHandler = self._text.append
        self._handle_content()
        try:
            parser.Parse(element, False)
        except expat.ExpatError as problem:
            raise ValueError(f"a filler's element is not well-formed: {problem}") from None

    def part(self) -> NodePart | None:
        """All nodes read so far."""
        elements, others = self._elements, self._others
        if not elements.rows:
            return None

        def both(first: array[int], second: array[int]) -> Numbers:
            return _joined(np.array(first, np.int64), np.array(second, np.int64))

        return NodePart(
            both(elements.rows, others.rows),
            both(elements.parents, others.parents),
            both(elements.steps, others.steps),
            both(elements.starts, others.starts),
            both(elements.lengths, others.lengths),
            both(elements.levels, others.levels),
            both(elements.values, others.values),
            pa.array(self._pool, pa.binary()),
        )

    def _handle_content(self) -> None:
        parser = self._parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction

    def _start(self, raw_name: str, attributes: list[str]) -> None:
        at = self._end_text()
        step = self._child(raw_name)
        match = START_TAG.match(self._element, at)
        assert match is not None, "a start tag begins where expat reports one"
        is_hole = step == _HOLE
        # an element's end and value are set when they are known
        self._elements.add(
            self._row,
            self._stack[-1] if self._stack else -1,
            self._steps.hole if is_hole else step,
            (at, at),
            len(self._stack),
            self._pooled(_id_of(attributes)) if is_hole else 0,
        )
        self._stack.append(len(self._elements.rows) - 1)
        self._tag_ends.append(match.end())
        self._markup_end = match.end()
        if is_hole:
            # nothing inside is a node, and there are no elements
            parser = self._parser
            parser.StartElementHandler = parser.CommentHandler = None
            parser.ProcessingInstructionHandler = None
            parser.EndElementHandler = self._end_hole
        elif attributes:
            self._add_attributes(match, attributes)

    def _add_attributes(self, tag: re.Match[bytes], attributes: list[str]) -> None:
        spans = [
            (tag.start() + one.start(), tag.start() + one.end())
            for one in _ATTRIBUTE.finditer(tag[0])
            if one[1] != b"xmlns" and not one[1].startswith(b"xmlns:")
        ]
        pairs = zip(spans, attributes[::2], attributes[1::2], strict=True)
        for span, raw_name, value in pairs:
            step = self._attributes.get(raw_name)
            if step is None:
                name = expanded_name(raw_name)
                step = self._attributes[raw_name] = self._steps.attribute(name)
            if step == self._steps.xml_id:
                value = " ".join(value.split())
            self._add(step, span, value)

    def _end(self, raw_name: str) -> None:
        number, past = self._stack[-1], self._tag_ends[-1]
        if self._element[past - 2 : past] != b"/>":
            is_only_text = bool(self._text) and self._elements.values[number] >= 0
            past = self._element.index(b">", self._end_text(is_content=False)) + 1
            if is_only_text:
                self._elements.values[number] = self._others.values[-1]
        self._close(past)

    def _end_hole(self, raw_name: str) -> None:
        past = self._tag_ends[-1]
        if self._element[past - 2 : past] != b"/>":
            past = self._element.index(b">", self._position()) + 1
        self._text.clear()
        self._close(past)
        self._handle_content()

    def _close(self, past: int) -> None:
        """The innermost open element ends here."""
        number = self._stack.pop()
        self._tag_ends.pop()
        self._elements.lengths[number] = past - self._elements.starts[number]
        self._markup_end = past

    def _comment(self, value: str) -> None:
        at = self._end_text()
        # `<!-->` is not a comment
        self._add_markup(self._steps.comment, at, at + len(b"<!--"), b"-->", value)

    def _instruction(self, target: str, value: str) -> None:
        at = self._end_text()
        text = f"{target} {value}" if value else target
        self._add_markup(self._steps.instruction, at, at, b"?>", text)

    def _add_markup(self, step: int, at: int, inside: int, closing: bytes, value: str) -> None:
        self._markup_end = self._element.index(closing, inside) + len(closing)
        self._add(step, (at, self._markup_end), value)

    def _end_text(self, *, is_content: bool = True) -> int:
        """End the text before markup, content or an end tag; return where the markup begins."""
        at = self._position()
        if self._text:
            self._add(self._steps.text, (self._markup_end, at), "".join(self._text))
            self._text.clear()
        if is_content and self._stack:
            # the parent has more than text
            self._elements.values[self._stack[-1]] = -1
        return at

    def _add(self, step: int, span: tuple[int, int], value: str) -> None:
        """Add a node, not an element, to the innermost open element."""
        pooled = self._pooled(value)
        self._others.add(self._row, self._stack[-1], step, span, len(self._stack), pooled)

    def _pooled(self, value: str) -> int:
        self._pool.append(value.encode())
        return len(self._pool) - 1

    def _position(self) -> int:
        return self._parser.CurrentByteIndex - self._shift

    def _child(self, raw_name: str) -> int:
        """The step to a child of the innermost open element, or to the filler's element."""
        parent = self._elements.steps[self._stack[-1]] if self._stack else _NO_TAG
        step = self._children.get((parent, raw_name))
        if step is None:
            name, tags = expanded_name(raw_name), self._steps.tags
            if self._stack:
                step = self._steps.child(tags[parent], name)
            else:
                step = self._tag if name == tags[self._tag].name else _NO_TAG
            if step == _NO_TAG:
                raise ValueError(f"the tag structure does not declare <{name}> at its place")
            self._children[parent, raw_name] = step
        return step


def _id_of(attributes: list[str]) -> str:
    return dict(zip(attributes[::2], attributes[1::2], strict=True))["id"].strip()
