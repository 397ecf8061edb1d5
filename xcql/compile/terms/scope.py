"""What the compiler knows at one place of the query, and what it records about the whole query."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xcql.algebra.operators import Plan, columns, inputs
from xcql.algebra.scalars import NOW, Call, Constant, Scalar
from xcql.analysis.graph import TagGraph
from xcql.analysis.names import Namespaces
from xcql.column_names import folded
from xcql.compile.catalog import Catalog, Externals
from xcql.compile.literals import Literals
from xcql.compile.result import BEYOND_SQL, IN_DOUBT, Evaluation, NotNative, Site
from xcql.compile.terms.items import Shape, StreamElement, shape_of
from xcql.compile.terms.values import Value, apart
from xcql.dialects.dialect import Dialect
from xcql.source import Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.node import Expr
from xcql.syntax.prolog import FunctionDecl, MainModule, Setter

if TYPE_CHECKING:
    from xcql.compile.terms.native_functions import NativeFunction


@dataclass(frozen=True, slots=True)
class Language:
    """How each construct is compiled; lets modules use each other without importing each other.

    `expressions` and `clauses` are by the type of the node, `functions` by namespace, name and
    number of arguments. `evaluated` returns the value of an expression that has no native form.
    """

    expressions: Mapping[type, CompileExpression]
    clauses: Mapping[type, CompileClause]
    functions: Mapping[FunctionKey, NativeFunction]
    evaluated: Callable[[Expr, Scope, NotNative], Value]


@dataclass(slots=True)
class Compilation:
    """What is collected while one query is compiled."""

    language: Language
    module: MainModule
    literals: Literals
    catalog: Catalog
    externals: Externals
    dialect: Dialect
    graphs: Mapping[str, TagGraph]
    # whether fillers are found by their places in the view, and not only by the ids of holes
    by_place: bool = True
    names: dict[str, int] = field(default_factory=dict)
    demands: dict[tuple[str, tuple[str, ...]], set[tuple[str, ...]]] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    # the values of the expressions inside of a `try`, while that is compiled, and of its variables
    tried: list[Value] | None = None
    named: list[Value] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    functions: Mapping[tuple[str, str, int], FunctionDecl] = field(default_factory=dict)
    globals: dict[str, Value] = field(default_factory=dict)
    active: list[tuple[str, str, int]] = field(default_factory=list)
    # whether a part of an expression is tried that is the evaluator's, and how many were
    is_lifting: bool = False
    trials: int = 0
    # how many fillers are around the arguments of recursive calls, from the outermost call in
    call_depths: tuple[int, ...] = ()
    # the tags of the ancestors of the filler that is being serialised
    serialising: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def empty_order(self) -> str:
        """Where `order by` puts the empty sequence by default."""
        return next(
            (
                one.value
                for one in self.module.declarations
                if isinstance(one, Setter) and one.keyword == "default order empty"
            ),
            "least",
        )

    def fresh(self, hint: str) -> str:
        """A column or row name that is not used yet, as close to the hint as possible.

        It has no dot: names with a dot are reserved for the compiler, see `Column`.
        """
        plain = re.sub(r"\W", "_", hint) or "x"
        # the second `x` is `x_2`, which may also be a hint
        while True:
            key = folded(plain)
            number = self.names.get(key, 0) + 1
            self.names[key] = number
            if number == 1:
                return plain
            name = f"{plain}_{number}"
            key = folded(name)
            if key not in self.names:
                self.names[key] = 1
                return name

    def evaluation(
        self,
        expression: str | MainModule,
        parameters: tuple[str, ...],
        arguments: tuple[Scalar, ...],
        problem: NotNative,
    ) -> Scalar:
        """The evaluator's answer, as an array of items, given arrays of items."""
        name = f"xcql_evaluate_{len(self.evaluations) + 1}"
        span = problem.span or self.module.span
        self.evaluations.append(Evaluation(name, expression, parameters, problem.reason, span))
        return Call("evaluate", (Constant(name), *arguments))

    def number(self) -> int:
        """A number that is unique in the query."""
        self.names["#"] = self.names.get("#", 0) + 1
        return self.names["#"]

    def error(self, code: str, message: str, span: Span, value: Scalar | None = None) -> Scalar:
        """A scalar that fails; `{}` in the message is replaced by the value.

        The evaluator might never reach a part that is lifted out of its expression: if that fails,
        the evaluator answers the whole query.
        """
        if self.is_lifting:
            message = IN_DOUBT
        return self._failing(Site(code, message, span, is_limit=self.is_lifting), value)

    def limit(self, span: Span, message: str = BEYOND_SQL) -> Scalar:
        """A scalar for what SQL cannot represent; the evaluator answers the query then."""
        return self._failing(Site("FOAR0002", message, span, is_limit=True))

    def _failing(self, site: Site, value: Scalar | None = None) -> Scalar:
        if site not in self.sites:
            self.sites.append(site)
        number = self.sites.index(site)
        return Call("fail", (Constant(number), value if value is not None else Constant("")))

    def shape(self, stream: str, tags: tuple[str, ...]) -> Shape | None:
        """The shape of fillers with these tags; None if the layouts of their tables differ."""
        slots = self.catalog.streams[stream].slots
        found = {tag: slots[tag] for tag in tags if tag in slots}
        # tables that overlap others are found again in the table of nodes, which needs places
        return shape_of(found, as_arrays=self.by_place) if found else None

    def demand(self, node: StreamElement, *path: str) -> None:
        """Record that a field of a node's struct is read."""
        self.demands.setdefault((node.stream, node.table), set()).add((*node.path, *path))


