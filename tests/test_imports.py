"""The imports: no cycles, no layer that imports a higher one, no unexplained imports in functions.

All imports count, including those in functions, except those for the type checker.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {"xcql": ROOT / "xcql", "xcql_runtime": ROOT / "runtime" / "xcql_runtime"}

# from the bottom up: a module may import from its own layer, and from those listed before it
LAYERS = (
    (
        "xcql.arrays",
        "xcql.callable_package",
        "xcql.column_names",
        "xcql.diagnostics",
        "xcql.durable",
        "xcql.garbage",
        "xcql.recursion",
        "xcql.source",
        "xcql.strategies",
        "xcql.temporary",
        "xcql.version",
    ),
    ("xcql.syntax",),
    ("xcql.parser",),
    ("xcql.xdm",),
    ("xcql.model",),
    ("xcql.history",),
    ("xcql.shred",),
    ("xcql.store",),
    ("xcql.importing",),
    ("xcql.evaluate",),
    ("xcql.analysis",),
    ("xcql.check",),
    ("xcql.evaluate.api",),
    ("xcql.algebra",),
    ("xcql.algebra.rewriting",),
    ("xcql.algebra.rules",),
    ("xcql.dialects",),
    ("xcql.sql",),
    (
        "xcql.compile.catalog",
        "xcql.compile.literals",
        "xcql.compile.node_paths",
        "xcql.compile.result",
    ),
    ("xcql.compile.terms",),
    ("xcql.compile.library",),
    ("xcql.compile.functions", "xcql.compile.syntax"),
    ("xcql.compile",),
    ("xcql.continuous", "xcql.explain", "xcql.publish", "xcql.translate"),
    ("xcql_runtime.cache", "xcql_runtime.evaluator", "xcql_runtime.store_reader"),
    ("xcql_runtime.engine", "xcql_runtime.records"),
    ("xcql_runtime.embedded", "xcql_runtime.spark"),
    ("xcql_runtime.engines", "xcql_runtime.streaming"),
    ("xcql_runtime.answers",),
    ("xcql_runtime",),
    ("xcql",),
    ("xcql.cli",),
)


@dataclass(frozen=True)
class Import:
    """An import of a module of the project; `explained` if a comment is beside or above it."""

    importer: str
    imported: str
    line: int
    in_function: bool
    explained: bool

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}: imports {self.imported}"


@cache
def _modules() -> dict[str, Path]:
    found = {}
    for top, folder in SOURCES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((top, *parts)).removesuffix(".__init__")] = path
    return found


@cache
def _imports() -> tuple[Import, ...]:
    return tuple(one for name, path in _modules().items() for one in _imports_of(name, path))


def _imports_of(name: str, path: Path) -> Iterator[Import]:
    text = path.read_text()
    lines = text.splitlines()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, in_function in _statements(ast.parse(text), False):
        beside = "#" in lines[node.lineno - 1]
        above = lines[node.lineno - 2].lstrip().startswith("#")
        for target in dict.fromkeys(_targets(node, package)):
            if target != name:
                yield Import(name, target, node.lineno, in_function, beside or above)


def _statements(
    node: ast.AST, in_function: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, in_function
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _statements(other, in_function)
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _statements(child, in_function or is_function)


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """The project's modules that an import names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        base = ".".join(part for part in (base, node.module) if part)
        names = [f"{base}.{alias.name}" for alias in node.names]
    for name in names:
        while name and name not in _modules():
            name = name.rpartition(".")[0]
        if name:
            yield name


def _layer(module: str) -> int:
    """The layer with the longest name that is a prefix of the module's."""
    fitting = [
        (len(prefix), level)
        for level, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if module == prefix or (module.startswith(f"{prefix}.") and prefix != "xcql")
    ]
    assert fitting, f"{module} is in no layer: put its package into LAYERS"
    return max(fitting)[1]


def _cycles() -> list[set[str]]:
    """The strongly connected components with more than one module, by Tarjan's algorithm."""
    graph: dict[str, set[str]] = {name: set() for name in _modules()}
    for one in _imports():
        graph[one.importer].add(one.imported)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = lowest[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], index[other])
        if lowest[name] == index[name]:
            part = set(stack[stack.index(name) :])
            del stack[stack.index(name) :]
            if len(part) > 1:
                found.append(part)

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_there_is_no_cycle() -> None:
    assert [sorted(one) for one in _cycles()] == []


def test_no_layer_looks_up() -> None:
    wrong = [str(one) for one in _imports() if _layer(one.importer) < _layer(one.imported)]
    assert wrong == []


@pytest.mark.parametrize("prefix", [one for prefixes in LAYERS for one in prefixes])
def test_every_layer_exists(prefix: str) -> None:
    assert prefix in _modules()


def test_imports_in_functions_say_why() -> None:
    """Only slow or optional modules are imported late, and a comment says so."""
    wrong = [str(one) for one in _imports() if one.in_function and not one.explained]
    assert wrong == []


def test_the_reader_sees_all_kinds_of_imports() -> None:
    source = (
        "import xcql.source\n"
        "from xcql.syntax import node\n"
        "from . import items\n"
        "if TYPE_CHECKING:\n    from xcql.sql import slots\n"
        "def f():\n    class C:\n        from xcql.parser import parse  # slow\n"
    )
    found = list(_statements(ast.parse(source), False))
    assert [inside for _, inside in found] == [False, False, False, True]
    assert [list(_targets(one, "xcql.compile.terms")) for one, _ in found] == [
        ["xcql.source"],
        ["xcql.syntax.node"],
        ["xcql.compile.terms.items"],
        ["xcql.parser"],
    ]
