"""Writes all expressions except constructors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from xcql.syntax import control, flwor, functions, literals, operators, path, temporal, types
from xcql.syntax.emitter import (
    Emitter,
    begins_with_bracket,
    emits,
    emits_text,
    ends_with_type,
    is_lone_root,
    on_projection,
)
from xcql.syntax.layout import HARD_LINE, LINE, SOFT_LINE, Doc, Group, Indent, join
from xcql.syntax.names import braced_uri, is_ncname
from xcql.syntax.node import Expr, Name, SyntaxNode
from xcql.syntax.precedence import BINARY, Precedence

_TIME_LEAVES = (
    temporal.DateLiteral,
    temporal.DateTimeLiteral,
    temporal.DurationLiteral,
    temporal.Now,
    temporal.Start,
    temporal.LastVersion,
)

_TYPE_OPERATORS = {
    operators.InstanceOf: (" instance of ", Precedence.TREAT),
    operators.TreatAs: (" treat as ", Precedence.CASTABLE),
    operators.CastableAs: (" castable as ", Precedence.CAST),
    operators.CastAs: (" cast as ", Precedence.ARROW),
}

emits_text(Name, "{node}")
emits_text(literals.VariableRef, "${node.name}")
emits_text(literals.ContextItem, ".")
emits_text(path.NameTest, "{node.name}")
emits_text(path.AnyKey, "*")
emits_text(temporal.DateLiteral, "{node.text}")
emits_text(temporal.DateTimeLiteral, "{node.text}")
emits_text(temporal.DurationLiteral, "{node.text}")
emits_text(temporal.LastVersion, "last")
emits_text(functions.ArgumentPlaceholder, "?")
emits_text(functions.NamedFunctionRef, "{node.name}#{node.arity}")
emits_text(flwor.Count, "count ${node.variable}")

# ---------------------------------------------------------------- literals


@emits(literals.IntegerLiteral)
def _integer(e: Emitter, node: literals.IntegerLiteral) -> Doc:
    return str(Decimal(node.value))  # str(int) refuses very long integers


@emits(literals.DecimalLiteral)
def _decimal(e: Emitter, node: literals.DecimalLiteral) -> Doc:
    digits = format(node.value, "f")
    return digits if "." in digits else f"{digits}.0"


@emits(literals.DoubleLiteral)
def _double(e: Emitter, node: literals.DoubleLiteral) -> Doc:
    if node.value == float("inf"):
        return "1e999"
    digits = repr(node.value)
    return digits if "e" in digits else f"{digits}e0"


@emits(literals.StringLiteral)
def _string(e: Emitter, node: literals.StringLiteral) -> Doc:
    return quoted(node.value)


def quoted(value: str) -> str:
    """A string literal with this value."""
    escaped = value.replace("&", "&amp;").replace('"', '""').replace("\r", "&#xD;")
    return f'"{escaped}"'


@emits(literals.Sequence)
def _sequence(e: Emitter, node: literals.Sequence) -> Doc:
    if not node.items:
        return "()"
    return Group(join([",", LINE], [e.argument(item) for item in node.items]))


# ---------------------------------------------------------------- operators


@emits(operators.Binary)
def _binary(e: Emitter, node: operators.Binary) -> Doc:
    # a chain of one precedence is one group, laid out in a loop because it may be long
    level = BINARY[node.op]
    tail: list[Doc] = []
    left: Expr = node
    while isinstance(left, operators.Binary) and BINARY[left.op] == level:
        if level == Precedence.RANGE and left is not node:
            break
        if left.op in ("+", "*") and ends_with_type(left.left):
            first = e.parenthesized(left.left)
            tail.append([LINE, f"{left.op} ", e.at_least(left.right, _tighter(level))])
            return Group([first, Indent(list(reversed(tail)))])
        tail.append([LINE, f"{left.op} ", e.at_least(left.right, _tighter(level))])
        left = left.left
    required = _tighter(level) if level == Precedence.RANGE else level
    return Group([e.at_least(left, required), Indent(list(reversed(tail)))])


def _tighter(level: Precedence) -> Precedence:
    return Precedence(level + 1)


@emits(operators.Comparison)
def _comparison(e: Emitter, node: operators.Comparison) -> Doc:
    level = _tighter(Precedence.COMPARISON)
    return Group(
        [e.at_least(node.left, level), Indent([LINE, f"{node.op} ", e.at_least(node.right, level)])]
    )


@emits(operators.Unary)
def _unary(e: Emitter, node: operators.Unary) -> Doc:
    signs = ""
    operand: Expr = node
    while isinstance(operand, operators.Unary):
        signs += operand.op
        operand = operand.operand
    return [signs, e.at_least(operand, Precedence.VALUE)]


@emits(operators.SimpleMap)
def _simple_map(e: Emitter, node: operators.SimpleMap) -> Doc:
    tail: list[Doc] = []
    left: Expr = node
    while isinstance(left, operators.SimpleMap):
        tail.append([LINE, "! ", e.at_least(left.right, Precedence.PATH)])
        left = left.left
    return Group([e.at_least(left, Precedence.PATH), Indent(list(reversed(tail)))])


@emits(operators.Arrow)
def _arrow(e: Emitter, node: operators.Arrow) -> Doc:
    plain = isinstance(node.function, Name | literals.VariableRef)
    function = e.doc(node.function) if plain else _in_parentheses(e, node.function)
    return Group(
        [
            e.at_least(node.base, Precedence.ARROW),
            Indent([LINE, "=> ", function, e.listed("(", node.arguments, ")")]),
        ]
    )


@emits(*_TYPE_OPERATORS)
def _type_operator(e: Emitter, node: Any) -> Doc:
    words, operand = _TYPE_OPERATORS[type(node)]
    return [e.at_least(node.operand, operand), words, e.doc(node.type)]


# ---------------------------------------------------------------- paths


@emits(path.Path)
def _path(e: Emitter, node: path.Path) -> Doc:
    if not node.steps:
        return "(/)"
    docs: list[Doc] = []
    separator = "/" if node.absolute else ""
    for index, step in enumerate(node.steps):
        follows = index + 1 < len(node.steps)
        if separator == "/" and follows and _is_any_descendant(step):
            separator = "//"
            continue
        docs += [separator, _step(e, step, first=index == 0 and not node.absolute)]
        separator = "/"
    return docs


def _is_any_descendant(step: Expr) -> bool:
    return (
        isinstance(step, path.AxisStep)
        and step.axis == "descendant-or-self"
        and isinstance(step.test, types.AnyKindTest)
        and not step.predicates
    )


def _step(e: Emitter, step: Expr, *, first: bool) -> Doc:
    if isinstance(step, path.AxisStep):
        return e.doc(step)
    # a projection applies to the whole path on its left: as a later step it needs parentheses
    if first and (
        isinstance(step, temporal.IntervalProjection | temporal.VersionProjection)
        or on_projection(step)
    ):
        return e.doc(step)
    if not first and _begins_with_time(step):
        return e.parenthesized(step)  # right after a slash, `now` is an element name
    return e.at_least(step, Precedence.POSTFIX)


def _begins_with_time(step: Expr) -> bool:
    while isinstance(step, path.Filter | path.Lookup | functions.DynamicCall):
        step = step.function if isinstance(step, functions.DynamicCall) else step.base
    return isinstance(step, _TIME_LEAVES)


@emits(path.AxisStep)
def _axis_step(e: Emitter, node: path.AxisStep) -> Doc:
    docs: list[Doc] = [_unpredicated(e, node)]
    docs += [_predicate(e, predicate) for predicate in node.predicates]
    return docs


def _unpredicated(e: Emitter, node: path.AxisStep) -> Doc:
    test = e.doc(node.test)
    is_attribute_test = isinstance(node.test, types.AttributeTest | types.SchemaAttributeTest)
    if node.axis == "parent" and isinstance(node.test, types.AnyKindTest):
        return ".."
    if node.axis == "attribute":
        return test if is_attribute_test else ["@", test]
    if node.axis == "child" and not is_attribute_test:
        word = node.test.name.local if isinstance(node.test, path.NameTest) else ""
        if not (word and node.test.name.prefix is None and e.is_time_like(word)):  # type: ignore[attr-defined]
            return test
    return [node.axis, "::", test]


def _predicate(e: Emitter, predicate: Expr) -> Doc:
    return Group(["[", Indent([SOFT_LINE, e.inside(predicate)]), SOFT_LINE, "]"])


@emits(path.Wildcard)
def _wildcard(e: Emitter, node: path.Wildcard) -> Doc:
    if node.uri is not None:
        return f"{braced_uri(node.uri)}*"
    if node.prefix is not None:
        return f"{node.prefix}:*"
    return f"*:{node.local}" if node.local is not None else "*"


@emits(path.Filter)
def _filter(e: Emitter, node: path.Filter) -> Doc:
    return [_postfix_base(e, node.base), _predicate(e, node.predicate)]


@emits(functions.DynamicCall)
def _dynamic_call(e: Emitter, node: functions.DynamicCall) -> Doc:
    # now() would call a function of that name
    is_word = isinstance(node.function, temporal.Now | temporal.Start | temporal.LastVersion)
    function = e.parenthesized(node.function) if is_word else _postfix_base(e, node.function)
    return [function, e.listed("(", node.arguments, ")")]


@emits(path.Lookup)
def _lookup(e: Emitter, node: path.Lookup) -> Doc:
    return [_postfix_base(e, node.base), "?", _lookup_key(e, node.key)]


@emits(path.UnaryLookup)
def _unary_lookup(e: Emitter, node: path.UnaryLookup) -> Doc:
    return ["?", _lookup_key(e, node.key)]


def _postfix_base(e: Emitter, base: Expr) -> Doc:
    if isinstance(base, temporal.IntervalProjection | temporal.VersionProjection) or on_projection(
        base
    ):
        return e.doc(base)
    # names and arities run into the next token: f#1(2) is fine, but a reference has no postfix
    return e.at_least(base, Precedence.POSTFIX)


def _lookup_key(e: Emitter, key: Expr) -> Doc:
    if isinstance(key, literals.IntegerLiteral | path.AnyKey):
        return e.doc(key)
    if (
        isinstance(key, literals.StringLiteral)
        and is_ncname(key.value)
        and not e.is_time_like(key.value)
    ):
        return key.value
    return _in_parentheses(e, key)


def _in_parentheses(e: Emitter, node: SyntaxNode) -> Doc:
    """`( node )`; the empty sequence already has parentheses."""
    is_empty = isinstance(node, literals.Sequence) and not node.items
    return "()" if is_empty else e.parenthesized(node)


# ---------------------------------------------------------------- time


@emits(temporal.IntervalProjection)
def _interval_projection(e: Emitter, node: temporal.IntervalProjection) -> Doc:
    return [_projected(e, node.base), "?", e.doc(node.interval)]


@emits(temporal.TimeInterval)
def _time_interval(e: Emitter, node: temporal.TimeInterval) -> Doc:
    return _interval(e, node.begin, node.end)


@emits(temporal.VersionProjection)
def _version_projection(e: Emitter, node: temporal.VersionProjection) -> Doc:
    return [_projected(e, node.base), "#", _interval(e, node.first, node.last)]


def _projected(e: Emitter, base: Expr) -> Doc:
    return "/" if is_lone_root(base) else e.at_least(base, Precedence.PATH)


def _interval(e: Emitter, begin: Expr, end: Expr | None) -> Doc:
    e.intervals += 1
    try:
        return e.listed("[", (begin,) if end is None else (begin, end), "]")
    finally:
        e.intervals -= 1


@emits(temporal.AllenComparison)
def _allen(e: Emitter, node: temporal.AllenComparison) -> Doc:
    return Group(
        [
            _allen_operand(e, node.left),
            Indent([LINE, f"{node.relation} ", _allen_operand(e, node.right)]),
        ]
    )


def _allen_operand(e: Emitter, operand: SyntaxNode) -> Doc:
    if isinstance(operand, temporal.TimeInterval):
        return e.doc(operand)
    if begins_with_bracket(operand):
        return e.parenthesized(operand)
    return e.at_least(operand, _tighter(Precedence.COMPARISON))


@emits(temporal.Now)
def _now(e: Emitter, node: temporal.Now) -> Doc:
    return "now" if e.intervals else "now()"


@emits(temporal.Start)
def _start(e: Emitter, node: temporal.Start) -> Doc:
    return "start" if e.intervals else "start()"


# ---------------------------------------------------------------- functions


@emits(functions.FunctionCall)
def _call(e: Emitter, node: functions.FunctionCall) -> Doc:
    return [str(node.name), e.listed("(", node.arguments, ")")]


@emits(functions.InlineFunction)
def _inline_function(e: Emitter, node: functions.InlineFunction) -> Doc:
    return [
        written_annotations(e, node.annotations),
        "function",
        signature(e, node.parameters, node.result_type),
        " ",
        e.enclosed(node.body),
    ]


def signature(
    e: Emitter, parameters: tuple[functions.Parameter, ...], result: SyntaxNode | None
) -> Doc:
    return [e.listed("(", parameters, ")"), as_type(e, result)]


def written_annotations(e: Emitter, annotations: tuple[SyntaxNode, ...]) -> Doc:
    return [[e.doc(annotation), " "] for annotation in annotations]


@emits(functions.Parameter)
def _parameter(e: Emitter, node: functions.Parameter) -> Doc:
    return [f"${node.name}", as_type(e, node.type)]


@emits(functions.Annotation)
def _annotation(e: Emitter, node: functions.Annotation) -> Doc:
    return [f"%{node.name}", e.listed("(", node.values, ")") if node.values else ""]


def as_type(e: Emitter, type_node: SyntaxNode | None) -> Doc:
    return [" as ", e.doc(type_node)] if type_node is not None else ""


# ---------------------------------------------------------------- FLWOR


@emits(flwor.Flwor)
def _flwor(e: Emitter, node: flwor.Flwor) -> Doc:
    lines: list[Doc] = [e.doc(clause) for clause in node.clauses]
    result = Group(["return", Indent([LINE, e.single(node.result)])])
    return Group(join(LINE, [*lines, result]))


def _clause(*parts: Doc) -> Doc:
    return Group(Indent(list(parts)))


@emits(flwor.For)
def _for(e: Emitter, node: flwor.For) -> Doc:
    return _clause(
        f"for ${node.variable}",
        as_type(e, node.type),
        " allowing empty" if node.allowing_empty else "",
        f" at ${node.position}" if node.position else "",
        " in",
        LINE,
        e.single(node.source),
    )


@emits(flwor.Let)
def _let(e: Emitter, node: flwor.Let) -> Doc:
    return _clause(
        f"let ${node.variable}", as_type(e, node.type), " :=", LINE, e.single(node.source)
    )


@emits(flwor.Window)
def _window(e: Emitter, node: flwor.Window) -> Doc:
    end: list[Doc] = []
    if node.end is not None:
        end = [LINE, "only end" if node.only_end else "end", e.doc(node.end)]
    return _clause(
        f"for {node.kind} window ${node.variable}",
        as_type(e, node.type),
        " in ",
        e.single(node.source),
        LINE,
        "start",
        e.doc(node.start),
        end,
    )


@emits(flwor.WindowCondition)
def _window_condition(e: Emitter, node: flwor.WindowCondition) -> Doc:
    return [
        f" ${node.item}" if node.item else "",
        f" at ${node.position}" if node.position else "",
        f" previous ${node.previous}" if node.previous else "",
        f" next ${node.next}" if node.next else "",
        " when ",
        e.single(node.condition),
    ]


@emits(flwor.Where)
def _where(e: Emitter, node: flwor.Where) -> Doc:
    return _clause("where ", e.single(node.condition))


@emits(flwor.GroupBy)
def _group_by(e: Emitter, node: flwor.GroupBy) -> Doc:
    return _clause("group by ", join([",", LINE], [e.doc(key) for key in node.keys]))


@emits(flwor.GroupingKey)
def _grouping_key(e: Emitter, node: flwor.GroupingKey) -> Doc:
    value: Doc = ""
    if node.source is not None:
        value = [as_type(e, node.type), " := ", e.single(node.source)]
    return [f"${node.variable}", value, _collation(node.collation)]


@emits(flwor.OrderBy)
def _order_by(e: Emitter, node: flwor.OrderBy) -> Doc:
    keys = join([",", LINE], [e.doc(key) for key in node.keys])
    return _clause("stable order by " if node.stable else "order by ", keys)


@emits(flwor.OrderKey)
def _order_key(e: Emitter, node: flwor.OrderKey) -> Doc:
    return [
        e.single(node.key),
        " descending" if node.descending else "",
        f" empty {node.empty}" if node.empty else "",
        _collation(node.collation),
    ]


def _collation(uri: str | None) -> Doc:
    return f" collation {quoted(uri)}" if uri is not None else ""


# ---------------------------------------------------------------- control


@emits(control.If)
def _if(e: Emitter, node: control.If) -> Doc:
    return Group(
        [
            "if ",
            e.parenthesized(node.condition),
            Indent([LINE, "then ", e.single(node.then)]),
            # a chain of else-ifs stays on one level
            [LINE if isinstance(node.otherwise, control.If) else Indent(LINE), "else "],
            e.single(node.otherwise)
            if isinstance(node.otherwise, control.If)
            else Indent(e.single(node.otherwise)),
        ]
    )


@emits(control.Switch)
def _switch(e: Emitter, node: control.Switch) -> Doc:
    cases: list[Doc] = [[HARD_LINE, e.doc(case)] for case in node.cases]
    default: Doc = [HARD_LINE, "default return", _on_own_lines(e, node.default)]
    return ["switch ", e.parenthesized(node.operand), Indent([*cases, default])]


@emits(control.SwitchCase)
def _switch_case(e: Emitter, node: control.SwitchCase) -> Doc:
    values = join(" ", [["case ", e.single(value)] for value in node.values])
    return [values, " return", _on_own_lines(e, node.result)]


def _on_own_lines(e: Emitter, result: Expr) -> Doc:
    """The part after `return`: on the same line only if it fits"""
    return Group(Indent([LINE, e.single(result)]))


@emits(control.Typeswitch)
def _typeswitch(e: Emitter, node: control.Typeswitch) -> Doc:
    cases: list[Doc] = [[HARD_LINE, e.doc(case)] for case in node.cases]
    variable = f"${node.default_variable} " if node.default_variable else ""
    default: Doc = [HARD_LINE, f"default {variable}return", _on_own_lines(e, node.default)]
    return ["typeswitch ", e.parenthesized(node.operand), Indent([*cases, default])]


@emits(control.TypeswitchCase)
def _typeswitch_case(e: Emitter, node: control.TypeswitchCase) -> Doc:
    return [
        "case ",
        f"${node.variable} as " if node.variable else "",
        join(" | ", [e.doc(type_node) for type_node in node.types]),
        " return",
        _on_own_lines(e, node.result),
    ]


@emits(control.Quantified)
def _quantified(e: Emitter, node: control.Quantified) -> Doc:
    bindings = join([",", LINE], [e.doc(binding) for binding in node.bindings])
    return Group(
        [
            f"{node.quantifier} ",
            Indent(bindings),
            Indent([LINE, "satisfies ", e.single(node.condition)]),
        ]
    )


@emits(control.QuantifierBinding)
def _quantifier_binding(e: Emitter, node: control.QuantifierBinding) -> Doc:
    return [f"${node.variable}", as_type(e, node.type), " in ", e.single(node.source)]


@emits(control.TryCatch)
def _try(e: Emitter, node: control.TryCatch) -> Doc:
    catches: list[Doc] = [[LINE, e.doc(catch)] for catch in node.catches]
    return Group(["try ", e.enclosed(node.body), *catches])


@emits(control.Catch)
def _catch(e: Emitter, node: control.Catch) -> Doc:
    return ["catch ", join(" | ", [e.doc(test) for test in node.tests]), " ", e.enclosed(node.body)]


@emits(control.Ordered)
def _ordered(e: Emitter, node: control.Ordered) -> Doc:
    return ["ordered " if node.ordered else "unordered ", e.enclosed(node.body)]


@emits(control.Extension)
def _extension(e: Emitter, node: control.Extension) -> Doc:
    pragmas: list[Doc] = [[e.doc(pragma), " "] for pragma in node.pragmas]
    return [*pragmas, e.braced(node.body) if node.body is not None else "{}"]


@emits(control.Pragma)
def _pragma(e: Emitter, node: control.Pragma) -> Doc:
    return f"(# {node.name} {node.content} #)" if node.content else f"(# {node.name} #)"


@emits(control.Validate)
def _validate(e: Emitter, node: control.Validate) -> Doc:
    mode = f"type {node.type} " if node.type else f"{node.mode} " if node.mode else ""
    return [f"validate {mode}", e.braced(node.body)]
