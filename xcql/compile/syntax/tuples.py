"""The tuples of a FLWOR expression, and how its clauses change them."""

from __future__ import annotations

from collections.abc import Sequence

from xcql.algebra.operators import Unit, columns
from xcql.compile.library.several_kinds import merged
from xcql.compile.result import NotNative
from xcql.compile.terms.scope import Scope, Tuples
from xcql.syntax.flwor import Clause, Count, GroupBy, OrderBy


def tuples(clauses: Sequence[Clause], scope: Scope) -> list[Tuples]:
    """The tuples after some clauses; several plans if a variable has several kinds."""
    streams = [Tuples(Unit(), scope)]
    shared: frozenset[str] = frozenset()
    for clause in clauses:
        after: list[Tuples] = []
        if len(streams) > 1 and isinstance(clause, Count | GroupBy):
            streams = [merged_tuples(streams, shared)]
        if len(streams) == 1:
            shared = columns(streams[0].plan)
        apply = scope.compilation.language.clauses[type(clause)]
        for stream in streams:
            after += apply(clause, stream)
        streams = after
        if len(streams) > 1 and isinstance(clause, OrderBy) and _is_turned(clause, scope):
            # arrays of several kinds of items are sorted in one direction
            streams = [merged_tuples(streams, shared)]
        if len(streams) > 64:
            raise NotNative("variables of too many kinds", clause.span)
    return streams


def _is_turned(clause: OrderBy, scope: Scope) -> bool:
    """Whether a key is sorted otherwise than from the least to the greatest."""
    default = scope.compilation.empty_order
    return any(key.descending or (key.empty or default) == "greatest" for key in clause.keys)


def merged_tuples(streams: Sequence[Tuples], shared: frozenset[str]) -> Tuples:
    """The tuples of several plans merged into one; `shared` columns are the same in all plans."""
    first = streams[0]
    held = [[one.scope.variables[name] for name in first.bound] for one in streams]
    plan, values = merged([one.plan for one in streams], held, shared, first.scope.compilation)
    scope = first.scope.within(plan)
    for name, value in zip(first.bound, values, strict=True):
        scope = scope.bind(name, value)
    return Tuples(plan, scope, first.bound)


def bound_also(stream: Tuples, *names: str) -> tuple[str, ...]:
    """The variables bound so far, and these."""
    return (*(one for one in stream.bound if one not in names), *names)
