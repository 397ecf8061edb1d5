"""SaxonC-HE, through its Python package: parses the document once, and queries the tree."""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.peers.peer import DOCUMENT, plain, with_variable
from bench.peers.process import WorkerEngine, run_command, serve


class Saxon:
    name = "SaxonC-HE"

    def unavailable(self) -> str | None:
        return None if find_spec("saxonche") else "the package saxonche is not installed"

    def version(self) -> str:
        return version("saxonche")

    def start(self, folder: Path) -> SaxonEngine:
        return SaxonEngine(folder)

    def cold(self, document: Path, text: str, answer: Path, patience: float) -> float:
        query = answer.with_suffix(".xq")
        query.write_text(plain(text, f'doc("{document.as_uri()}")'))
        command = [sys.executable, "-m", "bench.peers.saxon", str(query)]
        return run_command(command, answer, answer.with_suffix(".log"), patience)


class SaxonEngine(WorkerEngine):
    """Saxon in a separate process, with a document in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__("bench.peers.saxon", folder)

    def query(self, text: str, answer: Path, patience: float) -> float:
        return self.standard(with_variable(text), answer, patience, DOCUMENT.removeprefix("$"))

    def standard(self, xquery: str, answer: Path, patience: float, parameter: str) -> float:
        """Standard XQuery, in which the document is the value of the named variable."""
        return self.asked(patience, answer, text=xquery, parameter=parameter)


class _Process:
    """The code inside Saxon's process."""

    def __init__(self) -> None:
        from saxonche import PySaxonProcessor  # type: ignore[import-not-found]

        self._processor = PySaxonProcessor(license=False)
        self._document: Any = None

    def load(self, document: str) -> dict[str, float]:
        begin = time.perf_counter()
        self._document = self._processor.parse_xml(xml_file_name=document)
        return {"seconds": time.perf_counter() - begin}

    def query(self, text: str, answer: str, parameter: str) -> dict[str, float]:
        from xcql.translate.library import library_path

        begin = time.perf_counter()
        xquery = self._processor.new_xquery_processor()
        # emitted queries import our library
        xquery.set_query_base_uri(library_path().as_uri())
        xquery.set_query_content(text)
        xquery.set_parameter(parameter, self._document)
        _set_form(xquery)
        value = xquery.run_query_to_string()
        seconds = time.perf_counter() - begin
        Path(answer).write_text(value or "")
        return {"seconds": seconds}


def _set_form(xquery: Any) -> None:
    """Write one item per line; otherwise adjacent texts would merge."""
    xquery.set_property("!omit-xml-declaration", "yes")
    xquery.set_property("!item-separator", "\n")


def _cold(query: str) -> None:
    from saxonche import PySaxonProcessor

    xquery = PySaxonProcessor(license=False).new_xquery_processor()
    xquery.set_query_file(query)
    _set_form(xquery)
    sys.stdout.write(xquery.run_query_to_string() or "")


if __name__ == "__main__":
    if sys.argv[1:]:
        _cold(sys.argv[1])
    else:
        _process = _Process()
        serve(load=_process.load, query=_process.query)
