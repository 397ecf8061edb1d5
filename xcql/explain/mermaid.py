"""An explanation as a Mermaid flowchart, which GitHub and notebooks draw."""

from __future__ import annotations

from xcql.algebra.operators import Extract, Join, Plan, Project, Unit, inputs
from xcql.explain.explanation import Explanation


def mermaid(explanation: Explanation) -> str:
    """The plan after the rules: the tables at the top, the answer at the bottom."""
    lines = ["flowchart TD"]
    if explanation.plan is None:
        for index, read in enumerate(explanation.reads):
            lines.append(f"  s{index}[({_quoted(read)})] --> e")
        lines.append(f"  e[{_quoted('the reference evaluator')}] --> answer([answer])")
        return "\n".join(lines)
    names: list[str] = []

    def draw(plan: Plan) -> str:
        while isinstance(plan, Project):  # columns of the answer would only clutter the chart
            plan = plan.input
        name = f"n{len(names)}"
        names.append(name)
        label = _quoted(explanation.words.operator(plan))
        match plan:
            case Extract():
                lines.append(f"  {name}[({label})]")
            case Join():
                lines.append(f"  {name}{{{{{label}}}}}")
            case _:
                lines.append(f"  {name}[{label}]")
        for below in inputs(plan):
            if not isinstance(below, Unit):
                lines.append(f"  {draw(below)} --> {name}")
        return name

    lines.append(f"  {draw(explanation.plan)} --> answer([answer])")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    for character, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, entity)
    return f'"{text}"'
