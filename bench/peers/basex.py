"""BaseX, through its console: creates a database once, and runs queries in one Java process.

BaseX itself reports how long a query took, including parsing and printing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from bench.peers.peer import plain
from bench.peers.process import LOADING, Ended, Failed, Program, TooLong, run_command

_CREATED = re.compile(rb"created in ([\d.]+) ms")
_TOTAL = re.compile(rb"Total Time: ([\d.]+) ms")
# Debian's path; without jline, the console reads from a pipe
_JAR = "/usr/share/java/basex.jar"
_END = "end-of-the-answer"
_INFORMATION = b"\nQuery:\n"


class BaseX:
    name = "BaseX"

    def unavailable(self) -> str | None:
        here = shutil.which("basex") and Path(_JAR).exists()
        return None if here else "the Debian package basex is not installed"

    def version(self) -> str:
        said = subprocess.run(["basex", "-h"], capture_output=True, text=True)
        found = re.search(r"BaseX ([\d.]+)", said.stdout + said.stderr)
        return found[1] if found else ""

    def start(self, folder: Path) -> BaseXEngine:
        return BaseXEngine(folder)

    def cold(self, document: Path, text: str, answer: Path, patience: float) -> float:
        query = answer.with_suffix(".xq")
        query.write_text(plain(text, f'doc("{document}")'))
        command = ["basex", "-w", "-sindent=no", str(query)]
        return run_command(command, answer, answer.with_suffix(".log"), patience)


class BaseXEngine:
    """BaseX with one database, on disk: after a stop, it finds the database again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program: Program | None = None

    def load(self, document: Path) -> float:
        said = self._command(f"CREATE DB auction {document}", LOADING)
        found = _CREATED.search(said)
        if not found:
            raise Failed(said.decode(errors="replace").strip())
        return float(found[1]) / 1000

    def query(self, text: str, answer: Path, patience: float) -> float:
        query = answer.with_suffix(".xq")
        query.write_text(plain(text, 'db:open("auction")'))
        said = self._command(f"RUN {query}", patience)
        times, end = _TOTAL.findall(said), said.rfind(_INFORMATION)
        if not times or end < 0:
            raise Failed((self._folder / "basex.log").read_text()[-300:].strip())
        answer.write_bytes(said[:end])
        return float(times[-1]) / 1000

    def stop(self) -> None:
        if self._program is not None:
            self._program.stop()
            self._program = None

    def _command(self, command: str, patience: float) -> bytes:
        """The output of BaseX for a command, without its prompt."""
        program = self._program or self._started()
        try:
            program.say(command)
            program.say(f'XQUERY "{_END}"')
            said = program.hear(f"> {_END}\n".encode(), patience)
            program.hear(b" executed in ", 10.0)
            program.hear(b"\n", 10.0)
        except (TooLong, Ended):
            self._program = None
            raise
        return said.removeprefix(b"> ")

    def _started(self) -> Program:
        command = ["java", _database(self._folder), "-cp", _JAR, "org.basex.BaseX"]
        self._program = Program(command, self._folder / "basex.log")
        # white space is significant in mixed content
        for setting in ("CHOP false", "QUERYINFO true", "SERIALIZER indent=no"):
            self._program.say(f"SET {setting}")
        self._program.hear(b"SERIALIZER: indent=no\n", 60.0)
        return self._program


def _database(folder: Path) -> str:
    return f"-Dorg.basex.DBPATH={folder}/basex"
