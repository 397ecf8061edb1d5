"""Answers in the formats of the command line, written as they are computed."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcql.cli.outputs import open_output
from xcql.cli.report import report_note
from xcql.diagnostics import error

if TYPE_CHECKING:
    from xcql_runtime.answers.answer import Answer  # noqa: TID251

FORMATS = ("xml", "jsonl", "csv", "parquet", "table")


def write_answer(answer: Answer, arguments: argparse.Namespace) -> None:
    """Write an answer to the requested output; a file is written completely or not at all."""
    if arguments.format == "parquet":
        _write_parquet(answer, arguments.out)
        return
    if arguments.format == "table":
        lines = _table(answer, arguments)
    elif arguments.format == "xml":
        lines = (item + "\n" for item in answer.items())
    else:
        lines = _records(answer, arguments.format)
    with open_output(arguments.out) as output:
        for line in lines:
            output.write(line.encode("utf-8"))


def _records(answer: Answer, form: str) -> Iterator[str]:
    records = answer.records()
    columns = records.columns
    if form == "jsonl":
        for row in records:
            there = {
                name: value for name, value in zip(columns, row, strict=True) if value is not None
            }
            yield json.dumps(there, ensure_ascii=False) + "\n"
        return
    yield _csv_line(columns)
    for row in records:
        yield _csv_line([_cell(value) for value in row])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _cell(value: Any) -> str:
    """A value as text; structs and lists are JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(answer: Answer, arguments: argparse.Namespace) -> Iterator[str]:
    """The first rows, under the column names, with a note if there are more."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    records = answer.records(arguments.limit + 1)
    shown = [list(map(_cell, row)) for row in records]
    more = len(shown) > arguments.limit
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in records.columns:
        table.add_column(Text(column), overflow="fold")
    for row in shown[: arguments.limit]:
        table.add_row(*map(Text, row))
    text = io.StringIO()
    to_terminal = arguments.out is None and sys.stdout.isatty()
    Console(file=text, width=None if to_terminal else 10_000, color_system=None).print(table)
    for line in text.getvalue().splitlines():
        yield line.rstrip() + "\n"
    if more:
        report_note(
            f"note: these are the first {arguments.limit}; there are more (--limit N)", arguments
        )


def _write_parquet(answer: Answer, target: str | None) -> None:
    """Let the engine write the answer, which may be of any size."""
    if target is None:
        raise error("XCQL0100", "the format parquet needs an output folder: --out FOLDER")
    if Path(target).exists():
        raise error(
            "XCQL0102", f"'{target}' already exists", hints=["give a new folder, or remove it"]
        )
    answer.write_parquet(target)
