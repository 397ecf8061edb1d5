"""Parts of an expression that SQL computes although the evaluator has to compute the whole.

    local:f(stream("s")//a[@n = 1], $x)   =>   local:f($part, $x), where SQL computes $part

A part is lifted if it depends on nothing that the expression itself binds, and has a native form.
So the evaluator gets the nodes that it needs instead of whole streams.

Tests: tests/compile/library/test_isolation.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xcql.analysis.names import Namespaces
from xcql.compile.library.packing import columns_in
from xcql.compile.library.positions import is_never_positional
from xcql.compile.result import NotNative
from xcql.compile.terms import items
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import Value, at_most_one, leaves
from xcql.syntax.construct import DirectElement
from xcql.syntax.control import Catch, Quantified, QuantifierBinding
from xcql.syntax.flwor import Flwor, For, Let
from xcql.syntax.functions import FunctionCall, InlineFunction, Parameter
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.names import name_set
from xcql.syntax.node import Expr, Name, SyntaxNode, child_fields, children, walk
from xcql.syntax.operators import SimpleMap
from xcql.syntax.path import AxisStep, Filter, Path, UnaryLookup
from xcql.syntax.prolog import FunctionDecl
from xcql.syntax.types import AnyKindTest

# how many parts of one query are tried; each of them is compiled
_MOST_TRIALS = 500
# fields of syntax nodes that bind variables
_BINDING = ("variable", "default_variable", "item", "position", "previous", "next")
# functions without arguments that do not use the context item
_WITHOUT_FOCUS = name_set(
    "true false error now start current-dateTime current-date current-time implicit-timezone pi"
)


@dataclass(frozen=True, slots=True)
class Code:
    """An expression, and the functions of the query that it calls."""

    expr: Expr
    functions: tuple[FunctionDecl, ...]

    @property
    def parts(self) -> tuple[SyntaxNode, ...]:
        return self.expr, *self.functions

    def walk(self) -> Iterator[SyntaxNode]:
        for part in self.parts:
            yield from walk(part)


def lifted(
    code: Code, scope: Scope, can_travel: Callable[[Value], bool], problem: NotNative
) -> tuple[Code, dict[str, Value]]:
    """The code with variables in place of its native parts, and the values of those.

    Raises the problem if every row would get a sequence of its own that is the same for all rows.
    """
    lifting = _Lifting(scope, can_travel, problem)
    place = _Place(scope.names)
    begun = lifting.path(code.expr, place) if isinstance(code.expr, Path) else None
    expr = begun or lifting.below(code.expr, place)
    compilation = scope.compilation
    inside = Scope(
        compilation,
        Namespaces.of(compilation.module.declarations),
        compilation.globals,
        taken=scope.taken,
        loops=scope.loops,
    )
    in_functions = replace(lifting, scope=inside)
    in_body = _Place(inside.names).refocused()
    functions = tuple(
        in_functions.below(one, in_body) if _needs_outside(one) else one for one in code.functions
    )
    return Code(expr, functions), lifting.parts  # type: ignore[arg-type]


def _needs_outside(function: FunctionDecl) -> bool:
    """Whether a function reads more than its arguments."""
    called = (node.name.local for node in walk(function) if isinstance(node, FunctionCall))
    return "stream" in called


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part is: its namespaces, the variables bound around it, whether the focus changed.

    `is_repeated` says that it may be computed several times for one value of the whole.
    """

    names: Namespaces
    bound: frozenset[str] = frozenset()
    is_refocused: bool = False
    is_repeated: bool = False

    def inside(self, node: SyntaxNode) -> _Place:
        place = replace(self, bound=self.bound | frozenset(_bound_by(node)))
        if isinstance(node, DirectElement):
            return replace(place, names=self.names.within(node.namespaces))
        return place

    def refocused(self) -> _Place:
        return replace(self, is_refocused=True, is_repeated=True)


