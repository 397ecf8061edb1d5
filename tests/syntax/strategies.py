"""Hypothesis strategies for syntax trees: every kind of node, and only what the parser can produce.

They leave out what the parser never produces: a sequence of one item, adjacent text, boundary white
space, reserved words as function names, old spellings, `last` outside `#[ ]`, and names in an
interval that would be read as a time literal where only a name is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from xcql.source import Source, Span
from xcql.syntax import construct as c
from xcql.syntax import control as k
from xcql.syntax import flwor as f
from xcql.syntax import functions as fn
from xcql.syntax import literals as lit
from xcql.syntax import operators as op
from xcql.syntax import path as p
from xcql.syntax import prolog as pro
from xcql.syntax import temporal as t
from xcql.syntax import types as ty
from xcql.syntax.node import Name, SyntaxNode
from xcql.syntax.precedence import BINARY

NOWHERE = Span(Source(""), 0, 0)

# all sorts of names: plain, hyphenated, foreign, keywords, and names that look like times
_PLAIN = ["a", "b", "x-y", "_z", "día", "名", "a.b"]
_KEYWORDS = [
    "for", "return", "in", "if", "then", "else", "element", "text", "map", "array", "function",
    "div", "to", "eq", "or", "order", "by", "descending", "empty", "end", "only", "when", "case",
    "default", "declare", "some", "satisfies", "item", "count", "validate", "stable", "sortby",
    "before", "contains", "met-by", "union", "instance", "of", "as", "try", "catch", "cast",
    "processing-instruction", "document-node", "namespace", "attribute", "switch", "typeswitch",
]  # fmt: skip
_TIME_LIKE = ["now", "start", "last", "now-x", "last-1", "PT1H", "P1D-x", "startle", "nowhere"]
_RESERVED = {
    "array", "attribute", "comment", "document-node", "element", "empty-sequence", "function",
    "if", "item", "map", "namespace-node", "node", "processing-instruction", "schema-attribute",
    "schema-element", "switch", "text", "typeswitch",
}  # fmt: skip
_URIS = ["", "urn:a", "http://example.org/a?b=c&d='e'\"f\"", "a b"]
_COMPARISONS = [
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "is",
    "<<",
    ">>",
]
_AXES = p.FORWARD_AXES + p.REVERSE_AXES

_characters = st.one_of(
    st.sampled_from(list(" \t\n\r{}<>&\"'`[]()#?:-=;x1é名𝄞\u00a0\u0085\u2028ª")),
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn"]),
)
_texts = st.text(_characters, min_size=1, max_size=6)


def _has_xml_characters(text: str) -> bool:
    return not any(ch in "\ufffe\uffff" for ch in text)


class _Maker:
    """Draws trees. `interval` is the innermost enclosing `?[` or `#[`, or empty."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.interval = ""
        self.last_allowed = False

    # ------------------------------------------------------------ small things

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def flip(self) -> bool:
        return bool(self.draw(st.booleans()))

    def maybe(self, make: Callable[[], Any]) -> Any:
        return make() if self.flip() else None

    def several(self, make: Callable[[], Any], least: int = 1, most: int = 3) -> tuple[Any, ...]:
        return tuple(make() for _ in range(self.draw(st.integers(least, most))))

    def text(self) -> str:
        return str(self.draw(_texts.filter(_has_xml_characters)))

    def name(self, *, safe: bool = True, function: bool = False) -> Name:
        """Any name; a `safe` one cannot be read as time, a `function` one is not reserved."""
        form = self.pick(["plain", "plain", "keyword", "prefixed", "braced"])
        pool = _PLAIN if form == "plain" else _KEYWORDS
        if not safe or not self.interval:
            pool = pool + _TIME_LIKE
        if form in ("plain", "keyword"):
            if function:
                pool = [word for word in pool if word not in _RESERVED]
            return Name(self.pick(pool), span=NOWHERE)
        local = self.pick(_PLAIN + _KEYWORDS + _TIME_LIKE)
        if form == "prefixed":
            return Name(local, self.pick(["p", "xs", "for"]), span=NOWHERE)
        return Name(local, uri=self.pick(_URIS), span=NOWHERE)

    def ncname(self) -> Name:
        pool = _PLAIN + _KEYWORDS if self.interval else _PLAIN + _KEYWORDS + _TIME_LIKE
        return Name(self.pick(pool), span=NOWHERE)

    def variable_name(self) -> Name:
        return self.name(safe=False)

    def uri(self) -> str:
        return str(self.pick(_URIS))

    # ------------------------------------------------------------ expressions

    def expr(self, depth: int) -> Any:
        """Any expression, including sequences."""
        return self.pick(_LEAVES)(self) if depth <= 0 else self.pick(_KINDS)(self, depth - 1)

    def literal(self) -> Any:
        match self.pick(["integer", "decimal", "double", "string"]):
            case "integer":
                return lit.IntegerLiteral(self.draw(st.integers(0, 10**30)), span=NOWHERE)
            case "decimal":
                digits = self.draw(st.integers(0, 10**25))
                scaled = Decimal(digits).scaleb(-self.draw(st.integers(0, 12)))
                return lit.DecimalLiteral(scaled, span=NOWHERE)
            case "double":
                value = self.draw(st.floats(0, allow_nan=False, allow_infinity=True))
                return lit.DoubleLiteral(abs(value), span=NOWHERE)
        return self.string()

    def string(self) -> Any:
        return lit.StringLiteral("" if self.flip() else self.text(), span=NOWHERE)

    def variable(self) -> Any:
        return lit.VariableRef(self.variable_name(), span=NOWHERE)

    def context_item(self) -> Any:
        return lit.ContextItem(span=NOWHERE)

    def empty(self) -> Any:
        return lit.Sequence((), span=NOWHERE)

    def root(self) -> Any:
        return p.Path(True, (), span=NOWHERE)

    def time(self) -> Any:
        """A leaf that only has a meaning inside the current interval."""
        kinds: list[Any] = []
        if self.interval:
            kinds += [t.Now(span=NOWHERE), t.Start(span=NOWHERE)]
        if self.interval == "?[":
            kinds += [
                t.DateLiteral("2003-11-01", span=NOWHERE),
                t.DateLiteral("2003-11-01Z", span=NOWHERE),
                t.DateTimeLiteral("2003-10-23T12:23:34", span=NOWHERE),
                t.DateTimeLiteral("2003-10-23T12:23:34.5+02:00", span=NOWHERE),
                t.DurationLiteral("PT1M", span=NOWHERE),
                t.DurationLiteral("P1Y2M3DT4H5M6.7S", span=NOWHERE),
            ]
        if self.last_allowed and self.interval:
            kinds.append(t.LastVersion(span=NOWHERE))
        return self.pick(kinds) if kinds else self.context_item()

    def function_ref(self) -> Any:
        arity = self.draw(st.integers(0, 12))
        return fn.NamedFunctionRef(self.name(function=True), arity, span=NOWHERE)

    def sequence(self, depth: int) -> Any:
        return lit.Sequence(self.several(lambda: self.expr(depth), 2), span=NOWHERE)

    def binary(self, depth: int) -> Any:
        operator = self.pick(list(BINARY))
        return op.Binary(operator, self.expr(depth), self.expr(depth), span=NOWHERE)

    def comparison(self, depth: int) -> Any:
        operator = self.pick(_COMPARISONS)
        return op.Comparison(operator, self.expr(depth), self.expr(depth), span=NOWHERE)

    def unary(self, depth: int) -> Any:
        return op.Unary(self.pick("+-"), self.expr(depth), span=NOWHERE)

    def simple_map(self, depth: int) -> Any:
        return op.SimpleMap(self.expr(depth), self.expr(depth), span=NOWHERE)

    def arrow(self, depth: int) -> Any:
        function = self.pick(
            [lambda: self.name(function=True), self.variable, lambda: self.expr(depth)]
        )()
        return op.Arrow(self.expr(depth), function, self.arguments(depth), span=NOWHERE)

    def type_operator(self, depth: int) -> Any:
        kind = self.pick([op.InstanceOf, op.TreatAs, op.CastAs, op.CastableAs])
        sequence = kind in (op.InstanceOf, op.TreatAs)
        target = self.sequence_type(1) if sequence else self.single_type()
        return kind(self.expr(depth), target, span=NOWHERE)

    # ------------------------------------------------------------ paths

    def node_test(self) -> Any:
        match self.pick(["name", "name", "wildcard", "kind"]):
            case "name":
                return p.NameTest(self.name(safe=False), span=NOWHERE)
            case "wildcard":
                return self.wildcard()
        return self.kind_test()

    def wildcard(self) -> Any:
        match self.pick(["any", "prefix", "local", "uri"]):
            case "prefix":
                return p.Wildcard(prefix=self.pick(["p", "for"]), span=NOWHERE)
            case "local":
                return p.Wildcard(local=self.pick(["a", "for", "now"]), span=NOWHERE)
            case "uri":
                return p.Wildcard(uri=self.uri(), span=NOWHERE)
        return p.Wildcard(span=NOWHERE)

    def axis_step(self, depth: int = 0) -> Any:
        test = self.node_test()
        axis = self.pick(["child", "child", *_AXES])
        only_attributes = isinstance(test, ty.AttributeTest | ty.SchemaAttributeTest)
        if only_attributes and axis == "child":
            axis = "attribute"
        predicates = self.several(lambda: self.expr(depth - 1), 0, 2) if depth else ()
        return p.AxisStep(axis, test, predicates, span=NOWHERE)

    def any_descendant(self) -> Any:
        return p.AxisStep("descendant-or-self", ty.AnyKindTest(span=NOWHERE), span=NOWHERE)

    def path(self, depth: int) -> Any:
        absolute = self.flip()

        def step() -> Any:
            match self.pick(["axis", "axis", "any", "other"]):
                case "axis":
                    return self.axis_step(depth)
                case "any":
                    return self.any_descendant()
            return self.expr(depth)

        return p.Path(absolute, self.several(step, 1 if absolute else 2), span=NOWHERE)

    def filter(self, depth: int) -> Any:
        return p.Filter(self.expr(depth), self.expr(depth), span=NOWHERE)

    def lookup_key(self, depth: int) -> Any:
        return self.pick(
            [
                lambda: p.AnyKey(span=NOWHERE),
                lambda: lit.StringLiteral(self.pick(_PLAIN + _KEYWORDS + _TIME_LIKE), span=NOWHERE),
                self.literal,
                lambda: self.expr(depth),
            ]
        )()

    def lookup(self, depth: int) -> Any:
        return p.Lookup(self.expr(depth), self.lookup_key(depth), span=NOWHERE)

    def unary_lookup(self, depth: int) -> Any:
        return p.UnaryLookup(self.lookup_key(depth), span=NOWHERE)

    # ------------------------------------------------------------ time

    def within(self, bracket: str, make: Callable[[], Any]) -> Any:
        outer = self.interval, self.last_allowed
        self.interval = bracket
        if bracket == "#[":
            self.last_allowed = True
        try:
            return make()
        finally:
            self.interval, self.last_allowed = outer

    def interval_projection(self, depth: int) -> Any:
        base = self.expr(depth)
        outer, self.last_allowed = self.last_allowed, False
        interval = self.time_interval(depth)
        self.last_allowed = outer
        return t.IntervalProjection(base, interval, span=NOWHERE)

    def time_interval(self, depth: int) -> Any:
        return self.within(
            "?[",
            lambda: t.TimeInterval(
                self.expr(depth), self.maybe(lambda: self.expr(depth)), span=NOWHERE
            ),
        )

    def version_projection(self, depth: int) -> Any:
        base = self.expr(depth)
        return self.within(
            "#[",
            lambda: t.VersionProjection(
                base, self.expr(depth), self.maybe(lambda: self.expr(depth)), span=NOWHERE
            ),
        )

    def allen(self, depth: int) -> Any:
        def operand() -> Any:
            return self.time_interval(depth) if self.flip() else self.expr(depth)

        relation = self.pick(t.ALLEN_RELATIONS)
        return t.AllenComparison(relation, operand(), operand(), span=NOWHERE)

    # ------------------------------------------------------------ functions

    def arguments(self, depth: int) -> tuple[Any, ...]:
        def argument() -> Any:
            if self.draw(st.integers(0, 5)) == 0:
                return fn.ArgumentPlaceholder(span=NOWHERE)
            return self.expr(depth)

        return self.several(argument, 0)

    def call(self, depth: int) -> Any:
        return fn.FunctionCall(self.name(function=True), self.arguments(depth), span=NOWHERE)

    def dynamic_call(self, depth: int) -> Any:
        return fn.DynamicCall(self.expr(depth), self.arguments(depth), span=NOWHERE)

    def parameter(self) -> Any:
        return fn.Parameter(self.variable_name(), self.optional_type(), span=NOWHERE)

    def annotation(self) -> Any:
        values = self.several(self.literal, 0, 2)
        return fn.Annotation(self.name(safe=False), values, span=NOWHERE)

    def inline_function(self, depth: int) -> Any:
        return fn.InlineFunction(
            self.several(self.annotation, 0, 1),
            self.several(self.parameter, 0, 2),
            self.optional_type(),
            self.expr(depth),
            span=NOWHERE,
        )

    # ------------------------------------------------------------ FLWOR

    def for_clause(self, depth: int) -> Any:
        return f.For(
            self.variable_name(),
            self.expr(depth),
            self.optional_type(),
            self.flip(),
            self.maybe(self.variable_name),
            span=NOWHERE,
        )

    def let_clause(self, depth: int) -> Any:
        return f.Let(self.variable_name(), self.expr(depth), self.optional_type(), span=NOWHERE)

    def window_condition(self, depth: int) -> Any:
        return f.WindowCondition(
            self.expr(depth),
            self.maybe(self.variable_name),
            self.maybe(self.variable_name),
            self.maybe(self.variable_name),
            self.maybe(self.variable_name),
            span=NOWHERE,
        )

    def window_clause(self, depth: int) -> Any:
        kind = self.pick(["tumbling", "sliding"])
        has_end = kind == "sliding" or self.flip()
        return f.Window(
            kind,
            self.variable_name(),
            self.expr(depth),
            self.window_condition(depth),
            self.window_condition(depth) if has_end else None,
            has_end and self.flip(),
            self.optional_type(),
            span=NOWHERE,
        )

    def where_clause(self, depth: int) -> Any:
        return f.Where(self.expr(depth), span=NOWHERE)

    def count_clause(self, depth: int) -> Any:
        return f.Count(self.variable_name(), span=NOWHERE)

    def group_by_clause(self, depth: int) -> Any:
        def key() -> Any:
            source = self.maybe(lambda: self.expr(depth))
            return f.GroupingKey(
                self.variable_name(),
                source,
                self.optional_type() if source is not None else None,
                self.maybe(self.uri),
                span=NOWHERE,
            )

        return f.GroupBy(self.several(key, 1, 2), span=NOWHERE)

    def order_by_clause(self, depth: int) -> Any:
        def key() -> Any:
            return f.OrderKey(
                self.expr(depth),
                self.flip(),
                self.pick([None, "greatest", "least"]),
                self.maybe(self.uri),
                span=NOWHERE,
            )

        return f.OrderBy(self.several(key, 1, 2), self.flip(), span=NOWHERE)

    def flwor(self, depth: int) -> Any:
        initial = [self.for_clause, self.let_clause, self.window_clause]
        others = [
            *initial,
            self.where_clause,
            self.count_clause,
            self.group_by_clause,
            self.order_by_clause,
        ]
        first = self.pick(initial)(depth)
        rest = self.several(lambda: self.pick(others)(depth), 0, 2)
        return f.Flwor((first, *rest), self.expr(depth), span=NOWHERE)

    # ------------------------------------------------------------ control

    def if_(self, depth: int) -> Any:
        return k.If(self.expr(depth), self.expr(depth), self.expr(depth), span=NOWHERE)

    def switch(self, depth: int) -> Any:
        def case() -> Any:
            values = self.several(lambda: self.expr(depth), 1, 2)
            return k.SwitchCase(values, self.expr(depth), span=NOWHERE)

        return k.Switch(self.expr(depth), self.several(case, 1, 2), self.expr(depth), span=NOWHERE)

    def typeswitch(self, depth: int) -> Any:
        def case() -> Any:
            return k.TypeswitchCase(
                self.several(lambda: self.sequence_type(1), 1, 2),
                self.expr(depth),
                self.maybe(self.variable_name),
                span=NOWHERE,
            )

        return k.Typeswitch(
            self.expr(depth),
            self.several(case, 1, 2),
            self.expr(depth),
            self.maybe(self.variable_name),
            span=NOWHERE,
        )

    def quantified(self, depth: int) -> Any:
        def binding() -> Any:
            return k.QuantifierBinding(
                self.variable_name(), self.expr(depth), self.optional_type(), span=NOWHERE
            )

        return k.Quantified(
            self.pick(["some", "every"]),
            self.several(binding, 1, 2),
            self.expr(depth),
            span=NOWHERE,
        )

    def try_catch(self, depth: int) -> Any:
        def test() -> Any:
            return self.wildcard() if self.flip() else p.NameTest(self.name(), span=NOWHERE)

        def catch() -> Any:
            return k.Catch(self.several(test, 1, 2), self.expr(depth), span=NOWHERE)

        return k.TryCatch(self.expr(depth), self.several(catch, 1, 2), span=NOWHERE)

    def ordered(self, depth: int) -> Any:
        return k.Ordered(self.flip(), self.expr(depth), span=NOWHERE)

    def extension(self, depth: int) -> Any:
        def pragma() -> Any:
            content = "" if self.flip() else self.text().strip(" \t\r\n")
            content = content.replace("\r", "").replace("#)", "").strip(" \t\n")
            return k.Pragma(self.name(safe=False), content, span=NOWHERE)

        body = self.maybe(lambda: self.expr(depth))
        return k.Extension(self.several(pragma, 1, 2), body, span=NOWHERE)

    def validate(self, depth: int) -> Any:
        type_name = self.maybe(self.name)
        mode = "" if type_name is not None else self.pick(["", "lax", "strict"])
        return k.Validate(self.expr(depth), mode, type_name, span=NOWHERE)

    # ------------------------------------------------------------ constructors

    def tag_name(self) -> Name:
        local = self.pick(_PLAIN + _KEYWORDS + _TIME_LIKE)
        return Name(local, self.pick([None, None, "p"]), span=NOWHERE)

    def enclosed(self, depth: int) -> Any:
        return c.Enclosed(self.expr(depth), span=NOWHERE)

    def direct_element(self, depth: int) -> Any:
        def attribute() -> Any:
            parts = self.parts(depth, lambda: c.Text(self.text(), span=NOWHERE), self.enclosed)
            return c.DirectAttribute(self.tag_name(), parts, span=NOWHERE)

        def namespace() -> Any:
            return c.NamespaceDeclaration(self.pick(["", "p", "q"]), self.uri(), span=NOWHERE)

        content = self.parts(
            depth,
            lambda: c.Text(self.text(), span=NOWHERE),
            self.pick([self.enclosed, self.direct_element, self.direct_other]),
        )
        return c.DirectElement(
            self.tag_name(),
            self.several(namespace, 0, 1),
            self.several(attribute, 0, 2),
            content,
            span=NOWHERE,
        )

    def parts(
        self, depth: int, text: Callable[[], Any], other: Callable[[int], Any]
    ) -> tuple[Any, ...]:
        """Text and other parts, without adjacent texts."""
        result: list[SyntaxNode] = []
        for _ in range(self.draw(st.integers(0, 3)) if depth > 0 else 0):
            after_text = bool(result) and isinstance(result[-1], c.Text)
            result.append(text() if not after_text and self.flip() else other(depth - 1))
        return tuple(result)

    def direct_other(self, depth: int = 0) -> Any:
        text = "" if self.flip() else self.text().replace("\r", "\n")
        if self.flip():
            while "--" in text or text.endswith("-"):
                text = text.replace("--", "").rstrip("-")
            return c.DirectComment(text, span=NOWHERE)
        target = self.pick(["a", "xml-stylesheet", "名", "x.1"])
        text = text.replace("?>", "").lstrip(" \t\n")
        return c.DirectProcessingInstruction(target, text, span=NOWHERE)

    def computed(self, depth: int) -> Any:
        kind = self.pick([c.ComputedDocument, c.ComputedText, c.ComputedComment])
        return kind(self.expr(depth), span=NOWHERE)

    def computed_named(self, depth: int) -> Any:
        kind = self.pick(
            [
                c.ComputedElement,
                c.ComputedAttribute,
                c.ComputedProcessingInstruction,
                c.ComputedNamespace,
            ]
        )
        bare = kind in (c.ComputedProcessingInstruction, c.ComputedNamespace)
        by_name = self.ncname if bare else self.name
        name = by_name() if self.flip() else self.expr(depth)
        return kind(name, self.expr(depth), span=NOWHERE)

    def map(self, depth: int) -> Any:
        def entry() -> Any:
            return c.MapEntry(self.expr(depth), self.expr(depth), span=NOWHERE)

        return c.MapConstructor(self.several(entry, 0, 2), span=NOWHERE)

    def square_array(self, depth: int) -> Any:
        return c.SquareArray(self.several(lambda: self.expr(depth), 0, 3), span=NOWHERE)

    def curly_array(self, depth: int) -> Any:
        return c.CurlyArray(self.expr(depth), span=NOWHERE)

    def string_constructor(self, depth: int) -> Any:
        def text() -> Any:
            value = self.text().replace("\r", "\n")
            while "`{" in value or "]``" in value or value.endswith("]`"):
                value = value.replace("`", "")
            return c.Text(value or "x", span=NOWHERE)

        return c.StringConstructor(self.parts(depth + 1, text, self.enclosed), span=NOWHERE)

    # ------------------------------------------------------------ types

    def single_type(self) -> Any:
        return ty.SingleType(self.name(), self.flip(), span=NOWHERE)

    def optional_type(self) -> Any:
        return self.sequence_type(1) if self.draw(st.integers(0, 3)) == 0 else None

    def sequence_type(self, depth: int) -> Any:
        if self.draw(st.integers(0, 8)) == 0:
            return ty.SequenceType(None, span=NOWHERE)
        return ty.SequenceType(self.item_type(depth), self.pick(["", "?", "*", "+"]), span=NOWHERE)

    def item_type(self, depth: int) -> Any:
        simple = [
            lambda: ty.AtomicType(self.name(), span=NOWHERE),
            lambda: ty.AnyItem(span=NOWHERE),
            self.kind_test,
        ]
        if depth <= 0:
            return self.pick(simple)()

        def function_test() -> Any:
            annotations = self.several(self.annotation, 0, 1)
            if self.flip():
                return ty.FunctionTest(annotations, span=NOWHERE)
            parameters = self.several(lambda: self.sequence_type(depth - 1), 0, 2)
            result = self.sequence_type(depth - 1)
            return ty.FunctionTest(annotations, parameters, result, span=NOWHERE)

        def map_test() -> Any:
            if self.flip():
                return ty.MapTest(span=NOWHERE)
            key = ty.AtomicType(self.name(), span=NOWHERE)
            return ty.MapTest(key, self.sequence_type(depth - 1), span=NOWHERE)

        def array_test() -> Any:
            return ty.ArrayTest(self.maybe(lambda: self.sequence_type(depth - 1)), span=NOWHERE)

        return self.pick([*simple, function_test, map_test, array_test])()

    def element_test(self) -> Any:
        name, type_name = self.maybe(self.name), self.maybe(self.name)
        nillable = type_name is not None and self.flip()
        return ty.ElementTest(name, type_name, nillable, span=NOWHERE)

    def kind_test(self) -> Any:
        def document_test() -> Any:
            content = self.pick(
                [
                    lambda: None,
                    self.element_test,
                    lambda: ty.SchemaElementTest(self.name(), span=NOWHERE),
                ]
            )()
            return ty.DocumentTest(content, span=NOWHERE)

        def pi_test() -> Any:
            target = self.pick([None, "a", "for", "no name", "now"])
            if self.interval and target == "now":
                target = "a"
            return ty.ProcessingInstructionTest(target, span=NOWHERE)

        return self.pick(
            [
                lambda: ty.AnyKindTest(span=NOWHERE),
                lambda: ty.TextTest(span=NOWHERE),
                lambda: ty.CommentTest(span=NOWHERE),
                lambda: ty.NamespaceNodeTest(span=NOWHERE),
                pi_test,
                document_test,
                self.element_test,
                lambda: ty.AttributeTest(
                    self.maybe(self.name), self.maybe(self.name), span=NOWHERE
                ),
                lambda: ty.SchemaElementTest(self.name(), span=NOWHERE),
                lambda: ty.SchemaAttributeTest(self.name(), span=NOWHERE),
            ]
        )()

    # ------------------------------------------------------------ modules

    def setting(self) -> Any:
        def setter() -> Any:
            keyword, value = self.pick(
                [
                    ("boundary-space", "preserve"),
                    ("boundary-space", "strip"),
                    ("construction", "strip"),
                    ("ordering", "unordered"),
                    ("default order empty", "least"),
                    ("copy-namespaces", "preserve,no-inherit"),
                    ("base-uri", "http://example.org/"),
                    ("default collation", "urn:c"),
                ]
            )
            return pro.Setter(keyword, value, span=NOWHERE)

        def decimal_format() -> Any:
            properties = self.several(
                lambda: (self.pick(["digit", "NaN", "percent"]), self.text()), 0, 2
            )
            return pro.DecimalFormatDecl(self.maybe(self.name), properties, span=NOWHERE)

        def imported() -> Any:
            kind = self.pick([pro.SchemaImport, pro.ModuleImport])
            prefixes = [None, "p", ""] if kind is pro.SchemaImport else [None, "p"]
            locations = self.several(self.text, 0, 2)
            return kind(self.uri(), self.pick(prefixes), locations, span=NOWHERE)

        return self.pick(
            [
                setter,
                decimal_format,
                imported,
                lambda: pro.NamespaceDecl(self.pick(["p", "for"]), self.uri(), span=NOWHERE),
                lambda: pro.DefaultNamespaceDecl(
                    self.pick(["element", "function"]), self.uri(), span=NOWHERE
                ),
            ]
        )()

    def declaration(self, depth: int) -> Any:
        def value() -> tuple[Any, bool]:
            external = self.flip()
            return self.expr(depth) if not external or self.flip() else None, external

        def context_item() -> Any:
            item = self.maybe(lambda: self.item_type(1))
            declared = None if item is None else ty.SequenceType(item, span=NOWHERE)
            return pro.ContextItemDecl(declared, *value(), span=NOWHERE)

        def variable() -> Any:
            return pro.VariableDecl(
                self.several(self.annotation, 0, 1),
                self.variable_name(),
                self.optional_type(),
                *value(),
                span=NOWHERE,
            )

        def function() -> Any:
            return pro.FunctionDecl(
                self.several(self.annotation, 0, 1),
                self.name(function=True),
                self.several(self.parameter, 0, 2),
                self.optional_type(),
                self.maybe(lambda: self.expr(depth)),
                span=NOWHERE,
            )

        def option() -> Any:
            return pro.OptionDecl(self.name(), self.text(), span=NOWHERE)

        return self.pick([context_item, variable, function, option])()

    def module(self, depth: int) -> Any:
        declarations = (
            *self.several(self.setting, 0, 2),
            *self.several(lambda: self.declaration(depth), 0, 2),
        )
        version = self.pick([None, None, "1.0", "3.1"])
        encoding = self.pick([None, "utf-8"])
        if self.draw(st.integers(0, 7)) == 0:
            return pro.LibraryModule("p", self.uri(), declarations, version, encoding, span=NOWHERE)
        body = self.expr(depth)
        return pro.MainModule(declarations, body, version, encoding, span=NOWHERE)


