"""Members of groups are read as the tuples that they were, not collected and taken apart again.

project b := $member.a.limit                             project b := $member.a.limit
  unnest member at at: $members                  =>        merge member.a.limit, …
    nest by (name := $a.name): members := collect(…)         a
      a

Large groups would have to be sorted and held in memory. It is done for members whose positions
nothing asks for, and that are otherwise only counted: the count becomes one of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from xcql.algebra.operators import (
    Aggregate,
    Join,
    Merge,
    Nest,
    Order,
    Plan,
    Project,
    Unnest,
    columns,
    inputs,
    scalars,
    used,
    walk_plan,
    with_inputs,
    with_scalars,
)
from xcql.algebra.rewriting.liveness import needed_below
from xcql.algebra.rewriting.rule import Rule
from xcql.algebra.scalars import (
    TRUE,
    Call,
    Column,
    Constant,
    Scalar,
    call,
    conjunction,
    parts,
    rebuilt,
)


def members_as_tuples(plan: Plan, wanted: frozenset[str], fresh: Callable[[str], str]) -> Plan:
    """The plan without the collected members that are only counted, or read one by one."""
    if not any(map(_collects, walk_plan(plan))):
        return plan
    uses = _uses(plan, wanted)
    counts = {name: fresh("count") for name in sorted(uses.collected - uses.kept)}
    if not counts:
        return plan
    items = {item for item, name in uses.items.items() if name in counts}
    return _Change(counts, items).of(plan, wanted)


def _collects(plan: Plan) -> bool:
    return isinstance(plan, Nest) and any(_is_packed(value) for _, value in plan.fields)


@dataclass(slots=True)
class _Uses:
    """How collected members are used: by name, all, and those that have to stay collected."""

    collected: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    # the members that a column is one of, or the position of one
    items: dict[str, str] = field(default_factory=dict)
    positions: dict[str, str] = field(default_factory=dict)

    def look_into(self, scalar: Scalar, seen: set[int]) -> None:
        """Note the uses in a scalar; `seen` are the parts that have been looked into."""
        if id(scalar) in seen:
            return
        seen.add(id(scalar))
        match scalar:
            case Call(function="field", arguments=(Column(name=name), Constant())):
                if name in self.items:
                    return
            case Column(name=name):
                self.kept.add(self.items.get(name, name))
            case Call() if _counted(scalar) is not None:
                return
        for part in parts(scalar):
            self.look_into(part, seen)


def _uses(plan: Plan, wanted: frozenset[str]) -> _Uses:
    uses = _Uses(kept=set(wanted))
    live = list(_live(plan, wanted))
    for one, _ in live:
        match one:
            case Nest(fields=fields):
                uses.collected.update(name for name, value in fields if _is_packed(value))
            case Unnest(array=Column(name=name), outer=False):
                uses.items[one.item] = name
                uses.positions[one.position] = name
                if _nest_below(one.input, name) is None:
                    uses.kept.add(name)
    for one, needed in live:
        uses.kept.update(uses.positions[name] for name in needed & uses.positions.keys())
        for scalar in _live_scalars(one, needed):
            uses.look_into(scalar, set())
    return uses


def _is_packed(one: Aggregate) -> bool:
    value = one.value
    return one.reduction == "collect" and isinstance(value, Call) and value.function == "members"


def _counted(scalar: Scalar) -> str | None:
    """The members whose number a scalar is."""
    match scalar:
        case Call(
            function="size", arguments=(Call(function="or_empty", arguments=(Column(name=name),)),)
        ):
            return name
    return None


def _live(plan: Plan, needed: frozenset[str]) -> Iterator[tuple[Plan, frozenset[str]]]:
    """The operators, each with the columns of its tuples that are asked for."""
    pending = [(plan, needed)]
    while pending:
        here, asked = pending.pop()
        yield here, asked
        pending.extend(zip(inputs(here), needed_below(here, asked), strict=True))


def _live_scalars(plan: Plan, needed: frozenset[str]) -> Iterator[Scalar]:
    """The operator's own scalars, but not those of columns that nothing asks for."""
    match plan:
        case Unnest(array=Column(), outer=False):
            return
        case Project(name=name) if name not in needed:
            return
        case Nest(keys=keys, fields=fields):
            yield from (scalar for _, scalar in keys)
            yield from (one.value for name, one in fields if name in needed)
        case Merge(columns=shared):
            yield from (one for name, each in shared if name in needed for one in each)
        case _:
            yield from scalars(plan)


