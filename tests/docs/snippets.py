"""The fenced blocks of a Markdown file, run one after the other as a reader would run them.

| block | content |
| --- | --- |
| `console` | commands after `$ `, each with its output (`...` stands for any text); a command that
| | ends in `&` runs in the background |
| `python` | a script, or a session with `>>>` and its output |
| `xquery SAMPLE` | a query over a sample; the `xml` block after it is the answer |
| `xquery` | a query that must parse |
| `sh` | make targets; only their existence is checked, because running them would run this test |
| `mermaid`, `text`, `xml` | not run |

A block of another kind is an error: every block in a document is tested.
"""

from __future__ import annotations

import atexit
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import xcql
from tests.samples.all_samples import NOW, streams
from xcql.cli.main import main

ROOT = Path(__file__).parents[2]
SILENT = frozenset({"mermaid", "text", "xml", "yaml"})
_FENCE = re.compile(r"^```(.*)$")

Shell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its kind, the text after the kind, its content and line."""

    kind: str
    info: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    begin: tuple[int, str] | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if begin is None:
            begin = number, fence[1]
        else:
            kind, _, info = begin[1].partition(" ")
            body = "\n".join(lines[begin[0] + 1 : number])
            found.append(Block(kind, info.strip(), body, begin[0] + 1))
            begin = None
    assert begin is None, "a block is not closed"
    return found


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown."""
    found: list[tuple[list[str], list[str]]] = []
    goes_on = False
    for line in block.text.split("\n"):
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif goes_on:
            found[-1][0].append(line)
        else:
            assert found, f"line {block.line}: output without a command"
            found[-1][1].append(line)
            continue
        goes_on = line.endswith("\\")
    return [("\n".join(command), "\n".join(output)) for command, output in found]


def matches(expected: str, actual: str) -> bool:
    """Whether two texts are equal, except for what `...` stands for."""
    pattern = ".*".join(map(re.escape, expected.strip("\n").split("...")))
    return re.fullmatch(pattern, actual.strip("\n"), re.DOTALL) is not None


def run_here(command: str) -> str:
    """The output of a command; `xcqlc` runs in this process, everything else in a shell."""
    if command.startswith("xcqlc ") and command.endswith(" &"):
        arguments = shlex.split(command.replace("\\\n", " "))[1:-1]
        module = [sys.executable, "-m", "xcql.cli.main", *arguments]
        beside = subprocess.Popen(module, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(beside.kill)
        # it ends by itself, but nothing waits for it
        threading.Thread(target=beside.wait, daemon=True).start()
        return ""
    left, bar, right = command.partition(" | xcqlc ")
    if bar:
        return _xcqlc(shlex.split(right), _in_shell(left))
    if command.startswith("xcqlc "):
        return _xcqlc(shlex.split(command.replace("\\\n", " "))[1:])
    return _in_shell(command)


def _xcqlc(arguments: list[str], stdin: str = "") -> str:
    told = io.BytesIO()
    out, err = (io.TextIOWrapper(told, "utf-8", write_through=True) for _ in range(2))
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    try:
        both = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        # argparse exits after `--help`
        with both[0], both[1], contextlib.suppress(SystemExit):
            main(arguments)
        return told.getvalue().decode("utf-8")
    finally:
        sys.stdin = before
        out.detach()
        err.detach()


def _in_shell(command: str, path: str = str(Path(sys.executable).parent)) -> str:
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
        timeout=300,
    )
    return done.stdout


def run_document(path: Path, shell: Shell = run_here, rewrite: bool = False) -> None:
    """Run all blocks of a document in the current folder; `rewrite` updates their output."""
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(text)
    for block, after in zip_longest(found, found[1:]):
        place = f"{path.name}:{block.line}"
        match block.kind:
            case "console":
                shown = []
                for command, expected in commands(block):
                    actual = shell(command).strip("\n")
                    same = matches(expected, actual)
                    assert same or rewrite, f"{place}: {command}\n{actual}"
                    told = expected if same else actual
                    shown.append(f"$ {command}" + (f"\n{told}" if told else ""))
                text = text.replace(block.text, "\n".join(shown), 1)
            case "python":
                _python(block, names, place)
            case "xquery" if block.info:
                sample = block.info
                answer = xcql.evaluate(block.text, streams=streams(sample), now=NOW[sample])
                assert not answer.warnings, place
                actual = "\n".join(item.xml for item in answer)
                assert after is not None, f"{place}: no answer"
                assert after.kind == "xml", f"{place}: no answer"
                if rewrite:
                    old = f"{block.text}\n```\n\n```xml\n{after.text}"
                    assert old in text, place
                    text = text.replace(old, f"{block.text}\n```\n\n```xml\n{actual}", 1)
                else:
                    assert after.text == actual, f"{place}\n{actual}"
            case "sh":
                makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
                for line in block.text.split("\n"):
                    assert line.startswith("make "), f"{place}: only make goes untried: {line}"
                    assert f"\n{line.split()[1]}:" in makefile, f"{place}: {line}"
            case "xquery":
                xcql.parse(block.text)
            case kind:
                assert kind in SILENT, f"{place}: what is a block of {kind!r}?"
    if rewrite:
        path.write_text(text, encoding="utf-8")


def _python(block: Block, names: dict[str, Any], place: str) -> None:
    if ">>> " not in block.text:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.text, place, "exec"), names)
        return
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(block.text + "\n", names, place, place, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=told.append, clear_globs=False)
    names.update(test.globs)
    assert not told, "".join(told)
