"""What the standard functions do with the nodes that they are given.

Functions that are not listed here look inside their arguments, and give atomic values.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# They don't look inside: they count, or ask whether there is something, or for a name.
OUTSIDE = _names(
    "count exists empty not boolean name local-name namespace-uri node-name true false position"
    " last"
)

# They give back items of their first argument as they are; the rest is numbers or text.
PASSING = _names(
    "zero-or-one exactly-one one-or-more reverse head tail subsequence remove unordered trace"
)
AT_MOST_ONE = _names("zero-or-one exactly-one head")

# They ask for the place of a node in its tree, or who it is.
PLACE = _names(
    "root generate-id path id idref element-with-id innermost outermost base-uri document-uri lang"
    " has-children"
)

# They look for elements by the identifiers that a document or a Tag Structure declares.
BY_ID = _names("id idref element-with-id")

# They give back nodes, or whatever a function gives that they call.
ANYTHING = _names(
    "for-each for-each-pair filter fold-left fold-right apply sort insert-before parse-json"
    " json-doc load-xquery-module function-lookup random-number-generator"
)

# Without an argument they are about the context item.
ABOUT_CONTEXT = _names(
    "string data number string-length normalize-space name local-name namespace-uri node-name root"
    " generate-id path base-uri document-uri has-children nilled"
)

# What gives true or false, whatever its arguments are.
BOOLEAN = _names(
    "exists empty not boolean true false contains starts-with ends-with matches deep-equal"
    " doc-available has-children nilled lang"
)

# Functions of XCQL that are not XQuery's.
TEMPORAL = _names("stream vtFrom vtTo now start")