def _nest_below(plan: Plan, members: str) -> Nest | None:
    """The groups whose members a plan has, each in as many tuples as it likes."""
    while not isinstance(plan, Nest):
        if members not in columns(plan) or isinstance(plan, Merge):
            return None
        plan = inputs(plan)[0]
    found = dict(plan.fields).get(members)
    return plan if found is not None and _is_packed(found) else None


@dataclass(frozen=True, slots=True)
class _Change:
    """Changes a plan: `counts` names the number of members for each collection that goes.

    `items` are the columns that held one member.
    """

    counts: dict[str, str]
    items: set[str]
    done: dict[int, tuple[Scalar, Scalar]] = field(default_factory=dict)

    def of(self, plan: Plan, needed: frozenset[str]) -> Plan:
        below = zip(inputs(plan), needed_below(plan, needed), strict=True)
        changed = with_inputs(plan, *(self.of(one, asked) for one, asked in below))
        match plan:
            case Unnest(array=Column(name=name)) if name in self.counts:
                return self.tuples(plan, changed, needed)
            case Nest(fields=fields):
                assert isinstance(changed, Nest)
                fields = tuple(map(self.counted, fields))
                changed = replace(changed, fields=fields)
        return with_scalars(changed, self.scalar)

    def tuples(self, old: Unnest, changed: Plan, needed: frozenset[str]) -> Plan:
        """The tuples of groups, each with what is needed of its group."""
        base = inputs(changed)[0]
        before, nest = _first_nest(old.input), _first_nest(base)
        made = [(f"{old.item}.{name}", scalar) for name, scalar in nest.keys]
        keys = {name: Column(f"{old.item}.{name}") for name, _ in nest.keys}
        packed = dict(before.fields)[old.array.name].value.arguments  # type: ignore[attr-defined]
        for name, scalar in zip(packed[::2], packed[1::2], strict=True):
            made.append((f"{old.item}.{name.value}", self.scalar(scalar)))
        shared = tuple((name, (scalar,)) for name, scalar in made)
        members: Plan = Merge((nest.input,), shared, (), span=old.span)
        wanted = columns(base) & {self.counts.get(name, name) for name in needed}
        with_keys = _with_columns_of_keys(base, members, keys, wanted)
        if with_keys is not None:
            return with_keys
        same = (call("<=>", Column(name), key) for name, key in keys.items())
        return Join(base, members, (), conjunction(*same), span=old.span)

    def counted(self, one: tuple[str, Aggregate]) -> tuple[str, Aggregate]:
        """A field of a group, or the number of members instead of them."""
        name, _ = one
        return (self.counts[name], Aggregate("count", TRUE)) if name in self.counts else one

    def scalar(self, scalar: Scalar) -> Scalar:
        if id(scalar) not in self.done:
            self.done[id(scalar)] = scalar, self._changed(scalar)
        return self.done[id(scalar)][1]

    def _changed(self, scalar: Scalar) -> Scalar:
        match scalar:
            case Call(function="field", arguments=(Column(name=name), Constant(value=str(one)))):
                if name in self.items:
                    return Column(f"{name}.{one}")
        counted = _counted(scalar)
        if counted in self.counts:
            return call("coalesce", Column(self.counts[counted]), Constant(0))
        return rebuilt(scalar, self.scalar)


def _first_nest(plan: Plan) -> Nest:
    while not isinstance(plan, Nest):
        plan = inputs(plan)[0]
    return plan


def _with_columns_of_keys(
    base: Plan, members: Plan, keys: Mapping[str, Scalar], wanted: frozenset[str]
) -> Plan | None:
    """The members with columns that their groups have, if these are made of the keys alone."""
    made: list[Project] = []
    while isinstance(base, Order | Project):
        if isinstance(base, Project) and base.name in wanted:
            wanted = (wanted - {base.name}) | used(base.scalar)
            made.append(base)
        base = base.input
    if not isinstance(base, Nest) or not wanted <= keys.keys():
        return None
    for name in sorted(wanted):
        members = Project(members, name, keys[name])
    for one in reversed(made):
        members = Project(members, one.name, one.scalar, span=one.span)
    return members


RULE = Rule(members_as_tuples, "members of groups are read one by one, without collecting them")
