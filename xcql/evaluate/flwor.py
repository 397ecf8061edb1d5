"""FLWOR expressions: a stream of environments that each clause extends, filters or reorders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from elementpath.datatypes import UntypedAtomic

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.collations import Collation, find_collation
from xcql.evaluate.comparing import bucket, order, same_value
from xcql.evaluate.context import Context, StaticContext
from xcql.evaluate.control import bind_checked
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    plain_name,
    unknown_variable,
)
from xcql.evaluate.sequences import Items, located, zero_or_one_atomic
from xcql.evaluate.type_reader import read_sequence_type
from xcql.evaluate.types import ValueType
from xcql.evaluate.values import effective_boolean
from xcql.evaluate.windows import compile_window
from xcql.source import Span
from xcql.syntax import flwor as syntax
from xcql.syntax.node import Name
from xcql.xdm.atomic import is_numeric
from xcql.xdm.names import QName

# the tuples of variables that flow from clause to clause
Stream = Iterable[Environment]
Clause = Callable[[Stream, Context], Stream]


@compiles(syntax.Flwor)
def flwor(node: syntax.Flwor, scope: NameScope) -> Code:
    clauses: list[Clause] = []
    bound: list[QName] = []
    for clause in node.clauses:
        compiled, names = _clause(clause, scope, bound)
        clauses.append(compiled)
        bound += names
        scope = scope.bind(*names)
    result = compile_expression(node.result, scope)

    def run(env: Environment, context: Context) -> Iterator[Any]:
        stream: Stream = (env,)
        for clause in clauses:
            stream = clause(stream, context)
        for inner in stream:
            yield from result(inner, context)

    return run


def _clause(
    node: syntax.Clause, scope: NameScope, bound: list[QName]
) -> tuple[Clause, list[QName]]:
    """A clause's code, and the variables that it adds."""
    match node:
        case syntax.For():
            return _for(node, scope)
        case syntax.Let():
            return _let(node, scope)
        case syntax.Window():
            return compile_window(node, scope)
        case syntax.Where():
            return _where(node, scope), []
        case syntax.Count():
            return _count, [plain_name(node.variable, scope.static)]
        case syntax.GroupBy():
            return _group_by(node, scope, bound)
        case syntax.OrderBy():
            return _order_by(node, scope), []
    raise AssertionError(f"no such clause: {node}")


def _type_of(given: Any, variable: Name, scope: NameScope) -> Callable[[Items, Span], None] | None:
    if given is None:
        return None
    wanted: ValueType = read_sequence_type(given, scope)

    def check(value: Items, span: Span) -> None:
        if not wanted.matches(value):
            raise error("XPTY0004", f"${variable} must be {wanted}", span)

    return check


def _for(node: syntax.For, scope: NameScope) -> tuple[Clause, list[QName]]:
    source = compile_expression(node.source, scope)
    check = _type_of(node.type, node.variable, scope)
    names = [plain_name(node.variable, scope.static)]
    counted, allowing_empty, span = node.position is not None, node.allowing_empty, node.span
    if node.position is not None:
        position = plain_name(node.position, scope.static)
        if position == names[0]:
            raise error("XQST0089", f"${position} names both the item and its position", node.span)
        names.append(position)

    def run(stream: Stream, context: Context) -> Iterator[Environment]:
        for env in stream:
            number = 0
            for item in source(env, context):
                number += 1
                value = (item,)
                if check is not None:
                    check(value, span)
                yield ((number,), (value, env)) if counted else (value, env)
            if number == 0 and allowing_empty:
                if check is not None:
                    check((), span)
                yield ((0,), ((), env)) if counted else ((), env)

    return run, names


def _let(node: syntax.Let, scope: NameScope) -> tuple[Clause, list[QName]]:
    wanted = None if node.type is None else read_sequence_type(node.type, scope)
    source = bind_checked(
        compile_expression(node.source, scope), wanted, str(node.variable), node.span
    )

    def run(stream: Stream, context: Context) -> Iterator[Environment]:
        for env in stream:
            yield (source(env, context), env)

    return run, [plain_name(node.variable, scope.static)]


def _where(node: syntax.Where, scope: NameScope) -> Clause:
    condition = compile_expression(node.condition, scope)
    span = node.condition.span

    def run(stream: Stream, context: Context) -> Iterator[Environment]:
        for env in stream:
            if effective_boolean(condition(env, context), span):
                yield env

    return run


def _count(stream: Stream, context: Context) -> Iterator[Environment]:
    for number, env in enumerate(stream, 1):
        yield ((number,), env)


@dataclass(frozen=True, slots=True)
class _Key:
    """A grouping key: its depth among the variables, and how to compare its values."""

    depth: int
    collation: Collation
    span: Span


