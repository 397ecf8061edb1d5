"""Nested plans over arrays of the tuple itself become array functions: no join is needed.

count(1 for {select $b.price > 3; unnest b: $a.bid})  =>  size(filter($a.bid, b -> b.price > 3))
"""

from __future__ import annotations

from math import prod

from xcql.algebra.operators import (
    Number,
    Order,
    Plan,
    Project,
    Select,
    Unit,
    Unnest,
    columns,
    identity,
    inputs,
    order,
    used,
    with_inputs,
    with_scalars,
)
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    FALSE,
    TRUE,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    call,
    case,
    conjunction,
    field,
    has_nested,
    rebuilt,
    remembered,
    walk_scalar,
)
from xcql.algebra.substitution import substituted

# longer arrays may not fit in memory, and no engine can be interrupted in the middle of one
MOST_IN_ROW = 10_000


def in_row(plan: Plan) -> Plan:
    """The plan with every nested plan replaced that reads only its own tuple."""
    return everywhere(plan, lambda one: with_scalars(one, in_row_scalar))


@remembered
def in_row_scalar(scalar: Scalar) -> Scalar:
    if not has_nested(scalar):
        return scalar
    scalar = rebuilt(scalar, in_row_scalar)
    if isinstance(scalar, Nested):
        found = _reduced(scalar)
        return scalar if found is None else found
    return scalar


def _reduced(nested: Nested) -> Scalar | None:
    plan, value = nested.plan, nested.value
    if not _is_in_row(plan) or not _is_plain(value) or _least_size(plan) > MOST_IN_ROW:
        return None
    match nested.reduction:
        case "exists":
            return _exists(plan)
        case "count":
            return call("size", _array(plan, TRUE, TRUE))
        case "collect":
            return _array(plan, TRUE, value)
        case "join":
            return call("join_texts", _array(plan, TRUE, value), Constant(""))
        case "min" | "max" | "min_doubles" | "max_doubles":
            name = nested.reduction.removesuffix("_doubles")
            return call(f"array_{name}", _array(plan, TRUE, value))
        case "sum" | "sum_doubles" | "sum_decimals":
            return call(f"array_{nested.reduction}", _array(plan, TRUE, value))
        case "first":
            return call("get", _array(plan, TRUE, value), Constant(0))
    return None


def _is_in_row(plan: Plan) -> bool:
    match plan:
        case Unit():
            return True
        case Order(by=by):
            natural = order(plan.input)
            return by == natural and _is_in_row(plan.input)
        case Number():
            return _is_in_row(plan.input) and _partition_base(plan) is not None
        case Unnest(array=scalar, outer=False) | Select(condition=scalar) | Project(scalar=scalar):
            return _is_plain(scalar) and _is_in_row(plan.input)
    return False


def _least_size(plan: Plan) -> int:
    """How many tuples a plan has before conditions, as far as its ranges tell."""
    own = 1
    match plan:
        case Unnest(array=Call("range", (Constant(first), Constant(last)))):
            if isinstance(first, int) and isinstance(last, int):
                own = max(0, last - first + 1)
    return own * prod(map(_least_size, inputs(plan)))


def _is_plain(scalar: Scalar) -> bool:
    """Whether the scalar can be used in a lambda."""
    return not any(
        isinstance(one, Nested) or (isinstance(one, Call) and one.function == "evaluate")
        for one in walk_scalar(scalar)
    )


def _partition_base(number: Number) -> Plan | None:
    """The part of the plan for whose tuples positions restart from 1."""
    inside = columns(number.input)
    own = tuple(one for one in number.partition if used(one) & inside)
    here: Plan = number.input
    while True:
        if tuple(one for one in identity(here) if used(one) & inside) == own:
            base = here
            # numbers count the tuples of other parts, too
            if isinstance(here, Unit | Number):
                return here
            # the smallest part with this identity
            below = inputs(here)[0] if inputs(here) else here
            if tuple(identity(below)) != tuple(identity(here)) or isinstance(below, Unit):
                return base
        if isinstance(here, Unit) or len(inputs(here)) != 1:
            return None
        (here,) = inputs(here)


def _exists(plan: Plan) -> Scalar:
    array = _single_array(plan)
    if array is not None:
        source, item, position, condition = array
        if condition == TRUE:
            return call(">", call("size", source), Constant(0))
        if position not in used(condition):
            return call("is_true", call("exists", source, Lambda((item,), condition)))
    return call(">", call("size", _array(plan, TRUE, TRUE)), Constant(0))


def _single_array(plan: Plan) -> tuple[Scalar, str, str, Scalar] | None:
    """The array that a plan iterates over and the condition on its elements, if that is all."""
    condition: Scalar = TRUE
    while True:
        match plan:
            case Select(input=below, condition=one):
                condition = conjunction(one, condition)
            case Project(input=below, name=name, scalar=scalar):
                condition = substituted(condition, {name: scalar})
            case Order(input=below):
                pass
            case Unnest(input=base, array=array, item=item, position=position):
                source: Scalar = call("or_empty", array)
                guard = _guard(base)
                if guard is None:
                    return None
                if guard != TRUE:
                    source = case((guard, source), otherwise=call("array"))
                return source, item, position, condition
            case _:
                return None
        plan = below


