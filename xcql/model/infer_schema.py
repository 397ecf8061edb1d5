"""Infers trees of names from schemas: DTDs, read by expat, and XML Schemas, read by `xmlschema`.

Nothing is fetched: a schema that refers to anything other than a local file is refused.

Tests: tests/model/test_infer.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from xcql.diagnostics import error
from xcql.model.documents import parse_chunk, place_in
from xcql.model.infer import NameTree, identifiers_of, infer_from_declarations
from xcql.model.paths import near_names
from xcql.model.tags import ATTRIBUTE_TYPES, AttributeType
from xcql.xdm.encoding import decode_xml
from xcql.xdm.names import QName

# expat's code for the content model ANY
_ANY = expat.model.XML_CTYPE_ANY


def infer_from_dtd(path: str | Path, root: str | None = None) -> NameTree:
    """The tree of the elements that a DTD declares, below its root element.

    The root is the element that no other contains; of several, the one with most descendants.
    """
    source_name = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise error("XCQL0101", f"'{path}' cannot be read: {problem.strerror}") from None
    content, namespaces, types = _read_dtd(data, source_name)
    top = _choose_root(list(content), content, root, source_name)

    def children(name: str) -> Iterator[tuple[QName, str]]:
        return (
            (_dtd_name(child, namespaces, source_name), child) for child in content.get(name, ())
        )

    def identifiers(name: str) -> dict[QName, AttributeType]:
        return dict(identifiers_of(name, types))

    return infer_from_declarations(
        (_dtd_name(top, namespaces, source_name), top), children, identifiers, source_name
    )


def infer_from_xsd(path: str | Path, root: str | None = None) -> NameTree:
    """The tree of the elements that an XML Schema allows, below one of its global elements."""
    import xmlschema  # takes half a second, and few runs need it

    try:
        schema = xmlschema.XMLSchema(str(path), allow="local", defuse="always")
    except (xmlschema.XMLSchemaException, OSError, SyntaxError) as problem:
        reason = str(problem).strip().partition("\n")[0]
        raise error("XCQL0262", f"'{path}' is not a usable XML Schema: {reason}") from None
    elements = {
        element.prefixed_name: element
        for element in schema.elements.values()
        if not element.abstract
    }
    below = {
        name: [child.prefixed_name for child in _xsd_children(element)]
        for name, element in elements.items()
    }
    top = elements[_choose_root(list(elements), below, root, str(path))]
    # types represent declarations, because elements of one type have the same content
    types: dict[int, Any] = {id(top.type): top}

    def children(declaration: int) -> Iterator[tuple[QName, int]]:
        for child in _xsd_children(types[declaration]):
            types.setdefault(id(child.type), child)
            yield _xsd_name(child), id(child.type)

    def identifiers(declaration: int) -> dict[QName, AttributeType]:
        return dict(_xsd_identifiers(types[declaration]))

    return infer_from_declarations((_xsd_name(top), id(top.type)), children, identifiers, str(path))


def _choose_root(
    declared: Sequence[str], below: Mapping[str, Iterable[str]], wanted: str | None, name: str
) -> str:
    """The element that is meant to be the root of documents."""
    if not declared:
        raise error("XCQL0262", f"'{name}' declares no elements")
    if wanted is not None:
        for element in declared:
            if wanted in (element, element.rpartition(":")[2]):
                return element
        raise error(
            "XCQL0262",
            f"'{name}' does not declare the element {wanted}",
            hints=near_names(wanted, declared),
        )
    contained = {
        child for parent, children in below.items() for child in children if child != parent
    }
    # if all of them contain each other, any may be the root
    candidates = [element for element in declared if element not in contained] or declared
    return max(candidates, key=lambda element: len(_reachable(element, below)))


def _reachable(element: str, below: Mapping[str, Iterable[str]]) -> set[str]:
    reached = {element}
    pending = [element]
    while pending:
        new = set(below.get(pending.pop(), ())) - reached
        reached |= new
        pending += new
    return reached


def _read_dtd(
    data: bytes, source_name: str
) -> tuple[dict[str, list[str]], dict[str, str], dict[tuple[str, str], str]]:
    """The child names of each declared element, the namespaces by prefix, and attribute types."""
    text = decode_xml(data, source_name).encode()
    models: dict[str, Any] = {}
    namespaces: dict[str, str] = {}
    types: dict[tuple[str, str], str] = {}

    def attribute(
        element: str, name: str, type_: str, default: str | None, is_required: int
    ) -> None:
        # namespaces are declared as attributes with a fixed value
        if default and (name == "xmlns" or name.startswith("xmlns:")):
            namespaces[name[6:]] = default
        types.setdefault((element, name), type_)

    parser = expat.ParserCreate("UTF-8")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
    parser.ElementDeclHandler = models.__setitem__
    parser.AttlistDeclHandler = attribute

    def subset(context: str, *identifiers: str | None) -> int:
        inner = parser.ExternalEntityParserCreate(context, "UTF-8")

        def further(context: str | None, *identifiers: str | None) -> NoReturn:
            at = inner.CurrentByteIndex
            line, column = inner.CurrentLineNumber, inner.CurrentColumnNumber + 1
            raise error(
                "XCQL0262",
                f"the DTD '{source_name}' includes another file, which XCQL does not fetch",
                place_in(source_name, text, at, line, column),
                hints=["put all declarations into one file"],
            )

        inner.ExternalEntityRefHandler = further
        parse_chunk(inner, text, True, source_name, text, 0)
        return 1

    parser.ExternalEntityRefHandler = subset
    # the DTD is the external subset of a document without content
    parser.Parse(b'<!DOCTYPE x SYSTEM "dtd"><x/>', True)
    everything = list(models)
    content = {
        name: everything if model[0] == _ANY else list(dict.fromkeys(_names_in(model)))
        for name, model in models.items()
    }
    return content, namespaces, types


def _names_in(model: Any) -> Iterator[str]:
    """The element names in a content model, in order."""
    pending = [model]
    while pending:
        _, _, name, parts = pending.pop()
        if name is not None:
            yield name
        pending += reversed(parts)


def _dtd_name(name: str, namespaces: Mapping[str, str], source_name: str) -> QName:
    prefix, colon, local = name.rpartition(":")
    if colon and prefix not in namespaces:
        raise error(
            "XCQL0262",
            f"the DTD '{source_name}' does not declare the namespace of {name}",
            hints=[f'add <!ATTLIST {name} xmlns:{prefix} CDATA #FIXED "…">'],
        )
    return QName(namespaces.get(prefix, ""), local, prefix)


def _xsd_children(element: Any) -> list[Any]:
    """The element declarations in an element's content; wildcards have no names and are skipped."""
    if not element.type.has_complex_content():
        return []
    found = []
    for child in element.type.content.iter_elements():
        if child.name is not None:
            found += [child, *child.iter_substitutes()]
    return [child for child in found if not child.abstract]


def _xsd_identifiers(element: Any) -> Iterator[tuple[QName, AttributeType]]:
    """The attributes of an element with type xs:ID, xs:IDREF, xs:IDREFS or a derived type."""
    for attribute in element.attributes.values():
        if attribute.name is None:
            continue  # a wildcard
        bases = {attribute.type.local_name}
        base = attribute.type.base_type
        while base is not None:
            bases.add(base.local_name)
            base = base.base_type
        for type_ in ATTRIBUTE_TYPES:
            if type_ in bases:
                uri = attribute.target_namespace if attribute.qualified else ""
                yield QName(uri, attribute.local_name), type_


def _xsd_name(element: Any) -> QName:
    prefix = element.prefixed_name.rpartition(":")[0]
    return QName(element.target_namespace if element.qualified else "", element.local_name, prefix)
