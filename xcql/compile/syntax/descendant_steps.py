"""`//` in paths: its step to all nodes below, combined with the next step if equivalent.

a//b              a/descendant::b
a//b[1]           the children of all nodes below a, numbered among their siblings
a//(b | c)        a/(descendant::b | descendant::c)
a//@b             a/descendant-or-self::*/@b
a//text()         a/descendant::text(), or a/descendant-or-self::*/text() if the texts are columns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcql.compile.library.positions import is_never_positional
from xcql.syntax.literals import Sequence as SequenceExpr
from xcql.syntax.node import Expr, node
from xcql.syntax.operators import Binary
from xcql.syntax.path import AxisStep, Filter, Path, Wildcard
from xcql.syntax.types import AnyKindTest, TextTest


@node
class ChildrenBelow(Expr):
    """`//x[1]`: a step to children, from the start node and all nodes below it."""

    step: AxisStep


@node
class TextsBelow(Expr):
    """`//text()`: a step to texts, from all elements below."""

    elements: AxisStep
    step: AxisStep


_ONE_STEP = {
    "child": "descendant",
    "self": "descendant-or-self",
    "descendant": "descendant",
    "descendant-or-self": "descendant-or-self",
}


def joined_steps(steps: Sequence[Expr]) -> list[Expr]:
    """The steps of a path, with steps after `//` combined with it where possible."""
    joined: list[Expr] = []
    for step in steps:
        if joined and _is_all_below(joined[-1]):
            joined[-1:] = _from_all_below(joined[-1], step)
        else:
            joined.append(step)
    return joined


def _is_all_below(step: Expr) -> bool:
    """Whether the step is the one that `//` abbreviates."""
    match step:
        case AxisStep(axis="descendant-or-self", test=AnyKindTest(), predicates=()):
            return True
    return False


def _from_all_below(all_below: Expr, step: Expr) -> list[Expr]:
    assert isinstance(all_below, AxisStep)
    if not isinstance(step, AxisStep):
        pushed = _pushed(all_below, step)
        return [all_below, step] if pushed is None else [pushed]
    # only elements have attributes and text
    elements = replace(all_below, test=Wildcard(span=all_below.span))
    if step.axis == "attribute":
        return [elements, step]
    if step.axis == "child" and isinstance(step.test, TextTest):
        if all(map(is_never_positional, step.predicates)):
            return [TextsBelow(elements, step, span=step.span)]
        return [elements, step]
    if step.axis in _ONE_STEP and all(map(is_never_positional, step.predicates)):
        return [replace(step, axis=_ONE_STEP[step.axis])]
    if step.axis == "child":
        return [ChildrenBelow(step, span=step.span)]
    return [all_below, step]


def _pushed(all_below: AxisStep, step: Expr) -> Expr | None:
    """`//` pushed into a union or sequence of steps, whose nodes a path sorts anyway."""
    match step:
        case AxisStep():
            return Path(False, (all_below, step), span=step.span)
        case Path(absolute=False, steps=(AxisStep(), *_) as steps):
            return replace(step, steps=(all_below, *steps))
        case Binary(op="union" | "|"):
            left, right = _pushed(all_below, step.left), _pushed(all_below, step.right)
            if left is not None and right is not None:
                return replace(step, left=left, right=right)
        case SequenceExpr(items=items):
            pushed = [_pushed(all_below, one) for one in items]
            if all(one is not None for one in pushed):
                return replace(step, items=tuple(one for one in pushed if one is not None))
        case Filter(base=base, predicate=predicate) if is_never_positional(predicate):
            inner = _pushed(all_below, base)
            if inner is not None:
                return replace(step, base=inner)
    return None
