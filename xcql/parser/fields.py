"""The fields of a node that are just parts of its context: arguments of `builds_node`."""

from __future__ import annotations

from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import BuilderFunction, find, has_token

P = XcqlParser


def child_at(index: int) -> BuilderFunction:
    return lambda b, context: b.build(context.children[index])


def one(kind: type) -> BuilderFunction:
    return lambda b, context: b.build(find(context, kind))


def optional(kind: type) -> BuilderFunction:
    return lambda b, context: b.optional(context, kind)


def every(kind: type) -> BuilderFunction:
    return lambda b, context: b.build_all(context, kind)


def has(token_type: int) -> BuilderFunction:
    return lambda b, context: has_token(context, token_type)


NAME = one(P.EqNameContext)
OPTIONAL_NAME = optional(P.EqNameContext)
TYPE = optional(P.TypeDeclarationContext)
ANNOTATIONS = every(P.AnnotationContext)
