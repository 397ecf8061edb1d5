"""Values from Python: external variables, and calls of registered functions."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from xcql.algebra.operators import Unit, Unnest
from xcql.algebra.scalars import Column, Constant, call, field
from xcql.compile.library.atomization import data
from xcql.compile.library.casts import SUPPORTED, cast
from xcql.compile.library.isolation import by_evaluator, module_of
from xcql.compile.result import NotNative
from xcql.compile.terms.items import Atomic, Dynamic
from xcql.compile.terms.scope import Scope, value_of
from xcql.compile.terms.values import EMPTY, Each, Single, Value, concat, guarded
from xcql.source import Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import VariableRef
from xcql.syntax.node import Name


def external_value(value: object, span: Span) -> Value:
    """The XDM value of a Python value."""
    match value:
        case None:
            return EMPTY
        case bool():
            return Single(Atomic(Constant(value), "xs:boolean"))
        case int():
            return Single(Atomic(Constant(value), "xs:integer"))
        case float():
            return Single(Atomic(Constant(value), "xs:double"))
        case Decimal():
            return Single(Atomic(Constant(value), "xs:decimal"))
        case str() if not value.startswith("<"):
            return Single(Atomic(Constant(value), "xs:string"))
        case list() | tuple():
            return concat([external_value(one, span) for one in value])
        case datetime() | date():
            raise NotNative("a time as a variable", span)
    raise NotNative(f"a variable with a value of type {type(value).__name__}", span)


def external_call(expr: FunctionCall, returns: str, scope: Scope) -> Value:
    """Call a registered function: SQL computes its arguments, and it is called once per row.

    Such functions get atomic values. The declared type determines what they return.
    """
    given = {
        f"argument{number}": data(value_of(one, scope), scope)
        for number, one in enumerate(expr.arguments, 1)
    }
    names = tuple(VariableRef(Name(name, span=expr.span), span=expr.span) for name in given)
    module = module_of(FunctionCall(expr.name, names, span=expr.span), given, scope)
    reason = f"{expr.name} is a Python function"
    array = by_evaluator(module, given, scope, NotNative(reason, expr.span))
    if returns.removesuffix("?") in SUPPORTED:
        text = Atomic(field(call("first_of", array), "value"), "xs:string")
        value = cast(text, returns.removesuffix("?"), scope, expr.span)
        found = call("is_not_null", value.scalar) if returns.endswith("?") else Constant(True)
        return guarded(found, Single(value))
    item, position = (scope.compilation.fresh(hint) for hint in ("given", "given_at"))
    return Each(Unnest(Unit(), array, item, position), Single(Dynamic(Column(item), reason)))
