"""The interface of a peer, and how it is measured: warm, and from the start of a process."""

from __future__ import annotations

import re
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

from bench.asks import Asks

# in the queries for peers, the document is the value of this variable
DOCUMENT = "$the-document"
# what comes before the variables and functions of a query
_HEAD = re.compile(r"(\s|\(:.*?:\)|xquery version [^;]*;|declare namespace [^;]*;)*", re.DOTALL)


class Engine(Protocol):
    """A running peer."""

    def load(self, document: Path) -> float:
        """Parse, index or store a document; return the seconds."""

    def query(self, text: str, answer: Path, patience: float) -> float:
        """Answer a query over the loaded document, into a file; return the seconds.

        A query that takes longer than `patience` is stopped: `TooLong`.
        """

    def stop(self) -> None:
        """Stop it."""


class Peer(Protocol):
    """An engine that may be installed."""

    name: str

    def unavailable(self) -> str | None:
        """Why it is left out, or None if it is installed."""

    def version(self) -> str:
        """Its version, for the report."""

    def start(self, folder: Path) -> Engine:
        """Start it, with a folder for its files."""

    def cold(self, document: Path, text: str, answer: Path, patience: float) -> float:
        """From a document on disk to the answer of one query, with the start of the process."""


_NUMBERS = count(1)


def asks(engine: Engine, text: str, answer: Path) -> Asks:
    """The two ways to ask a peer. It keeps no plans: a comment makes its text a new one."""

    def first(patience: float) -> float:
        return engine.query(f"{text}\n(: {next(_NUMBERS)} :)", answer, patience)

    return Asks(first, partial(engine.query, text, answer))


def plain(query: str, document: str) -> str:
    """An XCQL query over `stream("auction")` as XQuery over a document.

    >>> plain('count(stream("auction")/site)', "doc('a.xml')")
    "count(doc('a.xml')/site)"
    """
    return query.replace('stream("auction")', document)


def with_variable(query: str) -> str:
    """The query over a document that is the value of an external variable.

    >>> print(with_variable('declare namespace a = "b"; stream("auction")/a:site'))
    declare namespace a = "b"; declare variable $the-document external;
    $the-document/a:site
    """
    head = _HEAD.match(query)
    end = head.end() if head else 0
    variable = f"declare variable {DOCUMENT} external;\n"
    return query[:end] + variable + plain(query[end:], DOCUMENT)
