"""Values that a scalar uses more than once get a name inside it, so that they are computed once.

    case(is_date_text(concat($a, $b)), parse_date(concat($a, $b)), None)
    =>
    with_name(concat($a, $b), (.v1) -> case(is_date_text($.v1), parse_date($.v1), None))

These are the values that cannot be columns (see `sharing`): those that may fail, and those that
depend on the parameter of a function. A value gets its name where every use of it is inside: in the
scalar, in the body of a function, or in an operand that is computed only sometimes, such as a
branch of `case`. A value that may fail gets it only where it is computed in any case.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import count, repeat

from xcql.algebra.failures import Failures
from xcql.algebra.operators import (
    Order,
    Plan,
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
    is_path,
    parts,
    rebuilt,
    remembered,
)
from xcql.algebra.unique import UniqueScalars
from xcql.dialects.dialect import Dialect, Operand

# the nodes of SQL that a name has to spare: an engine plans a function as slowly as so much text
_LEAST_SPARED = 200
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
        return (
            self._scalars.canonical(self.named(scalar, 1))
            if self._size(scalar) >= _LEAST_SPARED
            else scalar
        )

    def named(self, scalar: Scalar, depth: int) -> Scalar:
        """The scalar with names in it; `depth` is the number of the first."""
        scalar = self._scalars.canonical(scalar)
        if self._size(scalar) < _LEAST_SPARED or _evaluates(scalar):
            return scalar
        key = id(scalar), depth
        if key not in self._known:
            self._known[key] = scalar, self._named(scalar, depth)
        return self._known[key][1]

    def _named(self, scalar: Scalar, depth: int) -> Scalar:
        values = self._values(scalar)
        # parts of the scalar may have names already, which must not hide those around them
        taken = _parameters(scalar)
        while any(f".v{depth + index}" in taken for index, _ in enumerate(values)):
            depth += 1
        names = {id(one): Column(f".v{depth + index}") for index, one in enumerate(values)}
        depth += len(values)
        result = self._inside(scalar, names, depth)
        for one in reversed(values):
            name = names.pop(id(one))
            value = self._inside(one, names, depth)
            result = call("with_name", value, Lambda((name.name,), result))
        return result

    def _inside(self, scalar: Scalar, names: Mapping[int, Column], depth: int) -> Scalar:
        """The scalar with names for values, and new ones in parts that may not be computed."""

        def inside(one: Scalar, is_certain: bool) -> Scalar:
            if id(one) in names:
                return names[id(one)]
            match one:
                case Lambda():
                    return rebuilt(one, lambda body: inside(body, is_certain))
                case Call():
                    operands = iter(self._dialect.form_shape(one).operands)
                    new = rebuilt(one, lambda each: inside(each, next(operands).is_certain))
                    return new if is_certain else self.named(new, depth)
            return one

        return inside(scalar, True)

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
        certain = {id(one) for one in self._certain(scalar)}
        found: dict[int, Scalar] = {}
        uses: Counter[int] = Counter()
        places: defaultdict[int, set[int]] = defaultdict(set)
        new_place = count(1)

        def can_be_named(one: Scalar) -> bool:
            return (
                isinstance(one, Call)
                and not _is_nothing(one)
                and not is_path(one)
                and used(one).isdisjoint(parameters)
                and (id(one) in certain or not self._failures.can_fail(one))
            )

        def look(one: Scalar, often: int, place: int) -> None:
            """Count the uses of values; a place is a part that may not be computed, or 0."""
            if not isinstance(one, Call | Lambda):
                return
            uses[id(one)] += often
            places[id(one)].add(place)
            if can_be_named(one):
                if id(one) in found:
                    return
                found[id(one)] = one
            for each, operand in self._operands(one):
                is_here = place or operand.is_certain
                look(each, operand.uses, place if is_here else next(new_place))

        look(scalar, 1, 0)
        named = [
            one
            for key, one in found.items()
            if self._is_long(one, uses[key]) and _is_around(places[key])
        ]
        return sorted(named, key=self._size)

    def _certain(self, scalar: Scalar) -> Iterator[Scalar]:
        """The values without which a scalar is never computed."""
        yield scalar
        for one, operand in self._operands(scalar):
            if operand.is_certain:
                yield from self._certain(one)


def _is_around(places: set[int]) -> bool:
    """Whether no single part holds all uses of a value: then it would get its name there."""
    return 0 in places or len(places) > 1
