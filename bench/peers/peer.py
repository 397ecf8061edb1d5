"""What every peer can do, and how it is measured: warm, and from the start of a process."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

# in the queries for peers, the document is the value of this variable
DOCUMENT = "$the-document"


class Engine(Protocol):
    """A peer that runs."""

    def load(self, document: Path) -> float:
        """Parse, index or store a document; how many seconds that takes."""

    def query(self, text: str, answer: Path, patience: float) -> float:
        """Answer a query over what was loaded, into a file; how many seconds that takes.

        One that takes longer than `patience` is stopped: `TooLong`.
        """

    def stop(self) -> None:
        """End it."""


class Peer(Protocol):
    """An engine that may be on this machine."""

    name: str

    def unavailable(self) -> str | None:
        """Why it is left out, or None if it is here."""

    def version(self) -> str:
        """Its version, for the report."""

    def start(self, folder: Path) -> Engine:
        """Start it, with a folder for what it writes."""

    def cold(self, document: Path, text: str, answer: Path, patience: float) -> float:
        """From a document on disk to the answer of one query, with the start of the process."""


def plain(query: str, document: str) -> str:
    """An XCQL query over `stream("auction")` as XQuery over a document.

    >>> plain('count(stream("auction")/site)', "doc('a.xml')")
    "count(doc('a.xml')/site)"
    """
    return query.replace('stream("auction")', document)


def with_variable(query: str) -> str:
    """The query over a document that is the value of an external variable."""
    return f"declare variable {DOCUMENT} external;\n{plain(query, DOCUMENT)}"
