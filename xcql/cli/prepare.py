"""`xcqlc prepare`: make Spark start faster from now on."""

from __future__ import annotations

import argparse

import xcql
from xcql.cli.report import report_note

_NOTE = """\
Runs a small query, and saves the Java classes that it needs to a file of about 180 MB, in folder
xcql of the user's cache (XDG_CACHE_HOME, or ~/.cache). This takes half a minute. The file fits only
this version of Java and Spark: run the command again after you update either. You can delete the
file at any time.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _NOTE


def run(arguments: argparse.Namespace) -> int:
    report_note("starting Spark to find the classes it needs", arguments)
    path = xcql.Session.prepare()
    print(f"Spark now starts faster, with {path} ({path.stat().st_size / 1e6:.0f} MB)")
    return 0
