"""Where streams come from and go to: `tcp://host:port`, `dir:FOLDER`, `kafka://broker/topic`.

>>> parse_address("tcp://localhost:9000", ADDRESSES)
TcpAddress(host='localhost', port=9000)
>>> parse_address("kafka://one:9092,two:9092/credit", [KafkaAddress]).servers
'one:9092,two:9092'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from xcql.diagnostics import XcqlError, error


class Address(Protocol):
    """A kind of address: the `scheme` that it begins with, and the `form` that it has."""

    scheme: ClassVar[str]
    form: ClassVar[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address with a text behind its scheme; a ValueError says why it is none."""


A = TypeVar("A", bound=Address)


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port that broadcasts fragments, one per line."""

    scheme: ClassVar[str] = "tcp"
    form: ClassVar[str] = "tcp://HOST:PORT"
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        parts = urlsplit(f"//{text}")
        if not parts.hostname or parts.port is None:
            raise ValueError("missing port" if parts.hostname else "missing host")
        return cls(parts.hostname, parts.port)

    def __str__(self) -> str:
        return f"tcp://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class FolderAddress:
    """A folder that receives files of fragments."""

    scheme: ClassVar[str] = "dir"
    form: ClassVar[str] = "dir:FOLDER"
    path: Path

    @classmethod
    def parse(cls, text: str) -> Self:
        if not text:
            raise ValueError("missing folder")
        return cls(Path(text))

    def __str__(self) -> str:
        return f"dir:{self.path}"


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """A topic whose messages are fragments; `servers` as Kafka's clients write them."""

    scheme: ClassVar[str] = "kafka"
    form: ClassVar[str] = "kafka://BROKER:PORT/TOPIC"
    servers: str
    topic: str

    @classmethod
    def parse(cls, text: str) -> Self:
        servers, slash, topic = text.partition("/")
        if not servers or not slash or not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
            raise ValueError("missing topic" if servers else "missing broker")
        return cls(servers, topic)

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"


Target = TcpAddress | FolderAddress | KafkaAddress
# where fragments can be published
ADDRESSES: tuple[type[Target], ...] = (TcpAddress, FolderAddress, KafkaAddress)


def parse_address(text: str, kinds: Sequence[type[A]]) -> A:
    """The address of one of the kinds that a text is; one without a scheme is a folder."""
    scheme, _, rest = text.partition(":")
    known = {kind.scheme: kind for kind in kinds}
    if scheme not in known:
        if "://" in text:
            names = _listed([*known], "and")
            raise _unknown(text, f"'{text.partition('://')[0]}' is not one of {names}", kinds)
        scheme, rest = FolderAddress.scheme, text
    elif "://" in known[scheme].form and not rest.startswith("//"):
        raise _unknown(text, f"'{scheme}' must be followed by '://'", kinds)
    else:
        rest = rest.removeprefix("//")
    try:
        return known[scheme].parse(rest)
    except ValueError as problem:
        raise _unknown(text, str(problem).lower(), kinds) from None


def _unknown(text: str, reason: str, kinds: Sequence[type[Address]]) -> XcqlError:
    forms = _listed([kind.form for kind in kinds], "or")
    return error("XCQL0720", f"invalid address '{text}': {reason}", hints=[f"write {forms}"])


def _listed(words: Sequence[str], last: str) -> str:
    """Words as a list in a sentence."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
