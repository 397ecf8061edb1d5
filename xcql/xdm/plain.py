"""Parses plain elements one after the other, straight into a tree under construction.

One run of expat reads them all: creating a parser takes longer than parsing a small element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.parsers import expat

from xcql.xdm.builder import TreeBuilder
from xcql.xdm.names import QName
from xcql.xdm.nodes import ElementNode
from xcql.xdm.parse import NAME_SEPARATOR, expanded_name, malformed

# attribute names and their values
Pairs = Iterable[tuple[QName, str]]

_AROUND = b"<plain>"


class PlainParser:
    """Adds UTF-8 elements at a builder's position, with others inside them if necessary.

    They must be plain: no namespace declarations, no `xml:id`.

    >>> builder = TreeBuilder()
    >>> builder.start_document()
    >>> parser = PlainParser(builder)
    >>> parser.put(b"<a n='1'><b/></a>", lambda own: list(own)[1:]).attributes, parser.elements
    ([], 2)
    """

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        # the number of elements so far, including nested ones
        self.elements = 0
        self._holds_text = False
        parser = self._expat = expat.ParserCreate("utf-8", NAME_SEPARATOR, {})
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.Parse(_AROUND, False)
        self._fed = len(_AROUND)
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = builder.text
        parser.CommentHandler = builder.comment
        parser.ProcessingInstructionHandler = builder.processing_instruction

    def put(
        self, data: bytes, attributes: Callable[[Pairs], Pairs], source_name: str = "<xml>"
    ) -> ElementNode:
        """Add one element; `attributes` returns the attributes to write, given its own.

        The data can end before the element does, at the end of a tag inside it.
        """
        self._attributes = attributes
        self._expat.StartElementHandler = self._start_top
        self.go_on(data, source_name)
        return self._top

    def go_on(self, data: bytes, source_name: str = "<xml>") -> None:
        """Continue with the open element."""
        try:
            self._expat.Parse(data, False)
        except expat.ExpatError as problem:
            raise malformed(
                data,
                source_name,
                self._expat.ErrorByteIndex - self._fed,
                f"this is not well-formed XML: {expat.ErrorString(problem.code)}",
            ) from None
        self._fed += len(data)
        self._holds_text = not data.endswith(b">")

    def flush(self) -> None:
        """Give the builder all text so far, so that others can add nodes after it.

        Expat holds back a carriage return, and `]]`, until it knows what follows.
        """
        if self._holds_text:
            self._expat.ProcessingInstructionHandler = None
            self.go_on(b"<?x?>")
            self._expat.ProcessingInstructionHandler = self._builder.processing_instruction

    def _start_top(self, raw_name: str, raw: list[str]) -> None:
        self._expat.StartElementHandler = self._start
        self.elements += 1
        builder = self._builder
        self._top = builder.start_element(expanded_name(raw_name))
        own = zip(map(expanded_name, raw[::2]), raw[1::2], strict=True)
        for name, value in self._attributes(own):
            builder.attribute(name, value)

    def _start(self, raw_name: str, raw: list[str]) -> None:
        self.elements += 1
        builder = self._builder
        builder.start_element(expanded_name(raw_name))
        for index in range(0, len(raw), 2):
            builder.attribute(expanded_name(raw[index]), raw[index + 1])

    def _end(self, raw_name: str) -> None:
        self._builder.end()
