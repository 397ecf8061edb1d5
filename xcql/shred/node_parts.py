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
from xcql.model.tags import STREAM_NAMESPACE, Tag, TagStructure
from xcql.shred.namespaces import context, namespaces_of
from xcql.shred.node_paths import (
    COMMENT_STEP,
    HOLE_STEP,
    INSTRUCTION_STEP,
    TEXT_STEP,
    attribute_step,
    tag_step,
)
from xcql.shred.tokens import EMPTY, Elements, Tokens, elements_of, tokenize
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

# a whole start tag, and an attribute in it; values may contain a `>`
_START_TAG = re.compile(rb"""<[^\s/>]+(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_ATTRIBUTE = re.compile(rb"""([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_NAME_IN_TAG = re.compile(rb"<[^\s/>]+")

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

    def number(self, step: str) -> int:
        """The number of a step that does not lead to elements."""
        number = self._others.get(step)
        if number is None:
            number = self._others[step] = len(self.names)
            self.names.append(step)
        return number

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


def read_plain(
    data: bytes, borders: Ints, declarations: str, tag: int, steps: Steps
) -> tuple[NodePart | None, Flags]:
    """The nodes of concatenated elements of a tag, and flags for those that are not plain.

    `borders` are the offsets of the elements, `declarations` the namespaces around all of them. The
    rows are numbered from 0. None of the elements may be plain.
    """
    count = len(borders) - 1
    tokens = tokenize(data)
    elements = elements_of(tokens) if tokens is not None else None
    if tokens is None or elements is None or len(elements.levels[0]) != count:
        return None, np.ones(count, np.bool_)
    if len(steps.tags) * len(tokens.name_list) > _MAX_PAIRS:
        return None, np.ones(count, np.bool_)
    scope = _Scope(declarations)
    rows = np.cumsum(elements.parents < 0) - 1
    owners = np.searchsorted(elements.first_tags, tokens.attribute_tags)
    element_steps = _element_steps(tokens, elements, scope, tag, steps)
    attributes = [scope.attribute(name) for name in tokens.attribute_list]
    is_unusual = np.array([name is None for name in attributes], np.bool_)
    holes = np.flatnonzero(element_steps == _HOLE)
    hole_ids, odd_holes = _hole_ids(tokens, elements, owners, holes)

    slow = np.zeros(count, np.bool_)
    for positions in (tokens.skipped, tokens.edits.begins):
        slow[np.searchsorted(borders, positions, "right") - 1] = True
    slow[rows[element_steps == _NO_TAG]] = True
    slow[rows[owners[is_unusual[tokens.attribute_names]]]] = True
    slow[rows[odd_holes]] = True
    if slow.all():
        return None, slow

    attribute_steps = np.array(
        [steps.attribute(name) if name is not None else _NO_TAG for name in attributes], np.int64
    )
    name_lengths = np.array([len(name.encode()) for name in tokens.attribute_list], np.int64)
    kept = np.flatnonzero(~slow[rows])
    numbers = np.full(len(rows) + 1, -1)  # the last one is the parent of the filler's element
    numbers[kept] = np.arange(len(kept))
    borders_of_texts = offsets_of(tokens.texts)
    is_text = (borders_of_texts[1:] > borders_of_texts[:-1]) & (elements.owners >= 0)
    texts = np.flatnonzero(is_text)
    texts = texts[numbers[elements.owners[texts]] >= 0]
    those = np.flatnonzero((numbers[owners] >= 0) & (element_steps[owners] != _HOLE))

    # the values of elements: their only text, or nothing
    empty = len(tokens.texts) + len(tokens.attribute_values)
    first_tags, last_tags = elements.first_tags[kept], elements.last_tags[kept]
    values = np.where(last_tags == first_tags + 1, first_tags, -1)
    values[tokens.kinds[first_tags] == EMPTY] = empty
    is_kept_hole = numbers[holes] >= 0
    values[numbers[holes[is_kept_hole]]] = len(tokens.texts) + hole_ids[is_kept_hole]
    all_steps = np.where(element_steps == _HOLE, steps.hole, element_steps)

    text_owners, attribute_owners = elements.owners[texts], owners[those]
    levels = _levels(elements)
    bases = borders[:-1][rows]
    attribute_begins = (
        tokens.opening_quotes[those] - 1 - name_lengths[tokens.attribute_names[those]]
    )
    text_ends = np.append(tokens.begins[1:], len(data))[texts]
    part = NodePart(
        _joined(rows[kept], rows[text_owners], rows[attribute_owners]),
        _joined(numbers[elements.parents[kept]], numbers[text_owners], numbers[attribute_owners]),
        _joined(
            all_steps[kept],
            np.full(len(texts), steps.text),
            attribute_steps[tokens.attribute_names[those]],
        ),
        _joined(
            tokens.begins[first_tags] - bases[kept],
            tokens.ends[texts] - bases[text_owners],
            attribute_begins - bases[attribute_owners],
        ),
        _joined(
            tokens.ends[last_tags] - tokens.begins[first_tags],
            text_ends - tokens.ends[texts],
            tokens.closing_quotes[those] + 1 - attribute_begins,
        ),
        _joined(levels[kept], levels[text_owners] + 1, levels[attribute_owners] + 1),
        _joined(values, texts, len(tokens.texts) + those),
        pa.concat_arrays([tokens.texts, tokens.attribute_values, pa.array([b""])]),
    )
    return part, slow


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


def _hole_ids(tokens: Tokens, elements: Elements, owners: Ints, holes: Ints) -> tuple[Ints, Ints]:
    """The attributes with the holes' ids, and the holes that must be read another way."""
    ids = np.full(len(holes), -1)
    is_odd = tokens.kinds[elements.first_tags[holes]] != EMPTY
    if len(holes) and "id" in tokens.attribute_list:
        those = np.flatnonzero(tokens.attribute_names == tokens.attribute_list.index("id"))
        found = np.searchsorted(owners[those], holes)
        has_id = found < len(those)
        has_id[has_id] = owners[those[found[has_id]]] == holes[has_id]
        ids[has_id] = those[found[has_id]]
        values = taken(tokens.attribute_values, np.maximum(ids, 0))
        is_odd[having(values, b" \t\r\n")] = True
        is_odd |= np.diff(offsets_of(values)) == 0
    return ids, holes[is_odd | (ids < 0)]


def _levels(elements: Elements) -> Ints:
    levels = np.empty(len(elements.names), np.int64)
    for number, level in enumerate(elements.levels):
        levels[level] = number
    return levels


@dataclass(slots=True)
class _Nodes:
    """Columns of nodes that are filled one by one."""

    rows: array[int] = field(default_factory=lambda: array("i"))
    parents: array[int] = field(default_factory=lambda: array("i"))
    steps: array[int] = field(default_factory=lambda: array("i"))
    starts: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    levels: array[int] = field(default_factory=lambda: array("i"))
    values: list[str | None] = field(default_factory=list)

    def add(
        self, row: int, parent: int, step: int, start: int, end: int, level: int, value: str | None
    ) -> None:
        self.rows.append(row)
        self.parents.append(parent)
        self.steps.append(step)
        self.starts.append(start)
        self.lengths.append(end - start)
        self.levels.append(level)
        self.values.append(value)


class SlowReader:
    """Reads elements one by one, whatever they contain."""

    def __init__(self, tag: int, steps: Steps) -> None:
        self._tag = tag
        self._steps = steps
        self._elements = _Nodes()
        self._others = _Nodes()
        # (tag, name as reported by expat) -> step
        self._children: dict[tuple[int, str], int] = {}
        self._attributes: dict[str, int] = {}

    def add(self, row: int, element: bytes, declarations: str) -> None:
        """Read one filler's element, with the namespaces declared around it."""
        lead, _ = context(declarations)
        shift = len(lead)
        steps, elements, others = self._steps, self._elements, self._others
        parser = expat.ParserCreate("utf-8", NAME_SEPARATOR)
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.buffer_text = True
        stack: list[int] = []  # the numbers of the open elements
        tag_ends: list[int] = []  # the ends of their start tags
        text: list[str] = []  # since the last markup
        markup_end = 0  # where that markup ends
        hole: str | None = None  # the id of the open hole

        def end_text(at: int) -> None:
            """End the text before some markup."""
            if text:
                value = "".join(text)
                text.clear()
                others.add(row, stack[-1], steps.text, markup_end, at, len(stack), value)

        def not_only_text() -> None:
            if stack:
                elements.values[stack[-1]] = None

        def start(raw_name: str, attributes: list[str]) -> None:
            nonlocal markup_end, hole
            at = parser.CurrentByteIndex - shift
            end_text(at)
            not_only_text()
            step = self._child(stack, raw_name)
            match = _START_TAG.match(element, at)
            assert match is not None, "a start tag begins where expat reports one"
            tag_ends.append(match.end())
            parent = stack[-1] if stack else -1
            if step == _HOLE:
                pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
                hole = pairs["id"].strip()
                # its end is set when it is read
                elements.add(row, parent, steps.hole, at, at, len(stack), hole)
                stack.append(len(elements.rows) - 1)
                parser.StartElementHandler = None
                parser.CommentHandler = parser.ProcessingInstructionHandler = None
                return
            elements.add(row, parent, step, at, at, len(stack), "")
            stack.append(len(elements.rows) - 1)
            markup_end = match.end()
            if attributes:
                add_attributes(match, attributes)

        def add_attributes(tag: re.Match[bytes], attributes: list[str]) -> None:
            name = _NAME_IN_TAG.match(tag[0])
            assert name is not None
            spans = [
                one.span()
                for one in _ATTRIBUTE.finditer(tag[0], name.end())
                if one[1] != b"xmlns" and not one[1].startswith(b"xmlns:")
            ]
            for (begin, end), raw_name, value in zip(
                spans, attributes[::2], attributes[1::2], strict=True
            ):
                step = self._attribute(raw_name)
                if raw_name.startswith(XML_NAMESPACE) and expanded_name(raw_name).local == "id":
                    value = " ".join(value.split())
                at = tag.start()
                others.add(row, stack[-1], step, at + begin, at + end, len(stack), value)

        def end(raw_name: str) -> None:
            nonlocal markup_end, hole
            number, past = stack.pop(), tag_ends.pop()
            if element[past - 2 : past] != b"/>":
                at = parser.CurrentByteIndex - shift
                past = element.index(b">", at) + 1
                if hole is None:
                    stack.append(number)
                    if elements.values[number] is not None:
                        elements.values[number] = "".join(text)
                    end_text(at)
                    stack.pop()
            if hole is not None:
                hole = None
                text.clear()
                parser.StartElementHandler = start
                parser.CommentHandler = comment
                parser.ProcessingInstructionHandler = instruction
            markup_end = past
            elements.lengths[number] = past - elements.starts[number]

        def comment(value: str) -> None:
            add_markup(steps.comment, b"-->", value)

        def instruction(target: str, value: str) -> None:
            add_markup(steps.instruction, b"?>", f"{target} {value}" if value else target)

        def add_markup(step: int, closing: bytes, value: str) -> None:
            nonlocal markup_end
            at = parser.CurrentByteIndex - shift
            end_text(at)
            not_only_text()
            # neither `<!-->` nor `<?>` is markup that has ended
            markup_end = element.index(closing, at + 4 if step == steps.comment else at) + len(
                closing
            )
            others.add(row, stack[-1], step, at, markup_end, len(stack), value)

        parser.Parse(lead, False)
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append
        parser.CommentHandler = comment
        parser.ProcessingInstructionHandler = instruction
        try:
            parser.Parse(element, False)
        except expat.ExpatError as problem:
            raise ValueError(f"a filler's element is not well-formed: {problem}") from None

    def part(self) -> NodePart | None:
        """All nodes read so far."""
        elements, others = self._elements, self._others
        if not elements.rows:
            return None
        values = [*elements.values, *others.values]
        pool = [value.encode() for value in values if value is not None]
        is_there = np.array([value is not None for value in values], np.bool_)

        def both(first: array[int], second: array[int]) -> Numbers:
            return _joined(np.array(first, np.int32), np.array(second, np.int32))

        return NodePart(
            both(elements.rows, others.rows),
            both(elements.parents, others.parents),
            both(elements.steps, others.steps),
            both(elements.starts, others.starts),
            both(elements.lengths, others.lengths),
            both(elements.levels, others.levels),
            np.where(is_there, np.cumsum(is_there) - 1, -1).astype(np.int32),
            pa.array(pool, pa.binary()),
        )

    def _child(self, stack: list[int], raw_name: str) -> int:
        parent = self._elements.steps[stack[-1]] if stack else _NO_TAG
        step = self._children.get((parent, raw_name))
        if step is None:
            name = expanded_name(raw_name)
            tags = self._steps.tags
            if stack:
                step = self._steps.child(tags[parent], name)
            else:
                step = self._tag if name == tags[self._tag].name else _NO_TAG
            if step == _NO_TAG:
                raise ValueError(f"the tag structure does not declare <{name}> at its place")
            self._children[parent, raw_name] = step
        return step

    def _attribute(self, raw_name: str) -> int:
        step = self._attributes.get(raw_name)
        if step is None:
            step = self._attributes[raw_name] = self._steps.attribute(expanded_name(raw_name))
        return step
