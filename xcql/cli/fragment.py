"""`xcqlc fragment`: a document as fillers with holes, or what changed since an earlier one."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from xcql.cli.documents import open_document
from xcql.cli.outputs import open_output
from xcql.cli.report import report_warnings
from xcql.model.fragmenter import fragment
from xcql.model.tags import read_tags
from xcql.model.time import format_time, parse_time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "document", metavar="DOC.xml", help="a document (also .gz or .xz), or - for stdin"
    )
    parser.add_argument("--tags", required=True, metavar="TAGS.xml", help="its tag structure")
    parser.add_argument("-o", "--output", metavar="OUT.xml", help="default: standard output")
    parser.add_argument(
        "--valid-time", metavar="T", help="since when the document is so (default: now)"
    )
    parser.epilog = """\
examples:
  xcqlc fragment auction.xml.gz --tags tags.xml -o auction-fragments.xml
"""


def run(arguments: argparse.Namespace) -> int:
    structure = read_tags(arguments.tags)
    now = datetime.now(UTC).replace(tzinfo=None)
    valid_time = now if arguments.valid_time is None else parse_time(arguments.valid_time, now)
    with open_document(arguments.document) as document, open_output(arguments.output) as output:
        result = fragment(document, structure, format_time(valid_time), output)
    report_warnings(result.warnings, arguments.error_format)
    print(
        f"{result.fillers:,} fillers, {result.bytes_written:,} bytes"
        f" from {result.bytes_read:,} bytes of XML",
        file=sys.stderr,
    )
    return 0
