"""The bytes of fillers' elements in the serialiser's normal form.

Answers are built from slices of these bytes. So the bytes are normalised once, when they arrive:
`<a/>` for an empty element, one space before an attribute, double quotes, only the references that
the serialiser writes, no CDATA sections. Then every slice is equal to the evaluator's answer.

`element_text` does this for one element; `edited` applies edits to many at once, and `moved`
returns the new positions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.parsers import expat

import numpy as np

from xcql.arrays import Ints
from xcql.xdm.serialize import escape_attribute, escape_text

# Bytes without any of this are certainly in normal form; bytes with some of it may be, too. Two
# spaces in an attribute value are as suspicious as two spaces between attributes.
_SUSPICIOUS = re.compile(
    rb"""&(?!(?:amp|lt|gt);)|\r|<[!?]|\bxml(?:ns|:id)|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]"""
    rb"""|>[^<>]*>|='|<[^<>]*(?:\s\s|[\t\n]|\s[=/>]|=\s)|<[^/<>][^<>]*(?<!/)></"""
)


def element_text(content: bytes, namespaces: Mapping[str, str], lead: bytes) -> bytes:
    """An element as the serialiser writes it, given its surroundings.

    `lead` is a start tag that declares the `namespaces` around it. Declarations that are already in
    scope are dropped; others come before the attributes, sorted by prefix.

    >>> element_text(b"<a  b='1' ><c></c>&#65;<![CDATA[<]]></a >", {}, b"<x>")
    b'<a b="1"><c/>A&lt;</a>'
    """
    if _SUSPICIOUS.search(content) is None:
        return content
    return _Writer(namespaces).written(content, lead)


class _Writer:
    """Writes an element from a parser's events."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self._scopes: list[Mapping[str, str]] = [namespaces]
        self._parts: list[str] = []
        self._is_open = False  # whether the last start tag still lacks its closing `>`

    def written(self, content: bytes, lead: bytes) -> bytes:
        # without namespace support, so that names are reported as written
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.Parse(lead, False)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.Parse(content, False)
        return "".join(self._parts).encode("utf-8")

    def _content(self, text: str) -> None:
        if self._is_open:
            self._parts.append(">")
            self._is_open = False
        self._parts.append(text)

    def _start(self, name: str, attributes: list[str]) -> None:
        pairs = list(zip(attributes[::2], attributes[1::2], strict=True))
        scope = self._scopes[-1]
        declared = {
            name[6:]: value for name, value in pairs if name == "xmlns" or name[:6] == "xmlns:"
        }
        changed = {prefix: uri for prefix, uri in declared.items() if scope.get(prefix, "") != uri}
        self._scopes.append({**scope, **changed} if changed else scope)
        written = [(f"xmlns:{one}".rstrip(":"), uri) for one, uri in sorted(changed.items())]
        for attribute, value in pairs:
            if attribute == "xml:id":
                value = " ".join(value.split())
            if attribute != "xmlns" and attribute[:6] != "xmlns:":
                written.append((attribute, value))
        self._content(f"<{name}")
        self._parts += [f' {one}="{escape_attribute(value)}"' for one, value in written]
        self._is_open = True

    def _end(self, name: str) -> None:
        self._scopes.pop()
        if self._is_open:
            self._parts.append("/>")
            self._is_open = False
        else:
            self._parts.append(f"</{name}>")

    def _text(self, text: str) -> None:
        self._content(escape_text(text))

    def _comment(self, text: str) -> None:
        self._content(f"<!--{text}-->")

    def _instruction(self, target: str, text: str) -> None:
        self._content(f"<?{target} {text}?>" if text else f"<?{target}?>")


@dataclass(frozen=True, slots=True)
class Edits:
    """Byte ranges and their replacements; they do not overlap."""

    begins: Ints
    ends: Ints
    texts: Sequence[bytes]


NO_EDITS = Edits(np.empty(0, np.int64), np.empty(0, np.int64), ())


def in_order(several: Sequence[tuple[Ints, Ints, Sequence[bytes]]]) -> Edits:
    """Merge edits of several kinds, sorted by position."""
    several = [one for one in several if len(one[0])]
    if not several:
        return NO_EDITS
    begins = np.concatenate([one[0] for one in several])
    ends = np.concatenate([one[1] for one in several])
    texts = [text for one in several for text in one[2]]
    order = np.argsort(begins, kind="stable")
    return Edits(begins[order], ends[order], [texts[number] for number in order.tolist()])


def edited(data: bytes, edits: Edits) -> bytes:
    """The data with all edits applied."""
    if not len(edits.begins):
        return data
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    past = 0
    spans = zip(edits.begins.tolist(), edits.ends.tolist(), edits.texts, strict=True)
    for begin, end, text in spans:
        parts += (view[past:begin], text)
        past = end
    parts.append(view[past:])
    return b"".join(parts)


def moved(positions: Ints, edits: Edits) -> Ints:
    """The new positions after all edits; no position may be inside an edit."""
    if not len(edits.begins):
        return positions
    lengths = np.fromiter(map(len, edits.texts), np.int64, len(edits.texts))
    shifts = np.concatenate([[0], np.cumsum(lengths - (edits.ends - edits.begins))])
    result: Ints = positions + shifts[np.searchsorted(edits.ends, positions, "right")]
    return result
