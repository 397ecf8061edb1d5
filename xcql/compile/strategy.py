"""The choice of strategy: along the holes, or straight to the fillers that the query needs."""

from __future__ import annotations

from collections.abc import Sequence

from xcql.compile.catalog import StreamShape
from xcql.compile.result import NotNative


def chosen(strategy: str, streams: Sequence[StreamShape]) -> tuple[str, tuple[str, ...]]:
    """The strategy, and the reasons for it."""
    without = [stream.name for stream in streams if not stream.placed]
    if strategy == "auto":
        if without:
            return "qac", (
                f"the stream '{without[0]}' has too many copies of fillers, so their places"
                " are not kept: the query goes from hole to filler",
            )
        rows = sum(sum(stream.rows.values()) for stream in streams)
        return "qac+", (
            f"the places of all {rows:,} fillers in the view are known, so only the tables that"
            " the query needs are read, nothing above them",
        )
    if strategy == "qac+" and without:
        raise NotNative(f"the places of the fillers of '{without[0]}' are not kept")
    return strategy, ("as requested",)
