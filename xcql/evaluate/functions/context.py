"""Properties of the context: position, base URI, collation, environment."""

from __future__ import annotations

from elementpath import datatypes as ep

from xcql.evaluate.casting import make_uri
from xcql.evaluate.registry import CallContext, function


@function("fn:position() as xs:integer")
def position(call: CallContext) -> int:
    call.item()
    return call.context.position


@function("fn:last() as xs:integer")
def last(call: CallContext) -> int:
    call.item()
    size = call.context.size
    assert size is not None, "the size is computed where last() is called"
    return size


@function("fn:default-collation() as xs:string")
def default_collation(call: CallContext) -> str:
    return call.collation().uri


@function("fn:default-language() as xs:language")
def default_language(call: CallContext) -> str:
    return str.__new__(ep.Language, "en")


@function("fn:static-base-uri() as xs:anyURI?")
def static_base_uri(call: CallContext) -> ep.AnyURI | None:
    base = call.static.base_uri
    return None if base is None else make_uri(base)


@function("fn:environment-variable(xs:string) as xs:string?")
def environment_variable(call: CallContext, name: str) -> str | None:
    # a query must not read secrets from the machine it runs on
    return None


@function("fn:available-environment-variables() as xs:string*")
def available_environment_variables(call: CallContext) -> tuple[str, ...]:
    return ()
