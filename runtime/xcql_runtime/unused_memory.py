"""Memory that is used no more, given back to the system.

What has been freed, allocators keep for the next time. A process that waits leaves it to those that
work.
"""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_back() -> None:
    """Keep no memory for a next time."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        # glibc has it; others give back by themselves
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
