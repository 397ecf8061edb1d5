"""A git repository with a long history of recursive documents, made by `git fast-import`.

Systems contain binaries, which contain binaries, stars and planets. Most commits edit one or two
files a little; some insert in the middle, move a planet to another host, delete, rename or restore
files, or break one. `Commits` tells what each file is after each commit, and how few changes
would do: one for each element whose own content changed, came or went, and one for its old and
its new parent.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, cast

FIRST = datetime(2010, 1, 1)
TEMPORAL = ("//system", "//binary", "//star", "//planet")
KEYS = tuple(f"{path}=name[1]" for path in TEMPORAL)


@dataclass(slots=True)
class Body:
    """A system, binary, star or planet; its name is unique in the repository."""

    kind: str
    name: str
    values: dict[str, str] = field(default_factory=dict)
    bodies: list[Body] = field(default_factory=list)

    def text(self, indent: str = "") -> str:
        inner = indent + "\t"
        lines = [f"{indent}<{self.kind}>", f"{inner}<name>{self.name}</name>"]
        lines += [f"{inner}<{name}>{value}</{name}>" for name, value in self.values.items()]
        lines += [body.text(inner) for body in self.bodies]
        return "\n".join([*lines, f"{indent}</{self.kind}>"])

    def all(self) -> Iterator[Body]:
        yield self
        for body in self.bodies:
            yield from body.all()

    def own(self) -> tuple[object, ...]:
        """What its filler says: everything except what is in its bodies."""
        return self.kind, self.name, *self.values.items(), *(body.name for body in self.bodies)


@dataclass(slots=True)
class Commit:
    """The files after a commit, as far as they can be read, and the fewest changes."""

    time: datetime
    files: dict[str, str]
    changes: int


class Repository:
    """Writes the commits; `commits` has what each of them must look like."""

    def __init__(self, folder: Path, files: int, seed: int = 1) -> None:
        self.folder = folder
        self.commits: list[Commit] = []
        self._random = random.Random(seed)
        self._numbers = iter(range(10**9))
        self._systems: dict[str, Body] = {}
        self._gone: dict[str, Body] = {}
        self._time = FIRST
        subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
        for _ in range(files):
            system = self._system()
            self._systems[self._path(system)] = system
        self._first = True

    def add(self, count: int) -> None:
        """Add commits to the branch `main`."""
        process = subprocess.Popen(
            ["git", "-C", str(self.folder), "fast-import", "--quiet"], stdin=subprocess.PIPE
        )
        with process, cast(BinaryIO, process.stdin) as stdin:
            for number in range(count):
                self._commit(stdin, number == 0)
        assert process.returncode == 0

    def _commit(self, stdin: BinaryIO, is_first: bool) -> None:
        before = {} if self._first else self._shapes()
        commands: list[bytes] = []
        if self._first:
            for path, system in self._systems.items():
                commands.append(self._modify(path, system.text() + "\n"))
        else:
            kinds = ["edit"] * 60 + ["insert"] * 12 + ["move"] * 8 + ["remove"] * 6
            kinds += ["delete"] * 4 + ["rename"] * 4 + ["restore"] * 2 + ["break"] * 4
            for _ in range(self._random.choice((1, 1, 1, 2, 3))):
                commands += self._edit(self._random.choice(kinds))
        self._time += timedelta(seconds=self._random.randrange(60, 90_000))
        seconds = int((self._time - datetime(1970, 1, 1)).total_seconds())
        head = f"commit refs/heads/main\ncommitter A <a@b> {seconds} +0000\ndata 1\nc\n"
        parent = "" if self._first or not is_first else "from refs/heads/main^0\n"
        stdin.write(head.encode() + parent.encode() + b"".join(commands) + b"\n")
        self._first = False
        after = self._shapes()
        changes = sum(after.get(name) != before.get(name) for name in {*before, *after})
        files = {path: system.text() for path, system in self._systems.items()}
        self.commits.append(Commit(self._time, files, changes))

    def _shapes(self) -> dict[str, object]:
        """What each filler says, by the name of its body; a file has its path and its system."""
        shapes: dict[str, object] = {}
        for path, system in self._systems.items():
            shapes[f"file {system.name}"] = path
            shapes |= {body.name: body.own() for body in system.all()}
        return shapes

    def _edit(self, kind: str) -> list[bytes]:
        chosen = self._random
        path = chosen.choice(list(self._systems))
        system = self._systems[path]
        if kind == "break":
            # it stays as it was, until another commit changes it
            return [self._modify(path, system.text().replace("</name>", "</nome>", 1) + "\n")]
        if kind == "restore" and self._gone:
            path = chosen.choice(list(self._gone))
            self._systems[path] = self._gone.pop(path)
            return [self._modify(path, self._systems[path].text() + "\n")]
        if kind == "delete":
            self._gone[path] = self._systems.pop(path)
            return [b"D " + path.encode() + b"\n"]
        if kind == "rename":
            target = f"systems/{chosen.choice('pqr')}-{next(self._numbers)}.xml"
            self._systems[target] = self._systems.pop(path)
            return [b"D " + path.encode() + b"\n", self._modify(target, system.text() + "\n")]
        bodies = list(system.all())
        body = chosen.choice(bodies)
        hosts = [one for one in bodies if one.kind in ("binary", "star")]
        if kind == "insert":
            host = chosen.choice(hosts)
            host.bodies.insert(chosen.randrange(len(host.bodies) + 1), self._planet())
        elif kind == "move" and len(hosts) > 1:
            source, target = chosen.sample(hosts, 2)
            planets = [one for one in source.bodies if one.kind == "planet"]
            if planets:
                planet = chosen.choice(planets)
                source.bodies.remove(planet)
                target.bodies.insert(chosen.randrange(len(target.bodies) + 1), planet)
        elif kind == "remove":
            host = chosen.choice(hosts)
            planets = [one for one in host.bodies if one.kind == "planet"]
            if planets:
                host.bodies.remove(chosen.choice(planets))
        else:
            body.values["mass"] = f"{chosen.uniform(0, 30):.4f}"
        return [self._modify(path, system.text() + "\n")]

    def _modify(self, path: str, text: str) -> bytes:
        data = text.encode()
        return b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(data), data)

    def _path(self, system: Body) -> str:
        return f"systems/{system.name.replace(' ', '_')}.xml"

    def _system(self) -> Body:
        system = Body("system", self._name("S"), self._values())
        for _ in range(self._random.choice((1, 1, 2))):
            system.bodies.append(self._host(2))
        return system

    def _host(self, depth: int) -> Body:
        kind = self._random.choice(("binary", "star")) if depth else "star"
        host = Body(kind, self._name(kind[0].upper()), self._values())
        if kind == "binary":
            host.bodies = [self._host(depth - 1) for _ in range(2)]
        host.bodies += [self._planet() for _ in range(self._random.randrange(4))]
        return host

    def _planet(self) -> Body:
        return Body("planet", self._name("P"), {**self._values(), "list": "Confirmed planets"})

    def _name(self, letter: str) -> str:
        return f"{letter} {next(self._numbers)}"

    def _values(self) -> dict[str, str]:
        names = ("mass", "radius", "period", "magnitude")
        return {name: f"{self._random.uniform(0, 50):.3f}" for name in names}
