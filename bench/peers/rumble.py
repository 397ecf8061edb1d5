"""RumbleDB, through its Python package `jsoniq`, which needs its own Spark and so its own venv.

`make bench-peers` makes the venv. The document is a tree in memory, bound to a variable. The query
itself writes its items as XML: otherwise RumbleDB passes only the names of items to Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from bench.peers.peer import DOCUMENT, plain, with_variable
from bench.peers.process import WorkerEngine, run_command, serve

PYTHON = ROOT / "bench" / ".peers" / "rumble" / "bin" / "python"
_XQUERY = 'xquery version "3.1";\n'


class Rumble:
    name = "RumbleDB"

    def unavailable(self) -> str | None:
        return None if PYTHON.exists() else "'make bench-peers' installs it"

    def version(self) -> str:
        program = "from importlib.metadata import version; print(version('jsoniq'))"
        said = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True)
        return said.stdout.strip()

    def start(self, folder: Path) -> RumbleEngine:
        return RumbleEngine(folder)

    def cold(self, document: Path, text: str, answer: Path, patience: float) -> float:
        query = answer.with_suffix(".xq")
        query.write_text(_XQUERY + written(plain(text, f'doc("{document.as_uri()}")')))
        command = [str(PYTHON), "-m", "bench.peers.rumble", str(query)]
        return run_command(command, answer, answer.with_suffix(".log"), patience)


class RumbleEngine(WorkerEngine):
    """RumbleDB in a separate process, with a document in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__("bench.peers.rumble", folder, str(PYTHON))

    def query(self, text: str, answer: Path, patience: float) -> float:
        return self.asked(patience, answer, text=_XQUERY + with_variable(written(text)))


def written(query: str) -> str:
    """A query whose only item is the text of all items, one per line.

    >>> print(written("declare function local:f() { 1 };\\nlocal:f(), <a/>"))
    declare function local:f() { 1 };
    string-join((
    local:f(), <a/>
    ) ! serialize(.), "&#10;")
    """
    prolog, end, body = query.rpartition("};")
    return f'{prolog}{end}\nstring-join(({body}\n) ! serialize(.), "&#10;")'.lstrip()


class _Process:
    """The code inside RumbleDB's process, with its own Python."""

    def __init__(self) -> None:
        from jsoniq import RumbleSession  # type: ignore[import-not-found]

        builder = RumbleSession.builder.config("spark.ui.enabled", "false")
        self._rumble: Any = builder.config("spark.driver.memory", "8g").getOrCreate()
        for cap in ("runtime.materializationCap", "runtime.resultsSizeCap"):
            self._rumble.getRumbleConf().set(cap, 1_000_000_000)

    def load(self, document: str) -> dict[str, float]:
        begin = time.perf_counter()
        items = self._rumble.jsoniq(f'{_XQUERY}doc("file://{document}")').items()
        self._rumble.bind(DOCUMENT, items)
        return {"seconds": time.perf_counter() - begin}

    def query(self, text: str, answer: str) -> dict[str, float]:
        begin = time.perf_counter()
        try:
            found = self.answer(text)
        except Exception as problem:
            # the reason comes after the output of Python and Java
            reason = re.search(r"Message: (.*)", str(problem))
            raise RuntimeError(reason[1] if reason else str(problem)) from None
        seconds = time.perf_counter() - begin
        Path(answer).write_text(found)
        return {"seconds": seconds}

    def answer(self, text: str) -> str:
        whole: str = self._rumble.jsoniq(text).items()[0].getStringValue()
        return whole


if __name__ == "__main__":
    _process = _Process()
    if sys.argv[1:]:
        sys.stdout.write(_process.answer(Path(sys.argv[1]).read_text()))
    else:
        serve(load=_process.load, query=_process.query)
