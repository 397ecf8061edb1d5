"""Writes all expressions except constructors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from xcql.syntax.control import (
    Catch,
    Extension,
    If,
    Ordered,
    Pragma,
    Quantified,
    QuantifierBinding,
    Switch,
    SwitchCase,
    TryCatch,
    Typeswitch,
    TypeswitchCase,
    Validate,
)
from xcql.syntax.emitter import (
    Emitter,
    begins_with_bracket,
    emits,
    ends_with_type,
    is_lone_root,
    on_projection,
)
from xcql.syntax.flwor import (
    Count,
    Flwor,
    For,
    GroupBy,
    GroupingKey,
    Let,
    OrderBy,
    OrderKey,
    Where,
    Window,
    WindowCondition,
)
from xcql.syntax.functions import (
    Annotation,
    ArgumentPlaceholder,
    DynamicCall,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
    Parameter,
)
from xcql.syntax.layout import HARD_LINE, LINE, SOFT_LINE, Doc, Group, Indent, join
from xcql.syntax.literals import (
    ContextItem,
    DecimalLiteral,
    DoubleLiteral,
    IntegerLiteral,
    Sequence,
    StringLiteral,
    VariableRef,
)
from xcql.syntax.names import braced_uri, is_ncname
from xcql.syntax.node import Expr, Name, SyntaxNode
from xcql.syntax.operators import (
    Arrow,
    Binary,
    CastableAs,
    CastAs,
    Comparison,
    InstanceOf,
    SimpleMap,
    TreatAs,
    Unary,
)
from xcql.syntax.path import (
    AnyKey,
    AxisStep,
    Filter,
    Lookup,
    NameTest,
    Path,
    UnaryLookup,
    Wildcard,
)
from xcql.syntax.precedence import BINARY, Precedence
from xcql.syntax.temporal import (
    AllenComparison,
    DateLiteral,
    DateTimeLiteral,
    DurationLiteral,
    IntervalProjection,
    LastVersion,
    Now,
    Start,
    TimeInterval,
    VersionProjection,
)
from xcql.syntax.types import AnyKindTest, AttributeTest, SchemaAttributeTest

_TIME_LEAVES = (DateLiteral, DateTimeLiteral, DurationLiteral, Now, Start, LastVersion)

# ---------------------------------------------------------------- literals and variables


@emits(IntegerLiteral)
def _integer(e: Emitter, node: IntegerLiteral) -> Doc:
    return str(Decimal(node.value))  # str(int) refuses very long integers


@emits(DecimalLiteral)
def _decimal(e: Emitter, node: DecimalLiteral) -> Doc:
    digits = format(node.value, "f")
    return digits if "." in digits else f"{digits}.0"


@emits(DoubleLiteral)
def _double(e: Emitter, node: DoubleLiteral) -> Doc:
    if node.value == float("inf"):
        return "1e999"
    digits = repr(node.value)
    return digits if "e" in digits else f"{digits}e0"


@emits(StringLiteral)
def _string(e: Emitter, node: StringLiteral) -> Doc:
    return quoted(node.value)


def quoted(value: str) -> str:
    """A string literal with this value."""
    escaped = value.replace("&", "&amp;").replace('"', '""').replace("\r", "&#xD;")
    return f'"{escaped}"'


@emits(Name)
def _name(e: Emitter, node: Name) -> Doc:
    return str(node)


@emits(VariableRef)
def _variable(e: Emitter, node: VariableRef) -> Doc:
    return f"${node.name}"


@emits(ContextItem)
def _context_item(e: Emitter, node: ContextItem) -> Doc:
    return "."


@emits(Sequence)
def _sequence(e: Emitter, node: Sequence) -> Doc:
    if not node.items:
        return "()"
    return Group(join([",", LINE], [e.argument(item) for item in node.items]))


# ---------------------------------------------------------------- operators


@emits(Binary)
def _binary(e: Emitter, node: Binary) -> Doc:
    # a chain of one precedence is one group, laid out in a loop because it may be long
    level = BINARY[node.op]
    tail: list[Doc] = []
    left: Expr = node
    while isinstance(left, Binary) and BINARY[left.op] == level:
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


@emits(Comparison)
def _comparison(e: Emitter, node: Comparison) -> Doc:
    level = _tighter(Precedence.COMPARISON)
    return Group(
        [
            e.at_least(node.left, level),
            Indent([LINE, f"{node.op} ", e.at_least(node.right, level)]),
        ]
    )


@emits(Unary)
def _unary(e: Emitter, node: Unary) -> Doc:
    signs = ""
    operand: Expr = node
    while isinstance(operand, Unary):
        signs += operand.op
        operand = operand.operand
    return [signs, e.at_least(operand, Precedence.VALUE)]


@emits(SimpleMap)
def _simple_map(e: Emitter, node: SimpleMap) -> Doc:
    tail: list[Doc] = []
    left: Expr = node
    while isinstance(left, SimpleMap):
        tail.append([LINE, "! ", e.at_least(left.right, Precedence.PATH)])
        left = left.left
    return Group([e.at_least(left, Precedence.PATH), Indent(list(reversed(tail)))])


@emits(Arrow)
def _arrow(e: Emitter, node: Arrow) -> Doc:
    plain = isinstance(node.function, Name | VariableRef)
    function = e.doc(node.function) if plain else _in_parentheses(e, node.function)
    return Group(
        [
            e.at_least(node.base, Precedence.ARROW),
            Indent([LINE, "=> ", function, e.listed("(", node.arguments, ")")]),
        ]
    )


@emits(InstanceOf)
def _instance_of(e: Emitter, node: InstanceOf) -> Doc:
    return [e.at_least(node.operand, Precedence.TREAT), " instance of ", e.doc(node.type)]


@emits(TreatAs)
def _treat(e: Emitter, node: TreatAs) -> Doc:
    return [e.at_least(node.operand, Precedence.CASTABLE), " treat as ", e.doc(node.type)]


@emits(CastableAs)
def _castable(e: Emitter, node: CastableAs) -> Doc:
    return [e.at_least(node.operand, Precedence.CAST), " castable as ", e.doc(node.type)]


@emits(CastAs)
def _cast(e: Emitter, node: CastAs) -> Doc:
    return [e.at_least(node.operand, Precedence.ARROW), " cast as ", e.doc(node.type)]


# ---------------------------------------------------------------- paths


@emits(Path)
def _path(e: Emitter, node: Path) -> Doc:
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
        isinstance(step, AxisStep)
        and step.axis == "descendant-or-self"
        and isinstance(step.test, AnyKindTest)
        and not step.predicates
    )


def _step(e: Emitter, step: Expr, *, first: bool) -> Doc:
    if isinstance(step, AxisStep):
        return e.doc(step)
    # a projection applies to the whole path on its left: as a later step it needs parentheses
    if first and (isinstance(step, IntervalProjection | VersionProjection) or on_projection(step)):
        return e.doc(step)
    if not first and _begins_with_time(step):
        return e.parenthesized(step)  # right after a slash, `now` is an element name
    return e.at_least(step, Precedence.POSTFIX)


def _begins_with_time(step: Expr) -> bool:
    while isinstance(step, Filter | Lookup | DynamicCall):
        step = step.function if isinstance(step, DynamicCall) else step.base
    return isinstance(step, _TIME_LEAVES)


@emits(AxisStep)
def _axis_step(e: Emitter, node: AxisStep) -> Doc:
    docs: list[Doc] = [_unpredicated(e, node)]
    docs += [_predicate(e, predicate) for predicate in node.predicates]
    return docs


def _unpredicated(e: Emitter, node: AxisStep) -> Doc:
    test = e.doc(node.test)
    is_attribute_test = isinstance(node.test, AttributeTest | SchemaAttributeTest)
    if node.axis == "parent" and isinstance(node.test, AnyKindTest):
        return ".."
    if node.axis == "attribute":
        return test if is_attribute_test else ["@", test]
    if node.axis == "child" and not is_attribute_test:
        word = node.test.name.local if isinstance(node.test, NameTest) else ""
        if not (word and node.test.name.prefix is None and e.is_time_like(word)):  # type: ignore[attr-defined]
            return test
    return [node.axis, "::", test]


def _predicate(e: Emitter, predicate: Expr) -> Doc:
    return Group(["[", Indent([SOFT_LINE, e.inside(predicate)]), SOFT_LINE, "]"])


@emits(NameTest)
def _name_test(e: Emitter, node: NameTest) -> Doc:
    return str(node.name)


@emits(Wildcard)
def _wildcard(e: Emitter, node: Wildcard) -> Doc:
    if node.uri is not None:
        return f"{braced_uri(node.uri)}*"
    if node.prefix is not None:
        return f"{node.prefix}:*"
    return f"*:{node.local}" if node.local is not None else "*"


@emits(Filter)
def _filter(e: Emitter, node: Filter) -> Doc:
    return [_postfix_base(e, node.base), _predicate(e, node.predicate)]


@emits(DynamicCall)
def _dynamic_call(e: Emitter, node: DynamicCall) -> Doc:
    # now() would call a function of that name
    is_word = isinstance(node.function, Now | Start | LastVersion)
    function = e.parenthesized(node.function) if is_word else _postfix_base(e, node.function)
    return [function, e.listed("(", node.arguments, ")")]


@emits(Lookup)
def _lookup(e: Emitter, node: Lookup) -> Doc:
    return [_postfix_base(e, node.base), "?", _lookup_key(e, node.key)]


@emits(UnaryLookup)
def _unary_lookup(e: Emitter, node: UnaryLookup) -> Doc:
    return ["?", _lookup_key(e, node.key)]


@emits(AnyKey)
def _any_key(e: Emitter, node: AnyKey) -> Doc:
    return "*"


def _postfix_base(e: Emitter, base: Expr) -> Doc:
    if isinstance(base, IntervalProjection | VersionProjection) or on_projection(base):
        return e.doc(base)
    # names and arities run into the next token: f#1(2) is fine, but a reference has no postfix
    return e.at_least(base, Precedence.POSTFIX)


def _lookup_key(e: Emitter, key: Expr) -> Doc:
    if isinstance(key, IntegerLiteral | AnyKey):
        return e.doc(key)
    if isinstance(key, StringLiteral) and is_ncname(key.value) and not e.is_time_like(key.value):
        return key.value
    return _in_parentheses(e, key)


def _in_parentheses(e: Emitter, node: SyntaxNode) -> Doc:
    """`( node )`; the empty sequence already has parentheses."""
    is_empty = isinstance(node, Sequence) and not node.items
    return "()" if is_empty else e.parenthesized(node)


# ---------------------------------------------------------------- time


@emits(IntervalProjection)
def _interval_projection(e: Emitter, node: IntervalProjection) -> Doc:
    return [_projected(e, node.base), "?", e.doc(node.interval)]


@emits(TimeInterval)
def _time_interval(e: Emitter, node: TimeInterval) -> Doc:
    return _interval(e, node.begin, node.end)


@emits(VersionProjection)
def _version_projection(e: Emitter, node: VersionProjection) -> Doc:
    return [_projected(e, node.base), "#", _interval(e, node.first, node.last)]


def _projected(e: Emitter, base: Expr) -> Doc:
    return "/" if is_lone_root(base) else e.at_least(base, Precedence.PATH)


def _interval(e: Emitter, begin: Expr, end: Expr | None) -> Doc:
    e.intervals += 1
    try:
        return e.listed("[", (begin,) if end is None else (begin, end), "]")
    finally:
        e.intervals -= 1


@emits(AllenComparison)
def _allen(e: Emitter, node: AllenComparison) -> Doc:
    return Group(
        [
            _allen_operand(e, node.left),
            Indent([LINE, f"{node.relation} ", _allen_operand(e, node.right)]),
        ]
    )


def _allen_operand(e: Emitter, operand: SyntaxNode) -> Doc:
    if isinstance(operand, TimeInterval):
        return e.doc(operand)
    if begins_with_bracket(operand):
        return e.parenthesized(operand)
    return e.at_least(operand, _tighter(Precedence.COMPARISON))


@emits(DateLiteral, DateTimeLiteral, DurationLiteral)
def _time_literal(e: Emitter, node: Any) -> Doc:
    return str(node.text)


@emits(Now)
def _now(e: Emitter, node: Now) -> Doc:
    return "now" if e.intervals else "now()"


@emits(Start)
def _start(e: Emitter, node: Start) -> Doc:
    return "start" if e.intervals else "start()"


@emits(LastVersion)
def _last(e: Emitter, node: LastVersion) -> Doc:
    return "last"


# ---------------------------------------------------------------- functions


@emits(FunctionCall)
def _call(e: Emitter, node: FunctionCall) -> Doc:
    return [str(node.name), e.listed("(", node.arguments, ")")]


@emits(ArgumentPlaceholder)
def _placeholder(e: Emitter, node: ArgumentPlaceholder) -> Doc:
    return "?"


@emits(NamedFunctionRef)
def _function_ref(e: Emitter, node: NamedFunctionRef) -> Doc:
    return f"{node.name}#{node.arity}"


@emits(InlineFunction)
def _inline_function(e: Emitter, node: InlineFunction) -> Doc:
    return [
        *[[e.doc(annotation), " "] for annotation in node.annotations],
        "function",
        signature(e, node.parameters, node.result_type),
        " ",
        e.enclosed(node.body),
    ]


def signature(e: Emitter, parameters: tuple[Parameter, ...], result: SyntaxNode | None) -> Doc:
    return [e.listed("(", parameters, ")"), _as(e, result)]


@emits(Parameter)
def _parameter(e: Emitter, node: Parameter) -> Doc:
    return [f"${node.name}", _as(e, node.type)]


@emits(Annotation)
def _annotation(e: Emitter, node: Annotation) -> Doc:
    return [f"%{node.name}", e.listed("(", node.values, ")") if node.values else ""]


def _as(e: Emitter, type_node: SyntaxNode | None) -> Doc:
    return [" as ", e.doc(type_node)] if type_node is not None else ""


# ---------------------------------------------------------------- FLWOR


@emits(Flwor)
def _flwor(e: Emitter, node: Flwor) -> Doc:
    lines: list[Doc] = [e.doc(clause) for clause in node.clauses]
    result = Group(["return", Indent([LINE, e.single(node.result)])])
    return Group(join(LINE, [*lines, result]))


def _clause(*parts: Doc) -> Doc:
    return Group(Indent(list(parts)))


@emits(For)
def _for(e: Emitter, node: For) -> Doc:
    return _clause(
        f"for ${node.variable}",
        _as(e, node.type),
        " allowing empty" if node.allowing_empty else "",
        f" at ${node.position}" if node.position else "",
        " in",
        LINE,
        e.single(node.source),
    )


@emits(Let)
def _let(e: Emitter, node: Let) -> Doc:
    return _clause(f"let ${node.variable}", _as(e, node.type), " :=", LINE, e.single(node.source))


@emits(Window)
def _window(e: Emitter, node: Window) -> Doc:
    end: list[Doc] = []
    if node.end is not None:
        end = [LINE, "only end" if node.only_end else "end", e.doc(node.end)]
    return _clause(
        f"for {node.kind} window ${node.variable}",
        _as(e, node.type),
        " in ",
        e.single(node.source),
        LINE,
        "start",
        e.doc(node.start),
        end,
    )


@emits(WindowCondition)
def _window_condition(e: Emitter, node: WindowCondition) -> Doc:
    return [
        f" ${node.item}" if node.item else "",
        f" at ${node.position}" if node.position else "",
        f" previous ${node.previous}" if node.previous else "",
        f" next ${node.next}" if node.next else "",
        " when ",
        e.single(node.condition),
    ]


@emits(Where)
def _where(e: Emitter, node: Where) -> Doc:
    return _clause("where ", e.single(node.condition))


@emits(Count)
def _count(e: Emitter, node: Count) -> Doc:
    return f"count ${node.variable}"


@emits(GroupBy)
def _group_by(e: Emitter, node: GroupBy) -> Doc:
    return _clause("group by ", join([",", LINE], [e.doc(key) for key in node.keys]))


@emits(GroupingKey)
def _grouping_key(e: Emitter, node: GroupingKey) -> Doc:
    value: Doc = ""
    if node.source is not None:
        value = [_as(e, node.type), " := ", e.single(node.source)]
    return [f"${node.variable}", value, _collation(node.collation)]


@emits(OrderBy)
def _order_by(e: Emitter, node: OrderBy) -> Doc:
    keys = join([",", LINE], [e.doc(key) for key in node.keys])
    return _clause("stable order by " if node.stable else "order by ", keys)


@emits(OrderKey)
def _order_key(e: Emitter, node: OrderKey) -> Doc:
    return [
        e.single(node.key),
        " descending" if node.descending else "",
        f" empty {node.empty}" if node.empty else "",
        _collation(node.collation),
    ]


def _collation(uri: str | None) -> Doc:
    return f" collation {quoted(uri)}" if uri is not None else ""


# ---------------------------------------------------------------- control


@emits(If)
def _if(e: Emitter, node: If) -> Doc:
    return Group(
        [
            "if ",
            e.parenthesized(node.condition),
            Indent([LINE, "then ", e.single(node.then)]),
            # a chain of else-ifs stays on one level
            [LINE if isinstance(node.otherwise, If) else Indent(LINE), "else "],
            e.single(node.otherwise)
            if isinstance(node.otherwise, If)
            else Indent(e.single(node.otherwise)),
        ]
    )


@emits(Switch)
def _switch(e: Emitter, node: Switch) -> Doc:
    cases: list[Doc] = [[HARD_LINE, e.doc(case)] for case in node.cases]
    default: Doc = [HARD_LINE, "default return", _on_own_lines(e, node.default)]
    return ["switch ", e.parenthesized(node.operand), Indent([*cases, default])]


@emits(SwitchCase)
def _switch_case(e: Emitter, node: SwitchCase) -> Doc:
    values = join(" ", [["case ", e.single(value)] for value in node.values])
    return [values, " return", _on_own_lines(e, node.result)]


def _on_own_lines(e: Emitter, result: Expr) -> Doc:
    """The part after `return`: on the same line only if it fits"""
    return Group(Indent([LINE, e.single(result)]))


@emits(Typeswitch)
def _typeswitch(e: Emitter, node: Typeswitch) -> Doc:
    cases: list[Doc] = [[HARD_LINE, e.doc(case)] for case in node.cases]
    variable = f"${node.default_variable} " if node.default_variable else ""
    default: Doc = [HARD_LINE, f"default {variable}return", _on_own_lines(e, node.default)]
    return ["typeswitch ", e.parenthesized(node.operand), Indent([*cases, default])]


@emits(TypeswitchCase)
def _typeswitch_case(e: Emitter, node: TypeswitchCase) -> Doc:
    return [
        "case ",
        f"${node.variable} as " if node.variable else "",
        join(" | ", [e.doc(type_node) for type_node in node.types]),
        " return",
        _on_own_lines(e, node.result),
    ]


@emits(Quantified)
def _quantified(e: Emitter, node: Quantified) -> Doc:
    bindings = join([",", LINE], [e.doc(binding) for binding in node.bindings])
    return Group(
        [
            f"{node.quantifier} ",
            Indent(bindings),
            Indent([LINE, "satisfies ", e.single(node.condition)]),
        ]
    )


@emits(QuantifierBinding)
def _quantifier_binding(e: Emitter, node: QuantifierBinding) -> Doc:
    return [f"${node.variable}", _as(e, node.type), " in ", e.single(node.source)]


@emits(TryCatch)
def _try(e: Emitter, node: TryCatch) -> Doc:
    catches: list[Doc] = [[LINE, e.doc(catch)] for catch in node.catches]
    return Group(["try ", e.enclosed(node.body), *catches])


@emits(Catch)
def _catch(e: Emitter, node: Catch) -> Doc:
    return ["catch ", join(" | ", [e.doc(test) for test in node.tests]), " ", e.enclosed(node.body)]


@emits(Ordered)
def _ordered(e: Emitter, node: Ordered) -> Doc:
    return ["ordered " if node.ordered else "unordered ", e.enclosed(node.body)]


@emits(Extension)
def _extension(e: Emitter, node: Extension) -> Doc:
    pragmas: list[Doc] = [[e.doc(pragma), " "] for pragma in node.pragmas]
    return [*pragmas, e.braced(node.body) if node.body is not None else "{}"]


@emits(Pragma)
def _pragma(e: Emitter, node: Pragma) -> Doc:
    return f"(# {node.name} {node.content} #)" if node.content else f"(# {node.name} #)"


@emits(Validate)
def _validate(e: Emitter, node: Validate) -> Doc:
    mode = f"type {node.type} " if node.type else f"{node.mode} " if node.mode else ""
    return [f"validate {mode}", e.braced(node.body)]
