"""Tag Structures: the elements of a stream, and which of them have a history.

This module reads and writes the XML form of the paper:

    <stream:structure>
      <tag type="snapshot" id="1" name="creditAccounts">
        <tag type="temporal" id="2" name="account"/>
      </tag>
    </stream:structure>

`<tag ref="ID"/>` is a recursive occurrence of the tag with that id. Inside a tag,
`<attribute name="person" type="IDREF"/>` declares an attribute that identifies elements (ID) or
refers to others (IDREF, IDREFS).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from xcql.diagnostics import XcqlError, error
from xcql.source import Source, Span
from xcql.xdm.encoding import decode_xml
from xcql.xdm.names import XML_NAMESPACE, QName

TagKind = Literal["snapshot", "temporal", "event"]
TAG_KINDS: tuple[TagKind, ...] = get_args(TagKind)
AttributeType = Literal["ID", "IDREF", "IDREFS"]
ATTRIBUTE_TYPES: tuple[AttributeType, ...] = get_args(AttributeType)

# the namespace that we write for the prefix `stream`; readers look only at the prefix
STREAM_NAMESPACE = "urn:xcql:stream"

# Real structures have about ten levels (recursion is written with `ref`); the limit keeps hostile
# ones from exhausting the stack of code that walks the nested values.
MAX_DEPTH = 200

_NAME = re.compile(r"(?:([^\W\d][\w.\-·]*):)?([^\W\d][\w.\-·]*)")


@dataclass(frozen=True, slots=True)
class DeclaredAttribute:
    """An attribute for `fn:id` and `fn:idref`; other attributes need no declaration."""

    name: QName
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: an element name at one position in the structure.

    If `ref` is set, it stands for the tag with that id and has no children of its own.
    """

    id: str
    name: QName
    kind: TagKind
    children: tuple[Tag, ...] = ()
    ref: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    attributes: tuple[DeclaredAttribute, ...] = ()

    @property
    def is_fragmented(self) -> bool:
        """Whether elements with this tag have their own fillers."""
        return self.kind != "snapshot"


@dataclass(frozen=True, slots=True)
class TagStructure:
    """All tags of a stream, validated, with lookup by id, by path and by name.

    >>> structure = parse_tags('''<stream:structure>
    ...   <tag type="snapshot" id="1" name="list"><tag type="temporal" id="2" name="item"/></tag>
    ... </stream:structure>''')
    >>> structure.at("/list/item").kind
    'temporal'
    >>> structure.path_of(structure.by_id("2"))
    '/list/item'
    """

    root: Tag
    _by_id: dict[str, Tag] = field(init=False, repr=False, compare=False)
    _paths: dict[str, str] = field(init=False, repr=False, compare=False)
    _by_name: dict[str, dict[tuple[str, str], Tag]] = field(init=False, repr=False, compare=False)
    _has_identifiers: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        paths: dict[str, str] = {}
        declared: dict[str, Tag] = {}
        for tag, path in _walk(self.root):
            # a reference may have no id of its own
            if tag.id in declared and not (tag.ref is not None and tag.id == tag.ref):
                raise error(
                    "XCQL0201",
                    f"duplicate id '{tag.id}': {declared[tag.id].name} and {tag.name}",
                    tag.span,
                    hints=["every tag needs a unique id"],
                )
            if tag.id != tag.ref:
                declared[tag.id] = tag
                paths[tag.id] = path
        resolved = {id: _resolve(tag, declared) for id, tag in declared.items()}
        by_name: dict[str, dict[tuple[str, str], Tag]] = {}
        for tag, _ in _walk(self.root):
            if tag.ref is not None:
                _check_reference(tag, _resolve(tag, declared))
                continue
            names = by_name[tag.id] = {}
            for child in tag.children:
                key = child.name.uri, child.name.local
                if key in names:
                    raise error(
                        "XCQL0206",
                        f"{tag.name} has two child tags named {child.name}",
                        child.span,
                        hints=["one tag stands for all child elements of that name"],
                    )
                names[key] = _resolve(child, declared)
        object.__setattr__(self, "_by_id", resolved)
        object.__setattr__(self, "_paths", paths)
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_has_identifiers", any(tag.attributes for tag in self))

    @property
    def has_identifiers(self) -> bool:
        """Whether any tag declares attributes."""
        return self._has_identifiers

    def __iter__(self) -> Iterator[Tag]:
        """Every tag once, in document order, without references."""
        return (tag for tag, _ in _walk(self.root) if tag.ref is None)

    def by_id(self, id: str) -> Tag | None:
        """The tag with that id; for the id of a `ref` tag, the tag it refers to."""
        return self._by_id.get(id)

    def child(self, tag: Tag, uri: str, local: str) -> Tag | None:
        """The tag of a child element with that name, or None if it is not declared."""
        return self._by_name[self._by_id[tag.id].id].get((uri, local))

    def children(self, tag: Tag) -> tuple[Tag, ...]:
        """The tags of all child elements, in the structure's order, with references resolved."""
        return tuple(self._by_name[self._by_id[tag.id].id].values())

    def descendants(self, tag: Tag) -> Iterator[Tag]:
        """Every tag that can occur below this one, once each, in document order.

        With recursion the tag itself may be among them.
        """
        seen: set[str] = set()
        pending = list(reversed(self.children(tag)))
        while pending:
            below = pending.pop()
            if below.id not in seen:
                seen.add(below.id)
                yield below
                pending += reversed(self.children(below))

    def at(self, path: str) -> Tag | None:
        """The tag at a path such as `/creditAccounts/account`, or None.

        A step is a name as spelled in the structure, with its prefix, or `Q{uri}local`.
        """
        steps = [step for step in re.split(r"/(?![^{]*\})", path.strip()) if step]
        if not steps or not _is_named(self.root, steps[0]):
            return None
        tag: Tag | None = self.root
        for step in steps[1:]:
            candidates = self.children(tag) if tag else ()
            tag = next((child for child in candidates if _is_named(child, step)), None)
        return tag

    def path_of(self, tag: Tag) -> str:
        """The path of the tag, in the form that `at` accepts."""
        return self._paths[tag.id]

    def parent_of(self, tag: Tag) -> Tag | None:
        """The tag that this one is nested in, or None for the root."""
        return self.at(self._paths[tag.id].rpartition("/")[0])


