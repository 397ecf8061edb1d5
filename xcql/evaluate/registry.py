"""The builtin functions: how to declare them, and how to find them.

A function is declared next to its body; the signature is a string, parsed once:

    @function("fn:round(xs:numeric?, [xs:integer]) as xs:numeric?")
    def round_(call: CallContext, value: Number | None, digits: int = 0) -> Number | None: ...

Parameters in brackets can be left out. If `...` follows the last parameter, it may be repeated.
An argument declared `T` arrives as one value, `T?` as one value or None, `T*` and `T+` as an
iterable. The result is one value, None, or an iterable of items. The caller applies
the function conversion rules to the arguments before the call.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeVar

from xcql.evaluate.collations import Collation, find_collation
from xcql.evaluate.context import Context, StaticContext, no_context_item
from xcql.source import Span
from xcql.xdm.functions import XdmFunction

NAMESPACES = {
    "fn": "http://www.w3.org/2005/xpath-functions",
    "math": "http://www.w3.org/2005/xpath-functions/math",
    "map": "http://www.w3.org/2005/xpath-functions/map",
    "array": "http://www.w3.org/2005/xpath-functions/array",
    "xs": "http://www.w3.org/2001/XMLSchema",
}
PREFIXES = {uri: prefix for prefix, uri in NAMESPACES.items()}

Occurrence = Literal["", "?", "*", "+"]
Body = TypeVar("Body", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class BuiltinType:
    """A sequence type in a builtin's signature; `inner` holds the parts of a function type.

    `item` is an atomic type's name (`xs:string`, `xs:numeric`), a kind of node (`node()`,
    `element()`, `document-node()`, …), `item()`, `map(*)`, `array(*)` or `function(*)`, or
    `empty-sequence()`. For `function(item(), xs:int) as xs:boolean` it is `function`, and `inner`
    holds the parameters' types and, last, the result's.
    """

    item: str
    occurrence: Occurrence = ""
    inner: tuple[BuiltinType, ...] = ()

    def __str__(self) -> str:
        if not self.inner:
            return self.item + self.occurrence
        *parameters, result = self.inner
        text = f"function({', '.join(map(str, parameters))}) as {result}"
        return f"({text}){self.occurrence}" if self.occurrence else text


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a builtin may need to know about the place of the call.

    `context` is the dynamic context: the focus (`item`, `position`, `size`), `now`, and the
    `evaluation` with its documents and streams. `static` is the static context: namespaces,
    default collation, base URI, decimal formats.
    """

    context: Context
    static: StaticContext
    span: Span | None = None

    def item(self) -> Any:
        """The context item; XPDY0002 if there is none."""
        if self.context.item is None:
            raise no_context_item(self.span)
        return self.context.item

    def collation(self, uri: str | None = None) -> Collation:
        """The collation of a URI, or the default one."""
        if uri is None:
            return self.static.default_collation
        return find_collation(uri, self.static.base_uri)

    def apply(self, function: XdmFunction, *arguments: Iterable[Any]) -> Iterable[Any]:
        """Call a function item, which converts the arguments to its declared types."""
        return function.call(list(arguments))


@dataclass(frozen=True, slots=True)
class Builtin:
    """One function of one arity. With `variadic`, the last parameter may be repeated."""

    uri: str
    local: str
    parameters: tuple[BuiltinType, ...]
    result: BuiltinType
    body: Callable[..., Any]
    variadic: bool = False

    @property
    def arity(self) -> int:
        return len(self.parameters)

    @property
    def name(self) -> str:
        """The name as users write it: `substring`, `map:get`."""
        prefix = PREFIXES[self.uri]
        return self.local if prefix == "fn" else f"{prefix}:{self.local}"


_BUILTINS: dict[tuple[str, str], dict[int, Builtin]] = {}

# the modules that declare functions, and their functions: a module is imported when one of them
# is looked up; `map:` stands for the whole namespace
_TOPICS = {
    "accessors": (
        "base-uri data document-uri local-name name namespace-uri nilled node-name string"
    ),
    "aggregates": "avg count max min sum",
    "arrays": "array:",
    "constructors": "xs:",
    "context": (
        "available-environment-variables default-collation default-language "
        "environment-variable last position static-base-uri"
    ),
    "datetimes": (
        "adjust-date-to-timezone adjust-dateTime-to-timezone adjust-time-to-timezone "
        "current-date current-dateTime current-time dateTime day-from-date day-from-dateTime "
        "hours-from-dateTime hours-from-time implicit-timezone minutes-from-dateTime "
        "minutes-from-time month-from-date month-from-dateTime parse-ietf-date "
        "seconds-from-dateTime seconds-from-time timezone-from-date timezone-from-dateTime "
        "timezone-from-time year-from-date year-from-dateTime"
    ),
    "documents": (
        "collection doc doc-available parse-xml parse-xml-fragment unparsed-text "
        "unparsed-text-available unparsed-text-lines uri-collection"
    ),
    "durations": (
        "days-from-duration hours-from-duration minutes-from-duration months-from-duration "
        "seconds-from-duration years-from-duration"
    ),
    "errors": "error trace",
    "format_dates": "format-date format-dateTime format-time",
    "format_integers": "format-integer",
    "format_numbers": "format-number",
    "higher_order": (
        "apply filter fold-left fold-right for-each for-each-pair function-arity "
        "function-lookup function-name sort"
    ),
    "json": "json-doc json-to-xml parse-json xml-to-json",
    "maps": "map:",
    "math": "math:",
    "nodes": (
        "element-with-id generate-id has-children id idref innermost lang outermost path root"
    ),
    "numbers": "abs ceiling floor number round round-half-to-even",
    "qnames": (
        "QName in-scope-prefixes local-name-from-QName namespace-uri-for-prefix "
        "namespace-uri-from-QName prefix-from-QName resolve-QName"
    ),
    "random": "random-number-generator",
    "regex": "analyze-string matches replace tokenize",
    "sequences": (
        "boolean deep-equal distinct-values empty exactly-one exists false head index-of "
        "insert-before not one-or-more remove reverse subsequence tail true unordered "
        "zero-or-one"
    ),
    "serializing": "serialize",
    "strings": (
        "codepoint-equal codepoints-to-string collation-key compare concat contains "
        "contains-token ends-with lower-case normalize-space normalize-unicode starts-with "
        "string-join string-length string-to-codepoints substring substring-after "
        "substring-before translate upper-case"
    ),
    "temporal": "now start stream vtFrom vtTo",
    "uris": "encode-for-uri escape-html-uri iri-to-uri resolve-uri",
}

