"""What plans are lowered for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xcql.analysis.graph import TagGraph
from xcql.dialects.dialect import Dialect
from xcql.history.stability import Stability

# the columns that elements are asked for, by stream and tags
Demands = Mapping[tuple[str, tuple[str, ...]], set[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Target:
    """A dialect, a strategy, and what is known about the tables of the streams, by stream.

    `stabilities` are those of the streams that are settled at `now`, by tsid; `sizes` are the
    numbers of bytes of the tables, by tsid.
    """

    dialect: Dialect
    strategy: str
    graphs: Mapping[str, TagGraph]
    demands: Demands
    stabilities: Mapping[str, Mapping[str, Stability]]
    sizes: Mapping[str, Mapping[str, int]]
