"""The data of the benchmarks: documents, their fragments, queries. Only this module knows files.

The documents are XMark's own where ../shared/xmark has them, else those of `bench.history`.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import catalogue, history
from bench.machine import ROOT
from bench.market import market_tags, write_market
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.tags import TagStructure, read_tags, tags_to_xml

XMARK = ROOT.parent / "shared" / "xmark"
QUERIES = ROOT / "bench" / "queries"
# the validTime of a document's fragments, and the `now` of queries
VALID, NOW = "2003-01-01T00:00:00", "2004-01-01T00:00:00"

_OPENERS: dict[str, Callable[..., Any]] = {".xml": open, ".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """How a document is cut: the elements that have fillers of their own."""

    name: str
    temporal: tuple[str, ...]


COARSE = Fragmentation("coarse", ("item", "person", "open_auction", "closed_auction", "category"))
# also what is inside of these, as someone cuts who expects it to change
FINE = Fragmentation("fine", (*COARSE.temporal, "bidder", "mail", "annotation"))
FRAGMENTATIONS = {one.name: one for one in (COARSE, FINE)}


@dataclass(frozen=True, slots=True)
class Auction:
    """A document of a given factor, and its fragments."""

    factor: str
    document: Path
    fragments: Path
    tags_file: Path
    origin: str
    fragmentation: Fragmentation = COARSE

    @property
    def tags(self) -> TagStructure:
        return read_tags(self.tags_file)

    @property
    def megabytes(self) -> float:
        return self.document.stat().st_size / 1e6


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A catalogue with a long history: its documents, and the fragments of the changes."""

    size: str
    snapshots: Path
    fragments: Path
    tags_file: Path


@dataclass(frozen=True, slots=True)
class Data:
    """A folder in which documents are created at first use."""

    folder: Path
    generated: bool = False

    def auction(self, factor: str, fragmentation: Fragmentation = COARSE) -> Auction:
        """The document of a factor (`"0.1"`), cut into fragments."""
        original = None if self.generated else _original(factor)
        origin = "XMark" if original else "generated"
        here = self.folder / f"auction-{factor}-{origin}"
        cut = here / fragmentation.name
        document, fragments, tags = here / "auction.xml", cut / "fragments.xml", cut / "tags.xml"
        found = Auction(factor, document, fragments, tags, origin, fragmentation)
        if not fragments.exists():
            cut.mkdir(parents=True, exist_ok=True)
            if not document.exists():
                _write_document(document, factor, original)
            _write_fragments(found)
        return found

    def market(self, factor: str, fragmentation: Fragmentation = COARSE) -> Auction:
        """The fragments of a history of auctions; there is no document for them."""
        here = self.folder / f"market-{factor}" / fragmentation.name
        fragments, tags = here / "fragments.xml", here / "tags.xml"
        found = Auction(factor, fragments, fragments, tags, "generated", fragmentation)
        if not tags.exists():
            here.mkdir(parents=True, exist_ok=True)
            write_market(fragments, float(factor), fragmentation.temporal)
            tags.write_text(market_tags(fragmentation.temporal))
        return found

    def versions(self, factor: str, versions: int) -> Auction:
        """Fragments in which every price has this many versions; there is no document for them."""
        here = self.folder / f"history-{factor}-{versions}"
        found = Auction(
            factor, here / "fragments.xml", here / "fragments.xml", here / "tags.xml", "generated"
        )
        if not found.tags_file.exists():
            here.mkdir(parents=True, exist_ok=True)
            history.write_history(found.fragments, float(factor), versions)
            history.write_tags(found.tags_file)
        return found

    def catalogue(self, size: str) -> Catalogue:
        """A catalogue of stars with sixty documents; size 1 means about 8 MB for each."""
        here = self.folder / f"catalogue-{size}"
        found = Catalogue(size, here / "snapshots", here / "fragments", here / "tags.xml")
        if not found.tags_file.exists():
            for folder in (found.snapshots, found.fragments):
                folder.mkdir(parents=True, exist_ok=True)
            tags = catalogue.catalogue_tags(here)
            catalogue.write_snapshots(found.snapshots, float(size))
            catalogue.write_fragments(found.snapshots, tags, found.fragments)
            found.tags_file.write_text(tags_to_xml(tags))
        return found


def xmark_queries() -> dict[str, str]:
    """The twenty queries, by their names: `q01` and so on."""
    return _queries("xmark")


def sixty_queries() -> dict[str, str]:
    """Sixty queries over all of XQuery and over time, by their names: `01-…` and so on."""
    return _queries("sixty")


def recursive_queries() -> dict[str, str]:
    """The queries over the catalogue, by their names."""
    return _queries("recursive")


def history_queries() -> dict[str, str]:
    """The queries over a history with many versions, by their names."""
    return _queries("history")


def inferred_tags(document: Path, fragmentation: Fragmentation = COARSE) -> TagStructure:
    """The Tag Structure of a document of any factor."""
    with document.open("rb") as source:
        tree = infer_from_document(read_document(source, document.name))
    return tag_structure(tree, temporal=[f"//{name}" for name in fragmentation.temporal])


def _queries(folder: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((QUERIES / folder).glob("*.xcql"))}


def _original(factor: str) -> Path | None:
    return next(XMARK.glob(f"auction-{factor}.xml*"), None)


def _write_document(path: Path, factor: str, original: Path | None) -> None:
    if original is None:
        history.write_document(path, float(factor))
        return
    with _OPENERS[original.suffix](original, "rb") as source, path.open("wb") as document:
        shutil.copyfileobj(source, document, 1 << 20)


def _write_fragments(auction: Auction) -> None:
    tags = inferred_tags(auction.document, auction.fragmentation)
    auction.tags_file.write_text(tags_to_xml(tags))
    with auction.document.open("rb") as source, auction.fragments.open("wb", 1 << 20) as target:
        fragment(read_document(source, auction.document.name), tags, VALID, target)
