"""The settings of a run: sizes, repetitions, time limits; and its progress messages."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.data import Data


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest factor at which a peer runs, and why it does not run at larger ones."""

    factor: float
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """One run of the benchmarks."""

    data: Data
    folder: Path
    factors: tuple[str, ...] = ("0.1", "1")
    # Figure 4's own sizes, and larger ones
    figure_factors: tuple[str, ...] = ("0.0", "0.05", "0.1", "1")
    versions: tuple[int, ...] = (1, 10, 100, 1000)
    # the sizes of the eighty queries' data
    eighty_factors: tuple[str, ...] = ("0.1", "1")
    # the size of the recursive catalogue, of which 1 is the full one
    catalogue_size: str = "1"
    # the number of auctions in the history, as a factor
    history_factor: str = "0.01"
    # peers that do not run at all sizes
    limits: Mapping[str, Limit] = field(
        default_factory=lambda: {"RumbleDB": Limit(0.1, "make bench-full asks it")}
    )
    # the numbers of transactions in the history of continuous queries
    histories: tuple[int, ...] = (10_000, 50_000)
    cold_queries: tuple[str, ...] = ("q01",)
    cold_factor: str = "0.1"
    runs: int = 3
    # for slow steps: ingest and the like
    loading_runs: int = 2
    # the time limit of a query
    patience: float = 60.0
    began: float = field(default_factory=time.monotonic)

    def asks(self, peer: str, factor: str) -> bool:
        """Whether a peer runs at a factor."""
        return peer not in self.limits or float(factor) <= self.limits[peer].factor

    @property
    def cache(self) -> Path:
        """The cache folder of a run: the cache of the user who starts it is not used."""
        return self.scratch("cache")

    def scratch(self, name: str) -> Path:
        """A folder for an engine's files."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def tell(self, what: str) -> None:
        """Print progress on standard error."""
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f"[{minutes:3}:{seconds:02}] {what}", file=sys.stderr, flush=True)
