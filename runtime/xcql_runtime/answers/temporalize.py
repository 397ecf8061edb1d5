"""Temporalize: the view of a stream as XML text, from copies of fillers that an engine sorts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from xcql.shred.assembly import document_text
from xcql_runtime.engine import Engine
from xcql_runtime.store_reader import PinnedStore

# the least number of bytes in a piece of text
_PIECE = 1 << 16


def temporalize(
    engine: Engine, store: PinnedStore, stream: str, now: datetime, at: datetime | None = None
) -> Iterator[str]:
    """The text of the whole temporal view of a stream, or of the document `at` an instant.

    It comes in pieces, to be written one after the other.
    """
    if store.state.stream(stream).tables:
        yield from _texts(document_text(engine.copies(store, stream, now, at)))


def _texts(pieces: Iterable[bytes]) -> Iterator[str]:
    """Larger pieces, as text."""
    gathered, size = [], 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(gathered).decode()
            gathered, size = [], 0
    yield b"".join(gathered).decode()
