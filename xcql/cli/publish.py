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
from xcql.publish.play import fragments_of, play_of
from xcql.publish.tcp import broadcast

_EXAMPLES = """\
examples:
  xcqlc publish fragments.xml --to tcp://localhost:9000 --rate 100
  xcqlc publish fragments.xml --to dir:inbox
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
        help="tcp://HOST:PORT, dir:FOLDER or kafka://BROKER/TOPIC",
    )
    parser.add_argument(
        "--rate", type=float, metavar="N", help="fragments a second (default: no pause)"
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
    if arguments.rate is not None and arguments.rate <= 0:
        raise error("XCQL0100", "--rate is a number of fragments a second, more than 0")
    address = parse_address(arguments.to)
    for path in arguments.fragments:
        expect(path, "fragments")
    play = play_of(arguments.fragments, arguments.rate, arguments.repeat)
    fragments = fragments_of(play, lambda one: report_warnings([one], arguments))

    def tell(text: str) -> None:
        report_note(text, arguments)

    match address:
        case TcpAddress():
            sent = asyncio.run(broadcast(address, fragments, play.rate, arguments.wait, tell))
        case FolderAddress():
            sent = drop_files(address, fragments, play.rate, arguments.stream)
        case KafkaAddress():
            sent = _to_kafka(address, fragments, arguments)
    tell(f"{sent} {'fragment' if sent == 1 else 'fragments'} sent")
    return 0


def _to_kafka(
    address: KafkaAddress, fragments: Iterator[bytes], arguments: argparse.Namespace
) -> int:
    from xcql import Session

    with Session.temporary({}, verbose=arguments.verbose) as session:
        return session.publish(fragments, address, arguments.rate)
