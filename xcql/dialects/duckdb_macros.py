"""Macros of DuckDB: long forms of operations under a name, so that the text of a query is short.

    parse_date("$text")   instead of   CAST(substr(regexp_replace("$text", …), 1, 10) AS DATE)

A macro is created when a text first calls it, from the operation's form; DuckDB puts the form back
in place of its calls. `xcqlc explain` shows the calls.

Tests: tests/dialects/test_duckdb_macros.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from sqlglot import exp

from xcql.algebra.operations import OPERATIONS
from xcql.dialects.dialect import FormShape, form_shape
from xcql.dialects.duckdb_text import duckdb_text
from xcql.dialects.forms.registry import Form
from xcql.dialects.templates import computed_once
from xcql.dialects.trees import Sql, column, copied, identifier

# no query and no template has such a name, so that what a macro is given cannot mean it
_OWN = "macro_"
_LETTERS = "abcdef"


def macros(names: Iterable[str], forms: Mapping[str, Form]) -> Mapping[str, Form]:
    """Calls of macros, in place of the forms of some operations."""
    return {name: partial(_called, name, forms[name]) for name in names}


def _called(name: str, form: Form, *arguments: Sql) -> Sql:
    operands = _shape(form, len(arguments)).operands
    # what a form computes in any case has a name of one letter: if it is long, it is computed once
    names = [
        letter if operand.is_certain else f"given_{letter}"
        for letter, operand in zip(_LETTERS, operands, strict=False)
    ]
    uses = {one: operand.uses for one, operand in zip(names, operands, strict=True)}
    parts = dict(zip(names, arguments, strict=True))
    return computed_once(f"{name}({', '.join(names)})", uses, parts)


def _shape(form: Form, count: int) -> FormShape:
    shape = form_shape(form, (None,) * count)
    assert shape is not None, "a form that has to know its operands"
    return shape


def definition(name: str, form: Form) -> str:
    """The statement that creates the macro of an operation."""
    operation = OPERATIONS[name]
    most = len(operation.parameters)
    bodies = (_body(form, count) for count in range(most - operation.optional, most + 1))
    return f"CREATE MACRO {name}{', '.join(bodies)}"


def _body(form: Form, count: int) -> str:
    names = [f"{_OWN}{letter}" for letter in _LETTERS[:count]]
    tree = copied(form(*map(column, names)))
    for function in list(tree.find_all(exp.Lambda)):
        _rename_parameters(function)
    return f"({', '.join(names)}) AS {duckdb_text(tree)}"


def _rename_parameters(function: exp.Lambda) -> None:
    names = {one.name: f"{_OWN}{one.name}" for one in function.expressions}
    for node in list(function.find_all(exp.Identifier)):
        if node.name in names and not isinstance(node.parent, exp.Dot):
            node.replace(identifier(names[node.name]))
