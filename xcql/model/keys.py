"""Keys: what identifies an element among its siblings, such as `//planet=name[1]`.

A key is an attribute of the element, or the text or an attribute of an element inside it. Without
a declared key, it is the attribute that the Tag Structure declares as an ID, `id`, or `xml:id`.

Tests: tests/history/test_changes.py, tests/model/test_infer_keys.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xcql.diagnostics import error
from xcql.model.paths import find_at
from xcql.model.tags import Tag, TagStructure
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name

# the characters that begin a token of a parsed element; XML allows none of them in text
START, ATTRIBUTE, VALUE, END, COMMENT, INSTRUCTION, HOLE = "\x01\x02\x03\x04\x06\x07\x08"

_STEP = re.compile(r"(?:[^\W\d][\w.\-]*:)?([^\W\d][\w.\-]*)(?:\[1\])?")
_XML_ID = f"{XML_NAMESPACE}{NAME_SEPARATOR}id{NAME_SEPARATOR}xml"


@dataclass(frozen=True, slots=True)
class Key:
    """The names of the elements down to the value, and the attribute there, if it is one.

    >>> print(Key(("name",)), Key((), "ssn"), Key(("head",), "no"))
    name[1] @ssn head[1]/@no
    """

    steps: tuple[str, ...] = ()
    attribute: str | None = None

    def __str__(self) -> str:
        attribute = [] if self.attribute is None else [f"@{self.attribute}"]
        return "/".join([*(f"{step}[1]" for step in self.steps), *attribute])


def read_keys(texts: Iterable[str], structure: TagStructure) -> dict[str, Key]:
    """Keys by tag id, from strings such as `//person=@ssn` and `//planet=name[1]`."""
    places = tag_places(structure)
    keys: dict[str, Key] = {}
    for text in texts:
        path, sign, value = text.rpartition("=")
        key = parse_key(value)
        if not sign or key is None:
            raise error(
                "XCQL0260",
                f"'{text}' is not a valid key",
                hints=["write //person=@ssn for an attribute, //planet=name[1] for a child"],
            )
        for tag in find_at(path, places):
            _check_inline(structure, tag, key)
            keys[tag.id] = key
    return keys


def tag_places(structure: TagStructure) -> list[tuple[Tag, tuple[QName, ...]]]:
    """Every tag with the names on the path to it, in document order, without references."""
    places: list[tuple[Tag, tuple[QName, ...]]] = []
    pending: list[tuple[Tag, tuple[QName, ...]]] = [(structure.root, (structure.root.name,))]
    while pending:
        tag, names = pending.pop()
        if tag.ref is None:
            places.append((tag, names))
        pending += [(child, (*names, child.name)) for child in reversed(tag.children)]
    return places


def default_attributes(tag: Tag) -> tuple[str, ...]:
    """The attributes of which the first is the key of an element without a declared key."""
    declared = [one.name for one in tag.attributes if one.type == "ID"]
    return (*(name.local for name in declared if not name.uri), "id", _XML_ID)


def key_value(tokens: Sequence[str], key: Key) -> str | None:
    """The value of the key in an element given as tokens; None if the element has none.

    >>> tokens = ["\\x01a", "\\x02id\\x037", "\\x01b", "x", "\\x04", "\\x04"]
    >>> key_value(tokens, Key((), "id")), key_value(tokens, Key(("b",)))
    ('7', 'x')
    """
    depth = matched = 0
    inside = False
    text: list[str] = []
    for token in tokens:
        mark = token[0]
        if mark == START:
            depth += 1
            inside = inside and key.attribute is None
            if not inside and matched == depth - 2 and matched < len(key.steps):
                matched += expanded_name(token[1:]).local == key.steps[matched]
            inside = inside or matched == len(key.steps) == depth - 1
        elif mark == END:
            depth -= 1
            if matched == depth:
                if inside and key.attribute is None:
                    return "".join(text)
                # a later element may be on the path
                inside, matched = False, matched - 1
        elif inside and mark == ATTRIBUTE and key.attribute is not None:
            name, _, value = token[1:].partition(VALUE)
            if name == key.attribute:
                return value
        elif inside and mark > HOLE:
            text.append(token)
    return None


def parse_key(text: str) -> Key | None:
    """The key in a string such as `@ssn`, `name[1]` or `head[1]/@no`; None if it is not one."""
    elements, at, attribute = text.strip().rpartition("@")
    if at and (not attribute or (elements and not elements.endswith("/"))):
        return None
    path = elements.removesuffix("/") if at else attribute
    steps = [_STEP.fullmatch(step) for step in path.split("/")] if path else []
    if not (steps or at) or not all(steps):
        return None
    return Key(tuple(step[1] for step in steps if step), attribute if at else None)


def _check_inline(structure: TagStructure, tag: Tag, key: Key) -> None:
    """Refuse a key whose value is in another filler or cannot exist."""
    tags = [tag]
    for step in key.steps:
        tags = [
            child
            for parent in tags
            for child in structure.children(parent)
            if child.name.local == step
        ]
        if not tags or any(child.is_fragmented for child in tags):
            problem = "has a history of its own" if tags else "is not declared there"
            raise error(
                "XCQL0260",
                f"the key {key} of {structure.path_of(tag)} cannot be used: {step} {problem}",
                hints=["a key is an attribute or a snapshot element inside the element"],
            )
