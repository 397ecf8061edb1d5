"""Chooses which elements of an import have versions of their own, unless paths say so.

- Each file of an import has versions.
- So do elements with children that repeat and have a key: what people call by a name or number.
- In a single document, so does everything else below the root, at the highest level that does not
  contain one of these. Nothing but the attributes and texts around them is without a history.

Elements that a later import adds belong to the versions of what they are in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xcql.model.infer import NameTree
from xcql.model.infer_keys import InferredKey


def choose_kinds(
    tree: NameTree,
    keys: Iterable[InferredKey],
    chosen: Mapping[str, Sequence[str]],
    has_files: bool,
) -> None:
    """Set the types of the elements that have no tag yet; chosen paths come later."""
    if chosen["temporal"] or chosen["event"]:
        return
    if tree.id is None:
        found = [one for one in keys if one.element.children]
        inside = {
            id(child)
            for one in found
            for name, child in one.element.children.items()
            if name.local in one.key.steps
        }
        for one in found:
            if id(one.element) not in inside and one.element is not tree:
                one.element.kind = one.element.kind or "temporal"
    if not has_files:
        _cover(tree)


def _cover(tree: NameTree) -> None:
    """Make everything below the root temporal, or part of something that is."""
    leading: set[int] = set()
    for element in _elements(tree):
        above: NameTree | None = element if element.kind == "temporal" else None
        while above is not None:
            leading.add(id(above))
            above = above.parent
    pending = [tree]
    seen = {id(tree)}
    while pending:
        for child in pending.pop().children.values():
            if child.kind is None and id(child) not in leading:
                child.kind = "temporal"
            elif child.kind != "temporal" and id(child) in leading and id(child) not in seen:
                seen.add(id(child))
                pending.append(child)


def _elements(tree: NameTree) -> Iterable[NameTree]:
    seen = {id(tree): tree}
    pending = [tree]
    while pending:
        for child in pending.pop().children.values():
            if id(child) not in seen:
                seen[id(child)] = child
                pending.append(child)
    return seen.values()