@dataclass(slots=True)
class _Lifting:
    scope: Scope
    can_travel: Callable[[Value], bool]
    problem: NotNative
    parts: dict[str, Value] = field(default_factory=dict)

    def part(self, node: SyntaxNode, place: _Place) -> SyntaxNode:
        """The node, or a variable if it is lifted."""
        if isinstance(node, Expr):
            value = self.value(node, place)
            if value is not None:
                return self.variable(node, value)
        if isinstance(node, Path):
            begun = self.path(node, place)
            if begun is not None:
                return begun
        return self.below(node, place)

    def below(self, node: SyntaxNode, place: _Place) -> SyntaxNode:
        """The node with the parts below it lifted."""
        match node:
            case FunctionCall(name=name) if name.local == "stream":
                # its argument may be a name without quotes
                return node
            case Path(steps=(first, *steps)):
                after = tuple(self.part(one, place.refocused()) for one in steps)
                return replace(node, steps=(self.part(first, place), *after))  # type: ignore[arg-type]
            case Filter(base=base, predicate=predicate):
                condition = self.part(predicate, place.refocused())
                return replace(node, base=self.part(base, place), predicate=condition)  # type: ignore[arg-type]
            case SimpleMap(left=left, right=right):
                body = self.part(right, place.refocused())
                return replace(node, left=self.part(left, place), right=body)  # type: ignore[arg-type]
            case Flwor(clauses=clauses, result=result):
                parts, inside = self.bindings(clauses, place)
                return replace(node, clauses=parts, result=self.part(result, inside))  # type: ignore[arg-type]
            case Quantified(bindings=bindings, condition=condition):
                parts, inside = self.bindings(bindings, place)
                return replace(node, bindings=parts, condition=self.part(condition, inside))  # type: ignore[arg-type]
        inside = place.inside(node)
        if isinstance(node, AxisStep | InlineFunction):
            inside = inside.refocused()
        changes: dict[str, Any] = {}
        for child in child_fields(type(node)):
            value = getattr(node, child)
            if isinstance(value, SyntaxNode):
                changes[child] = self.part(value, inside)
            elif isinstance(value, tuple):
                changes[child] = tuple(
                    self.part(one, inside) if isinstance(one, SyntaxNode) else one for one in value
                )
        return replace(node, **changes) if changes else node

    def bindings(
        self, bindings: Sequence[SyntaxNode], place: _Place
    ) -> tuple[tuple[SyntaxNode, ...], _Place]:
        """Clauses with their parts lifted, and the place after them."""
        made: list[SyntaxNode] = []
        for one in bindings:
            if isinstance(one, For | Let | QuantifierBinding):
                made.append(replace(one, source=self.part(one.source, place)))  # type: ignore[arg-type]
            else:
                made.append(self.below(one, place))
            place = place.inside(one)
            if not isinstance(one, Let):
                place = replace(place, is_repeated=True)
        return tuple(made), place

    def path(self, path: Path, place: _Place) -> SyntaxNode | None:
        """The path with its longest possible beginning lifted."""
        for count in range(len(path.steps), 0, -1):
            *before, last = path.steps[:count]
            predicates = last.predicates if isinstance(last, AxisStep) else ()
            for kept in range(len(predicates), -1, -1):
                open_ = predicates[kept:]
                if not all(map(is_never_positional, open_)) or _is_all_below(last):
                    break
                if count == len(path.steps) and not open_:
                    # the whole path was tried before
                    continue
                step = last
                if isinstance(last, AxisStep):
                    step = replace(last, predicates=predicates[:kept])
                begin: Expr = replace(path, steps=(*before, step))
                if not before and not path.absolute:
                    begin = step
                value = self.value(begin, place)
                if value is None:
                    continue
                base: Expr = self.variable(begin, value)
                for one in open_:
                    condition = self.part(one, place.refocused())
                    base = Filter(base, condition, span=last.span)  # type: ignore[arg-type]
                rest = tuple(self.part(one, place.refocused()) for one in path.steps[count:])
                if not rest:
                    return base
                return Path(False, (base, *rest), span=path.span)  # type: ignore[arg-type]
        return None

    def variable(self, expr: Expr, value: Value) -> VariableRef:
        # no query can name such a variable
        name = f"#{self.scope.compilation.number()}"
        self.parts[name] = value
        return VariableRef(Name(name, span=expr.span), span=expr.span)

    def value(self, expr: Expr, place: _Place) -> Value | None:
        """The native value of a part; None if it has none, or depends on what is around it."""
        compilation = self.scope.compilation
        if not _reads_data(expr) or variable_names(expr) & place.bound:
            return None
        if place.is_refocused and uses_context(expr):
            return None
        compilation.trials += 1
        if compilation.trials > _MOST_TRIALS:
            return None
        compilation.is_lifting = True
        try:
            value = value_of(expr, replace(self.scope, names=place.names))
        except NotNative:
            return None
        finally:
            compilation.is_lifting = False
        found = leaves(value)
        if any(isinstance(leaf.item, items.Failure | items.Dynamic) for leaf in found):
            return None
        if place.is_repeated and any(_is_new(leaf.item) for leaf in found):
            # each computation makes new nodes
            return None
        if not self.can_travel(value):
            return None
        if self._is_same_in_all_rows(value):
            raise self.problem
        return value

    def _is_same_in_all_rows(self, value: Value) -> bool:
        taken = self.scope.taken
        return bool(taken) and not at_most_one(value) and not columns_in(value) & taken


