"""Run every benchmark, or those named: `python -m bench parse`."""

from __future__ import annotations

import sys
from importlib import import_module

from bench import show

BENCHMARKS = ("parse", "fragment", "ingest", "translate", "xmark")


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        show(name, import_module(f"bench.{name}").run())


if __name__ == "__main__":
    main()
