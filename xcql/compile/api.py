"""`compile_query`: a query over the streams of a store becomes SQL text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from xcql.algebra.failures import doubtful
from xcql.algebra.operators import Merge, Plan, PlanTooLarge, Project, Select, Unit, order
from xcql.algebra.rewriting.order_keys import deciding
from xcql.algebra.rewriting.rule import Facts
from xcql.algebra.rules import rewritten
from xcql.algebra.scalars import FALSE, NULL, Column, forgetting
from xcql.check import Checked
from xcql.compile.catalog import Catalog, Externals
from xcql.compile.language import LANGUAGE
from xcql.compile.library.access import ALWAYS
from xcql.compile.library.externals import external_value
from xcql.compile.library.isolation import evaluated
from xcql.compile.library.lifespans import lifespan
from xcql.compile.library.sequence_types import converted
from xcql.compile.library.serialisation import serialised
from xcql.compile.literals import Literals, Reusable
from xcql.compile.result import IN_DOUBT, Compiled, NotNative, table_uses
from xcql.compile.strategy import chosen
from xcql.compile.terms.items import Dynamic, StreamDocument, is_node
from xcql.compile.terms.leaf_types import leaf_types
from xcql.compile.terms.scope import Compilation, Scope, value_of
from xcql.compile.terms.values import Single, Value, leaves, merged_order
from xcql.dialects.dialect import Dialect
from xcql.dialects.spark import SPARK
from xcql.evaluate.collations import CODEPOINT_URI
from xcql.garbage import uncollected
from xcql.recursion import deep_recursion
from xcql.sql.lowering import AnswerPlan, lowered
from xcql.sql.target import Target
from xcql.syntax.functions import Parameter
from xcql.syntax.literals import VariableRef
from xcql.syntax.node import Name, SyntaxNode, walk
from xcql.syntax.prolog import ContextItemDecl, Setter, VariableDecl

Native = Literal["qac", "qac+", "auto"]

# Spark needs minutes and all its memory to plan a longer text, before it computes anything
MOST_TEXT = 400_000

# fields of syntax nodes that are names of variables
_VARIABLES = ("variable", "default_variable", "item", "position", "previous", "next")


def compile_query(
    query: Checked,
    catalog: Catalog,
    strategy: Native,
    externals: Externals,
    settled: frozenset[str] = frozenset(),
    dialect: Dialect = SPARK,
) -> Compiled:
    """Compile the query to SQL text by a strategy; `NotNative` if the query has no such form.

    The text is right for every `now` at which the `settled` streams are (see `Catalog.settled`).
    """
    found = compile_reusable(query, catalog, strategy, externals, settled, dialect)
    return found.filled(found.literals, found.source, dialect)


@uncollected()
@forgetting()
@deep_recursion()
def compile_reusable(
    query: Checked,
    catalog: Catalog,
    strategy: Native,
    externals: Externals,
    settled: frozenset[str] = frozenset(),
    dialect: Dialect = SPARK,
) -> Reusable:
    """Compile the query, and leave the literals open on whose values its plan does not depend."""

    new = partial(_new_compilation, query, catalog, strategy, externals, dialect)
    try:
        return _compiled(query, new(), strategy, settled, None)
    except NotNative as problem:
        # the evaluator can often answer it from parts that SQL computes
        return _compiled(query, new(), strategy, settled, problem)


@uncollected()
@forgetting()
@deep_recursion()
def compile_parts(
    query: Checked,
    catalog: Catalog,
    strategy: Native,
    externals: Externals,
    settled: frozenset[str],
    dialect: Dialect,
    reason: str,
) -> Compiled:
    """Compile what SQL computes for the evaluator, which has to compute the answer for a reason."""
    compilation = _new_compilation(query, catalog, strategy, externals, dialect)
    problem = NotNative(reason, query.module.span)
    found = _compiled(query, compilation, strategy, settled, problem)
    return found.filled(found.literals, found.source, dialect)


def _new_compilation(
    query: Checked,
    catalog: Catalog,
    strategy: Native,
    externals: Externals,
    dialect: Dialect,
) -> Compilation:
    graphs = {name: stream.graph for name, stream in catalog.streams.items()}
    named = query.streams
    by_place = strategy != "qac" and all(
        stream.placed
        for name, stream in catalog.streams.items()
        if named is None or name in named or name == externals.context
    )
    literals = Literals(query.module)
    return Compilation(
        LANGUAGE, query.module, literals, catalog, externals, dialect, graphs, by_place
    )


def _compiled(
    query: Checked,
    compilation: Compilation,
    strategy: Native,
    settled: frozenset[str],
    problem: NotNative | None,
) -> Reusable:
    """The query as SQL text; if there is a problem, the evaluator computes the answer in it."""
    module, catalog = query.module, compilation.catalog
    scope = _prolog(query, compilation)
    if problem is None:
        value = value_of(module.body, scope)
    else:
        value = evaluated(module.body, scope, problem, is_answer=True)
    answer = answer_of(value, scope)
    names = dict.fromkeys(stream for stream, _ in compilation.demands)
    picked, reasons = chosen(strategy, [catalog.streams[name] for name in names])
    target = Target(
        compilation.dialect,
        picked,
        compilation.graphs,
        compilation.demands,
        stabilities={name: catalog.streams[name].stabilities for name in settled},
        sizes={name: stream.sizes for name, stream in catalog.streams.items()},
    )
    try:
        steps = _steps(answer, picked, settled, compilation)
        answer = replace(answer, plan=steps[-1][1])
        made = lowered(answer, target)
    except PlanTooLarge:
        reason = "the query's parts depend on each other too much"
        raise NotNative(reason, module.span) from None
    if len(made.text) > MOST_TEXT:
        raise NotNative("there are too many paths to the data: the SQL is too long", module.span)
    in_doubt = doubtful(answer.plan) if compilation.sites or compilation.evaluations else ()
    # some evaluations are no longer in the branches that need them
    branches = doubtful(steps[0][1]) if compilation.evaluations else ()
    compiled = Compiled(
        made.text,
        picked,
        tables=table_uses(made.tables),
        evaluations=tuple(
            replace(one, is_doubtful=one.name in in_doubt or one.name in branches)
            for one in compilation.evaluations
            if one.name in made.text.slots
        ),
        sites=tuple(
            replace(site, message=IN_DOUBT, is_limit=True)
            if number in in_doubt and not site.is_limit
            else site
            for number, site in enumerate(compilation.sites)
        ),
        reasons=reasons,
        steps=steps,
        leaf_types=tuple(leaf_types(value).items()),
        items=made.items,
    )
    return Reusable.of(compiled, compilation.literals)


def _steps(
    answer: AnswerPlan, strategy: str, settled: frozenset[str], compilation: Compilation
) -> tuple[tuple[str, Plan], ...]:
    """The plan of an answer before the rules and after each rule."""
    streams = compilation.catalog.streams
    facts = Facts(
        strategy=strategy,
        wanted=answer.columns,
        fresh=compilation.fresh,
        graphs=compilation.graphs,
        depths={name: stream.depths for name, stream in streams.items()},
        rows={name: stream.rows for name, stream in streams.items()},
        settled=settled,
    )
    return rewritten(answer.plan, facts)


def _prolog(query: Checked, compilation: Compilation) -> Scope:
    module = query.module
    for one in module.declarations:
        is_collation = isinstance(one, Setter) and one.keyword == "default collation"
        if is_collation and one.value != CODEPOINT_URI:  # type: ignore[attr-defined]
            raise NotNative("a collation", one.span)
        is_copying = isinstance(one, Setter) and one.keyword == "copy-namespaces"
        if is_copying and one.value != "preserve,inherit":  # type: ignore[attr-defined]
            raise NotNative("namespaces that are not copied or inherited", one.span)
    if any(map(_names_variable_by_uri, walk(module))):
        raise NotNative("a variable that is named by its URI")
    compilation.functions = query.names.functions
    scope = Scope(compilation, query.names.namespaces)
    context = compilation.externals.context
    if context is not None and not any(
        isinstance(one, ContextItemDecl) for one in module.declarations
    ):
        scope = scope.focus(Single(StreamDocument(context)))
    for declaration in module.declarations:
        if isinstance(declaration, VariableDecl):
            value = _global(declaration, scope)
            scope = scope.bind(declaration.name, value)
            compilation.globals = dict(scope.variables)
    return scope


def _names_variable_by_uri(node: SyntaxNode) -> bool:
    """Whether a variable is named `$Q{uri}name` here: elsewhere it may have a prefix."""
    has_name = isinstance(node, VariableRef | VariableDecl | Parameter)
    names = (getattr(node, field, None) for field in (*_VARIABLES, *["name"] * has_name))
    return any(isinstance(name, Name) and name.uri is not None for name in names)


def _global(declaration: VariableDecl, scope: Scope) -> Value:
    values = scope.compilation.externals.values
    name = str(declaration.name)
    if declaration.external and name in values:
        value = external_value(values[name], declaration.span)
    elif declaration.external and name in scope.compilation.externals.frames:
        raise NotNative("a DataFrame as a variable", declaration.span)
    elif declaration.value is not None:
        value = value_of(declaration.value, scope)
    else:
        raise NotNative(f"the variable ${name} has no value", declaration.span)
    if declaration.type is not None:
        is_given = declaration.external and name in values
        value = converted(value, declaration.type, scope, declaration.span, is_call=is_given)
    return value


def answer_of(value: Value, scope: Scope) -> AnswerPlan:
    """The items of a value as rows: text, lifespan, and order keys."""
    compilation = scope.compilation
    item, begin, end = (compilation.fresh(name) for name in ("item", "vtFrom", "vtTo"))
    plans: list[Plan] = []
    for leaf in leaves(value):
        plan = Project(leaf.plan, item, serialised(leaf.item, scope))
        has_lifespan = is_node(leaf.item) or isinstance(leaf.item, Dynamic)
        ends = lifespan(leaf.item, scope) if has_lifespan else ALWAYS
        plans.append(Project(Project(plan, begin, ends[0]), end, ends[1]))
    if not plans:
        nothing: Plan = Select(Unit(), FALSE)
        for name in (item, begin, end):
            nothing = Project(nothing, name, NULL)
        return AnswerPlan(nothing, item, begin, end, ())
    if len(plans) == 1:
        return AnswerPlan(plans[0], item, begin, end, deciding(plans[0], order(plans[0]), ()))
    shared, by = merged_order([order(plan) for plan in plans], compilation.fresh)
    own = [(name, (Column(name),) * len(plans)) for name in (item, begin, end)]
    return AnswerPlan(Merge(tuple(plans), (*own, *shared), by), item, begin, end, by)
