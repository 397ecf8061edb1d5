"""How fast documents become fragments, and in how much memory: `python -m bench.fragment`.

XMark factor 1 where ../shared/xmark has it, else a document that is made up on the spot.
"""

from __future__ import annotations

import lzma
import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path

from bench import Row, show
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure

XMARK = Path(__file__).parents[2] / "shared" / "xmark" / "auction-1.xml.xz"
TEMPORAL = ["item", "person", "open_auction", "closed_auction", "category"]
RUNS = 3


def run() -> list[Row]:
    """Speed by the processor's time, not the clock's, and the best of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "auction.xml"
        _write_document(document)
        # a process of its own, for the peak of memory is that of a process
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(_measure, (document,))


def _measure(document: Path) -> list[Row]:
    megabytes = document.stat().st_size / 1e6
    output = document.with_name("fragments.xml")
    before = time.process_time()
    with open(document, "rb") as source:
        tree = infer_from_document(read_document(source, document.name))
    inferring = time.process_time() - before
    structure = tag_structure(tree, temporal=[f"//{name}" for name in TEMPORAL])
    seconds = []
    for _ in range(RUNS):
        before = time.process_time()
        with open(document, "rb") as source, open(output, "wb", 1 << 20) as target:
            fragment(read_document(source, document.name), structure, "2003-10-23T00:00:00", target)
        seconds.append(time.process_time() - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = output.stat().st_size / 1e6 / megabytes
    return [
        Row("fragment, one core", megabytes / min(seconds), "MB/s", "at least 30"),
        Row("fragment, peak memory of the process", peak, "MB", "at most 1000"),
        Row("fragment, size of the fragments", size, "x XML"),
        Row("infer-tags, one core", megabytes / inferring, "MB/s"),
    ]


def _write_document(path: Path) -> None:
    if XMARK.exists():
        with lzma.open(XMARK) as packed, open(path, "wb") as document:
            shutil.copyfileobj(packed, document, 1 << 20)
        return
    with open(path, "w") as document:
        document.write("<site>")
        for name in TEMPORAL:
            document.write(f"<all_{name}>")
            for number in range(20_000):
                text = f"<name>{name} {number}</name><text>{'words <b>in</b> it ' * 20}</text>"
                document.write(f'<{name} id="{name}{number}">{text}</{name}>\n')
            document.write(f"</all_{name}>")
        document.write("</site>")


if __name__ == "__main__":
    show("fragment", run())