def read_tags(path: str | Path) -> TagStructure:
    """Read the Tag Structure in a file."""
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise error(
            "XCQL0200", f"the tag structure '{path}' cannot be read: {problem.strerror}"
        ) from None
    return parse_tags(data, source_name=str(path))


def parse_tags(text: str | bytes, source_name: str = "<tags>") -> TagStructure:
    """Parse the XML of a Tag Structure; an `XcqlError` says what is wrong with it."""
    if isinstance(text, bytes):
        text = decode_xml(text, source_name)
    return TagStructure(_Reader(Source(text, source_name)).read())


def tags_to_xml(structure: TagStructure) -> str:
    """The Tag Structure as the paper's XML, which `parse_tags` reads back.

    >>> print(tags_to_xml(TagStructure(Tag("1", QName("", "list"), "snapshot"))), end="")
    <stream:structure xmlns:stream="urn:xcql:stream">
      <tag type="snapshot" id="1" name="list"/>
    </stream:structure>
    """
    prefixes = _prefixes(structure)
    declarations = "".join(
        f" xmlns:{prefix}={quoteattr(uri)}" for uri, prefix in sorted(prefixes.items())
    )
    lines = [f'<stream:structure xmlns:stream="{STREAM_NAMESPACE}"{declarations}>']
    pending: list[tuple[Tag | None, int]] = [(structure.root, 1)]
    while pending:
        tag, depth = pending.pop()
        indent = "  " * depth
        if tag is None:
            lines.append(f"{indent}</tag>")
            continue
        name = tag.name.local
        if tag.name.uri:
            name = f"{prefixes[tag.name.uri]}:{name}"
        id = "" if tag.id == tag.ref else f" id={quoteattr(tag.id)}"
        ref = "" if tag.ref is None else f" ref={quoteattr(tag.ref)}"
        has_content = tag.children or tag.attributes
        end = ">" if has_content else "/>"
        lines.append(f'{indent}<tag type="{tag.kind}"{id} name={quoteattr(name)}{ref}{end}')
        lines += [f"{indent}  {_attribute_xml(one, prefixes)}" for one in tag.attributes]
        if has_content:
            pending.append((None, depth))
            pending += [(child, depth + 1) for child in reversed(tag.children)]
    return "\n".join([*lines, "</stream:structure>", ""])


def _attribute_xml(attribute: DeclaredAttribute, prefixes: dict[str, str]) -> str:
    name, uri = attribute.name.local, attribute.name.uri
    if uri:
        name = f"{'xml' if uri == XML_NAMESPACE else prefixes[uri]}:{name}"
    return f'<attribute name={quoteattr(name)} type="{attribute.type}"/>'


