"""The tests of each module can be found: by its name, or by a line in a docstring.

- `xcql/a/b.py` is tested in `tests/a/test_b.py`, `runtime/xcql_runtime/a/b.py` in
  `tests/runtime/a/test_b.py`.
- If that file does not exist, the module's docstring says where its tests are: `Tests: PATH, PATH`.
- If it does not, the docstring of its package does, for all its modules without their own tests.

Modules without code to run, such as those that only declare the nodes of the syntax tree, need no
tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {"xcql": "tests", "runtime/xcql_runtime": "tests/runtime"}
LINE = re.compile(r"^Tests: (.*(?:\n .*)*)$", re.MULTILINE)


def _modules() -> Iterator[tuple[Path, Path]]:
    """Each module, and the file that its name says has its tests."""
    for source, tests in SOURCES.items():
        for path in sorted((ROOT / source).rglob("*.py")):
            folder = path.parent.relative_to(ROOT / source)
            if "_generated" not in path.parts:
                yield path.relative_to(ROOT), Path(tests) / folder / f"test_{path.name}"


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""


def _named(docstring: str) -> list[str]:
    """The paths in the lines `Tests:` of a docstring."""
    return [path for found in LINE.findall(docstring) for path in re.split(r",\s+", found)]


def _has_code(path: Path) -> bool:
    """Whether a module has functions, methods or lambdas."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return any(isinstance(node, kinds) for node in ast.walk(tree))


MODULES = [(path, test) for path, test in _modules() if path.name != "__init__.py"]


@pytest.mark.parametrize(("path", "test"), MODULES, ids=lambda path: str(path))
def test_a_module_has_tests(path: Path, test: Path) -> None:
    package = path.with_name("__init__.py")
    assert (
        (ROOT / test).exists()
        or _named(_docstring(path))
        or _named(_docstring(package))
        or not _has_code(path)
    ), f"write {test}, or add 'Tests: PATH' to the docstring of {path} or {package}"


def test_the_named_tests_exist() -> None:
    for path, _ in _modules():
        for named in _named(_docstring(path)):
            place = ROOT / named
            assert place.is_file() or any(place.glob("**/test_*.py")), f"{path}: no {named}"


def test_the_lines_are_read() -> None:
    text = "A module.\n\nMore.\n\nTests: tests/a, tests/b/test_c.py,\n    tests/d"
    assert _named(text) == ["tests/a", "tests/b/test_c.py", "tests/d"]
    assert _named("Tests of nothing: tests/a") == []
