"""Plans in the words of the query: names of tags and variables instead of ids and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from xcql.algebra.operators import (
    Distinct,
    Extract,
    Follow,
    Join,
    Merge,
    Nearest,
    Nest,
    NodeScan,
    Number,
    Order,
    Over,
    Plan,
    Project,
    Rise,
    Select,
    Spread,
    Tally,
    Unit,
    Unnest,
    inputs,
    scalars,
    walk_plan,
)
from xcql.algebra.printing import scalar_text
from xcql.algebra.scalars import (
    TRUE,
    Argument,
    Call,
    Column,
    Constant,
    Lambda,
    Nested,
    Scalar,
    walk_scalar,
)
from xcql.algebra.substitution import substituted
from xcql.model.tags import TagStructure

_LONGEST = 72

# functions that only adapt values to SQL, and mean nothing to a reader of the query
_SILENT = frozenset(
    {
        "is_true",
        "coalesce",
        "least_if_nan",
        "parse_double",
        "to_double",
        "to_string",
        "only",
        "or_empty",
    }
)


@dataclass(frozen=True, slots=True)
class Words:
    """The names in a query's plans: the tags of each row, and what columns stand for."""

    tags: Mapping[str, TagStructure]
    rows: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    columns: dict[str, Scalar] = field(default_factory=dict)

    @staticmethod
    def of(plans: tuple[Plan, ...], tags: Mapping[str, TagStructure]) -> Words:
        words = Words(tags)
        for plan in plans:
            for one in walk_plan(plan):
                match one:
                    case Extract() | Follow() | Rise():
                        words.rows[one.row] = one.stream, one.tags
                    case Nest(keys=keys):
                        words.columns.update(keys)
        return words

    def row(self, row: str) -> str:
        """The names of the tags that a row's fillers have."""
        if row not in self.rows:
            return row
        return self.named(*self.rows[row])

    def named(self, stream: str, tags: tuple[str, ...]) -> str:
        structure = self.tags.get(stream)
        found = [structure.by_id(tag) for tag in tags] if structure else []
        names = [str(tag.name) if tag else "?" for tag in found] or list(tags)
        names = list(dict.fromkeys(names))
        return " or ".join(names if len(names) < 5 else [*names[:3], f"{len(names) - 3} others"])

    def column(self, name: str, ending: str) -> str | None:
        """The row that a column like `t.key` belongs to, looking through group keys."""
        seen = set()
        while name not in seen:
            seen.add(name)
            if name.endswith(f".{ending}") and name.removesuffix(f".{ending}") in self.rows:
                return name.removesuffix(f".{ending}")
            below = self.columns.get(name)
            if isinstance(below, Column):
                name = below.name
        return None

    def operator(self, plan: Plan) -> str:
        """One line that says what an operator does."""
        match plan:
            case Unit():
                return "one tuple"
            case Extract(stream=stream, tags=tags):
                return f"scan {stream}: fillers of {self.named(stream, tags)}"
            case NodeScan(stream=stream, tags=tags):
                return f"scan {stream}: nodes in fillers of {self.named(stream, tags)}"
            case Follow(parent=parent, stream=stream, tags=tags):
                return f"holes of {self.row(parent)} -> fillers of {self.named(stream, tags)}"
            case Rise(child=child, stream=stream, tags=tags):
                return f"up from {self.row(child)} to the {self.named(stream, tags)} around it"
            case Unnest(array=array):
                return f"each of {self.scalar(array)}"
            case Select():
                return f"keep if {self._quoted(plan, plan.condition)}"
            case Project(name=name, scalar=scalar):
                return f"{name} := {self._quoted(plan, scalar)}"
            case Number():
                return "count positions"
            case Over(frame="previous" | "next" as which):
                return f"look at the {which} item"
            case Over():
                return "find where windows begin and end"
            case Order(by=by):
                return f"order by {', '.join(self.scalar(key.scalar) for key in by)}"
            case Distinct(key=key):
                return f"each {self.scalar(key)} once"
            case Join():
                return self.join(plan)
            case Spread():
                return "divide by time"
            case Tally(comparison=comparison, values=(value, other)):
                compared = f"{self.scalar(value)} {comparison} {self.scalar(other)}"
                return f"count where {compared}, without building pairs"
            case Nearest(comparison=comparison, values=(value, other), position=position):
                compared = f"{self.scalar(value)} {comparison} {self.scalar(other)}"
                return (
                    f"the nearest one where {compared}"
                    if position == 1
                    else (f"number {position} from where {compared}")
                )
            case Nest(keys=keys, fields=fields):
                made = ", ".join(dict.fromkeys(one.reduction for _, one in fields))
                group = " and ".join(self._group(scalar) for _, scalar in keys)
                return f"gather {f'for each {group}' if group else 'all'}: {made}"
            case Merge(inputs=several):
                return f"combine {len(several)} parts"
        raise AssertionError(plan)

    def join(self, join: Join) -> str:
        """A join in the words of the query: `holes of account -> fillers of transaction`."""
        on = [self._pair(left, right) for left, right in join.keys]
        if join.condition != TRUE:
            on.append(self.scalar(join.condition))
        what = " and ".join(on) or "every pair"
        match join.kind:
            case "semi":
                return f"{what}; keep those that have one"
            case "anti":
                return f"{what}; keep those that have none"
            case "left":
                return f"{what}; keep those without one too"
        return what

    def _pair(self, left: Scalar, right: Scalar) -> str:
        if isinstance(left, Column) and isinstance(right, Column):
            for above, below in ((left, right), (right, left)):
                parent = self.column(above.name, "key")
                child = self.column(below.name, "parent")
                if parent and child:
                    return f"holes of {self.row(parent)} -> fillers of {self.row(child)}"
                same = self.column(below.name, "key")
                if parent and same:
                    return f"what was gathered for each {self.row(parent)}"
                filler = self.column(below.name, "filler")
                if filler:
                    return f"holes -> fillers of {self.row(filler)}"
        return f"{self.scalar(left)} = {self.scalar(right)}"

    def _group(self, key: Scalar) -> str:
        if isinstance(key, Column) and (child := self.column(key.name, "parent")):
            return f"hole of {self.row(child)}"
        return self.scalar(key)

    def _quoted(self, plan: Plan, scalar: Scalar) -> str:
        """The query's own text for a scalar, if the operator knows it."""
        if plan.span is None or isinstance(plan, Project):
            return self.scalar(scalar)
        return _short(" ".join(plan.span.text.split()).removeprefix("where "))

    def scalar(self, scalar: Scalar) -> str:
        """A scalar as a path if it is one; else its text, shortened."""
        found = self._path(scalar)
        return _short(found if found is not None else scalar_text(scalar))

    def _path(self, scalar: Scalar) -> str | None:
        match scalar:
            case Column(name=name):
                for ending in ("element", "key", "parent"):
                    row = self.column(name, ending)
                    if row is not None:
                        return f"${row}"
                return f"${name}"
            case Call(function="field", arguments=(base, Constant(value=str(name)))):
                below = self._path(base)
                if below is None or name in ("_text", "_start"):
                    return below
                return f"{below}/{name}"
            case Call(function=function, arguments=(only, *_)) if function in _SILENT:
                return self._path(only)
            case Call(function="case", arguments=(*branches, otherwise)):
                values = (one for one in (*branches[1::2], otherwise) if not _is_failure(one))
                return self._path(next(values, otherwise))
            case Call(function="with_name", arguments=(value, Lambda((name,), body))):
                return self._path(substituted(body, {name: value}))
            case Call(function=sign, arguments=(left, right)) if sign in (
                "=",
                "<",
                "<=",
                ">",
                ">=",
            ):
                sides = self._path(left), self._path(right)
                return None if None in sides else f"{sides[0]} {sign} {sides[1]}"
            case Call(function="and", arguments=conditions):
                told = [self._path(one) for one in conditions if not _is_check(one)]
                return None if None in told else " and ".join(map(str, told))
            case Call(function="overlaps", arguments=(Column(name=name), _, begin, end)):
                row = self.column(name, "vtFrom") or self.column(name, "pathFrom")
                times = self._path(begin), self._path(end)
                if row is None or None in times:
                    return None
                return f"${row} is valid in [{times[0]}, {times[1]}]"
            case Call(function="is_null", arguments=(Column(name=name),)):
                row = self.column(name, "vtTo")
                return None if row is None else f"${row} is valid now"
            case Call(function="add_microseconds", arguments=(time, amount)):
                since, by = self._path(time), _microseconds(amount)
                return None if since is None or by is None else f"{since} {by}"
            case Call(function="present", arguments=(only,)):
                there = self._path(only)
                return None if there is None else f"there is {there}"
            case Argument(name=name):
                return name
            case Constant(value=value):
                return repr(value)
        return None


