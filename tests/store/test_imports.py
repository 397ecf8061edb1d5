"""The store needs pyarrow, but neither Spark nor the runtime."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import xcql.store

_MODULES = sorted(one.name for one in pkgutil.walk_packages(xcql.store.__path__, "xcql.store."))
_PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"py4j", "pyspark", "xcql_runtime"}))
"""


def test_no_module_of_the_store_imports_spark() -> None:
    command = [sys.executable, "-c", _PROGRAM, *_MODULES]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "\n"
    assert "xcql.store.ingest" in _MODULES
