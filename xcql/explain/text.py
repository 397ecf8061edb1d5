"""An explanation as text for people, and as plain data for programs."""

from __future__ import annotations

from typing import Any

from xcql.explain.explanation import Explanation, Part

_STRATEGIES = {
    "caq": "construct the view, then query it: the reference evaluator",
    "qac": "query along the holes, then construct what is in the answer",
    "qac+": "go straight to the fillers whose tags the query needs",
}
_ENGINES = {"embedded": "DuckDB, in this process", "spark": "Spark"}
STAGES = ("query", "engine", "strategy", "algebra", "rules", "plan", "joins", "native")


def text(explanation: Explanation, stages: tuple[str, ...] = STAGES) -> str:
    """The explanation, one section per stage."""
    sections = {
        "query": ("The query", _marked(explanation)),
        "engine": ("The engine", _engine(explanation)),
        "strategy": ("The strategy", _strategy(explanation)),
        "algebra": ("The algebra, before the rules", list(explanation.before)),
        "rules": ("What the rules did", _rules(explanation)),
        "plan": ("The algebra, after the rules", list(explanation.after)),
        "joins": ("The joins", [f"- {join}" for join in explanation.joins]),
        "native": ("What runs where", _native(explanation)),
    }
    shown = []
    for stage in stages:
        title, lines = sections[stage]
        if lines:
            shown.append("\n".join([title, *(f"  {line}".rstrip() for line in lines)]))
    return "\n\n".join(shown)


def as_data(explanation: Explanation) -> dict[str, Any]:
    """Plain data for JSON, one key per stage."""
    return {
        "engine": dict(zip(("chosen", "reason"), explanation.engine, strict=True)),
        "strategy": {
            "chosen": explanation.strategy,
            "asked": explanation.asked,
            "reasons": list(explanation.reasons),
        },
        "query": [
            {
                "line": part.span.line,
                "column": part.span.column,
                "text": part.span.text,
                "says": part.says,
                "native": part.native,
            }
            for part in explanation.parts
        ],
        "algebra": list(explanation.before),
        "rules": [
            {"rule": step.rule, "says": step.says, "gone": list(step.gone), "new": list(step.new)}
            for step in explanation.steps
        ],
        "plan": list(explanation.after),
        "joins": list(explanation.joins),
        "native": {
            "whole": explanation.plan is not None
            and all(part.native for part in explanation.parts),
            "reads": list(explanation.reads),
        },
        "sql": explanation.sql,
    }


def _marked(explanation: Explanation) -> list[str]:
    """The query, with a line of marks below each line where a part starts."""
    source = explanation.query
    count = source.text.rstrip().count("\n") + 1
    gutter = len(str(count))
    lines = []
    for number in range(1, count + 1):
        lines.append(f"{number:>{gutter}} | {source.line(number)}")
        for index, part in enumerate(explanation.parts, 1):
            if part.span.line == number:
                lines.append(f"{' ' * gutter} | {part.span.excerpt()[1]} {index}")
    if explanation.parts:
        lines.append("")
        lines += [f"{index}. {_says(part)}" for index, part in enumerate(explanation.parts, 1)]
    return lines


def _says(part: Part) -> str:
    return part.says if part.native else f"{part.says} (not native)"


def _engine(explanation: Explanation) -> list[str]:
    name, reason = explanation.engine
    return [f"{name}: {_ENGINES[name]}", f"because {reason}"]


def _strategy(explanation: Explanation) -> list[str]:
    asked = (
        "" if explanation.asked == explanation.strategy else f" (requested: {explanation.asked})"
    )
    return [
        f"{explanation.strategy}{asked}: {_STRATEGIES[explanation.strategy]}",
        *(f"because {reason}" for reason in explanation.reasons),
    ]


def _rules(explanation: Explanation) -> list[str]:
    lines = []
    for step in explanation.steps:
        lines.append(f"{step.rule}: {step.says}")
        lines += [f"  - {line}" for line in step.gone]
        lines += [f"  + {line}" for line in step.new]
    return lines


def _native(explanation: Explanation) -> list[str]:
    reads = [f"reads {one}" for one in explanation.reads]
    if explanation.plan is None:
        return [*reads, "the reference evaluator answers all of it, in Python"]
    others = [part for part in explanation.parts if not part.native]
    if not others:
        return [*reads, "all of it runs as SQL"]
    return [
        *reads,
        "runs as SQL, except "
        + "; ".join(f"line {one.span.line}, {one.span.text!r} ({one.says})" for one in others),
    ]
