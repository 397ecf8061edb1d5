"""How a run is made: which sizes, how often, how long to wait; and what it says while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.data import Data


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest factor at which a peer is asked, and why it is not asked at more."""

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
    # how many auctions the history has, as a factor
    history_factor: str = "0.01"
    # peers that are not asked at all sizes
    limits: Mapping[str, Limit] = field(
        default_factory=lambda: {"RumbleDB": Limit(0.1, "make bench-full asks it")}
    )
    # how many transactions continuous queries have behind them
    histories: tuple[int, ...] = (10_000, 50_000)
    cold_queries: tuple[str, ...] = ("q01",)
    cold_factor: str = "0.1"
    runs: int = 3
    # of what takes long: ingest and the like
    loading_runs: int = 2
    # the time after which a query is stopped
    patience: float = 60.0
    began: float = field(default_factory=time.monotonic)

    def asks(self, peer: str, factor: str) -> bool:
        """Whether a peer is asked at a factor."""
        return peer not in self.limits or float(factor) <= self.limits[peer].factor

    @property
    def cache(self) -> Path:
        """What the user of a run has for a cache: that of whoever starts it does not count."""
        return self.scratch("cache")

    def scratch(self, name: str) -> Path:
        """A folder for what an engine writes."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def tell(self, what: str) -> None:
        """Say on standard error where the run is."""
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f"[{minutes:3}:{seconds:02}] {what}", file=sys.stderr, flush=True)
