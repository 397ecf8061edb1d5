"""`xcqlc publish`: play a file of fragments as a live stream."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

import xcql
from xcql.cli.kinds import expect
from xcql.cli.report import report_note, report_warnings
from xcql.diagnostics import error
from xcql.publish.addresses import ADDRESSES, FolderAddress, KafkaAddress, TcpAddress, parse_address
from xcql.publish.folder import drop_files
from xcql.publish.play import Pace, fragments_of
from xcql.publish.tcp import broadcast

_EXAMPLES = """\
examples:
  xcqlc publish fragments.xml --to tcp://localhost:9000 --rate 100
  xcqlc publish fragments.xml --to dir:inbox --speed 60
  xcqlc publish monday.xml tuesday.xml --to kafka://localhost:9092/credit --repeat

The server does not know its clients: a client gets what is sent after it connects, and is dropped
if it falls too far behind. 'xcqlc watch' is a client.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("fragments", nargs="+", metavar="FRAGMENTS", help="files or folders")
    parser.add_argument(
        "--to",
        required=True,
        metavar="ADDRESS",
        help="tcp://HOST:PORT, dir:FOLDER or kafka://BROKER:PORT/TOPIC",
    )
    parser.add_argument(
        "--rate", type=float, metavar="N", help="fragments per second (default: no pause)"
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="N",
        help="a multiple of the speed of the fragments' validTimes: 60 plays an hour in a minute",
    )
    parser.add_argument("--repeat", action="store_true", help="start over at the end, forever")
    parser.add_argument(
        "--wait",
        type=int,
        default=0,
        metavar="N",
        help="tcp: start when this many clients are connected (default: %(default)s)",
    )
    parser.add_argument(
        "--stream",
        default="fragments",
        metavar="NAME",
        help="dir: the prefix of the file names (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    pace = _pace(arguments)
    address = parse_address(arguments.to, ADDRESSES)
    for path in arguments.fragments:
        expect(path, "fragments")
    fragments = fragments_of(
        arguments.fragments, arguments.repeat, lambda one: report_warnings([one], arguments)
    )

    def tell(text: str) -> None:
        report_note(text, arguments)

    match address:
        case TcpAddress():
            sent = asyncio.run(broadcast(address, fragments, pace, arguments.wait, tell))
        case FolderAddress():
            sent = drop_files(address, fragments, pace, arguments.stream)
        case KafkaAddress():
            sent = _to_kafka(address, fragments, pace, arguments)
    tell(f"{sent} {'fragment' if sent == 1 else 'fragments'} sent")
    return 0


def _pace(arguments: argparse.Namespace) -> Pace:
    given = {"--rate": arguments.rate, "--speed": arguments.speed}
    for option, number in given.items():
        if number is not None and not 0 < number < float("inf"):
            raise error("XCQL0100", f"{option} must be a number greater than 0")
    if None not in given.values():
        raise error("XCQL0100", "give either --rate or --speed, not both")
    return Pace(arguments.rate, arguments.speed)


def _to_kafka(
    address: KafkaAddress, fragments: Iterator[bytes], pace: Pace, arguments: argparse.Namespace
) -> int:
    with xcql.Session.temporary({}, verbose=arguments.verbose) as session:
        return session.publish(fragments, address, pace)
