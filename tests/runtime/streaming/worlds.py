"""Small streams of bids for tests of continuous queries."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from xcql.evaluate.api import evaluate
from xcql.model.tags import TagStructure, parse_tags

TAGS_TEXT = (
    '<structure><tag type="snapshot" id="1" name="bids">'
    '<tag type="event" id="2" name="bid"/></tag></structure>'
)
TAGS: TagStructure = parse_tags(TAGS_TEXT)
QUERY = """for $b in stream("s")//bid where $b >= 10 order by xs:integer($b)
return <b>{$b/text()}</b>"""
ROOT = '<filler id="0" tsid="1" validTime="2004-01-01"><bids><hole id="1"/></bids></filler>'


def bid(number: int, amount: int | None = None) -> str:
    """The bid with this number; its time is unique."""
    minute, second = divmod(number, 60)
    text = number if amount is None else amount
    return (
        f'<filler id="1" tsid="2" validTime="2004-01-01T10:{minute:02}:{second:02}">'
        f"<bid>{text}</bid></filler>"
    )


def drop(folder: Path, name: str, fragments: Sequence[str]) -> None:
    """Put a file of fragments into a folder atomically."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{name}"
    draft.write_text(f"<fs>{''.join(fragments)}</fs>", encoding="utf-8")
    draft.rename(folder / name)


def batch_answer(query: str, fragments: Sequence[str], stream: str = "s") -> list[str]:
    """The reference evaluator's answer over all fragments, at a late `now`."""
    text = f"<fs>{''.join(fragments)}</fs>"
    result = evaluate(query, streams={stream: (text, TAGS)}, now="2020-01-01")
    return [item.xml for item in result]


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


class Server:
    """A broadcaster under test control: it sends what it is given to all clients."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def send(self, *fragments: str) -> None:
        for client in self.clients:
            client.sendall("".join(f"{one}\n" for one in fragments).encode())

    def hang_up(self) -> None:
        for client in self.clients:
            client.close()
        self.clients = []

    def close(self) -> None:
        self.hang_up()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.clients.append(client)
