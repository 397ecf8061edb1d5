"""Write docs/native.md: what runs as SQL, from the tables that the compiler works with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from xcql.algebra.operations import TOPICS, Operation
from xcql.compile.language import LANGUAGE
from xcql.dialects.dialect import Dialect
from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.duckdb_functions import FUNCTIONS
from xcql.dialects.spark import SPARK
from xcql.evaluate.registry import all_builtins

PAGE = Path(__file__).parents[1] / "docs" / "native.md"
DIALECTS = (SPARK, DUCKDB)

_INTRO = """# What runs as SQL

This page is generated from the compiler's own tables. `python tools/native_page.py` writes it,
and a test compares it with them.

A query becomes a plan. The plan's values are computed by *operations*, each of which a SQL dialect
writes in its own way. A function that is not native is computed by the reference evaluator, for
the part of the query that needs it; `xcqlc explain` shows where.

## Functions

Native functions are compiled to operations. A native function may still be left to the evaluator
for some arguments, such as a pattern that is computed.

| function | native with so many arguments | evaluator only |
| --- | --- | --- |
"""

_OPERATIONS = """
## Operations

*NULL* says what an operation does with absent values: a strict one gives NULL if any argument
is NULL, others have a rule of their own. *Fails* marks operations that may raise an error. The
last columns are the dialects: `name` means that the engine has it under the same name, `form`
that it is written with other functions, `Python` that Python computes it in the process,
`limits` that some arguments are left to the evaluator. An engine without a form leaves the
expressions that need it to the evaluator.
"""


def page() -> str:
    """The text of the page."""
    return _INTRO + "\n".join(_functions()) + "\n" + _OPERATIONS + "\n".join(_operations()) + "\n"


def _functions() -> Iterator[str]:
    arities: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for one in all_builtins():
        if one.name.startswith("xs:"):
            continue
        is_native = (one.uri, one.local, one.arity) in LANGUAGE.functions
        arities[one.name][0 if is_native else 1].append(one.arity)
    for name, (native, evaluated) in sorted(arities.items()):
        yield f"| `{name}` | {_listed(native)} | {_listed(evaluated)} |"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _operations() -> Iterator[str]:
    names = [dialect.name for dialect in DIALECTS]
    for topic, operations in TOPICS.items():
        yield f"\n### {topic.capitalize()}\n"
        yield f"| operation | NULL | fails | computes | {' | '.join(names)} |"
        yield "| --- " * (4 + len(names)) + "|"
        yield from map(_row, operations)


def _row(one: Operation) -> str:
    cells = [
        f"`{_escaped(one.signature)}`",
        "strict" if one.is_strict else "",
        "yes" if one.can_fail else "",
        ", ".join(f"`{_escaped(name)}`" for name in one.functions),
        *(_in_dialect(one, dialect) for dialect in DIALECTS),
    ]
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _in_dialect(one: Operation, dialect: Dialect) -> str:
    if one.name not in dialect.forms:
        return ""
    if one.name in dialect.limits:
        return "limits"
    if dialect is DUCKDB and one.name in FUNCTIONS:
        return "Python"
    form = dialect.forms[one.name]
    return "name" if isinstance(form, partial) and form.args == (one.name,) else "form"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