def _is_failure(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.function == "fail"


def _is_check(condition: Scalar) -> bool:
    """Whether it only guards against NaN, which SQL and XQuery compare differently."""
    match condition:
        case Call(function="not", arguments=(Call(function="is_nan"),)):
            return True
    return False


def _microseconds(amount: Scalar) -> str | None:
    sign = "+"
    if isinstance(amount, Call) and amount.function == "negative":
        sign, amount = "-", amount.arguments[0]
    if not isinstance(amount, Constant) or not isinstance(amount.value, int):
        return None
    return f"{sign} {timedelta(microseconds=amount.value)}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def short_plan(plan: Plan, words: Words, indent: int = 0) -> list[str]:
    """The plan, one operator per line, in the words of the query.

    Nested queries that an operator evaluates for each of its tuples are shown below it.
    """
    made: list[str] = []
    inner: dict[tuple[str, ...], None] = {}
    is_made = isinstance(plan, Project)
    while isinstance(plan, Project) or not is_made:
        for scalar in scalars(plan):
            for one in walk_scalar(scalar):
                if isinstance(one, Nested):
                    below = short_plan(one.plan, words)
                    inner.setdefault((f"inside, {one.reduction} of", *(f"  {b}" for b in below)))
        if not isinstance(plan, Project):
            break
        made.append(plan.name)
        plan = plan.input
    margin = "  " * indent
    lines = []
    if made:
        lines.append(f"{margin}make {', '.join(reversed(made))}")
        margin += "  "
        lines += [margin + line for several in inner for line in several]
        return lines + short_plan(plan, words, indent + 1)
    lines.append(margin + words.operator(plan))
    lines += [f"{margin}  {line}" for several in inner for line in several]
    for below_ in inputs(plan):
        if not isinstance(below_, Unit):
            lines += short_plan(below_, words, indent + 1)
    return lines
