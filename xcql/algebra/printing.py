"""Plans as stable text, for people and for tests."""

from __future__ import annotations

from xcql.algebra import operators as ops
from xcql.algebra.scalars import Argument, Call, Column, Constant, Lambda, Nested, Scalar

_INFIX = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "and", "or", "%", "<=>"})


def plan_text(plan: ops.Plan, indent: int = 0) -> str:
    """The plan, one operator per line, with its inputs indented below it.

    >>> print(plan_text(ops.Select(ops.Unit(), Column("a"))))
    select $a
      unit
    """
    line = "  " * indent + _operator(plan)
    return "\n".join([line, *(plan_text(one, indent + 1) for one in ops.inputs(plan))])


def _operator(plan: ops.Plan) -> str:
    match plan:
        case ops.Unit():
            return "unit"
        case ops.Extract(stream=stream, tags=tags, row=row):
            return f"extract {row}: fillers of {stream} with tag {' '.join(tags)}"
        case ops.Versions(stream=stream, tags=tags, row=row):
            return f"versions {row}: of fillers of {stream} with tag {' '.join(tags)}"
        case ops.NodeScan(stream=stream, tags=tags):
            start = plan.column("start").name
            return f"nodes with {start}: in fillers of {stream} with tag {' '.join(tags)}"
        case ops.Follow(parent=parent, tags=tags, row=row, within=within):
            inside = "" if within is None else f" within {scalar_text(within[0])}"
            return f"follow {row}: holes of {parent} to fillers with tag {' '.join(tags)}{inside}"
        case ops.Rise(child=child, tags=tags, row=row):
            return f"rise {row}: from {child} to the filler with tag {' '.join(tags)} around it"
        case ops.Unnest(array=array, item=item, position=position, outer=outer):
            kind = "unnest outer" if outer else "unnest"
            return f"{kind} {item} at {position}: {scalar_text(array)}"
        case ops.Select(condition=condition):
            return f"select {scalar_text(condition)}"
        case ops.Project(name=name, scalar=scalar):
            return f"project {name} := {scalar_text(scalar)}"
        case ops.Number(name=name, partition=partition, backwards=backwards, total=total):
            way = " from the end" if backwards else ""
            each = f" for each {', '.join(map(scalar_text, partition))}" if partition else ""
            of = f" of {total}" if total else ""
            return f"number {name}{of}{way}{each}"
        case ops.Over(name=name, aggregate=one, frame=frame, partition=partition):
            each = f" for each {', '.join(map(scalar_text, partition))}" if partition else ""
            end = "" if plan.further is None else f" and {scalar_text(plan.further)} further"
            made = f"{one.reduction}({scalar_text(one.value)})"
            return f"over {name} := {made} {frame}{end}{each}"
        case ops.Order(by=by):
            return f"order by {', '.join(map(_key, by))}"
        case ops.Distinct(key=key):
            return f"distinct {scalar_text(key)}"
        case ops.Join(keys=keys, condition=condition, kind=kind):
            on = [f"{scalar_text(a)} = {scalar_text(b)}" for a, b in keys]
            if condition != Constant(True):
                on.append(scalar_text(condition))
            return f"{kind} join on {' and '.join(on) or 'all'}"
        case ops.Spread(begin=begin, end=end, name=name):
            return f"spread {name} over {scalar_text(begin)} to {scalar_text(end)}"
        case ops.Tally(keys=keys, comparison=comparison, values=(value, other), name=name):
            on = [f"{scalar_text(a)} = {scalar_text(b)}" for a, b in keys]
            on.append(f"{scalar_text(value)} {comparison} {scalar_text(other)}")
            return f"tally {name} of {' and '.join(on)}"
        case ops.Nearest(keys=keys, comparison=comparison, values=(value, other)):
            on = [f"{scalar_text(a)} = {scalar_text(b)}" for a, b in keys]
            on.append(f"{scalar_text(value)} {comparison} {scalar_text(other)}")
            which = "" if plan.position == 1 else f" {plan.position}"
            kind = "" if plan.kind == "inner" else f"{plan.kind} "
            return f"{kind}nearest{which} on {' and '.join(on)}"
        case ops.Nest(keys=keys, fields=fields):
            of = ", ".join(f"{name} := {scalar_text(scalar)}" for name, scalar in keys)
            made = ", ".join(
                f"{name} := {one.reduction}({scalar_text(one.value)})" for name, one in fields
            )
            return f"nest by ({of}): {made}"
        case ops.Merge(columns=columns):
            return f"merge {', '.join(name for name, _ in columns)}"
    raise AssertionError(plan)


def _key(key: ops.SortKey) -> str:
    return scalar_text(key.scalar) + (" descending" if key.descending else "")


def scalar_text(scalar: Scalar) -> str:
    match scalar:
        case Column(name=name):
            return f"${name}"
        case Constant(value=value):
            return repr(value)
        case Argument(name=name):
            return f":{name}"
        case Lambda(parameters=parameters, body=body):
            return f"({', '.join(parameters)}) -> {scalar_text(body)}"
        case Nested(plan=plan, reduction=reduction, value=value):
            inner = plan_text(plan).replace("\n", "; ")
            while "  " in inner:
                inner = inner.replace("  ", " ")
            return f"{reduction}({scalar_text(value)} for {{{inner}}})"
        case Call(function="field", arguments=(base, Constant(value=name))):
            return f"{scalar_text(base)}.{name}"
        case Call(function=name, arguments=arguments) if name in _INFIX:
            return "(" + f" {name} ".join(map(scalar_text, arguments)) + ")"
        case Call(function=name, arguments=arguments):
            return f"{name}({', '.join(map(scalar_text, arguments))})"
    raise AssertionError(scalar)
