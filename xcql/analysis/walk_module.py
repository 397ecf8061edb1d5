"""The walk over a whole query: its prolog, its body, and the functions that the body calls.

This module imports the modules that register how each kind of expression is walked. They call
each other through `Walker.walk`, not by imports.
"""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis import (  # noqa: F401 (each registers how its kinds of expressions are walked)
    walk_calls,
    walk_flwor,
    walk_paths,
    walk_temporal,
    walk_values,
)
from xcql.analysis.walk_functions import emitted_functions
from xcql.analysis.walker import Walker
from xcql.recursion import deep_recursion
from xcql.syntax.node import Expr
from xcql.syntax.prolog import ContextItemDecl, Declaration, FunctionDecl, MainModule, VariableDecl


def walk_module(w: Walker) -> MainModule:
    """The rebuilt query; its answer, and everything that is kept, has no holes."""
    with deep_recursion():
        return _walk_module(w)


def _walk_module(w: Walker) -> MainModule:
    """Walk the declarations in order, then the query's body."""
    module = w.module
    env = w.globals
    declarations: list[Declaration] = []
    for declaration in module.declarations:
        match declaration:
            case VariableDecl(value=Expr() as value):
                typed = w.walk(value, env)
                declaration = replace(declaration, value=typed.expr)
                env = env.bind(declaration.name, typed.type)
            case ContextItemDecl(value=Expr() as value):
                typed = w.walk(value, env)
                declaration = replace(declaration, value=typed.expr)
                env = replace(env, context=replace(typed.type, one=True))
        w.globals = env
        declarations.append(declaration)
    w.prolog_is_known = True
    w.calls.clear()
    body = w.value(module.body, env)
    functions = emitted_functions(w, [d for d in declarations if isinstance(d, FunctionDecl)])
    emitted = [
        found
        for d in declarations
        for found in (functions.get(id(d), []) if isinstance(d, FunctionDecl) else [d])
    ]
    return replace(module, declarations=tuple(emitted), body=body)
