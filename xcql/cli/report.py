"""How the command line shows messages: on standard error, in colour only on a terminal."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable

from xcql.cli.outputs import FULL_DISK
from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.version import __version__

_COLOURS = {"error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32"}

_WHOLE = "nothing was changed: files and commits are written completely or not at all"


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that every verb has."""
    group = parser.add_argument_group("messages")
    group.add_argument(
        "--error-format",
        choices=["full", "concise", "json"],
        default="full",
        help="how errors and warnings are shown (default: %(default)s)",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no warnings, no summaries")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show Spark's log and internal tracebacks"
    )


def report_diagnostic(diagnostic: Diagnostic, arguments: argparse.Namespace) -> None:
    """Print an error or warning in the format that the user chose."""
    if arguments.error_format == "json":
        text = json.dumps(diagnostic.as_dict(), ensure_ascii=False)
    elif arguments.error_format == "concise":
        text = diagnostic.render_concise()
    else:
        text = _coloured(diagnostic.render())
    print(text, file=sys.stderr)


def report_warnings(warnings: Iterable[Diagnostic], arguments: argparse.Namespace) -> None:
    if not arguments.quiet:
        for diagnostic in warnings:
            report_diagnostic(diagnostic, arguments)


def report_note(text: object, arguments: argparse.Namespace) -> None:
    """Report what was done, separate from the answer."""
    if not arguments.quiet:
        print(text, file=sys.stderr)


def report_bug(bug: Exception, verbose: bool) -> None:
    """Report an internal error; the traceback is only shown on request."""
    print(
        f"xcqlc {__version__}: internal error: {type(bug).__name__}: {bug}\n"
        "help: this is a bug in XCQL, not in your query. Please report it with the query, the"
        " version, and what --verbose shows.",
        file=sys.stderr,
    )
    if verbose or os.environ.get("XCQL_DEBUG"):
        traceback.print_exception(bug)


def explained_os_error(problem: OSError) -> XcqlError:
    """Explain what the operating system refused, and suggest a solution."""
    name = f"'{problem.filename}'" if problem.filename else "the output"
    match problem.errno:
        case number if number in FULL_DISK:
            return error(
                "XCQL0103",
                f"{name} could not be written: {_reason(problem)}",
                notes=[_WHOLE] if problem.filename else [],
                hints=[
                    "free some space, or write to another disk",
                    "set TMPDIR to choose the folder for temporary files",
                ],
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return error(
                "XCQL0102",
                f"no permission for {name}: {_reason(problem)}",
                hints=["choose another place, or ask its owner for permission (see ls -ld)"],
            )
    return error("XCQL0102", f"{name} cannot be used: {_reason(problem)}")


def _reason(problem: OSError) -> str:
    return os.strerror(problem.errno).lower() if problem.errno else str(problem)


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
