"""Compiles a parsed query: the prolog's declarations, then the body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from elementpath.datatypes import UntypedAtomic

from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.evaluate.calls import (
    UserFunction,
    find_callee,
    parameter_names,
    read_annotations,
    read_signature,
)
from xcql.evaluate.collations import find_collation
from xcql.evaluate.context import FN, PREDECLARED, XS, Context, QueryEvaluation, StaticContext
from xcql.evaluate.control import bind_checked
from xcql.evaluate.conversion import convert
from xcql.evaluate.decimal_formats import read_decimal_format
from xcql.evaluate.scope import (
    Code,
    Environment,
    GlobalVariable,
    Module,
    NameScope,
    compile_expression,
    element_name,
    function_name,
    plain_name,
)
from xcql.evaluate.sequences import Items, computed, zero_or_one
from xcql.evaluate.type_reader import read_sequence_type
from xcql.evaluate.types import ValueType
from xcql.source import Span
from xcql.syntax import prolog as syntax
from xcql.xdm.functions import XdmFunction
from xcql.xdm.names import XML_NAMESPACE, XMLNS_NAMESPACE, QName

_TWICE = {
    "boundary-space": "XQST0068",
    "default collation": "XQST0038",
    "base-uri": "XQST0032",
    "construction": "XQST0067",
    "ordering": "XQST0065",
    "default order empty": "XQST0069",
    "copy-namespaces": "XQST0055",
    "default element namespace": "XQST0066",
    "default function namespace": "XQST0066",
}
# namespaces in which a query cannot declare functions
_RESERVED = frozenset(
    [XML_NAMESPACE, XS, FN, *(PREDECLARED[prefix] for prefix in ("xsi", "math", "map", "array"))]
)


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query that is ready to run, any number of times.

    `warnings` lists spellings in its text that have a standard form.
    """

    body: Code
    context_item: Code | None
    span: Span
    scope: NameScope
    warnings: tuple[Diagnostic, ...] = ()

    def run(self, evaluation: QueryEvaluation, item: Any = None) -> list[Any]:
        """The complete answer. `item` is the context item, or None."""
        self.begin(evaluation, item)
        return list(computed(self.body(None, evaluation.initial)))

    def begin(self, evaluation: QueryEvaluation, item: Any = None) -> None:
        """Prepare an evaluation for expressions of this query."""
        evaluation.lookup_function = self._lookup
        evaluation.initial = (
            Context(evaluation, item, 1, 1) if item is not None else Context(evaluation)
        )
        if self.context_item is not None:
            for found in self.context_item(None, evaluation.initial):
                evaluation.initial = Context(evaluation, found, 1, 1)

    def _lookup(self, name: QName, arity: int, context: Context) -> XdmFunction | None:
        """The function that `fn:function-lookup` returns."""
        try:
            return find_callee(name, arity, self.scope, self.span).as_item(context, self.span)
        except XcqlError:
            return None


def compile_query(
    module: syntax.MainModule,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    base_uri: str | None = None,
) -> CompiledQuery:
    """Compile a parsed query; every static error is raised here."""
    _check_version(module)
    scope = NameScope(
        _static_context(module.declarations, base_uri), Module(external_functions=functions or {})
    )
    declarations = module.declarations
    _declare_variables(declarations, scope)
    _declare_functions(declarations, scope)
    context_item = _context_item(declarations, scope)
    for declaration in declarations:
        if isinstance(declaration, syntax.VariableDecl):
            _compile_variable(declaration, scope)
        elif isinstance(declaration, syntax.FunctionDecl):
            _compile_function(declaration, scope)
        elif isinstance(declaration, syntax.OptionDecl):
            _check_option(declaration, scope)
    body = compile_expression(module.body, scope)
    return CompiledQuery(body, context_item, module.body.span, scope, module.warnings)


def _check_version(module: syntax.MainModule) -> None:
    if module.version is not None and module.version not in ("1.0", "3.0", "3.1"):
        raise error(
            "XQST0031", f'XQuery version "{module.version}" is not supported', module.span,
            hints=['write xquery version "3.1";'],
        )  # fmt: skip
    encoding = module.encoding
    if encoding is not None and not (
        encoding.isascii() and encoding[:1].isalpha() and
        encoding.replace(".", "").replace("_", "").replace("-", "").isalnum()
    ):  # fmt: skip
        raise error("XQST0087", f'"{encoding}" is not a valid encoding name', module.span)


