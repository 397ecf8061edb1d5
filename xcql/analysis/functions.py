"""What the standard functions do with their node arguments.

Functions that are not listed here look inside their arguments and return atomic values.
"""

from __future__ import annotations

from xcql.syntax.names import name_set

# Do not look inside: count items, test for existence, or read a name.
OUTSIDE = name_set(
    "count exists empty not boolean name local-name namespace-uri node-name true false position"
    " last"
)

# Return items of their first argument unchanged; the other arguments are numbers or text.
PASSING = name_set(
    "zero-or-one exactly-one one-or-more reverse head tail subsequence remove unordered trace"
)
AT_MOST_ONE = name_set("zero-or-one exactly-one head")

# Depend on a node's position in its tree, or on its identity.
PLACE = name_set(
    "root generate-id path id idref element-with-id innermost outermost base-uri document-uri lang"
    " has-children"
)

# Find elements by the identifiers that a document or a tag structure declares.
BY_ID = name_set("id idref element-with-id")

# Return nodes, or whatever a function that they call returns.
ANYTHING = name_set(
    "for-each for-each-pair filter fold-left fold-right apply sort insert-before parse-json"
    " json-doc load-xquery-module function-lookup random-number-generator"
)

# Without an argument, use the context item.
ABOUT_CONTEXT = name_set(
    "string data number string-length normalize-space name local-name namespace-uri node-name root"
    " generate-id path base-uri document-uri has-children nilled"
)

# Return true or false, whatever the arguments are.
BOOLEAN = name_set(
    "exists empty not boolean true false contains starts-with ends-with matches deep-equal"
    " doc-available has-children nilled lang"
)

# Functions of XCQL that are not in XQuery.
TEMPORAL = name_set("stream vtFrom vtTo now start")