def _prefixes(structure: TagStructure) -> dict[str, str]:
    """A prefix for every namespace: the first one used for it in the structure that is free."""
    prefixes: dict[str, str] = {}
    for tag, _ in _walk(structure.root):
        for name in (tag.name, *(attribute.name for attribute in tag.attributes)):
            if name.uri and name.uri not in (*prefixes, XML_NAMESPACE):
                taken = {"stream", *prefixes.values()}
                candidate = name.prefix or "ns"
                number = 1
                while candidate in taken:
                    number += 1
                    candidate = f"{name.prefix or 'ns'}{number}"
                prefixes[name.uri] = candidate
    return prefixes


def _walk(root: Tag) -> Iterator[tuple[Tag, str]]:
    """Every tag with its path, in document order."""
    pending = [(root, f"/{root.name}")]
    while pending:
        tag, path = pending.pop()
        yield tag, path
        pending += [(child, f"{path}/{child.name}") for child in reversed(tag.children)]


def _resolve(tag: Tag, declared: dict[str, Tag]) -> Tag:
    """The tag itself, or the tag that it refers to."""
    target, passed = tag, set[str]()
    while target.ref is not None:
        if target.ref not in declared or target.ref in passed:
            raise error(
                "XCQL0204",
                f"the tag {tag.name} refers to the unknown id '{target.ref}'",
                tag.span,
                hints=["`ref` must be the id of the tag that recurs here"],
            )
        passed.add(target.ref)
        target = declared[target.ref]
    return target


def _check_reference(tag: Tag, target: Tag) -> None:
    if tag.name != target.name or tag.kind != target.kind:
        raise error(
            "XCQL0204",
            f"the tag {tag.name} ({tag.kind}) refers to '{target.id}', which is"
            f" {target.name} ({target.kind})",
            tag.span,
            hints=["a reference must have the same name and type as its tag, or none"],
        )
    if tag.children or tag.attributes:
        content = "child tags" if tag.children else "attributes"
        raise error(
            "XCQL0204",
            f"the tag {tag.name} has both a `ref` and {content}",
            tag.span,
            hints=["its child tags and attributes are those of the tag it refers to"],
        )


def _is_named(tag: Tag, step: str) -> bool:
    return step in (str(tag.name), tag.name.clark)


@dataclass(slots=True)
class _OpenTag:
    """A tag element whose end has not been read yet."""

    id: str | None
    name: str | None
    kind: str | None
    ref: str | None
    span: Span
    scope: dict[str, str]
    children: list[_OpenTag] = field(default_factory=list)
    attributes: list[DeclaredAttribute] = field(default_factory=list)