def _static_context(
    declarations: Iterable[syntax.Declaration], base_uri: str | None
) -> StaticContext:
    """Namespaces, setters and decimal formats."""
    static = StaticContext(base_uri=base_uri)
    seen: set[str] = set()
    prefixes: set[str] = set()
    formats: dict[QName | None, Mapping[str, str]] = {}
    for declaration in declarations:
        match declaration:
            case syntax.NamespaceDecl():
                static = _declare_namespace(declaration, static, prefixes)
            case syntax.DefaultNamespaceDecl(kind=kind, uri=uri):
                _once(f"default {kind} namespace", seen, declaration.span)
                if uri in (XML_NAMESPACE, XMLNS_NAMESPACE):
                    raise error("XQST0070", f"{uri} cannot be the default", declaration.span)
                if kind == "element":
                    static = replace(static, default_element_namespace=uri)
                else:
                    static = replace(static, default_function_namespace=uri)
            case syntax.Setter(keyword=keyword):
                _once(keyword, seen, declaration.span)
                static = _set(declaration, static)
            case syntax.SchemaImport():
                raise error("XQST0009", "importing a schema is not part of XCQL", declaration.span)
            case syntax.ModuleImport():
                raise error("XQST0016", "importing a module is not part of XCQL", declaration.span)
    for declaration in declarations:
        if isinstance(declaration, syntax.DecimalFormatDecl):
            name = None if declaration.name is None else element_name(declaration.name, static)
            if name in formats:
                raise error("XQST0111", "the decimal format is declared twice", declaration.span)
            formats[name] = read_decimal_format(declaration)
    return replace(static, decimal_formats=formats)


def _once(keyword: str, seen: set[str], span: Span) -> None:
    if keyword in seen:
        raise error(_TWICE[keyword], f"{keyword} is declared twice", span)
    seen.add(keyword)


def _declare_namespace(
    node: syntax.NamespaceDecl, static: StaticContext, declared: set[str]
) -> StaticContext:
    prefix, uri = node.prefix, node.uri
    if prefix in declared:
        raise error("XQST0033", f"the prefix '{prefix}' is declared twice", node.span)
    if prefix in ("xml", "xmlns") or uri in (XML_NAMESPACE, XMLNS_NAMESPACE):
        raise error("XQST0070", f"the prefix '{prefix}' cannot be bound to {uri!r}", node.span)
    declared.add(prefix)
    namespaces = {**static.namespaces, prefix: uri}
    if not uri:
        del namespaces[prefix]
    return replace(static, namespaces=namespaces)


def _set(node: syntax.Setter, static: StaticContext) -> StaticContext:
    match node.keyword:
        case "default collation":
            try:
                collation = find_collation(node.value, static.base_uri)
            except XcqlError:
                raise error("XQST0038", f'unknown collation "{node.value}"', node.span) from None
            return replace(static, default_collation=collation)
        case "base-uri":
            return replace(static, base_uri=node.value)
        case "default order empty":
            return replace(static, empty_order="greatest" if node.value == "greatest" else "least")
        case "copy-namespaces":
            preserve, inherit = (part.strip() for part in node.value.split(","))
            return replace(
                static,
                preserve_namespaces=preserve == "preserve",
                inherit_namespaces=inherit == "inherit",
            )
    # the parser handles boundary-space; construction and ordering have no effect here
    return static


def _declare_variables(declarations: Iterable[syntax.Declaration], scope: NameScope) -> None:
    for declaration in declarations:
        if isinstance(declaration, syntax.VariableDecl):
            name = plain_name(declaration.name, scope.static)
            if name in scope.module.variables:
                raise error("XQST0049", f"the variable ${name} is declared twice", declaration.span)
            scope.module.variables[name] = GlobalVariable(name, declaration.span)


def _declare_functions(declarations: Iterable[syntax.Declaration], scope: NameScope) -> None:
    functions = scope.module.functions
    for declaration in declarations:
        if not isinstance(declaration, syntax.FunctionDecl):
            continue
        name = declared_function_name(declaration, scope)
        key = (name, len(declaration.parameters))
        if key in functions:
            raise error(
                "XQST0034",
                f"the function {name}() with {key[1]} parameters is declared twice",
                declaration.span,
            )
        functions[key] = UserFunction(
            name,
            read_signature(declaration.parameters, declaration.result_type, scope),
            declaration.span,
            checks_result=declaration.result_type is not None,
        )


