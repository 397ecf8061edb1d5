"""Marks the attributes of a stream that are identifiers or refer to them, for `fn:id`.

Tests: tests/compile/test_identifiers.py
"""

from __future__ import annotations

from xcql.model.tags import Tag, TagStructure
from xcql.xdm.nodes import DocumentNode, ElementNode


def mark_identifiers(document: DocumentNode, tags: TagStructure) -> None:
    """Set the types of a view's attributes as declared in the Tag Structure.

    An ID is the same in all versions and copies of an element, so `fn:id` finds all of them.
    """
    document.is_view = True
    if not tags.has_identifiers:
        return
    pending: list[tuple[ElementNode, Tag]] = [
        (child, tags.root) for child in document.children if isinstance(child, ElementNode)
    ]
    while pending:
        element, tag = pending.pop()
        for declared in tag.attributes:
            attribute = element.attribute(declared.name.local, declared.name.uri)
            if attribute is not None:
                attribute.declared_type = declared.type
        for child in element.children:
            if isinstance(child, ElementNode):
                below = tags.child(tag, child.name.uri, child.name.local)
                if below is not None:
                    pending.append((child, below))