_LEAVES: list[Callable[[_Maker], Any]] = [
    _Maker.literal,
    _Maker.variable,
    _Maker.context_item,
    _Maker.empty,
    _Maker.root,
    _Maker.time,
    _Maker.time,
    _Maker.axis_step,
    _Maker.axis_step,
    _Maker.function_ref,
    _Maker.direct_other,
]
_KINDS: list[Callable[[_Maker, int], Any]] = [
    _Maker.sequence,
    _Maker.binary,
    _Maker.binary,
    _Maker.comparison,
    _Maker.unary,
    _Maker.simple_map,
    _Maker.arrow,
    _Maker.type_operator,
    _Maker.axis_step,
    _Maker.path,
    _Maker.path,
    _Maker.filter,
    _Maker.lookup,
    _Maker.unary_lookup,
    _Maker.interval_projection,
    _Maker.interval_projection,
    _Maker.version_projection,
    _Maker.allen,
    _Maker.call,
    _Maker.dynamic_call,
    _Maker.inline_function,
    _Maker.flwor,
    _Maker.if_,
    _Maker.switch,
    _Maker.typeswitch,
    _Maker.quantified,
    _Maker.try_catch,
    _Maker.ordered,
    _Maker.extension,
    _Maker.validate,
    _Maker.direct_element,
    _Maker.computed,
    _Maker.computed_named,
    _Maker.map,
    _Maker.square_array,
    _Maker.curly_array,
    _Maker.string_constructor,
]
_OPERATORS: list[Callable[[_Maker, int], Any]] = [
    _Maker.binary,
    _Maker.comparison,
    _Maker.unary,
    _Maker.simple_map,
    _Maker.arrow,
    _Maker.type_operator,
    _Maker.path,
    _Maker.filter,
    _Maker.lookup,
    _Maker.interval_projection,
    _Maker.version_projection,
    _Maker.dynamic_call,
    _Maker.if_,
    _Maker.sequence,
    _Maker.flwor,
]


@st.composite
def modules(draw: Callable[..., Any], depth: int = 2) -> Any:
    """A module with expressions of at most this depth."""
    return _Maker(draw).module(draw(st.integers(0, depth)))


@st.composite
def operations(draw: Callable[..., Any]) -> Any:
    """A main module whose body is an operator over small operands: where parentheses matter."""
    maker = _Maker(draw)
    return pro.MainModule((), maker.pick(_OPERATORS)(maker, 2), span=NOWHERE)


def module_of(body: Any) -> Any:
    return pro.MainModule((), body, span=NOWHERE)


def one_of_each_kind() -> list[tuple[str, Any]]:
    """The ways to make a node, by name, so that a test covers every kind."""
    makers = {make.__name__: make for make in _KINDS}

    def strategy(make: Callable[[_Maker, int], Any]) -> Any:
        @st.composite
        def one(draw: Callable[..., Any]) -> Any:
            return module_of(make(_Maker(draw), 1))

        return one()

    return [(name, strategy(make)) for name, make in makers.items()]