# standard functions that are left out, and why
UNSUPPORTED: dict[tuple[str, str], str] = {
    (NAMESPACES["fn"], "load-xquery-module"): "library modules are not part of XCQL",
    (NAMESPACES["fn"], "transform"): "there is no XSLT processor",
}


def function(signature: str) -> Callable[[Body], Body]:
    """Declare a builtin; stack it for several builtins with one body."""
    name = signature.partition("(")[0]
    prefix, local = name.split(":")
    uri = NAMESPACES[prefix]
    close = _closing(signature, len(name))
    written = signature[len(name) + 1 : close]
    result = read_type(signature[close:].removeprefix(") as "))

    def register(body: Body) -> Body:
        by_arity = _BUILTINS.setdefault((uri, local), {})
        for parameters in _parameters(written.removesuffix(", ...")):
            variadic = written.endswith(", ...")
            by_arity[len(parameters)] = Builtin(uri, local, parameters, result, body, variadic)
        return body

    return register


def _parameters(text: str) -> Iterator[tuple[BuiltinType, ...]]:
    """The parameters of each arity: `a, [b], [c, d]` are (a), (a, b) and (a, b, c, d)."""
    parameters: tuple[BuiltinType, ...] = ()
    for part in _split(text):
        if part.startswith("["):
            yield parameters
        parameters += tuple(map(read_type, _split(part.strip("[]"))))
    yield parameters


def lookup(uri: str, local: str, arity: int) -> Builtin | None:
    """The builtin with that expanded name and arity; a variadic one gets the given arity.

    >>> lookup(NAMESPACES["fn"], "count", 1).name
    'count'
    """
    _load_topic(uri, local)
    by_arity = _BUILTINS.get((uri, local))
    if by_arity is None:
        return None
    found = by_arity.get(arity)
    if found is not None:
        return found
    for candidate in by_arity.values():
        if candidate.variadic and arity > candidate.arity:
            more = (candidate.parameters[-1],) * (arity - candidate.arity)
            return Builtin(
                uri, local, candidate.parameters + more, candidate.result, candidate.body
            )
    return None


def arities(uri: str, local: str) -> list[int]:
    """The arities of the builtins with that name; empty if there are none."""
    _load_topic(uri, local)
    return sorted(_BUILTINS.get((uri, local), ()))


def similar_names(uri: str, local: str) -> list[str]:
    """Callable names that are similar to a misspelt one, the closest first.

    >>> similar_names(NAMESPACES["fn"], "sub-string")[0]
    'substring'
    """
    _load_all()
    names = {builtin.name for builtin in all_builtins()}
    wanted = local if PREFIXES.get(uri, "fn") == "fn" else f"{PREFIXES[uri]}:{local}"
    return difflib.get_close_matches(wanted, names, n=3, cutoff=0.75)


def all_builtins() -> Iterable[Builtin]:
    """Every builtin, by name and arity."""
    _load_all()
    for key in sorted(_BUILTINS):
        for arity in sorted(_BUILTINS[key]):
            yield _BUILTINS[key][arity]


def _load_topic(uri: str, local: str) -> None:
    """Import the module that declares a function, if there is one."""
    prefix = PREFIXES.get(uri)
    topic = topics_by_name().get(local if prefix == "fn" else f"{prefix}:")
    if topic is not None:
        import_module(f"xcql.evaluate.functions.{topic}")


@cache
def topics_by_name() -> dict[str, str]:
    """The module that declares each function of the fn namespace, and each other namespace."""
    return {name: topic for topic, names in _TOPICS.items() for name in names.split()}


@cache
def _load_all() -> None:
    for topic in _TOPICS:
        import_module(f"xcql.evaluate.functions.{topic}")


@cache
def read_type(text: str) -> BuiltinType:
    """A `BuiltinType` from its XQuery spelling.

    >>> read_type("function(item(), xs:string?) as item()*").inner[1]
    BuiltinType(item='xs:string', occurrence='?', inner=())
    """
    text = text.strip()
    if text.startswith("(") and text[-2:] in (")?", ")*", ")+"):
        inner = read_type(text[1:-2])
        return BuiltinType(inner.item, _occurrence(text[-1]), inner.inner)
    if text.startswith("function(") and not text.startswith("function(*)"):
        close = _closing(text, len("function"))
        parameters = _split(text[len("function(") : close])
        result = text[close + 1 :].strip().removeprefix("as ")
        return BuiltinType("function", "", tuple(read_type(part) for part in [*parameters, result]))
    if text[-1] in "?*+":
        return BuiltinType(text[:-1], _occurrence(text[-1]))
    return BuiltinType(text)


def _occurrence(sign: str) -> Occurrence:
    return "?" if sign == "?" else "*" if sign == "*" else "+"


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    raise ValueError(f"unbalanced type: {text}")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text.strip() else []
