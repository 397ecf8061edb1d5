"""`xcqlc import`: a history from git or from dated documents into a store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import xcql
from xcql.cli.outputs import naming
from xcql.cli.report import report_note, report_warnings
from xcql.diagnostics import error

if TYPE_CHECKING:
    from xcql.importing.git import GitHistory
    from xcql.importing.importer import Progress
    from xcql.importing.snapshots import Snapshots

# the options that only one source has
_ONLY = {
    "git": ("path", "branch", "every", "since"),
    "snapshots": ("time_from_name", "time_from_path"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", choices=["git", "snapshots"], help="a git repository, or dated documents"
    )
    parser.add_argument(
        "what",
        metavar="REPOSITORY|PATTERN",
        help="the folder of a repository, or a pattern of file names: 'dump-*.xml'",
    )
    parser.add_argument(
        "--into", "--store", dest="store", required=True, metavar="DIR", help="the store's folder"
    )
    parser.add_argument("--stream", required=True, metavar="NAME", help="the stream's name")
    for name, what in (
        ("temporal", "elements that have versions: //item, /site/people/person"),
        ("event", "elements that happen at one instant"),
    ):
        parser.add_argument(
            f"--{name}", action="append", nargs="+", default=[], metavar="PATH", help=what
        )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="PATH=KEY",
        help="what identifies an element: //person=@ssn, //planet=name[1]; default: @id, or an"
        " attribute or child that tells siblings apart",
    )
    git = parser.add_argument_group("git")
    git.add_argument(
        "--path",
        action="append",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="the files: 'systems/*.xml', 'data/**/*.xml'",
    )
    git.add_argument(
        "--branch",
        "--revision",
        dest="branch",
        metavar="NAME",
        help="a branch or a commit: main, origin/main (default: HEAD)",
    )
    git.add_argument(
        "--every", choices=["day", "month"], help="only the last commit of each day or month"
    )
    git.add_argument("--since", metavar="T", help="one revision for everything before this time")
    snapshots = parser.add_argument_group("snapshots")
    times = snapshots.add_mutually_exclusive_group()
    times.add_argument(
        "--time-from-name", metavar="FORMAT", help="find the time in the name: %%Y-%%m-%%d"
    )
    times.add_argument(
        "--time-from-path", metavar="PATH", help="find the time in the document: /dump/@created"
    )
    parser.epilog = """\
examples:
  xcqlc import git catalogue --path 'systems/*.xml' --into history --stream systems
  xcqlc import snapshots 'dumps/*.xml.gz' --time-from-name %Y-%m-%d --into history --stream shop

Run the same command again to import what is new. Without a time option, snapshots have the times of
their files.
"""


def run(arguments: argparse.Namespace) -> int:
    source = _source(arguments)
    with naming(arguments.store), closing(source) as opened, _shown(arguments) as progress:
        summary = xcql.Session(arguments.store, verbose=arguments.verbose).import_history(
            opened,
            stream=arguments.stream,
            temporal=[path for paths in arguments.temporal for path in paths],
            event=[path for paths in arguments.event for path in paths],
            key=arguments.key,
            progress=progress,
        )
    report_warnings(summary.warnings, arguments)
    report_note(summary, arguments)
    return 0


def _source(arguments: argparse.Namespace) -> GitHistory | Snapshots:
    for source, names in _ONLY.items():
        wrong = [name for name in names if getattr(arguments, name)]
        if source != arguments.source and wrong:
            option = "--" + wrong[0].replace("_", "-")
            raise error("XCQL0100", f"{option} is only for {source}")
    if arguments.source == "snapshots":
        from xcql.importing.snapshots import Snapshots  # only for this source

        return Snapshots(arguments.what, arguments.time_from_name, arguments.time_from_path)
    if not arguments.path:
        raise error(
            "XCQL0100",
            "no files are chosen",
            hints=["choose the files of the repository: --path 'systems/*.xml'"],
        )
    from xcql.importing.git import GitHistory  # only for this source

    paths = [path for paths in arguments.path for path in paths]
    revision = arguments.branch or "HEAD"
    return GitHistory(arguments.what, paths, revision, arguments.every, arguments.since)


@contextmanager
def _shown(arguments: argparse.Namespace) -> Iterator[Progress | None]:
    """A progress bar for each pass, on a terminal."""
    if arguments.quiet or not sys.stderr.isatty():
        yield None
        return
    # slow to import, and only needed here
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield progress
