"""The entry point of `xcqlc`: finds the verb's module, and turns errors into exit codes.

A verb's module is imported only when the verb is asked for, so `xcqlc --help` is instant.
It offers `add_arguments(parser)` and `run(arguments) -> int`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from xcql.cli.report import report_bug, report_diagnostic
from xcql.diagnostics import XcqlError
from xcql.version import __version__

EXIT_OK = 0
EXIT_QUERY_ERROR = 1
EXIT_USAGE = 2
EXIT_BUG = 70

# verb -> (module, one line of help)
VERBS = {
    "eval": ("xcql.cli.eval", "answer a query at once, without Spark"),
    "fragment": ("xcql.cli.fragment", "cut a document into fillers, or find what changed in it"),
    "infer-tags": ("xcql.cli.infer_tags", "make a tag structure from a document or a schema"),
    "ingest": ("xcql.cli.ingest", "put fragments into a store"),
    "store": ("xcql.cli.store", "show, check and tidy up a store"),
    "temporalize": ("xcql.cli.temporalize", "write the temporal view of a stream"),
    "parse": ("xcql.cli.parse", "show how a query is read: its syntax tree"),
}

_EXAMPLES = """\
examples:
  xcqlc parse query.xcql                      the syntax tree of a query
  xcqlc parse --format xquery -e '1+2*3'      the query, laid out anew
  echo '//account?[now]' | xcqlc parse -      a query from standard input

'xcqlc VERB --help' tells more of a verb.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xcqlc` with the given arguments (default: the process's) and return its exit code."""
    _write_utf_8()
    parser = _parser(sys.argv[1:] if argv is None else list(argv))
    arguments = parser.parse_args(argv)
    if arguments.verb is None:
        parser.print_help()
        return EXIT_USAGE
    try:
        return int(import_module(VERBS[arguments.verb][0]).run(arguments))
    except XcqlError as problem:
        report_diagnostic(problem.diagnostic, arguments.error_format)
        return EXIT_QUERY_ERROR
    except BrokenPipeError:
        # the reader went away, as `| head` does; keep the interpreter's last flush quiet
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return 130
    except Exception as bug:
        report_bug(bug)
        return EXIT_BUG


def _write_utf_8() -> None:
    """Queries and answers are UTF-8, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xcqlc",
        description="XQuery with time: ask streams of XML fragments what was true, and when.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"xcqlc {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for verb, (module, summary) in VERBS.items():
        verb_parser = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb_parser.add_argument(
            "--error-format",
            choices=["full", "concise", "json"],
            default="full",
            help="how errors and warnings are shown (default: %(default)s)",
        )
        if verb in argv[:1]:
            import_module(module).add_arguments(verb_parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
