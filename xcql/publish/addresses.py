"""Where streams come from and go to: `tcp://host:port`, `dir:FOLDER`, `kafka://broker/topic`.

>>> parse_address("tcp://localhost:9000")
TcpAddress(host='localhost', port=9000)
>>> parse_address("kafka://one:9092,two:9092/credit").servers
'one:9092,two:9092'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from xcql.diagnostics import XcqlError, error

_FORMS = "tcp://HOST:PORT, dir:FOLDER or kafka://BROKER:PORT/TOPIC"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port that broadcasts fragments, one per line."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"tcp://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class FolderAddress:
    """A folder that receives files of fragments."""

    path: Path

    def __str__(self) -> str:
        return f"dir:{self.path}"


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """A topic whose messages are fragments; `servers` as Kafka's clients write them."""

    servers: str
    topic: str

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"


Address = TcpAddress | FolderAddress | KafkaAddress


def parse_address(text: str) -> Address:
    """Parse a text into an address; without a scheme, it is a folder."""
    if text.startswith("dir:"):
        path = text.removeprefix("dir:").removeprefix("//")
        if not path:
            raise _unknown(text, "missing folder")
        return FolderAddress(Path(path))
    scheme, colon, _ = text.partition("://")
    if not colon:
        if re.fullmatch(r"(tcp|kafka):.*", text):
            raise _unknown(text, f"'{text.partition(':')[0]}' must be followed by '://'")
        return FolderAddress(Path(text))
    match scheme:
        case "tcp":
            return _tcp(text)
        case "kafka":
            servers, slash, topic = text.removeprefix("kafka://").partition("/")
            if not servers or not slash or not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
                raise _unknown(text, "missing topic" if servers else "missing broker")
            return KafkaAddress(servers, topic)
    raise _unknown(text, f"'{scheme}' is not one of tcp, dir and kafka")


def _tcp(text: str) -> TcpAddress:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise _unknown(text, str(problem).lower()) from None
    if not host or port is None:
        raise _unknown(text, "missing port" if host else "missing host")
    return TcpAddress(host, port)


def _unknown(text: str, reason: str) -> XcqlError:
    return error("XCQL0720", f"invalid address '{text}': {reason}", hints=[f"write {_FORMS}"])
