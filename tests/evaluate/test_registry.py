"""The registry of builtins: signatures, lookup, and suggestions for wrong names."""

from __future__ import annotations

import inspect

import pytest

from xcql.evaluate.registry import (
    NAMESPACES,
    UNSUPPORTED,
    Builtin,
    BuiltinType,
    all_builtins,
    arities,
    lookup,
    read_type,
    similar_names,
    topics_by_name,
)

FN = NAMESPACES["fn"]
# every name of Functions and Operators 3.1
_NAMES = """
abs adjust-date-to-timezone adjust-dateTime-to-timezone adjust-time-to-timezone
analyze-string apply available-environment-variables avg base-uri boolean ceiling
codepoint-equal codepoints-to-string collation-key collection compare concat contains
contains-token count current-date current-dateTime current-time data dateTime day-from-date
day-from-dateTime days-from-duration deep-equal default-collation default-language
distinct-values doc doc-available document-uri element-with-id empty encode-for-uri
ends-with environment-variable error escape-html-uri exactly-one exists false filter floor
fold-left fold-right for-each for-each-pair format-date format-dateTime format-integer
format-number format-time function-arity function-lookup function-name generate-id
has-children head hours-from-dateTime hours-from-duration hours-from-time id idref
implicit-timezone in-scope-prefixes index-of innermost insert-before iri-to-uri json-doc
json-to-xml lang last local-name local-name-from-QName lower-case matches max min
minutes-from-dateTime minutes-from-duration minutes-from-time month-from-date
month-from-dateTime months-from-duration name namespace-uri namespace-uri-for-prefix
namespace-uri-from-QName nilled node-name normalize-space normalize-unicode not number
one-or-more outermost parse-ietf-date parse-json parse-xml parse-xml-fragment path position
prefix-from-QName QName random-number-generator remove replace resolve-QName resolve-uri
reverse root round round-half-to-even seconds-from-dateTime seconds-from-duration
seconds-from-time serialize sort starts-with static-base-uri string string-join
string-length string-to-codepoints subsequence substring substring-after substring-before
sum tail timezone-from-date timezone-from-dateTime timezone-from-time tokenize trace
translate true unordered unparsed-text unparsed-text-available unparsed-text-lines
upper-case uri-collection year-from-date year-from-dateTime years-from-duration zero-or-one
xml-to-json load-xquery-module transform
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xs:string?", BuiltinType("xs:string", "?")),
        ("item()*", BuiltinType("item()", "*")),
        ("map(*)", BuiltinType("map(*)")),
        ("function(*)?", BuiltinType("function(*)", "?")),
        ("function() as xs:int", BuiltinType("function", "", (BuiltinType("xs:int"),))),
        (
            "function(item()*, item()) as item()*",
            BuiltinType(
                "function",
                "",
                (BuiltinType("item()", "*"), BuiltinType("item()"), BuiltinType("item()", "*")),
            ),
        ),
        (
            "(function(item()) as xs:boolean)?",
            BuiltinType("function", "?", (BuiltinType("item()"), BuiltinType("xs:boolean"))),
        ),
    ],
)
def test_types(text: str, expected: BuiltinType) -> None:
    assert read_type(text) == expected
    assert read_type(str(expected)) == expected


@pytest.mark.parametrize("builtin", list(all_builtins()), ids=lambda b: f"{b.name}#{b.arity}")
def test_bodies_take_their_arguments(builtin: Builtin) -> None:
    inspect.signature(builtin.body).bind(None, *[None] * builtin.arity)


def test_lookup() -> None:
    assert lookup(FN, "substring", 2) is not None
    assert lookup(FN, "substring", 4) is None
    assert lookup("urn:x", "substring", 2) is None
    assert arities(FN, "substring") == [2, 3]
    many = lookup(FN, "concat", 7)
    assert many is not None
    assert many.arity == 7
    assert lookup(FN, "concat", 1) is None


def test_every_standard_function_exists() -> None:
    missing = [
        name for name in _NAMES.split() if not arities(FN, name) and (FN, name) not in UNSUPPORTED
    ]
    assert missing == []


def test_hints() -> None:
    assert similar_names(FN, "sub-string")[0] == "substring"
    assert similar_names(NAMESPACES["map"], "mrge")[0] == "map:merge"
    assert similar_names(FN, "frobnicate") == []


def test_every_name_is_found_in_its_module() -> None:
    """A lookup imports only one module, so the index must list every function."""
    declared = {
        builtin.local if builtin.uri == FN else builtin.name.split(":")[0] + ":"
        for builtin in all_builtins()
    }
    assert set(topics_by_name()) == declared
