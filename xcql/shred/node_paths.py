"""The paths of nodes, as text: the column `path` of the tables of all nodes.

A path has the ids of the tags from a filler's element down to an element, joined by `/`. Any other
node has one more step:

    12/15/18                             an element with the tag 18
    12/15/@name, 12/15/@Q{uri}name       its parent's attribute
    12/15/text()                         a text; likewise `comment()`, `processing-instruction()`
    12/15/hole()                         a hole
    */18, */18/@name, */18/text(), …     the same in elements whose ancestors are not recorded

Paths are vague, in the last form, below 24 levels, and if a file has too many different ones.

>>> child_path(child_path(tag_step("12"), tag_step("a/b")), TEXT_STEP)
'12/a%2Fb/text()'
>>> vague_path(tag_step("18")), vague_path(tag_step("18"), attribute_step("name"))
('*/18', '*/18/@name')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote, unquote

NodeKind = Literal["element", "attribute", "text", "comment", "processing-instruction", "hole"]

# as numbers in the column `kind`
KINDS: Mapping[NodeKind, int] = {
    "element": 0,
    "attribute": 1,
    "text": 2,
    "comment": 3,
    "processing-instruction": 4,
    "hole": 5,
}

TEXT_STEP = "text()"
COMMENT_STEP = "comment()"
INSTRUCTION_STEP = "processing-instruction()"
HOLE_STEP = "hole()"

# the step for all ancestors of an element with a vague path
ANY = "*"

# A path that is not vague has at most this many tag ids
MAX_TAGS = 24
# A file has at most this many paths that are not vague. Real data has a few hundred; hostile data
# has as many as elements
MAX_EXACT = 1024


def tag_step(id: str) -> str:
    """The step to elements with a tag id; ids with other characters than usual are escaped."""
    return id if id.isalnum() and id.isascii() else quote(id, safe="")


def attribute_step(name: str) -> str:
    """The step to attributes with an expanded name: `local` or `Q{uri}local`."""
    return f"@{name}"


def child_path(parent: str, step: str) -> str:
    """The path of the nodes that a step reaches from elements with a path."""
    return f"{parent}/{step}"


def vague_path(tag: str, step: str | None = None) -> str:
    """The vague path of elements with a tag (given as a step), or of other nodes in them."""
    return f"{ANY}/{tag}" if step is None else f"{ANY}/{tag}/{step}"


def read_path(path: str) -> tuple[NodeKind, str, str]:
    """The kind of the nodes on a path, the tag of the element or parent, and an attribute's name.

    >>> read_path("12/15"), read_path("12/@a"), read_path("*/12/text()")
    (('element', '15', ''), ('attribute', '12', 'a'), ('text', '12', ''))
    """
    above, at, name = path.partition("/@")
    if at:
        return "attribute", _last_tag(above), name
    above, _, last = path.rpartition("/")
    if last.endswith("()"):
        kind: NodeKind = last.removesuffix("()")  # type: ignore[assignment]
        return kind, _last_tag(above), ""
    return "element", _last_tag(path), ""


def _last_tag(path: str) -> str:
    return unquote(path.rpartition("/")[2])
