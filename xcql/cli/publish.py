"""`xcqlc publish`: play a file of fragments as a live stream."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from xcql.cli.kinds import expect
from xcql.cli.report import report_note, report_warnings
from xcql.diagnostics import error
from xcql.publish.addresses import FolderAddress, KafkaAddress, TcpAddress, parse_address
from xcql.publish.folder import drop_files
from xcql.publish.play import Pace, fragments_of
from xcql.publish.tcp import broadcast

_EXAMPLES = """\
examples:
  xcqlc publish fragments.xml --to tcp://localhost:9000 --rate 100
  xcqlc publish fragments.xml --to dir:inbox --speed 60
  xcqlc publish monday.xml tuesday.xml --to kafka://localhost:9092/credit --repeat

The server knows nothing of its clients: who connects gets what is sent from then on, and who falls
too far behind is dropped. 'xcqlc watch' is a client.
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
        "--rate", type=float, metavar="N", help="fragments a second (default: no pause)"
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="N",
        help="as the fragments' validTimes say, so many times as fast: with 60, an hour a minute",
    )
    parser.add_argument("--repeat", action="store_true", help="begin again at the end, for ever")
    parser.add_argument(
        "--wait",
        type=int,
        default=0,
        metavar="N",
        help="tcp: begin when so many clients are there (default: %(default)s)",
    )
    parser.add_argument(
        "--stream",
        default="fragments",
        metavar="NAME",
        help="dir: what the names of the files begin with (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    pace = _pace(arguments)
    address = parse_address(arguments.to)
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
            raise error("XCQL0100", f"{option} is a number greater than 0")
    if None not in given.values():
        raise error("XCQL0100", "give the pace with --rate or with --speed, not both")
    return Pace(arguments.rate, arguments.speed)


def _to_kafka(
    address: KafkaAddress, fragments: Iterator[bytes], pace: Pace, arguments: argparse.Namespace
) -> int:
    from xcql import Session  # imports PySpark: slow

    with Session.temporary({}, verbose=arguments.verbose) as session:
        return session.publish(fragments, address, pace)
