"""What of a plan is ever read: only that has to be computed, and collected in structs.

    project price := $item.t.element.price._text       $t.element is read at price._text
      unnest item at at: $members
        nest by (): members := collect(members('t.element', $t.element, 't.raw', $t.raw))

So the members need no more than `{'t.element': {'price': {'_text': …}}}`.

Tests: tests/sql/test_reads.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from xcql.algebra.operators import (
    Aggregate,
    Follow,
    Merge,
    Nest,
    Over,
    Plan,
    Project,
    Rise,
    row_column,
    scalars,
    walk_plan,
)
from xcql.algebra.scalars import TRUE, Call, Column, Constant, Lambda, Scalar, field, parts

# the fields from a column to a value in it; empty for the column itself
Path = tuple[str, ...]
# the step of a path from an array to its elements
_ELEMENT: Path = ("[]",)
# what is computed, but not read
_NO_FIELD: Path = ("",)


@dataclass(frozen=True, slots=True)
class Reads:
    """The paths at which each column of a plan is read, by name; other columns are never read.

    `collected` are the columns that are arrays of tuples; `repeated` are those of operators that
    occur more than once.
    """

    paths: dict[str, frozenset[Path]]
    collected: frozenset[str]
    repeated: frozenset[str]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.paths)

    def pruned(self, name: str, value: Scalar) -> Scalar:
        """The value of a column without the fields that nothing reads."""
        return _pruned(value, self.paths.get(name, _WHOLE))

    def needed(self, name: str, one: Aggregate) -> Aggregate:
        """The reduction, which makes a column, of no more than is read."""
        match one.value:
            case Call(function="members", arguments=arguments):
                pairs = [*zip(arguments[::2], arguments[1::2], strict=True)]
                kept = [
                    (key, self.pruned(_in_struct(key), value))
                    for key, value in pairs
                    if _in_struct(key) in self.paths
                ]
                flat = tuple(part for pair in kept or _NOTHING for part in pair)
                return replace(one, value=Call("members", flat))
            case Column() as value if one.reduction == "any":
                return replace(one, value=self.pruned(name, value))
        return one


# what stands for a struct of which nothing is read: only how many there are
_NOTHING = ((Constant("nothing"), TRUE),)
_WHOLE: frozenset[Path] = frozenset({()})


def reads(plan: Plan, needed: frozenset[str]) -> Reads:
    """What is read for some columns of a plan; what makes columns that nothing uses reads nothing.

    A field of a collected struct counts as a column of its own.
    """
    # by name, the scalars that a column is made of, unless it is always read
    sources: dict[str, list[Scalar]] = defaultdict(list)
    always: list[Scalar] = [Column(name) for name in needed]
    packed: set[str] = set()
    collected: set[str] = set()
    once: set[str] = set()
    repeated: set[str] = set()
    for one in walk_plan(plan):
        match one:
            case Project(name=name, scalar=scalar):
                sources[name].append(scalar)
            case Over(name=name, aggregate=Aggregate(reduction=reduction, value=value)):
                (repeated if name in once else once).add(name)
                (sources[name] if reduction == "any" else always).append(value)
                always += one.partition
                always += [] if one.further is None else [one.further]
            case Nest(keys=keys, fields=fields):
                always += (scalar for _, scalar in keys)
                for name, aggregate in fields:
                    if aggregate.reduction == "any":
                        sources[name].append(aggregate.value)
                    else:
                        always.append(aggregate.value)
            case Merge(columns=columns):
                for name, several in columns:
                    made = [scalar for scalar in several if not isinstance(scalar, Constant)]
                    # structs of several plans must have the same fields
                    (always if len(made) > 1 else sources[name]).extend(made)
                always += (key.scalar for key in one.by)
                always += one.within
            case Follow(parent=row):
                always += scalars(one)
                always += [row_column(row, name) for name in ("key", "holes", "around")]
            case Rise(child=row):
                always += [row_column(row, name) for name in ("parent", "offset")]
            case _:
                always += scalars(one)
        for name, scalar in _collected(one):
            collected.add(name)
            for key, value in zip(scalar.arguments[::2], scalar.arguments[1::2], strict=True):
                packed.add(_in_struct(key))
                sources[_in_struct(key)].append(value)
    found: dict[str, set[Path]] = defaultdict(set)
    pending = [read for scalar in always for read in _reads_in(scalar, (), packed)]
    while pending:
        name, path = pending.pop()
        if path in found[name]:
            continue
        found[name].add(path)
        for scalar in sources[name]:
            pending += _reads_in(scalar, path, packed)
    return Reads(
        {name: frozenset(paths) for name, paths in found.items()},
        frozenset(collected),
        frozenset(repeated),
    )


def _collected(plan: Plan) -> Iterator[tuple[str, Call]]:
    """The columns of an operator that are arrays of tuples, and the struct of a tuple in them."""
    fields: tuple[tuple[str, Aggregate], ...] = ()
    match plan:
        case Nest(fields=fields):
            pass
        case Over(name=name, aggregate=one):
            fields = ((name, one),)
    for name, one in fields:
        if isinstance(one.value, Call) and one.value.function == "members":
            yield name, one.value


def _reads_in(scalar: Scalar, path: Path, packed: set[str]) -> Iterator[tuple[str, Path]]:
    """The columns that a scalar reads, and at which paths, if the scalar is read at a path."""
    seen: set[tuple[int, Path]] = set()

    def reads_in(here: Scalar, path: Path) -> Iterator[tuple[str, Path]]:
        if (id(here), path) in seen:
            return
        seen.add((id(here), path))
        match here:
            case Call(function="field", arguments=(base, Constant(value=str() as name))):
                if _in_struct(Constant(name)) in packed:
                    yield _in_struct(Constant(name)), path
                    yield from reads_in(base, ())
                else:
                    yield from reads_in(base, (name, *path))
            case Column(name=name):
                yield name, path
            case Call(function="members"):
                # what is read of it is found where its fields are read
                pass
            case Call(function="named_struct", arguments=arguments) if path:
                for key, value in zip(arguments[::2], arguments[1::2], strict=True):
                    is_read = key == Constant(path[0])
                    yield from reads_in(value, path[1:] if is_read else _NO_FIELD)
            case Call(function="size", arguments=(array,)):
                yield from reads_in(array, (*_ELEMENT, *_NO_FIELD))
            case Call(function="or_empty", arguments=(array,)):
                yield from reads_in(array, path)
            case Call(function="transform", arguments=(array, Lambda((item, *_), body))):
                inside = path[1:] if path[:1] == _ELEMENT else ()
                yield from _reads_in_lambda(array, item, body, inside, packed)
            case Call(function="filter", arguments=(array, Lambda((item, *_), condition))):
                yield from _reads_in_lambda(array, item, condition, (), packed)
                yield from reads_in(array, path)
            case _:
                for one in parts(here):
                    yield from reads_in(one, ())

    yield from reads_in(scalar, path)


def _reads_in_lambda(
    array: Scalar, item: str, body: Scalar, path: Path, packed: set[str]
) -> Iterator[tuple[str, Path]]:
    """What a function of each element of an array reads, if its result is read at a path."""
    found = [*_reads_in(body, path, packed)]
    yield from (read for read in found if read[0] != item)
    for inside in {at for name, at in found if name == item} or {_NO_FIELD}:
        yield from _reads_in(array, (*_ELEMENT, *inside), packed)


def _in_struct(key: Scalar) -> str:
    """The name of a field of collected structs: it is read apart from the column of its name."""
    assert isinstance(key, Constant)
    return f"collected:{key.value}"


def _pruned(value: Scalar, paths: frozenset[Path]) -> Scalar:
    """A struct with the fields on some paths, each of which has at least one field."""
    paths -= {_NO_FIELD}
    if not paths or any(path[:1] in ((), _ELEMENT) for path in paths):
        return value
    pairs: list[Scalar] = []
    for name in sorted({path[0] for path in paths}):
        inside = frozenset(path[1:] for path in paths if path[0] == name)
        pairs += (Constant(name), _pruned(field(value, name), inside))
    return Call("members", tuple(pairs))