def _reads_data(expr: Expr) -> bool:
    if isinstance(expr, VariableRef | ContextItem | InlineFunction):
        return False
    return any(
        isinstance(node, VariableRef | ContextItem | AxisStep | FunctionCall) for node in walk(expr)
    )


def variable_names(code: SyntaxNode) -> set[str]:
    """The names of all variables that are referred to, bound inside or not."""
    return {str(node.name) for node in walk(code) if isinstance(node, VariableRef)}


def _bound_by(node: SyntaxNode) -> Iterator[str]:
    """The variables that a node binds for some expressions inside it."""
    if isinstance(node, Catch):
        # the variables of an error, with any prefix
        for one in walk(node):
            if isinstance(one, VariableRef) and (one.name.prefix or one.name.uri):
                yield str(one.name)
    pending = [node]
    while pending:
        here = pending.pop()
        fields = ("name",) if isinstance(here, Parameter) else _BINDING
        for name in fields:
            value = getattr(here, name, None)
            if isinstance(value, Name):
                yield str(value)
        pending += [one for one in children(here) if not isinstance(one, Expr)]


def _is_new(item: items.Item) -> bool:
    """Whether the item may be a node that the expression itself creates."""
    match item:
        case items.Element() | items.Markup():
            return True
        case items.StreamElement(tree=tree) | items.StreamDocument(tree=tree):
            return tree is not None
        case items.Inner(owner=owner):
            return _is_new(owner)
        case items.AttributeItem(owner=owner) | items.TextItem(owner=owner):
            return item.within is None and (owner is None or _is_new(owner))
    return False


def _is_all_below(step: Expr) -> bool:
    """Whether the step is the one that `//` abbreviates."""
    return isinstance(step, AxisStep) and isinstance(step.test, AnyKindTest)


def uses_context(expr: Expr) -> bool:
    """Whether the expression may use its own context item."""
    pending: list[SyntaxNode] = [expr]
    while pending:
        node = pending.pop()
        match node:
            case ContextItem() | AxisStep() | UnaryLookup() | Path(absolute=True):
                return True
            case FunctionCall(name=name, arguments=()) if name.local not in _WITHOUT_FOCUS:
                return True
            # later steps and predicates have a context of their own
            case Path(steps=steps):
                pending.append(steps[0])
            case Filter(base=base) | SimpleMap(left=base):
                pending.append(base)
            case InlineFunction():
                continue
            case _:
                pending.extend(children(node))
    return False
