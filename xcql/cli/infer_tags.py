"""`xcqlc infer-tags`: a Tag Structure from a document, a DTD or an XML Schema.

Tests: tests/cli/test_fragment.py
"""

from __future__ import annotations

import argparse

from xcql.cli.documents import open_document
from xcql.cli.kinds import expect
from xcql.cli.outputs import open_output
from xcql.cli.report import report_note, report_warnings
from xcql.diagnostics import error
from xcql.model.infer import NameTree, infer_from_document, tag_structure
from xcql.model.infer_keys import InferredKey, KeyWatcher
from xcql.model.tags import TagStructure, tags_to_xml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="DOC.xml|SCHEMA.dtd|SCHEMA.xsd",
        help="a document (also .gz or .xz, or - for stdin), a DTD, or an XML Schema",
    )
    parser.add_argument(
        "--temporal",
        action="append",
        nargs="+",
        default=[],
        metavar="PATH",
        help="elements that have versions: //item, /site/people/person, people/*",
    )
    parser.add_argument(
        "--event",
        action="append",
        nargs="+",
        default=[],
        metavar="PATH",
        help="elements that happen at one instant",
    )
    parser.add_argument(
        "--id",
        action="append",
        nargs="+",
        default=[],
        metavar="PATH",
        help="attributes that identify elements, for id(): //person/@id",
    )
    parser.add_argument("--root", metavar="NAME", help="the root element, for a schema with many")
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        dest="output",
        metavar="TAGS.xml",
        help="default: standard output",
    )
    parser.epilog = """\
examples:
  xcqlc infer-tags auction.xml.gz --temporal //item //person -o tags.xml
  xcqlc infer-tags auction.dtd --temporal //item --event //bidder
  xcqlc infer-tags auction.xml --temporal //person --id //person/@id
"""


def run(arguments: argparse.Namespace) -> int:
    watcher = KeyWatcher()
    structure = tag_structure(
        _read(arguments, watcher),
        [path for paths in arguments.temporal for path in paths],
        [path for paths in arguments.event for path in paths],
        [path for paths in arguments.id for path in paths],
    )
    with open_output(arguments.output) as output:
        output.write(tags_to_xml(structure).encode("utf-8"))
    tags = list(structure)
    kinds = [tag.kind for tag in tags]
    report_note(
        f"{len(tags)} tags: {kinds.count('temporal')} temporal, {kinds.count('event')} event,"
        f" {kinds.count('snapshot')} snapshot",
        arguments,
    )
    for key in watcher.inferred():
        if text := _proposal(structure, key):
            report_note(text, arguments)
    return 0


def _proposal(structure: TagStructure, found: InferredKey) -> str | None:
    """A key for `xcqlc fragment`, with its evidence, if it is needed and not the default."""
    tag = structure.by_id(found.element.id or "")
    if tag is None or not tag.is_fragmented or str(found.key) == "@id":
        return None
    return f"possible key: --key '{structure.path_of(tag)}={found.key}' {found.evidence}"


def _read(arguments: argparse.Namespace, watcher: KeyWatcher) -> NameTree:
    source: str = arguments.source
    if source.lower().endswith((".dtd", ".xsd")):
        # reading XML Schemas is a large import that documents do not need
        from xcql.model.infer_schema import infer_from_dtd, infer_from_xsd

        if source.lower().endswith(".xsd"):
            return infer_from_xsd(source, arguments.root)
        return infer_from_dtd(source, arguments.root)
    if arguments.root is not None:
        raise error("XCQL0100", "--root is only for schemas; a document has one root element")
    if source != "-":
        expect(source, "document")
    with open_document(source) as document:
        tree = infer_from_document(document, watcher=watcher)
    report_warnings(document.warnings, arguments)
    return tree