@dataclass(frozen=True, slots=True)
class Scope:
    """The names in scope at one place of the query.

    `taken` are the columns of the tuples for which expressions here are evaluated, `loops` the
    plans that make these tuples, each for the tuples of the one before. `only_compared` says that
    the value of a function called here is only compared with others: then it makes no difference
    whether a number is an integer or a double.
    """

    compilation: Compilation
    names: Namespaces
    variables: Mapping[str, Value] = field(default_factory=dict)
    context: Value | None = None
    position: Scalar | None = None
    last: Callable[[], Scalar] | None = None
    taken: frozenset[str] = frozenset()
    loops: tuple[Plan, ...] = ()
    now: Scalar = NOW
    only_compared: bool = False

    def bind(self, name: object, value: Value) -> Scope:
        if self.compilation.tried is not None:
            self.compilation.named.append(value)
        return replace(self, variables={**self.variables, str(name): value})

    def within(self, plan: Plan) -> Scope:
        """The scope for the tuples of a plan, which may be made from those that are here."""
        loops = self.loops
        if loops and _is_made_from(plan, loops[-1]):
            loops = loops[:-1]
        return replace(self, taken=self.taken | columns(plan), loops=(*loops, plan))

    def focus(
        self, item: Value, position: Scalar | None = None, last: Callable[[], Scalar] | None = None
    ) -> Scope:
        return replace(self, context=item, position=position, last=last)

    def variable(self, name: object, span: Span) -> Value:
        try:
            value = self.variables[str(name)]
        except KeyError:
            raise NotNative(f"the variable ${name} is not known here", span) from None
        return apart(value, self.taken)


def _is_made_from(plan: Plan, source: Plan) -> bool:
    """Whether the tuples of a plan are made from those of another."""
    pending, seen = [plan], set()
    while pending:
        here = pending.pop()
        if here is source:
            return True
        if id(here) not in seen:
            seen.add(id(here))
            pending += inputs(here)
    return False


def native(expr: Expr, scope: Scope) -> Value:
    """The value of an expression; raises `NotNative` if it has no native form."""
    compiler = scope.compilation.language.expressions.get(type(expr))
    if compiler is None:
        raise NotNative(f"{type(expr).__name__} has no native form", expr.span)
    if scope.only_compared and not isinstance(expr, FunctionCall):
        scope = replace(scope, only_compared=False)
    return compiler(expr, scope)


def value_of(expr: Expr, scope: Scope) -> Value:
    """The value of an expression; if it has no native form, the evaluator computes it."""
    compilation = scope.compilation
    try:
        value = native(expr, scope)
    except NotNative as problem:
        value = compilation.language.evaluated(expr, scope, problem)
    if compilation.tried is not None:
        compilation.tried.append(value)
    return value


@dataclass(frozen=True, slots=True)
class Tuples:
    """The tuples of a FLWOR expression: a plan, and the variables over its columns."""

    plan: Plan
    scope: Scope
    # the variables bound so far, which `group by` collects
    bound: tuple[str, ...] = ()


CompileExpression = Callable[[Any, Scope], Value]
CompileClause = Callable[[Any, Tuples], list[Tuples]]
FunctionKey = tuple[str, str, int]
