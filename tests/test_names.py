"""The name of a public class is unique: no other module defines a class with that name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent


def public_classes() -> dict[str, list[str]]:
    """The modules that define each public class, by its name."""
    found = defaultdict(list)
    for folder in ("xcql", "runtime/xcql_runtime"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "_generated" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: files for name, files in public_classes().items() if len(files) > 1}
    assert shared == {}