class _Reader:
    """Reads the XML of a Tag Structure; holds the state shared by expat's handlers."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = source.text.encode("utf-8", "surrogatepass")
        # without expat's namespace support, which would reject an undeclared `stream:`
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity
        self._open: list[_OpenTag] = []
        self._in_attribute = False

    def read(self) -> Tag:
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError as problem:
            raise error(
                "XCQL0200",
                f"the tag structure is not well-formed XML: {expat.ErrorString(problem.code)}",
                self._span(self._parser.ErrorByteIndex),
            ) from None
        structure = self._open[0]
        if not structure.children:
            raise error(
                "XCQL0203",
                "the tag structure has no root tag",
                structure.span,
                hints=["it must contain one <tag>, for the root element"],
            )
        if len(structure.children) > 1:
            raise error(
                "XCQL0203",
                f"the tag structure has {len(structure.children)} root tags",
                structure.children[1].span,
                hints=["it must contain one <tag>, for the root element; nest the others in it"],
            )
        opened: dict[str, _OpenTag] = {}
        pending = list(structure.children)
        while pending:
            tag = pending.pop()
            pending += tag.children
            if tag.id is not None and tag.ref is None:
                opened[tag.id] = tag
        return self._tag(structure.children[0], opened)

    def _tag(self, tag: _OpenTag, opened: dict[str, _OpenTag]) -> Tag:
        """Build the value for a tag element; a reference takes what it omits from its target."""
        target = opened.get(tag.ref, tag) if tag.ref is not None else tag
        id = tag.id if tag.id is not None else tag.ref
        kind = tag.kind if tag.kind is not None else target.kind
        if tag.ref is not None and tag.ref not in opened and (tag.name is None or kind is None):
            raise error(
                "XCQL0204",
                f"a tag refers to the unknown id '{tag.ref}'",
                tag.span,
                hints=["`ref` must be the id of the tag that recurs here"],
            )
        if id is None:
            raise _missing("id", tag)
        if tag.name is None and target.name is None:
            raise _missing("name", tag)
        if kind is None:
            raise _missing("type", tag)
        if kind not in TAG_KINDS:
            raise error(
                "XCQL0202",
                f"'{kind}' is not a tag type",
                tag.span,
                hints=["the types are snapshot, temporal and event"],
            )
        return Tag(
            id,
            _name(tag) if tag.name is not None else _name(target),
            kind,
            tuple(self._tag(child, opened) for child in tag.children),
            tag.ref,
            tag.span,
            tuple(tag.attributes),
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        span = self._span(self._parser.CurrentByteIndex)
        if self._in_attribute:
            raise error("XCQL0200", f"<{name}> is not allowed inside an <attribute>", span)
        if len(self._open) > 1 and name.removeprefix("stream:") == "attribute":
            self._in_attribute = True
            self._declare(attributes, span)
            return
        expected = "structure" if not self._open else "tag"
        if name.removeprefix("stream:") != expected:
            raise error(
                "XCQL0200",
                f"expected <{expected}>, found <{name}>",
                span,
                hints=["the form is <stream:structure><tag type= id= name=>…</tag>…"],
            )
        if len(self._open) > MAX_DEPTH:
            raise error(
                "XCQL0200",
                f"the tag structure is nested deeper than {MAX_DEPTH} levels",
                span,
                hints=['write a recursive element once, and <tag ref="its id"/> where it recurs'],
            )
        scope = self._open[-1].scope if self._open else {"xml": XML_NAMESPACE}
        declared = {
            attribute[6:]: value
            for attribute, value in attributes.items()
            if attribute == "xmlns" or attribute.startswith("xmlns:")
        }
        opened = _OpenTag(
            attributes.get("id"),
            attributes.get("name"),
            attributes.get("type"),
            attributes.get("ref"),
            span,
            {**scope, **declared} if declared else scope,
        )
        if self._open:
            self._open[-1].children.append(opened)
        self._open.append(opened)

    def _declare(self, attributes: dict[str, str], span: Span) -> None:
        """Read the declaration of an attribute of the open tag."""
        tag = self._open[-1]
        written, type_ = attributes.get("name", ""), attributes.get("type")
        if type_ not in ATTRIBUTE_TYPES:
            raise error(
                "XCQL0202",
                f"'{type_ or ''}' is not an attribute type",
                span,
                hints=["the types are ID, IDREF and IDREFS; other attributes are not declared"],
            )
        name = _expanded(written, "an attribute", tag.scope, span)
        if not name.prefix:
            name = QName("", name.local)
        if any(one.name == name for one in tag.attributes):
            raise error("XCQL0206", f"the attribute {written} is declared twice", span)
        tag.attributes.append(DeclaredAttribute(name, type_))

    def _end(self, name: str) -> None:
        if self._in_attribute:
            self._in_attribute = False
        elif len(self._open) > 1:
            self._open.pop()

    def _entity(self, *declaration: object) -> None:
        raise error(
            "XCQL0200",
            "a tag structure cannot declare entities",
            self._span(self._parser.CurrentByteIndex),
        )

    def _span(self, byte: int) -> Span:
        """The markup that begins at a byte offset, up to its `>` or the end of its line."""
        start = len(self._data[: max(byte, 0)].decode("utf-8", "replace"))
        text = self._source.text
        markup = re.compile(r"<[^>\n]*>?").match(text, start)
        return Span(self._source, start, markup.end() if markup else min(start + 1, len(text)))


def _missing(attribute: str, tag: _OpenTag) -> XcqlError:
    return error(
        "XCQL0205",
        f"a tag has no {attribute}",
        tag.span,
        hints=['every tag has a type, an id and a name: <tag type="temporal" id="2" name="item"/>'],
    )


def _name(tag: _OpenTag) -> QName:
    """Resolve the tag's name; without a prefix it is in the default namespace."""
    return _expanded(tag.name or "", "an element", tag.scope, tag.span)


def _expanded(name: str, what: str, scope: dict[str, str], span: Span) -> QName:
    match = _NAME.fullmatch(name)
    if match is None:
        raise error("XCQL0206", f"'{name}' is not a valid name of {what}", span)
    prefix, local = match[1] or "", match[2]
    if prefix and prefix not in scope:
        raise error(
            "XCQL0206",
            f"the prefix of '{name}' is not declared",
            span,
            hints=[f'declare it: <stream:structure xmlns:{prefix}="…">'],
        )
    return QName(scope.get(prefix, ""), local, prefix)