def _guard(plan: Plan) -> Scalar | None:
    """The condition of a plan that yields its tuple or nothing; None for other plans."""
    match plan:
        case Unit():
            return TRUE
        case Order(input=below):
            return _guard(below)
        case Select(input=below, condition=condition):
            before = _guard(below)
            return None if before is None else conjunction(before, condition)
    return None


def _array(plan: Plan, condition: Scalar, value: Scalar) -> Scalar:
    """An array of the value for each tuple of the plan that meets the condition."""
    match plan:
        case Unit():
            if condition == TRUE:
                return call("array", value)
            if condition == FALSE:
                return call("array")
            return case((condition, call("array", value)), otherwise=call("array"))
        case Order(input=below):
            return _array(below, condition, value)
        case Select(input=below, condition=one):
            return _array(below, conjunction(one, condition), value)
        case Project(input=below, name=name, scalar=scalar):
            known = {name: scalar}
            return _array(below, substituted(condition, known), substituted(value, known))
        case Unnest(input=below, array=array, item=item, position=position):
            inner = _mapped(call("or_empty", array), item, position, condition, value)
            return _for_each(below, inner)
        case Number():
            return _numbered(plan, condition, value)
    raise AssertionError(plan)


def _for_each(plan: Plan, array: Scalar) -> Scalar:
    """One array per tuple of a plan, concatenated."""
    if isinstance(plan, Unit):
        return array
    arrays = _array(plan, TRUE, array)
    # nothing in nothing: an engine may want to know of what
    return arrays if arrays == call("array") else call("flatten", arrays)


def _mapped(array: Scalar, item: str, position: str, condition: Scalar, value: Scalar) -> Scalar:
    """`value` for each element that meets the condition."""
    if condition != TRUE and position in used(value):
        # positions are counted before filtering
        pair = Lambda(
            (item, position),
            call("named_struct", Constant("e"), Column(item), Constant("p"), Column(position)),
        )
        array = call("transform", array, pair)
        # named after the item, because lambdas may be nested
        pair_name = f"{item}.pair"
        known = {item: field(Column(pair_name), "e"), position: field(Column(pair_name), "p")}
        return _mapped(
            array,
            pair_name,
            f"{pair_name}.at",
            substituted(condition, known),
            substituted(value, known),
        )
    if condition == FALSE:
        return call("array")
    if condition != TRUE:
        parameters = (item, position) if position in used(condition) else (item,)
        array = call("filter", array, Lambda(parameters, condition))
    if value == Column(item):
        return array
    if value == TRUE:
        # only the size matters
        return array
    parameters = (item, position) if position in used(value) else (item,)
    return call("transform", array, Lambda(parameters, value))


def _numbered(plan: Number, condition: Scalar, value: Scalar) -> Scalar:
    base = _partition_base(plan)
    assert base is not None
    rest = _replaced(plan.input, base, Unit())
    kept = sorted((used(condition) | used(value)) & columns(rest))
    simple = _first_element(plan, rest, condition, value)
    if simple is not None and isinstance(base, Unit):
        return simple
    if kept:
        struct = Call(
            "named_struct", tuple(part for name in kept for part in (Constant(name), Column(name)))
        )
    else:
        struct = call("named_struct", Constant("e"), TRUE)
    tuples = _array(rest, TRUE, struct)
    one, at = f"{plan.name}.tuple", f"{plan.name}.at"
    known: dict[str, Scalar] = {name: field(Column(one), name) for name in kept}
    index: Scalar = call("+", call("to_integer", Column(at)), Constant(1))
    if plan.backwards:
        index = call("-", call("to_integer", call("size", tuples)), call("to_integer", Column(at)))
    known[plan.name] = index
    if plan.total is not None:
        known[plan.total] = call("to_integer", call("size", tuples))
    inner = _mapped(tuples, one, at, substituted(condition, known), substituted(value, known))
    return _for_each(base, inner)


def _first_element(plan: Number, rest: Plan, condition: Scalar, value: Scalar) -> Scalar | None:
    """`array[n]` with a constant n, without iterating over the array."""
    single = _single_array(rest)
    if single is None or plan.total is not None:
        return None
    array, item, position, before = single
    value = _through_projects(rest, value)
    match condition:
        case Call(function="=", arguments=(Column(name=name), Constant(value=int() as number))):
            if name != plan.name or plan.name in used(value) or position in used(value):
                return None
        case _:
            return None
    if before != TRUE:
        if position in used(before):
            return None
        array = call("filter", array, Lambda((item,), before))
    if plan.backwards:
        found = call("slice_from_end", array, Constant(number))
    elif number < 1:
        return call("array")
    else:
        found = call("slice", array, Constant(number), Constant(1))
    return _mapped(found, item, position, TRUE, value)


def _through_projects(plan: Plan, value: Scalar) -> Scalar:
    """The value with the plan's projected columns replaced by what they are computed from."""
    while not isinstance(plan, Unnest):
        if isinstance(plan, Project):
            value = substituted(value, {plan.name: plan.scalar})
        (plan,) = inputs(plan)
    return value


def _replaced(plan: Plan, old: Plan, new: Plan) -> Plan:
    if plan is old:
        return new
    return with_inputs(plan, *(_replaced(one, old, new) for one in inputs(plan)))


RULE = Rule(in_row, "what one filler holds is computed from that filler alone")
