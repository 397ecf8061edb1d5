"""Whether copies of nodes are sorted as the nodes themselves are.

The evaluator gets a copy of each node. The copies are trees of their own, so nodes of several
variables have no order, and one node in two variables is two nodes. An expression that sorts nodes,
as paths and unions do, has the same value for copies if it sorts nodes of one tree at a time.

Tests: tests/compile/library/test_isolation.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from xcql.compile.library.document_order import is_sorted, may_nest
from xcql.compile.terms.items import Atomic
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Value, at_most_one, leaves
from xcql.syntax.construct import ComputedDocument, ComputedElement, DirectElement
from xcql.syntax.control import QuantifierBinding, Typeswitch, TypeswitchCase
from xcql.syntax.flwor import Flwor, For, GroupBy, Let, Window, WindowCondition
from xcql.syntax.functions import FunctionCall, InlineFunction, Parameter
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, SyntaxNode, walk
from xcql.syntax.operators import Binary
from xcql.syntax.path import AxisStep, Filter, Path

_SET_OPERATORS = frozenset({"union", "|", "intersect", "except"})
# functions that return some of the items of their first argument, in order
_PARTS = name_set("head tail subsequence remove exactly-one zero-or-one one-or-more")
# functions that return new nodes of one tree
_NEW = name_set("analyze-string parse-xml parse-xml-fragment json-to-xml")
# functions that call a function with single items, and which of its parameters get them
_WITH_ITEMS = {
    "for-each": (0,),
    "filter": (0,),
    "sort": (0,),
    "fold-left": (1,),
    "fold-right": (0,),
    "for-each-pair": (0, 1),
}
# what identifies a tree
Origin = tuple[object, ...]


def sorts_as_copies(
    code: Iterable[SyntaxNode],
    given: Mapping[str, Value],
    is_declared: Callable[[SyntaxNode], bool],
    scope: Scope,
) -> bool:
    """Whether some code sorts copies as it sorts nodes; `given` are the variables with copies.

    `code` are all syntax nodes of the code. `is_declared` says whether a node calls a function of
    the query.
    """
    code = list(code)
    if not any(map(_sorts, code)):
        return True
    with_nodes = [value for value in given.values() if _may_have_nodes(value)]
    if len(with_nodes) < 2 and all(_is_orderly(value, scope) for value in with_nodes):
        return True
    origins = _Origins(given, _bindings(code), is_declared, scope)
    return all(origins.of(node) is not None for node in code if _sorts(node))


def _sorts(node: SyntaxNode) -> bool:
    return isinstance(node, Path) or (isinstance(node, Binary) and node.op in _SET_OPERATORS)


def _may_have_nodes(value: Value) -> bool:
    return any(not isinstance(leaf.item, Atomic) for leaf in leaves(value))


def _is_orderly(value: Value, scope: Scope) -> bool:
    """Whether nodes are sorted, and the copies of all of them are apart."""
    return at_most_one(value) or (is_sorted(value) and not may_nest(value, scope))


class _Bound(Enum):
    """What a variable can be bound to, if not to the value of an expression."""

    ONE_ITEM = auto()
    UNKNOWN = auto()


_Bindings = dict[str, list[Expr | _Bound]]


def _bindings(code: Iterable[SyntaxNode]) -> _Bindings:
    """All that each variable is bound to somewhere in the code."""
    found: _Bindings = {}

    def bind(name: Name | None, to: Expr | _Bound) -> None:
        if name is not None:
            found.setdefault(str(name), []).append(to)

    code = list(code)
    with_items = {id(one) for node in code for one in _parameters_for_items(node)}
    for node in code:
        match node:
            case For(variable=name) | QuantifierBinding(variable=name):
                bind(name, _Bound.ONE_ITEM)
            case Let(variable=name, source=source) | Window(variable=name, source=source):
                bind(name, source)
            case WindowCondition(item=item, previous=previous, next=following):
                for one in (item, previous, following):
                    bind(one, _Bound.ONE_ITEM)
            case Parameter(name=name, type=type_):
                is_typed = type_ is not None and type_.occurrence in ("", "?")
                is_one = is_typed or id(node) in with_items
                bind(name, _Bound.ONE_ITEM if is_one else _Bound.UNKNOWN)
            case TypeswitchCase(variable=name) | Typeswitch(default_variable=name):
                bind(name, _Bound.UNKNOWN)
            case Flwor(clauses=clauses) if any(isinstance(one, GroupBy) for one in clauses):
                for clause in clauses:
                    # it is a sequence after the grouping
                    bind(getattr(clause, "variable", None), _Bound.UNKNOWN)
    return found


def _parameters_for_items(node: SyntaxNode) -> list[Parameter]:
    """The parameters of inline functions that get single items."""
    match node:
        case FunctionCall(
            name=Name(local=local, prefix=None | "fn", uri=None),
            arguments=(*_, InlineFunction(parameters=parameters)),
        ):
            return [parameters[at] for at in _WITH_ITEMS.get(local, ()) if at < len(parameters)]
    return []


@dataclass(frozen=True, slots=True)
class _Origins:
    given: Mapping[str, Value]
    bindings: _Bindings
    is_declared: Callable[[SyntaxNode], bool]
    scope: Scope
    pending: set[str] = field(default_factory=set)

    def of(self, expr: SyntaxNode) -> Origin | None:
        """The tree that all nodes of the value are in, in document order; None if not known."""
        match expr:
            case ContextItem() | AxisStep() | Path(absolute=True):
                return (".",)
            case VariableRef(name=name):
                return self._of_variable(str(name))
            case Path(steps=(first, *steps)):
                return self.of(first) if all(map(self._stays, steps)) else None
            case Filter(base=base):
                return self.of(base)
            case Binary(op=op, left=left, right=right) if op in _SET_OPERATORS:
                origin = self.of(left)
                return origin if origin == self.of(right) else None
            case FunctionCall(name=name) if self.is_declared(expr):
                return None
            case FunctionCall(name=name, arguments=(first, *_)) if name.local in _PARTS:
                return self.of(first)
            case FunctionCall(name=name) if name.local in _NEW:
                return ("new", id(expr))
            case DirectElement() | ComputedElement() | ComputedDocument():
                return ("new", id(expr))
        return None

    def _of_variable(self, name: str) -> Origin | None:
        if name in self.pending:
            return None
        self.pending.add(name)
        try:
            bound = all(
                one is _Bound.ONE_ITEM or (isinstance(one, Expr) and self.of(one) is not None)
                for one in self.bindings.get(name, ())
            )
        finally:
            self.pending.discard(name)
        is_known = name in self.bindings or name in self.given
        given = name not in self.given or _is_orderly(self.given[name], self.scope)
        return ("variable", name) if is_known and bound and given else None

    def _stays(self, step: SyntaxNode) -> bool:
        """Whether a step of a path leads to nodes of the same tree, or to new ones."""
        if isinstance(step, AxisStep):
            return True
        return not any(
            self.is_declared(node) or (isinstance(node, VariableRef) and self._has_nodes(node))
            for node in walk(step)
        )

    def _has_nodes(self, variable: VariableRef) -> bool:
        name = str(variable.name)
        return name in self.bindings or name not in self.given or _may_have_nodes(self.given[name])
