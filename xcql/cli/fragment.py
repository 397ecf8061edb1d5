"""`xcqlc fragment`: a document as fillers with holes, or what changed since an earlier one."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime

from xcql.cli.documents import open_document
from xcql.cli.kinds import expect
from xcql.cli.outputs import open_output
from xcql.cli.report import report_note, report_warnings
from xcql.history.changes import fragment_changes
from xcql.history.latest import LatestState, add_to_state
from xcql.model.fragmenter import fragment
from xcql.model.keys import read_keys
from xcql.model.shapes import ShapeReader, shape_reader
from xcql.model.tags import TagStructure, read_tags
from xcql.model.time import format_time, parse_time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "document", metavar="DOC.xml", help="a document (also .gz or .xz), or - for stdin"
    )
    parser.add_argument("--tags", required=True, metavar="TAGS.xml", help="its tag structure")
    parser.add_argument(
        "-o", "--output", "--out", dest="output", metavar="OUT.xml", help="default: standard output"
    )
    parser.add_argument(
        "--valid-time", metavar="T", help="the time from which the document is valid (default: now)"
    )
    parser.add_argument(
        "--previous",
        action="append",
        default=[],
        metavar="STATE",
        help="the fragments so far (files, folders): only changes are written;"
        " or, instead of the first fragments, the document they were made from",
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="PATH=KEY",
        help="what identifies an element across versions: an attribute (//person=@ssn) or a child"
        " (//planet=name[1]); default: @id, or else the content and position among its siblings",
    )
    parser.epilog = """\
examples:
  xcqlc fragment monday.xml --tags tags.xml --valid-time 2003-10-20 -o history/1.xml
  xcqlc fragment tuesday.xml --tags tags.xml --valid-time 2003-10-21 --previous history/ \\
      -o history/2.xml
"""


def run(arguments: argparse.Namespace) -> int:
    expect(arguments.tags, "tags")
    if arguments.document != "-":
        expect(arguments.document, "document")
    structure = read_tags(arguments.tags)
    now = datetime.now(UTC).replace(tzinfo=None)
    valid_time = now if arguments.valid_time is None else parse_time(arguments.valid_time, now)
    shape_of = shape_reader(structure, read_keys(arguments.key, structure))
    state = _read_state(arguments.previous, structure, shape_of, arguments)
    with open_document(arguments.document) as document, open_output(arguments.output) as output:
        if state is None:
            result = fragment(document, structure, format_time(valid_time), output)
        else:
            result = fragment_changes(document, structure, state, shape_of, valid_time, output)
    report_warnings(result.warnings, arguments)
    word = "filler" if state is None else "change"
    report_note(
        f"{result.fillers:,} {word}{'' if result.fillers == 1 else 's'},"
        f" {result.bytes_written:,} bytes from {result.bytes_read:,} bytes of XML",
        arguments,
    )
    return 0


def _read_state(
    paths: list[str],
    structure: TagStructure,
    shape_of: ShapeReader,
    arguments: argparse.Namespace,
) -> LatestState | None:
    """The state after reading files and folders (a folder's files by name), in the given order."""
    if not paths:
        return None
    state = LatestState()
    for path in paths:
        files = [path]
        if os.path.isdir(path):
            files = [
                os.path.join(path, name) for name in sorted(os.listdir(path)) if name[0] != "."
            ]
        for file in files:
            with open_document(file) as document:
                add_to_state(state, document, structure, shape_of)
    report_warnings(state.warnings, arguments)
    return state
