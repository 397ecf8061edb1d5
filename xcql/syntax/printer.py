"""Prints the syntax tree: as indented text, and as plain data for JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from xcql.recursion import deep_recursion
from xcql.syntax.node import Name, SyntaxNode, child_fields


def tree_text(root: SyntaxNode) -> str:
    """One node per line, with its position in the query.

    >>> import xcql
    >>> print(tree_text(xcql.parse("$a + 1").body))
    Binary op='+' @1:1
      left: VariableRef name=a @1:1
      right: IntegerLiteral value=1 @1:6
    """
    lines: list[str] = []
    pending: list[tuple[int, str, SyntaxNode]] = [(0, "", root)]
    while pending:
        depth, label, node = pending.pop()
        inline = []
        below: list[tuple[int, str, SyntaxNode]] = []
        for name in child_fields(type(node)):
            value = getattr(node, name)
            if isinstance(value, Name):
                inline.append(f"{name}={value}")
            elif isinstance(value, SyntaxNode):
                below.append((depth + 1, f"{name}: ", value))
            elif isinstance(value, tuple) and value and isinstance(value[0], SyntaxNode):
                below += [(depth + 1, f"{name}[{i + 1}]: ", item) for i, item in enumerate(value)]
            elif value is not None and value != () and value is not False:
                inline.append(f"{name}={_short(value)}")
        words = " ".join([type(node).__name__, *inline])
        lines.append(f"{'  ' * depth}{label}{words} @{node.span.line}:{node.span.column}")
        pending.extend(reversed(below))
    return "\n".join(lines)


def _short(value: Any) -> str:
    return str(value) if isinstance(value, int | float | Decimal) else repr(value)


def as_data(root: SyntaxNode) -> dict[str, Any]:
    """Dictionaries and lists for JSON; every node has its position."""
    with deep_recursion():
        data: dict[str, Any] = _data(root)
        return data


def _data(value: Any) -> Any:
    if isinstance(value, SyntaxNode):
        line, column = value.span.line, value.span.column
        return {
            "node": type(value).__name__,
            "line": line,
            "column": column,
            **{name: _data(getattr(value, name)) for name in child_fields(type(value))},
        }
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    if isinstance(value, Decimal) or value == float("inf"):
        return str(value)
    return value
