"""Values that a plan uses more than once become columns, so that they are computed once.

    select size($a.names) * 2 > 10 and size($a.names) * 2 < 20
      extract a
    =>
    select $shared.1 > 10 and $shared.1 < 20
      project shared.1 := size($a.names) * 2
        extract a

SQL has no names for values inside of expressions, and texts grow quickly where a value is used by
its guard, its comparison and its result. A value that can fail stays where it is, because only some
tuples may compute it; so does one that depends on the parameter of a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from xcql.algebra.failures import Failures
from xcql.algebra.operators import (
    Aggregate,
    Join,
    Merge,
    Nearest,
    Nest,
    NodeScan,
    Order,
    Plan,
    Project,
    Select,
    Tally,
    Unit,
    columns,
    scalars,
    used,
    walk_plan,
    with_inputs,
    with_scalars,
)
from xcql.algebra.scalars import (
    Call,
    Column,
    Lambda,
    Scalar,
    call,
    conjunction,
    conjuncts,
    is_path,
    operations_in,
    parts,
    rebuilt,
    remembered,
)
from xcql.algebra.substitution import substituted
from xcql.algebra.unique import UniqueScalars
from xcql.dialects.dialect import Dialect
from xcql.sql.naming import with_names
from xcql.sql.reads import reads

# what ends a chain of operators that keep the columns of their input
_ENDS = (Join, Merge, Nearest, Tally, Nest, Unit, NodeScan)
# what costs less than this is repeated instead
_LEAST_COST = 2
# most operations cost 2, but these cost nothing, and those 1
_FREE = frozenset({"field", "and", "or", "not", "is_true", "is_null", "is_not_null", "present"})
_CHEAP = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "case", "coalesce", "get", "first_of"})
_CHEAP |= {"size", "or_empty", "to_string", "to_integer", "to_int"}
# the elements of arrays are several: what a function computes for each of them is used often
_IN_FUNCTION = 2


def shared(plan: Plan, needed: frozenset[str], dialect: Dialect) -> tuple[Plan, frozenset[str]]:
    """The plan with columns for the values that it, or its SQL, uses more than once.

    Also, the columns that SQL should compute once instead of at each use. Only the needed columns
    of the plan are ever read.
    """
    sharing = _Sharing(plan, needed, dialect)
    plan, fields = with_names(
        sharing.plan(plan), sharing.failures, sharing.scalars, dialect, sharing.name_of
    )
    return plan, frozenset(sharing.made) | fields | _used_often(plan, sharing.failures)


def _used_often(plan: Plan, failures: Failures) -> frozenset[str]:
    """The columns of the compiler whose values are used more than once."""
    uses = Counter[str]()
    projects: list[Project] = []
    for one in walk_plan(plan):
        for scalar in scalars(one):
            uses.update(_column_uses(scalar))
        if isinstance(one, Project):
            projects.append(one)
    return frozenset(
        one.name
        for one in projects
        if uses[one.name] > 1
        and _cost(one.scalar) >= _LEAST_COST
        and used(one.scalar)
        and not failures.can_fail(one.scalar)
    )


def _certain(scalar: Scalar) -> Iterator[Scalar]:
    """The values without which a scalar is never computed."""
    yield scalar
    match scalar:
        case Call(function="case" | "coalesce" | "and" | "or", arguments=(first, *_)):
            yield from _certain(first)
        case Call(arguments=arguments):
            for one in arguments:
                yield from _certain(one)


def _column_uses(scalar: Scalar) -> Iterator[str]:
    """The columns of a scalar, those that it uses more than once twice or more."""
    seen = Counter[tuple[int, bool]]()
    pending = [(scalar, False)]
    while pending:
        here, is_often = pending.pop()
        if isinstance(here, Column):
            yield from (here.name,) * (_IN_FUNCTION if is_often else 1)
        seen[id(here), is_often] += 1
        if seen[id(here), is_often] <= _IN_FUNCTION:
            pending += ((one, is_often or isinstance(here, Lambda)) for one in parts(here))


@remembered
def _cost(scalar: Scalar) -> int:
    """How much it costs to compute a value."""
    inside = sum(map(_cost, parts(scalar)))
    if not isinstance(scalar, Call) or scalar.function in _FREE:
        return inside
    return inside + (1 if scalar.function in _CHEAP else 2)


class _Sharing:
    def __init__(self, plan: Plan, needed: frozenset[str], dialect: Dialect) -> None:
        self.failures = Failures(plan)
        self._read = reads(plan, needed).columns
        self._dialect = dialect
        self.scalars = UniqueScalars()
        # equal values get equal names, so that equal plans stay equal
        self._names: dict[int, str] = {}
        self.made: set[str] = set()
        self._done: dict[int, tuple[Plan, Plan]] = {}

    def name_of(self, scalar: Scalar) -> str:
        """The name of the column for a canonical scalar."""
        return self._names.setdefault(id(scalar), f"shared.{len(self._names) + 1}")

    def plan(self, plan: Plan) -> Plan:
        known = self._done.get(id(plan))
        if known is None:
            known = self._done[id(plan)] = plan, self._shared(plan)
        return known[1]

    def _shared(self, plan: Plan) -> Plan:
        match plan:
            case Unit() | NodeScan():
                return plan
            case Merge(inputs=several, columns=made):
                sides = [
                    self._side(one, tuple(each[index] for _, each in made))
                    for index, one in enumerate(several)
                ]
                values = zip(*(new for _, new in sides), strict=True)
                own = tuple((name, each) for (name, _), each in zip(made, values, strict=True))
                return replace(plan, inputs=tuple(one for one, _ in sides), columns=own)
            case Join(keys=keys, condition=condition):
                left, (condition, *mine) = self._side(
                    plan.left, (condition, *(one for one, _ in keys))
                )
                right, (condition, *theirs) = self._side(
                    plan.right, (condition, *(one for _, one in keys))
                )
                pairs = tuple(zip(mine, theirs, strict=True))
                return replace(plan, left=left, right=right, keys=pairs, condition=condition)
            case (
                Tally(keys=keys, values=(first, second))
                | Nearest(keys=keys, values=(first, second))
            ):
                left, (first, *mine) = self._side(plan.left, (first, *(one for one, _ in keys)))
                right, (second, *theirs) = self._side(
                    plan.right, (second, *(one for _, one in keys))
                )
                pairs = tuple(zip(mine, theirs, strict=True))
                return replace(plan, left=left, right=right, keys=pairs, values=(first, second))
            case Nest(input=below, keys=keys, fields=fields):
                read = [one for name, one in fields if name in self._read]
                for_all = [*(scalar for _, scalar in keys), *(one.value for one in read)]
                often = [one.value for one in read if self._is_repeated(one)]
                below, new = self._side(below, scalars(plan), for_all, often)
                values_of_fields = iter(new)
                plan = with_scalars(plan, lambda _: next(values_of_fields))
                return with_inputs(plan, below)
        return self._side(plan, ())[0]

    def _is_repeated(self, one: Aggregate) -> bool:
        """Whether SQL has the value of a reduction more than once."""
        # a key of the order among the tuples
        order = [one.value] if one.reduction in self._dialect.ordered else []
        form = call(f"group_{one.reduction}", one.value, *order)
        return self._dialect.form_shape(form).operands[0].uses > 1

    def _side(
        self,
        plan: Plan,
        above: Sequence[Scalar],
        for_all: Sequence[Scalar] = (),
        often: Sequence[Scalar] = (),
    ) -> tuple[Plan, tuple[Scalar, ...]]:
        """A chain of operators, and scalars that are computed above it.

        Some are computed `for_all` of its tuples, and SQL has some of them more than once.
        """
        chain: list[Plan] = []
        while not isinstance(plan, _ENDS):
            chain.append(plan)
            plan = plan.input  # type: ignore[attr-defined]
        plan = self.plan(plan)
        values = _Values(self.failures, self._dialect, self.scalars, self._names)
        values.compute_for_all(for_all)
        for root in (*_all_scalars(chain, above), *often):
            values.count(root)
        for one in reversed(chain):
            plan = values.operator(one, plan)
        values.is_above = True
        new = tuple(values.inside(one, plan) for one in above)
        self.made |= values.made
        return values.without_unused(values.named(plan)), new


def _all_scalars(chain: Iterable[Plan], above: Iterable[Scalar]) -> Iterator[Scalar]:
    for one in chain:
        if not isinstance(one, Order):
            yield from scalars(one)
    yield from above


class _Values:
    """The values in a chain of operators that are to become columns, and those that are."""

    def __init__(
        self,
        failures: Failures,
        dialect: Dialect,
        scalars: UniqueScalars,
        names: dict[int, str],
    ) -> None:
        self._failures = failures
        self._dialect = dialect
        self._scalars = scalars
        self._names = names
        self._uses: Counter[int] = Counter()
        self._columns: dict[int, str] = {}
        # columns of fields that nothing uses
        self._unused: set[str] = set()
        self.made: set[str] = set()
        # what is computed for all tuples above the chain, even if it fails
        self._certain: set[int] = set()
        self.is_above = False
        # operands that SQL needs more than once
        self._repeated: set[int] = set()
        # fields of columns that are used, by identity
        self._paths: dict[int, Scalar] = {}
        # columns to add below the next operator, by the number of columns they depend on in a row
        self._pending: dict[str, tuple[int, Scalar]] = {}
        # by identity, scalars and what they are without names
        self._unnamed: dict[int, tuple[Scalar, Scalar]] = {}

    def compute_for_all(self, above: Iterable[Scalar]) -> None:
        """All tuples of the chain come to these scalars, so that columns for them may fail."""
        for one in above:
            self._certain.update(map(id, _certain(self._canonical(one))))

    def count(self, scalar: Scalar) -> None:
        """Count the values in one of the scalars of the chain."""
        self._count(self._canonical(scalar), 1)

    def operator(self, plan: Plan, below: Plan) -> Plan:
        """The operator over another input, with the columns that it is the first to use."""
        if isinstance(plan, Order):
            return with_inputs(plan, below)
        if isinstance(plan, Select):
            return self._selected(plan, below)
        new = with_scalars(plan, lambda one: self.inside(one, below))
        return with_inputs(new, self.named(below))

    def _selected(self, plan: Select, below: Plan) -> Plan:
        """The conditions that need no new columns come first, unless they can fail."""
        first: list[Scalar] = []
        then: list[Scalar] = []
        for one in conjuncts(plan.condition):
            new = self.inside(one, below)
            is_first = not (used(new) & self._pending.keys() or self._failures.can_fail(one))
            (first if is_first else then).append(new)
        if not self._pending:
            return replace(plan, input=below, condition=conjunction(*first, *then))
        if first:
            below = replace(plan, input=below, condition=conjunction(*first))
        below = self.named(below)
        return replace(plan, input=below, condition=conjunction(*then)) if then else below

    def named(self, plan: Plan) -> Plan:
        """The plan with the columns that are used from here on.

        Fields become columns, too: otherwise whole elements would be handed on to use a few fields.
        """
        if self._pending:
            known = columns(plan)
            for key, path in self._paths.items():
                if key not in self._columns and used(path) <= known:
                    self._unused.add(self._add(path, path).name)
        for name, (_, scalar) in sorted(self._pending.items(), key=lambda one: one[1][0]):
            plan = Project(plan, name, scalar)
        self._pending.clear()
        return plan

    def without_unused(self, plan: Plan) -> Plan:
        """The chain of operators without the columns of fields that nothing uses."""
        if not self._unused or isinstance(plan, _ENDS):
            return plan
        below = self.without_unused(plan.input)  # type: ignore[attr-defined]
        is_unused = isinstance(plan, Project) and plan.name in self._unused
        return below if is_unused else with_inputs(plan, below)

    def inside(self, scalar: Scalar, plan: Plan) -> Scalar:
        """The scalar over the plan's tuples, with columns for the values in it."""
        known = columns(plan)
        done: dict[int, Scalar] = {}

        def rewritten(one: Scalar) -> Scalar:
            if id(one) in self._columns:
                name = self._columns[id(one)]
                self._unused.discard(name)
                return Column(name)
            if id(one) not in done:
                done[id(one)] = self._shared_or(one, rebuilt(one, rewritten), known)
            return done[id(one)]

        return rewritten(self._canonical(scalar))

    def _shared_or(self, scalar: Scalar, new: Scalar, known: frozenset[str]) -> Scalar:
        """A new column for a scalar that is shared, or else the `new` scalar."""
        if self._is_shared(scalar, new) and used(scalar) <= known:
            column = self._add(scalar, new)
            self.made.add(column.name)
            return column
        return new

    def _add(self, scalar: Scalar, new: Scalar) -> Column:
        """A new column for a scalar; `new` is the scalar with the columns that exist already."""
        name = self._names.setdefault(id(scalar), f"shared.{len(self._names) + 1}")
        self._columns[id(scalar)] = name
        below = used(new) & self._pending.keys()
        depth = max((self._pending[one][0] + 1 for one in below), default=0)
        self._pending[name] = depth, new
        return Column(name)

    def _is_shared(self, scalar: Scalar, new: Scalar) -> bool:
        if self._uses[id(scalar)] < 2 or not self._can_be_column(scalar):
            return False
        if not self.is_above and self._failures.can_fail(scalar):
            return False
        return _cost(new) >= (1 if id(scalar) in self._repeated else _LEAST_COST)

    def _can_be_column(self, scalar: Scalar) -> bool:
        least = 1 if id(scalar) in self._repeated else _LEAST_COST
        if not isinstance(scalar, Call) or _cost(scalar) < least:
            return False
        needs = used(scalar)
        is_local = any(map(_is_parameter, needs))
        if not needs or is_local:
            return False
        return id(scalar) in self._certain or not self._failures.can_fail(scalar)

    def _count(
        self, scalar: Scalar, uses: int, is_in_function: bool = False, is_in_path: bool = False
    ) -> None:
        """Count how often a value is used; what only a column uses is used once."""
        before = self._uses[id(scalar)]
        self._uses[id(scalar)] += max(uses, _IN_FUNCTION) if is_in_function else uses
        is_field = is_path(scalar)
        if is_field and not is_in_path:
            self._paths[id(scalar)] = scalar
        if before and (before > 1 or self._can_be_column(scalar)):
            return
        if isinstance(scalar, Lambda):
            self._count(scalar.body, 1, is_in_function=True)
        elif isinstance(scalar, Call):
            operands = self._dialect.form_shape(scalar).operands
            for one, operand in zip(scalar.arguments, operands, strict=True):
                if operand.uses > 1:
                    self._repeated.add(id(one))
                self._count(one, operand.uses, is_in_function, is_field)

    def _canonical(self, scalar: Scalar) -> Scalar:
        return self._scalars.canonical(self._without_names(self._scalars.canonical(scalar)))

    def _without_names(self, scalar: Scalar) -> Scalar:
        """Values that have a name inside the scalar, back in their places: they get columns."""
        if "with_name" not in operations_in(scalar):
            return scalar
        found = self._unnamed.get(id(scalar))
        if found is None:
            found = self._unnamed[id(scalar)] = scalar, self._placed(scalar)
        return found[1]

    def _placed(self, scalar: Scalar) -> Scalar:
        scalar = rebuilt(scalar, self._without_names)
        match scalar:
            case Call(function="with_name", arguments=(value, Lambda((name,), body))):
                if not self._failures.can_fail(value) and not any(map(_is_parameter, used(value))):
                    return substituted(body, {name: value})
        return scalar


def _is_parameter(name: str) -> bool:
    """Whether a column is the parameter of a function."""
    return name.startswith(".")
