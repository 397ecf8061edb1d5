"""Programs that run queries through pipes, and can be stopped when an answer takes too long.

An engine in a separate process has its own memory, and can be stopped at its time limit.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.machine import ROOT

# the time limit for loading a document
LOADING = 600.0
# how many characters at the end of its log say why a program has ended
_LAST_WORDS = 600


class TooLong(Exception):
    """It was stopped at its time limit."""


class Failed(Exception):
    """It failed; the text says why."""


class Ended(Failed):
    """It has ended, and must be restarted; the text is its last output."""


class Program:
    """A running program: takes lines, returns its output up to a marker."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env=_environment(),
                start_new_session=True,
            )
        self._heard = bytearray()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # it ended by itself, or was stopped before
            raise self._ended() from None

    def hear(self, mark: bytes, patience: float) -> bytes:
        """Its output before the marker; `TooLong` stops it."""
        assert self._process.stdout is not None
        until, searched = time.monotonic() + patience, 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while (found := self._heard.find(mark, searched)) < 0:
                # a marker can span two chunks
                searched = max(0, len(self._heard) - len(mark))
                if not selector.select(max(0.0, until - time.monotonic())):
                    self.stop()
                    raise TooLong(f"more than {patience:g} s")
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise self._ended()
                self._heard += piece
        said = bytes(self._heard[:found])
        del self._heard[: found + len(mark)]
        return said

    def stop(self) -> None:
        """Stop it, with all its child processes."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue

    def _ended(self) -> Ended:
        self.stop()
        words = self._log.read_text(errors="replace")[-_LAST_WORDS:].strip()
        return Ended(words or f"it ended with code {self._process.returncode}")


class Worker:
    """A Python program of ours that handles requests, one line of JSON each way."""

    def __init__(self, module: str, log: Path, python: str = sys.executable) -> None:
        self._program = Program([python, "-m", module], log)

    def ask(self, what: str, patience: float, **arguments: Any) -> dict[str, Any]:
        self._program.say(json.dumps({"do": what, **arguments}))
        reply: dict[str, Any] = json.loads(self._program.hear(b"\n", patience))
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def stop(self) -> None:
        self._program.stop()


class WorkerEngine:
    """An engine in a worker; if it was stopped, it restarts when needed."""

    def __init__(self, module: str, folder: Path, python: str = sys.executable) -> None:
        self._module, self._python = module, python
        self._log = folder / f"{module}.log"
        self._document: Path | None = None
        self._worker: Worker | None = None

    def load(self, document: Path) -> float:
        self.stop()
        self._document = document
        self._worker = Worker(self._module, self._log, self._python)
        seconds: float = self._worker.ask("load", LOADING, document=str(document))["seconds"]
        return seconds

    def asked(self, patience: float, answer: Path, **query: str) -> float:
        """Run a query into a file; return the seconds."""
        if self._worker is None:
            assert self._document is not None
            self.load(self._document)
        assert self._worker is not None
        try:
            reply = self._worker.ask("query", patience, answer=str(answer), **query)
        except (TooLong, Ended):
            self._worker = None
            raise
        seconds: float = reply["seconds"]
        return seconds

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None


def serve(**actions: Callable[..., Mapping[str, Any] | None]) -> None:
    """The other end of a `Worker`: handle requests until there are no more."""
    # output of libraries is not a reply
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        action = actions[request.pop("do")]
        try:
            reply = action(**request) or {}
        except Exception as problem:  # report any problem to the other end
            reply = {"error": f"{type(problem).__name__}: {problem}"[:_LAST_WORDS]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def run_command(
    command: Sequence[str],
    answer: Path,
    log: Path,
    patience: float,
    **environment: str,
) -> float:
    """Run a program, with its output in a file; return the seconds."""
    begin = time.perf_counter()
    with answer.open("wb") as output, log.open("ab") as errors:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=errors,
            cwd=ROOT,
            env=_environment() | environment,
            start_new_session=True,
        )
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise TooLong(f"more than {patience:g} s") from None
    if code:
        raise Failed(log.read_text(errors="replace")[-_LAST_WORDS:].strip())
    return time.perf_counter() - begin


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")])}
