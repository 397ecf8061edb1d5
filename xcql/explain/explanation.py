"""The explanation of how a query is answered, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

from xcql.algebra.operators import Extract, Follow, Join, Plan, Rise, Select, walk_plan
from xcql.algebra.rules import RULES
from xcql.algebra.scalars import Call
from xcql.check import Checked
from xcql.compile.result import Compiled
from xcql.explain.words import Words, short_plan
from xcql.source import Source, Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.node import walk
from xcql.syntax.prolog import MainModule
from xcql.syntax.temporal import IntervalProjection, VersionProjection

_SAYS = {rule.name: rule.says for rule in RULES}


@dataclass(frozen=True, slots=True)
class Part:
    """A marked part of the query, and what becomes of it."""

    span: Span
    says: str
    native: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """What a rule did: the lines of the plan that it removed and added."""

    rule: str
    says: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a query is answered.

    `engine` is the name of the engine, and why it was chosen.
    `before` and `after` are the algebra before and after the rules as text, `plan` the latter as a
    value. They are empty if the reference evaluator answers the query (`caq`).
    """

    query: Source
    strategy: str
    asked: str
    reasons: tuple[str, ...]
    parts: tuple[Part, ...]
    words: Words
    reads: tuple[str, ...]
    before: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    after: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    sql: str = ""
    plan: Plan | None = None
    engine: tuple[str, str] = ("", "")


def explained(
    checked: Checked,
    compiled: Compiled | None,
    asked: str,
    reasons: tuple[str, ...],
    views: tuple[str, ...],
    engine: tuple[str, str],
) -> Explanation:
    """The explanation of a query; `views` are the streams that `caq` has to build as a whole."""
    module, tags, query = checked.module, checked.tags, checked.source
    if compiled is None:
        reads = tuple(f"all of {name}, assembled into one document" for name in views)
        return Explanation(
            query,
            "caq",
            asked,
            reasons,
            tuple(_streams(module)),
            Words(tags),
            reads,
            engine=engine,
        )
    plans = tuple(plan for _, plan in compiled.steps)
    words = Words.of(plans, tags)
    joins = (words.operator(one) for one in walk_plan(plans[-1]) if isinstance(one, Join | Follow))
    reads = tuple(
        f"{use.stream}: fillers of {words.named(use.stream, use.tags)}"
        f"{' that have not ended' if use.present else ''}"
        for use in compiled.tables
    )
    parts = sorted(_parts(module, compiled, words), key=lambda part: part.span.start)
    return Explanation(
        query,
        compiled.strategy,
        asked,
        reasons,
        tuple(parts),
        words,
        reads,
        before=tuple(short_plan(plans[0], words)),
        steps=_steps(compiled, words),
        after=tuple(short_plan(plans[-1], words)),
        joins=tuple(dict.fromkeys(joins)),
        sql=str(compiled.sql),
        plan=plans[-1],
        engine=engine,
    )


def _streams(module: MainModule) -> list[Part]:
    return [
        Part(node.span, "the document of the stream, with its whole history", native=False)
        for node in walk(module)
        if isinstance(node, FunctionCall) and node.name.local == "stream"
    ]


def _parts(module: MainModule, compiled: Compiled, words: Words) -> list[Part]:
    found: dict[tuple[int, int], Part] = {}

    def add(span: Span | None, says: str, native: bool = True) -> None:
        if span is None or span == module.body.span:
            return
        if span.source.text == module.span.source.text:
            found[span.start, span.end] = Part(span, says, native)

    ways: dict[tuple[int, int], list[str]] = {}
    for one in reversed(list(walk_plan(compiled.steps[0][1]))):
        match one:
            case Extract() | Follow() | Rise() if one.span is not None:
                way = ways.setdefault((one.span.start, one.span.end), [])
                name = words.named(one.stream, one.tags)
                if name not in way:
                    way.append(name)
                start = "up to " if isinstance(one, Rise) else ""
                add(one.span, f"{start}fillers of {way[-1]}" + _through(way[:-1]))
            case Select(condition=condition) if one.span is not None:
                inside = isinstance(condition, Call) and condition.function == "present"
                add(one.span, "taken from the filler itself" if inside else "a condition")
    for node in walk(module):
        match node:
            case IntervalProjection():
                add(node.span, "the part that is valid in the interval, clipped to it")
            case VersionProjection():
                add(node.span, "some of the versions")
    for evaluation in compiled.evaluations:
        add(evaluation.span, f"left to the evaluator: {evaluation.reason}", native=False)
    return list(found.values())


def _through(way: list[str]) -> str:
    return f", via {' and '.join(way)}" if way else ""


def _steps(compiled: Compiled, words: Words) -> tuple[Step, ...]:
    steps = []
    before = short_plan(compiled.steps[0][1], words)
    for rule, plan in compiled.steps[1:]:
        after = short_plan(plan, words)
        gone, new = [], []
        for line in unified_diff(before, after, n=0, lineterm=""):
            if line.startswith("-") and not line.startswith("---"):
                gone.append(line[1:].strip())
            elif line.startswith("+") and not line.startswith("+++"):
                new.append(line[1:].strip())
        for line in list(gone):  # a line that only changed its indentation has not changed
            if line in new:
                gone.remove(line)
                new.remove(line)
        if gone or new:
            steps.append(Step(rule, _SAYS[rule], tuple(gone), tuple(new)))
        before = after
    return tuple(steps)