def declared_function_name(node: syntax.FunctionDecl, scope: NameScope) -> QName:
    """The name of a declared function, which must be in one of the user's namespaces."""
    name = function_name(node.name, scope.static)
    if not name.uri:
        raise error("XQST0060", f"the function {name}() needs a namespace", node.name.span)
    if name.uri in _RESERVED and not _is_paper_style(node):
        raise error(
            "XQST0045",
            f"the function {name}() is in a reserved namespace",
            node.name.span,
            hints=[f"call it local:{name.local}"],
        )
    return name


def _is_paper_style(node: syntax.FunctionDecl) -> bool:
    """`define function f(...)`, the spelling of the papers, needs no prefix."""
    return not node.name.prefix and node.span.text.startswith("define")


def _compile_variable(node: syntax.VariableDecl, scope: NameScope) -> None:
    read_annotations(node.annotations, scope)
    name = plain_name(node.name, scope.static)
    wanted = None if node.type is None else read_sequence_type(node.type, scope)
    default = None
    if node.value is not None:
        default = bind_checked(
            compile_expression(node.value, scope), wanted, str(name), node.value.span
        )
    if node.external:
        scope.module.variables[name].code = _external_variable(name, wanted, default, node.span)
    else:
        scope.module.variables[name].code = default


def _external_variable(
    name: QName, wanted: ValueType | None, default: Code | None, span: Span
) -> Code:
    def run(env: Environment, context: Context) -> Items:
        given = context.evaluation.variables.get(name)
        if given is not None:
            return given if wanted is None else _fitted(given, wanted, name, span)
        if default is None:
            raise error(
                "XPDY0002",
                f"no value is given for the external variable ${name}",
                span,
                hints=[f"give it with --var {name}=… or variables={{'{name}': …}}"],
            )
        return default(env, context)

    return run


def _fitted(given: tuple[Any, ...], wanted: ValueType, name: QName, span: Span) -> Items:
    """An external value, which must have the declared type; untyped text is cast to it."""
    what = f"the value given for ${name}"
    if any(type(item) is UntypedAtomic for item in given):
        return computed(convert(given, wanted, lambda: what, span))
    if not wanted.matches(given):
        raise error("XPTY0004", f"{what} must be {wanted}", span)
    return given


def _compile_function(node: syntax.FunctionDecl, scope: NameScope) -> None:
    name = declared_function_name(node, scope)
    declared = scope.module.functions[(name, len(node.parameters))]
    read_annotations(node.annotations, scope)
    names = parameter_names(node.parameters, scope)
    if node.body is not None:
        declared.code = compile_expression(node.body, scope.without_locals().bind(*names))
        return
    function = scope.module.external_functions.get(name.local)
    if function is None:
        raise error(
            "XPST0017",
            f"no Python function is given for the external function {name}()",
            node.span,
            hints=[f"give it with functions={{'{name.local}': …}}"],
        )
    external = find_callee(QName("", name.local), len(names), scope, node.span)
    # the parameters are the innermost variables, last one first
    arity = len(names)

    def run(env: Environment, context: Context) -> Items:
        arguments: list[Items] = []
        for _ in range(arity):
            arguments.append(env[0])
            env = env[1]
        return external.invoke(arguments[::-1], context)

    declared.code = run


def _check_option(node: syntax.OptionDecl, scope: NameScope) -> None:
    if node.name.prefix:
        plain_name(node.name, scope.static)


def _context_item(declarations: Iterable[syntax.Declaration], scope: NameScope) -> Code | None:
    found = [node for node in declarations if isinstance(node, syntax.ContextItemDecl)]
    if len(found) > 1:
        raise error("XQST0099", "the context item is declared twice", found[1].span)
    if not found:
        return None
    node = found[0]
    wanted = None
    if node.type is not None:
        wanted = ValueType(read_sequence_type(node.type, scope).item, "")
    default = None if node.value is None else compile_expression(node.value, scope)

    def run(env: Environment, context: Context) -> Items:
        item = context.item
        if default is not None and (item is None or not node.external):
            item = zero_or_one(
                default(None, context.evaluation.focusless), "the context item", node.span
            )
            if item is None:
                raise error("XPTY0004", "the context item is an empty sequence", node.span)
        if item is None:
            return ()
        if wanted is not None and not wanted.matches((item,)):
            raise error("XPTY0004", f"the context item must be {wanted}", node.span)
        return (item,)

    return run