def _group_by(
    node: syntax.GroupBy, scope: NameScope, bound: list[QName]
) -> tuple[Clause, list[QName]]:
    """Bind keys that have a value first; then merge tuples with equal keys into one.

    In the merged tuple, a key's variable has the key; every other variable has all its values.
    """
    sources: list[tuple[Code, Any, Span, str] | None] = []
    new_names: list[QName] = []
    collations = []
    for key in node.keys:
        name = plain_name(key.variable, scope.static)
        collations.append(_collation(key.collation, scope.static, key.span))
        if key.source is None:
            if name not in bound + new_names:
                if scope.depth_of(name) is not None or name in scope.module.variables:
                    raise error(
                        "XQST0094",
                        f"${name} is not bound by this FLWOR expression",
                        key.span,
                        hints=[f"group by ${name} := ${name} groups by its value"],
                    )
                raise unknown_variable(name, scope, key.span)
            sources.append(None)
            continue
        check = _type_of(key.type, key.variable, scope)
        sources.append((compile_expression(key.source, scope), check, key.span, str(name)))
        new_names.append(name)
        scope = scope.bind(name)
    depths = []
    for key in node.keys:
        depth = scope.depth_of(plain_name(key.variable, scope.static))
        assert depth is not None
        depths.append(depth)
    keys = [
        _Key(depth, collation, key.span)
        for depth, collation, key in zip(depths, collations, node.keys, strict=True)
    ]
    width = len(bound) + len(new_names)

    def run(stream: Stream, context: Context) -> Iterator[Environment]:
        groups: dict[Hashable, list[tuple[list[Any], list[list[Items]]]]] = {}
        in_order: list[tuple[list[Any], list[list[Items]]]] = []
        outer: Environment = None
        for env in stream:
            for source in sources:
                if source is not None:
                    code, check, span, name = source
                    atom = zero_or_one_atomic(code(env, context), f"the key ${name}", span)
                    value: Items = () if atom is None else (atom,)
                    if check is not None:
                        check(value, span)
                    env = (value, env)
            values, outer = _unpacked(env, width)
            atoms = [_key_atom(values[key.depth], key) for key in keys]
            slot = tuple(
                () if atom is None else bucket(atom, key.collation)
                for atom, key in zip(atoms, keys, strict=True)
            )
            for members in groups.setdefault(slot, []):
                if all(_same_key(*pair) for pair in zip(members[0], atoms, keys, strict=True)):
                    members[1].append(values)
                    break
            else:
                group = (atoms, [values])
                groups[slot].append(group)
                in_order.append(group)
        for atoms, tuples in in_order:
            env = outer
            for depth in reversed(range(width)):
                for key, atom in zip(keys, atoms, strict=True):
                    if key.depth == depth:
                        env = (() if atom is None else (atom,), env)
                        break
                else:
                    env = ([item for values in tuples for item in values[depth]], env)
            yield env

    return run, new_names


def _unpacked(env: Environment, width: int) -> tuple[list[Items], Environment]:
    """The innermost variables' values, innermost first, and the environment around them."""
    values = []
    for _ in range(width):
        values.append(env[0])
        env = env[1]
    return values, env


def _key_atom(items: Items, key: _Key) -> Any:
    atom = zero_or_one_atomic(items, "a grouping key", key.span)
    return atom.value if type(atom) is UntypedAtomic else atom


def _same_key(left: Any, right: Any, key: _Key) -> bool:
    if left is None or right is None:
        return left is right
    return same_value(left, right, key.collation)


def _collation(uri: str | None, static: StaticContext, span: Span) -> Collation:
    if uri is None:
        return static.default_collation
    try:
        return find_collation(uri, static.base_uri)
    except XcqlError:
        raise error("XQST0076", f'unknown collation "{uri}"', span) from None


@dataclass(frozen=True, slots=True)
class _Order:
    code: Code
    descending: bool
    empty_greatest: bool
    collation: Collation
    span: Span


def _order_by(node: syntax.OrderBy, scope: NameScope) -> Clause:
    keys = [
        _Order(
            compile_expression(key.key, scope),
            key.descending,
            (key.empty or scope.static.empty_order) == "greatest",
            _collation(key.collation, scope.static, key.span),
            key.span,
        )
        for key in node.keys
    ]

    def run(stream: Stream, context: Context) -> Iterator[Environment]:
        rows = [([_order_value(key, env, context) for key in keys], env) for env in stream]
        # stable sorts, the last key first, sort by all keys
        for column in reversed(range(len(keys))):
            _sort(rows, column, keys[column])
        return (env for _, env in rows)

    return run


def _order_value(key: _Order, env: Environment, context: Context) -> Any:
    atom = zero_or_one_atomic(key.code(env, context), "a sort key", key.span)
    return atom.value if type(atom) is UntypedAtomic else atom


def _sort(rows: list[tuple[list[Any], Environment]], column: int, key: _Order) -> None:
    values = [row[0][column] for row in rows]
    sort_key: Callable[[Any], Any]
    if all(type(value) is str for value in values):
        sort_key = key.collation.key
    else:
        # values of different types cannot be sorted, even if the sort never compares two of them
        first = next((value for value in values if value is not None), None)
        for value in values:
            if value is not None:
                _compared(first, value, key)
        sort_key = cmp_to_key(lambda a, b: _compared(a, b, key))
    rows.sort(key=lambda row: sort_key(row[0][column]), reverse=key.descending)


def _compared(left: Any, right: Any, key: _Order) -> int:
    if key.empty_greatest:
        # the empty sequence comes last, NaN right before it
        if left is None or right is None:
            return (left is None) - (right is None)
        left_nan, right_nan = left != left, right != right
        if is_numeric(left) and is_numeric(right) and (left_nan or right_nan):
            return int(left_nan) - int(right_nan)
    try:
        return order(left, right, key.collation)
    except XcqlError as problem:
        raise located(problem, key.span) from None
