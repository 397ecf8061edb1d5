"""The report of a run, `bench/REPORT.md`, with its plots: `python -m bench.report RESULTS.json`.

Why a goal is missed, and what it would take to meet it, is written by hand in files of
`bench/reasons/`: `ours-spark-by-hand-at-1.md` for all of a kind, `q08-ours-spark-by-hand-at-1.md`
for one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from bench.asks import AGAIN, FIRST
from bench.machine import ROOT
from bench.plots import bars, growth
from bench.rows import TABLES, Results, Row, read_results

RESULTS = ROOT / "bench" / "results"
# our engines by the beginning of their ways
_ENGINE = re.compile(r"ours, (embedded|Spark)")
# growth is that of repeated queries: the time to compile them does not depend on the data
_AGAIN = re.compile(_ENGINE.pattern + AGAIN)
# the parts of a table in their order: a heading, and what `name | way` of their rows matches; other
# rows come first
_PARTS = {
    "b": {
        "Loading": r"load[^|]*\| (?!.*(growth|generated))",
        "First asked, and asked again": r"(q\d+|geometric mean) \| (?!.*(growth|generated))",
        "Growth": r".*(growth|generated)",
        "Cold, from a document": r"q\d+, cold \|",
        "Cold, from a store": r"q\d+, cold from a store \|",
    },
    "g": {
        "First asked": r".* \| (?!.* / ).*first asked$",
        "Ratios of first askings": r".* \| .* / .*first asked$",
        "Asked again": r".* \| .*asked again$",
        "How much of each query is SQL": r".*",
    },
    "e": {
        "Parsing": r"parse \|",
        "From text to plan": r"q\d+ \|",
        "The smallest query": r"1 \+ 1 \|",
        "Commands, with the start of the process": r"xcqlc ",
    },
}
# Figure 4: lines are easier to compare than columns
_STRATEGY = re.compile(r"(.*), (caq|qac\+?)")


def write_report(results: Results, source: Path, folder: Path) -> Path:
    """Write `REPORT.md` and `plots/` to a folder that may contain `reasons/`."""
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    for name, picture in pictures(results):
        (plots / f"{name}.svg").write_text(picture)

    def reason(name: str) -> str:
        path = folder / "reasons" / f"{name}.md"
        return path.read_text().strip() if path.exists() else ""

    report = folder / "REPORT.md"
    report.write_text(report_text(results, source.name, reason, [p.name for p in plots.iterdir()]))
    return report


def report_text(
    results: Results, source: str, reason: Callable[[str], str], plots: Sequence[str] = ()
) -> str:
    """The report as Markdown."""
    parts = [
        "# Benchmarks\n",
        f"Made from `{source}` by `python -m bench.report`. Times are the best of some runs; ± is"
        " how far the longest is from the shortest. > is a query that was stopped. Void is a figure"
        " that is not to be believed, with the reason below its table.\n",
        _markdown(["", ""], [list(pair) for pair in results.machine.items()]),
        *(f"- {sentence}" for sentence in results.left_out),
        "\n## Goals\n",
        *_goals([row for row in results.rows if row.goal], reason),
    ]
    for table, title in TABLES.items():
        rows = results.of(table)
        if not rows:
            continue
        parts.append(f"\n## ({table}) {title}\n")
        if said := reason(f"table-{table}"):
            parts.append(f"{said}\n")
        parts += [f"![{name}](plots/{name})\n" for name in sorted(plots) if name[0] == table]
        for heading, part in _parts(table, rows):
            parts += [f"### {heading}\n"] if heading else []
            for unit in dict.fromkeys(row.unit for row in part):
                parts += _table([row for row in part if row.unit == unit], unit)
    return "\n".join(parts) + "\n"


def pictures(results: Results) -> Iterator[tuple[str, str]]:
    """The plots of a run, each with a name that begins with its table's."""
    believed = [row for row in results.rows if row.value and not row.voided]
    ratios = [row for row in believed if row.table == "b" and row.unit == "x" and " / " in row.way]
    queries = [row for row in ratios if re.match(r"q\d", row.name) and row.way.endswith(FIRST)]
    for (way, at), group in groupby(sorted(queries, key=_ours_and_at), key=_ours_and_at):
        pairs = [(f"{row.name} {_engine(row.way)}", row.value or 0.0) for row in group]
        yield f"b-bars-{_plain(way)}-{at}", bars(f"{way}, factor {at}", pairs)
    times = [row for row in believed if row.unit == "s" and not row.bound]
    for name in ("q01", "q02", "q05"):
        rows = [row for row in times if row.table == "a" and row.name == name]
        yield from _growth(f"a-{name}", f"Figure 4, {name}", "factor", rows, lambda row: row.way)
    for table, title, across in (("b", "XMark", "factor"), ("d", "history", "versions")):
        of_table = [row for row in times if row.table == table and _AGAIN.fullmatch(row.way)]
        for way in dict.fromkeys(row.way for row in of_table):
            rows = [row for row in of_table if row.way == way]
            name = f"{table}-growth-{_plain(_engine(way))}"
            yield from _growth(name, f"{title}: {way}", across, rows, lambda row: row.name)


