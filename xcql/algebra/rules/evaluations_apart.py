"""Each value that the evaluator computes in a worker gets its own column.

    project item := text(evaluate(f, $a) + 1)      project item := text($evaluated + 1)
      a                                       =>     project evaluated := evaluate(f, $a)
                                                       a

Spark does not call Python functions inside lambdas. Also, each value is computed only once.
"""

from __future__ import annotations

from collections.abc import Callable

from xcql.algebra.operators import (
    Join,
    Order,
    Plan,
    Project,
    Select,
    inputs,
    scalars,
    with_inputs,
    with_scalars,
)
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import Call, Column, Lambda, Scalar, once, operations_in, rebuilt


def evaluations_apart(plan: Plan, fresh: Callable[[str], str]) -> Plan:
    """The plan with evaluations as columns; those in join conditions stay where they are."""
    plan = with_inputs(plan, *(evaluations_apart(one, fresh) for one in inputs(plan)))
    if not isinstance(plan, Project | Select) or is_evaluation(scalars(plan)[0]):
        return plan
    below = plan.input
    known = _evaluated(below)

    @once
    def apart(scalar: Scalar) -> Scalar:
        nonlocal below
        if isinstance(scalar, Lambda) or "evaluate" not in operations_in(scalar):
            # it may use the lambda's parameters
            return scalar
        if not is_evaluation(scalar):
            return rebuilt(scalar, apart)
        if scalar not in known:
            known[scalar] = Column(fresh("evaluated"))
            below = Project(below, known[scalar].name, scalar, span=plan.span)
        return known[scalar]

    changed = with_scalars(plan, apart)
    return with_inputs(changed, below)


def _evaluated(plan: Plan) -> dict[Scalar, Column]:
    """The evaluations that are columns of a plan already."""
    match plan:
        case Project(input=below, name=name, scalar=scalar) if is_evaluation(scalar):
            return {**_evaluated(below), scalar: Column(name)}
        case Select(input=below) | Project(input=below) | Order(input=below) | Join(left=below):
            return _evaluated(below)
    return {}


def is_evaluation(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.function == "evaluate"


RULE = Rule(evaluations_apart, "what the evaluator computes gets a column of its own")
