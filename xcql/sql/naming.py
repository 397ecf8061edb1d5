"""Values that a scalar uses more than once get a name inside it, so that they are computed once.

    case(is_date_text(concat($a, $b)), parse_date(concat($a, $b)), None)
    =>
    with_name(concat($a, $b), (.v1) -> case(is_date_text($.v1), parse_date($.v1), None))

These are the values that cannot be columns (see `sharing`): those that may fail, and those that
depend on the parameter of a function. A value gets its name where every use of it is inside: in the
scalar, in the body of a function, or in an operand that is computed only sometimes, such as a
branch of `case`. A value that may fail gets it only where it is computed in any case.

Values that need others follow them, step by step; functions inside of functions are avoided,
because the time in which DuckDB plans them doubles with each level:

    with_name(
      with_name($.value_1, (.v1) -> named_struct('v1', $.v1, 'v2', f($.v1))),
      (.v1) -> g($.v1.v1, $.v1.v2)
    )
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, repeat

from xcql.algebra.failures import Failures
from xcql.algebra.operators import (
    Order,
    Plan,
    PlanTooLarge,
    Project,
    inputs,
    used,
    with_inputs,
    with_scalars,
)
from xcql.algebra.operators import scalars as own_scalars
from xcql.algebra.scalars import (
    Call,
    Column,
    Constant,
    Lambda,
    Scalar,
    call,
    field,
    is_path,
    parts,
    rebuilt,
    remembered,
)
from xcql.algebra.unique import UniqueScalars
from xcql.dialects.dialect import Dialect, Operand

# the nodes of SQL that a name has to spare: an engine plans a function as slowly as so much text
_LEAST_SPARED = 200
# functions in functions: an engine takes twice as long to plan each further one
_DEEPEST = 4
# scalars of an operator, written out: it takes seconds to make the text of more of them
_MOST_WRITTEN = 100_000
_NOTHING = Counter[int]()
# the body of a function
_BODY = Operand(1, True)
# the parts of these are scalars of their own: the lowering looks at them one by one, and Spark
# cannot call the evaluator inside of a function
_APART = frozenset({"and", "members", "tuple", "struct", "evaluate"})


def with_names(
    plan: Plan,
    failures: Failures,
    scalars: UniqueScalars,
    dialect: Dialect,
    name_of: Callable[[Scalar], str],
) -> tuple[Plan, frozenset[str]]:
    """The plan with names for the values that its scalars use more than once.

    Also, its new columns: fields that functions look at. A function that sees one field of an
    element would otherwise be handed the whole of it.
    """
    naming = _Naming(failures, scalars, dialect)
    known: dict[int, tuple[Plan, Plan]] = {}
    made: set[str] = set()

    def named(one: Plan) -> Plan:
        found = known.get(id(one))
        if found is None:
            found = known[id(one)] = one, renewed(one)
        return found[1]

    def renewed(one: Plan) -> Plan:
        below = tuple(map(named, inputs(one)))
        if isinstance(one, Order):
            # keys of an order are found again by what they are
            return with_inputs(one, *below)
        new = with_scalars(with_inputs(one, *below), naming.apart)
        if sum(map(_written, own_scalars(new))) > _MOST_WRITTEN:
            raise PlanTooLarge
        paths = {id(path): path for scalar in own_scalars(new) for path in _captured(scalar)}
        if len(below) != 1 or not paths:
            return new
        columns = {key: Column(name_of(path)) for key, path in paths.items()}
        made.update(column.name for column in columns.values())
        (under,) = below
        for key, column in columns.items():
            under = Project(under, column.name, paths[key])
        return with_inputs(with_scalars(new, lambda scalar: _replaced(scalar, columns)), under)

    return named(plan), frozenset(made)


@remembered
def _written(scalar: Scalar) -> int:
    """The number of scalars in a scalar if what it has in several places is written there."""
    return 1 + sum(map(_written, parts(scalar)))


def _captured(scalar: Scalar, parameters: frozenset[str] | None = None) -> Iterator[Scalar]:
    """The fields of columns that functions in a scalar look at."""
    if is_path(scalar):
        if parameters is not None and used(scalar).isdisjoint(parameters):
            yield scalar
        return
    if isinstance(scalar, Lambda):
        parameters = (parameters or frozenset()).union(scalar.parameters)
    for one in parts(scalar):
        yield from _captured(one, parameters)


def _replaced(scalar: Scalar, columns: Mapping[int, Column]) -> Scalar:
    if id(scalar) in columns:
        return columns[id(scalar)]
    return rebuilt(scalar, lambda one: _replaced(one, columns))


@remembered
def _evaluates(scalar: Scalar) -> bool:
    is_call = isinstance(scalar, Call) and scalar.function == "evaluate"
    return is_call or any(map(_evaluates, parts(scalar)))


@remembered
def _is_nothing(scalar: Scalar) -> bool:
    """Whether it is NULL or an error: SQL does not know its type."""
    match scalar:
        case Constant(value=None) | Call(function="fail"):
            return True
        case Call(function="case", arguments=(*branches, otherwise)):
            return all(map(_is_nothing, (*branches[1::2], otherwise)))
        case Call(function="coalesce", arguments=arguments):
            return all(map(_is_nothing, arguments))
        case Call(function="with_name", arguments=(_, Lambda(body=body))):
            return _is_nothing(body)
    return False


@remembered
def _parameters(scalar: Scalar) -> frozenset[str]:
    """The parameters of all functions inside."""
    own = scalar.parameters if isinstance(scalar, Lambda) else ()
    return frozenset(own).union(*map(_parameters, parts(scalar)))


class _Naming:
    def __init__(self, failures: Failures, scalars: UniqueScalars, dialect: Dialect) -> None:
        self._failures = failures
        self._scalars = scalars
        self._dialect = dialect
        self._sizes: dict[int, tuple[Scalar, int]] = {}
        self._known: dict[tuple[int, int], tuple[Scalar, Scalar]] = {}

    def _size(self, scalar: Scalar) -> int:
        """The number of nodes in the SQL of a scalar."""
        found = self._sizes.get(id(scalar))
        if found is None:
            own = self._dialect.form_shape(scalar).size if isinstance(scalar, Call) else 1
            inside = sum(how.uses * self._size(one) for one, how in self._operands(scalar))
            found = self._sizes[id(scalar)] = scalar, own + inside
        return found[1]

    def apart(self, scalar: Scalar) -> Scalar:
        """A scalar of an operator with names in it, or in the scalars that it puts together."""
        if isinstance(scalar, Call) and scalar.function in _APART:
            return rebuilt(scalar, self.apart)
        if isinstance(scalar, Column | Constant) or is_path(scalar):
            return scalar
        scalar = self._scalars.canonical(scalar)
        return self._scalars.canonical(self.named(scalar, 0))

    def named(self, scalar: Scalar, depth: int) -> Scalar:
        """The scalar with names in it; `depth` is the number of functions around it."""
        scalar = self._scalars.canonical(scalar)
        if self._size(scalar) < _LEAST_SPARED or depth >= _DEEPEST or _evaluates(scalar):
            return scalar
        key = id(scalar), depth
        if key not in self._known:
            self._known[key] = scalar, self._named(scalar, depth)
        return self._known[key][1]

    def _named(self, scalar: Scalar, depth: int) -> Scalar:
        values = self._values(scalar)
        steps = _steps(values)
        if not steps:
            return self._inside(scalar, {}, depth)
        parameter = f".v{depth + 1}"
        # what each step hands on: the values that what comes after it uses
        handed_on = [_direct(scalar, values)]
        for step in reversed(steps[1:]):
            handed_on.insert(0, handed_on[0].union(*(_direct(one, values) for one in step)))
        made: Scalar | None = None
        names: dict[int, Scalar] = {}
        for step, wanted in zip(steps, handed_on, strict=True):
            inside = depth if made is None else depth + 1
            known = {key: one for key, one in names.items() if key in wanted}
            known |= {id(one): self._inside(one, names, inside) for one in step}
            value, names = _packed(known, Column(parameter))
            made = value if made is None else call("with_name", made, Lambda((parameter,), value))
        assert made is not None
        body = self._inside(scalar, names, depth + 1)
        return call("with_name", made, Lambda((parameter,), body))

    def _inside(self, scalar: Scalar, names: Mapping[int, Scalar], depth: int) -> Scalar:
        """The scalar with names for the values in it, and new ones in what may not be computed."""
        replaced: dict[int, Scalar] = {}
        done: dict[int, Scalar] = {}

        def plain(one: Scalar) -> Scalar:
            if id(one) in names:
                return names[id(one)]
            if id(one) not in replaced:
                replaced[id(one)] = rebuilt(one, plain)
            return replaced[id(one)]

        def part(one: Scalar, is_certain: bool) -> Scalar:
            if isinstance(one, Lambda):
                return rebuilt(one, lambda body: part(body, is_certain))
            return inside(one) if is_certain else self.named(plain(one), depth)

        def inside(one: Scalar) -> Scalar:
            if id(one) in names:
                return names[id(one)]
            if id(one) not in done:
                operands = iter(self._operands(one))
                done[id(one)] = rebuilt(one, lambda each: part(each, next(operands)[1].is_certain))
            return done[id(one)]

        # a value is not named inside of itself
        operands = iter(self._operands(scalar))
        return rebuilt(scalar, lambda each: part(each, next(operands)[1].is_certain))

    def _is_long(self, scalar: Scalar, uses: int) -> bool:
        """Whether a name for a value that is used so often is worth it."""
        return (uses - 1) * self._size(scalar) >= _LEAST_SPARED

    def _operands(self, scalar: Scalar) -> Iterator[tuple[Scalar, Operand]]:
        """The scalars directly inside, and what the SQL of the scalar does with them."""
        inside = parts(scalar)
        if isinstance(scalar, Call):
            return zip(inside, self._dialect.form_shape(scalar).operands, strict=True)
        return zip(inside, repeat(_BODY), strict=False)

    def _values(self, scalar: Scalar) -> list[Scalar]:
        """The values that get their names around a scalar, the smaller ones first."""
        parameters = _parameters(scalar)
        certain = self._certain(scalar)
        found: dict[int, Scalar] = {}
        uses: Counter[int] = Counter()
        places: defaultdict[int, set[int]] = defaultdict(set)
        new_place = count(1)
        # by scalar, the values in it
        inner: dict[int, Counter[int]] = {}

        def can_be_named(one: Scalar) -> bool:
            return (
                isinstance(one, Call)
                and not _is_nothing(one)
                and not is_path(one)
                and used(one).isdisjoint(parameters)
                and (id(one) in certain or not self._failures.can_fail(one))
            )

        def look(one: Scalar, often: int, place: int) -> Counter[int]:
            """Count the uses of values; a place is a part that may not be computed, or 0."""
            if id(one) in inner:
                # what is in a value is written once, with the value
                for key, number in inner[id(one)].items():
                    uses[key] += often * number
                    places[key].add(place)
                return inner[id(one)]
            if not isinstance(one, Call | Lambda):
                return _NOTHING
            is_value = can_be_named(one)
            if is_value:
                found[id(one)] = one
                uses[id(one)] += often
                places[id(one)].add(place)
            inside = Counter[int]()
            for each, operand in self._operands(one):
                is_here = place or operand.is_certain
                where = place if is_here else next(new_place)
                for key, number in look(each, operand.uses, where).items():
                    inside[key] += number * operand.uses
            inner[id(one)] = Counter({id(one): 1}) if is_value else inside
            return inner[id(one)]

        look(scalar, 1, 0)
        named = [
            one
            for key, one in found.items()
            if self._is_long(one, uses[key]) and _is_around(places[key])
        ]
        return sorted(named, key=self._size)

    def _certain(self, scalar: Scalar) -> set[int]:
        """The values without which a scalar is never computed."""
        found: set[int] = set()
        pending = [scalar]
        while pending:
            here = pending.pop()
            if id(here) not in found:
                found.add(id(here))
                pending += (one for one, operand in self._operands(here) if operand.is_certain)
        return found


def _steps(values: Sequence[Scalar]) -> list[list[Scalar]]:
    """The values in steps: each needs only values of the steps before it."""
    numbers: dict[int, int] = {}
    steps: list[list[Scalar]] = []
    for one in values:
        number = max((numbers[key] + 1 for key in _direct(one, values)), default=0)
        numbers[id(one)] = number
        if number == len(steps):
            steps.append([])
        steps[number].append(one)
    return steps


def _packed(known: Mapping[int, Scalar], whole: Scalar) -> tuple[Scalar, dict[int, Scalar]]:
    """Several values as one, and where each of them is in the `whole`."""
    if len(known) == 1:
        ((key, only),) = known.items()
        return only, {key: whole}
    labels = [f"v{index}" for index in range(1, len(known) + 1)]
    pairs = zip(map(Constant, labels), known.values(), strict=True)
    struct = call("named_struct", *(part for pair in pairs for part in pair))
    return struct, {key: field(whole, one) for key, one in zip(known, labels, strict=True)}


def _direct(scalar: Scalar, values: Sequence[Scalar]) -> frozenset[int]:
    """The values inside a scalar that are not inside of other values there."""
    keys = set(map(id, values))
    found: set[int] = set()
    seen: set[int] = set()
    pending = [*parts(scalar)]
    while pending:
        here = pending.pop()
        if id(here) in keys:
            found.add(id(here))
        elif id(here) not in seen:
            seen.add(id(here))
            pending += parts(here)
    return frozenset(found)


def _is_around(places: set[int]) -> bool:
    """Whether no single part holds all uses of a value: then it would get its name there."""
    return 0 in places or len(places) > 1