def _growth(
    name: str, title: str, across: str, rows: Sequence[Row], label: Callable[[Row], str]
) -> Iterator[tuple[str, str]]:
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        # the document of factor 0.0 is not empty
        if row.value is not None:
            series.setdefault(label(row), []).append((float(row.at) or 0.0002, row.value))
    lines = {key: sorted(points) for key, points in series.items() if len(points) > 1}
    if lines:
        yield name, growth(title, across, "seconds", lines)


def _goals(rows: Sequence[Row], reason: Callable[[str], str]) -> Iterator[str]:
    """One line per kind of goal; then why it is missed."""
    kinds: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row.way, row.at, str(row.goal)), []).append(row)
    yield _markdown(
        ["what", "by", "at", "goal", "", "figures that miss it"],
        [
            [_names(group), way, at, goal, _verdict(group), ", ".join(map(_figure, _missed(group)))]
            for (way, at, goal), group in kinds.items()
        ],
    )
    for group in kinds.values():
        if _missed(group):
            kind = group[0] if len(group) == 1 else replace(group[0], name="")
            yield from _reasons(kind.title, _missed(group), reason)


def _reasons(kind: str, missed: Sequence[Row], reason: Callable[[str], str]) -> Iterator[str]:
    """The known reasons: for all of a kind, then for each."""
    yield f"\n**{kind}**: {', '.join(map(_figure, missed))}; {missed[0].goal}.\n"
    known = [reason(_plain(kind))]
    for row in missed if len(missed) > 1 or missed[0].title != kind else ():
        text = reason(_plain(row.title))
        known.append(text and f"- {row.name}: {text}")
    yield from filter(None, known)
    if not any(known):
        yield f"(Not written yet: why, and what it would take, in `reasons/{_plain(kind)}.md`.)"


def _missed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.verdict == "missed"]


def _figure(row: Row) -> str:
    return f"{row.name} {row.shown} {row.unit}"


def _names(rows: Sequence[Row]) -> str:
    if len(rows) < 4:
        return ", ".join(row.name for row in rows)
    kinds = {row.name.partition(", ")[2] for row in rows}
    return ", ".join(filter(None, [f"{len(rows)} figures", kinds.pop() if len(kinds) == 1 else ""]))


def _verdict(rows: Sequence[Row]) -> str:
    if len(rows) == 1:
        return f"{rows[0].verdict}: {rows[0].shown} {rows[0].unit}"
    verdicts = [row.verdict for row in rows]
    open_ = verdicts.count("open")
    met = f"met by {verdicts.count('met')} of {len(rows)}"
    return f"{met}, {open_} open" if open_ else met


def _parts(table: str, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of a table by the headings of its parts."""
    patterns = _PARTS.get(table, {})

    def heading(row: Row) -> str:
        text = f"{row.name} | {row.way}"
        return next((key for key, one in patterns.items() if re.match(one, text)), "")

    for title in ("", *patterns):
        part = [row for row in rows if heading(row) == title]
        if part:
            yield title, part


def _table(rows: Sequence[Row], unit: str) -> Iterator[str]:
    """One line per subject and size, one column per engine."""
    rows = [_by_strategy(row) for row in rows]
    ways = list(dict.fromkeys(row.way for row in rows))
    names = list(dict.fromkeys(row.name for row in rows))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: (names.index(row.name), _size(row.at))):
        lines.setdefault((row.name, row.at), {})[row.way] = _cell(row)
    yield _markdown(
        [f"[{unit}]", "at", *ways],
        [[name, at, *(cells.get(way, "") for way in ways)] for (name, at), cells in lines.items()],
    )
    for row in rows:
        if row.voided:
            yield f"- {row.title}: void, {row.voided}"
    remarks: dict[str, list[str]] = {}
    for row in rows:
        if row.remark:
            remarks.setdefault(row.remark, []).append(row.title)
    for remark, titles in remarks.items():
        yield f"- {remark}: {'; '.join(titles)}"
    yield ""


def _by_strategy(row: Row) -> Row:
    """The strategy as a part of the name, if it is one of the way."""
    found = _STRATEGY.fullmatch(row.way)
    return replace(row, name=f"{row.name}, {found[2]}", way=found[1]) if found else row


def _size(at: str) -> float:
    """`0.1`, or the first of `0.1 to 1`; `100,000` too."""
    return float(at.split()[0].replace(",", "")) if at else 0.0


def _cell(row: Row) -> str:
    spread = f" ±{row.spread:.0%}" if row.spread and not row.voided and not row.bound else ""
    return row.shown + spread


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    table = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table) + "\n"


def _ours_and_at(row: Row) -> tuple[str, str]:
    """Both engines together."""
    return _ENGINE.sub("ours", row.way), row.at


def _engine(way: str) -> str:
    found = _ENGINE.match(way)
    return found[1] if found else ""


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.+]+", "-", text.lower()).strip("-")


def main() -> None:
    chosen = [Path(argument) for argument in sys.argv[1:]]
    newest = sorted(RESULTS.glob("*.json"), key=lambda path: path.stat().st_mtime)
    path = (chosen or newest[-1:] or [RESULTS / "none.json"])[-1]
    if not path.exists():
        sys.exit(f"the results '{path}' do not exist: make bench writes some")
    print(write_report(read_results(path), path, ROOT / "bench"))


if __name__ == "__main__":
    main()
