"""How the command line shows messages: on standard error, in colour only on a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Iterable

from xcql.diagnostics import Diagnostic
from xcql.version import __version__

_COLOURS = {"error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32"}


def report_diagnostic(diagnostic: Diagnostic, error_format: str = "full") -> None:
    """Print one error or warning in the format that the user chose."""
    if error_format == "json":
        text = json.dumps(diagnostic.as_dict(), ensure_ascii=False)
    elif error_format == "concise":
        text = diagnostic.render_concise()
    else:
        text = _coloured(diagnostic.render())
    print(text, file=sys.stderr)


def report_warnings(warnings: Iterable[Diagnostic], error_format: str = "full") -> None:
    for diagnostic in warnings:
        report_diagnostic(diagnostic, error_format)


def report_bug(bug: Exception) -> None:
    """Tell of a fault of ours; the traceback is for whoever asked to see it."""
    print(
        f"xcqlc {__version__}: internal error: {type(bug).__name__}: {bug}\n"
        "help: this is a bug in XCQL, not in your query. Please report it with the query;"
        " XCQL_DEBUG=1 shows the details.",
        file=sys.stderr,
    )
    if os.environ.get("XCQL_DEBUG"):
        traceback.print_exception(bug)


def _coloured(text: str) -> str:
    if not sys.stderr.isatty() or "NO_COLOR" in os.environ:
        return text
    lines = []
    for line in text.split("\n"):
        start = re.match(r"(error|warning|note|help)(\[\w+\])?:", line)
        if start:
            line = f"\x1b[{_COLOURS[start[1]]}m{start[0]}\x1b[0m{line[start.end() :]}"
        elif re.fullmatch(r"\s*\|\s*\^+", line):
            line = f"\x1b[1;31m{line}\x1b[0m"
        lines.append(line)
    return "\n".join(lines)
