"""`xcqlc prepare`: let Spark start sooner from now on."""

from __future__ import annotations

import argparse

from xcql.cli.report import report_note

_NOTE = """\
It runs a small query, and keeps the classes of Java that this needed in a file of about 180 MB, in
the folder xcql of the user's cache (XDG_CACHE_HOME, or ~/.cache). This takes half a minute. The
file fits this Java and this Spark only: after an update of either, run it again. It can be deleted
at any time.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _NOTE


def run(arguments: argparse.Namespace) -> int:
    from xcql import Session  # imports PySpark: slow

    report_note("starting Spark, to see which classes it needs", arguments)
    path = Session.prepare()
    print(f"from now on Spark starts sooner, with {path} ({path.stat().st_size / 1e6:.0f} MB)")
    return 0
