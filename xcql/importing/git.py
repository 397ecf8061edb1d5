"""A git repository as a source: each commit that changes certain files is a revision.

`git log` lists the changes along the first parents, `git cat-file` returns the contents; nothing in
the repository is run or changed. Files that git recognises as renamed are the same files.

Commits count at their commit times, in the order of the history. A time that goes backwards, or
that most later times precede, becomes a microsecond after the time before it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, cast

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.importing.revisions import Cursor, FileChange, Revision, ascending_times
from xcql.model.time import parse_time

# larger files are skipped
MAX_BYTES = 64 << 20

# begins the line of a commit
_COMMIT = b"\x01"
_REGULAR = ("100644", "100755")
# no hooks, filters, signatures or fetching, whatever the repository's settings are
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false"),
    *("-c", "log.showRoot=true", "-c", "diff.renames=true", "-c", "core.attributesFile=/dev/null"),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "0",
    "LC_ALL": "C",
}
_RAW = ("--raw", "--no-abbrev", "-z", "-M", "-l2000", "--no-ext-diff", "--no-textconv")


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    time: datetime
    parts: tuple[FileChange, ...]


class GitHistory:
    """The commits of a branch that change the files at some paths.

    `every` keeps the last commit of each `day` or `month`. What was before `since` becomes one
    revision.
    """

    kind = "git"
    root = "files"

    def __init__(
        self,
        repository: str,
        paths: Sequence[str],
        revision: str = "HEAD",
        every: str | None = None,
        since: str | None = None,
    ) -> None:
        self.warnings: list[Diagnostic] = []
        self._repository, self._paths, self._revision = repository, list(paths), revision
        self._every = every
        self._since = parse_time(since) if since is not None else None
        self._since_text = since
        self._contents: _Contents | None = None

    @property
    def options(self) -> Mapping[str, Any]:
        return {"path": self._paths, "every": self._every, "since": self._since_text}

    def revisions(self, cursor: Cursor | None) -> list[Revision]:
        tip = self._commit_of(self._revision)
        last = cursor["commit"] if cursor else None
        if last == tip:
            return []
        commits = self._commits(last, tip)
        after = datetime.fromisoformat(cursor["time"]) if cursor else None
        times = ascending_times([one.time for one in commits], after)
        groups: list[tuple[datetime, list[_Commit]]] = []
        for commit, time in zip(commits, times, strict=True):
            if groups and self._are_one(groups[-1][0], time):
                groups[-1] = time, [*groups[-1][1], commit]
            else:
                groups.append((time, [commit]))
        return [
            Revision(time, group[-1].id[:12], parts, {"commit": group[-1].id, "time": f"{time}"})
            for time, group in groups
            if (parts := _combined(group))
        ]

    def read(self, content: str) -> bytes:
        if self._contents is None:
            self._contents = _Contents(self._command("cat-file", "--batch"))
        return self._contents.read(content)

    def close(self) -> None:
        """End the process of git that returns contents."""
        if self._contents is not None:
            self._contents.close()
            self._contents = None

    def _are_one(self, before: datetime, time: datetime) -> bool:
        """Whether two successive commits are one revision."""
        if self._since is not None and time < self._since:
            return True
        if self._since is not None and before < self._since:
            return False
        if self._every == "day":
            return before.date() == time.date()
        return self._every == "month" and (before.year, before.month) == (time.year, time.month)

    def _commits(self, last: str | None, tip: str) -> list[_Commit]:
        paths = [f":(top,glob){path}" for path in self._paths]
        if last is not None and not self._is_on_the_way(last, tip):
            self.warnings.append(
                warning(
                    "XCQL0263",
                    f"the history of {self._revision} was rewritten: what changed since the commit"
                    f" {last[:12]} becomes one revision",
                )
            )
            time = self._output("show", "-s", "--format=%ct", tip).strip()
            fields = self._fields("diff-tree", "-r", *_RAW, last, tip, "--", *paths)
            parts = tuple(_part(entry, fields) for entry in fields if entry)
            return [_Commit(tip, _time(time.decode()), parts)]
        arguments = ["--first-parent", "-m", "--reverse", "--format=%x01%H %ct", *_RAW]
        which = tip if last is None else f"{last}..{tip}"
        return list(_commits_in(self._fields("log", *arguments, which, "--", *paths)))

    def _is_on_the_way(self, last: str, tip: str) -> bool:
        """Whether a commit is among the first parents of the tip."""
        known = self._output("cat-file", "-t", last, check=False).strip() == b"commit"
        if not known:
            raise error(
                "XCQL0265",
                f"the repository has no commit {last}, at which the last import ended",
                hints=["fetch it, or import into another stream"],
            )
        first = self._output("rev-list", "--first-parent", tip, check=False).split()
        return last.encode() in first

    def _commit_of(self, revision: str) -> str:
        found = self._output(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            check=False,
        ).strip()
        if not found:
            reason = self._output("rev-parse", "--git-dir", check=False, errors=True)
            if reason.startswith(b"fatal:"):
                raise error(
                    "XCQL0264",
                    f"'{self._repository}' is not a git repository",
                    notes=[reason.decode("utf-8", "replace").strip().partition("\n")[0]],
                )
            raise error(
                "XCQL0264",
                f"'{self._repository}' has no commit '{revision}'",
                hints=["give a branch: --branch main, --branch origin/main"],
            )
        return found.decode()

    def _command(self, *arguments: str) -> list[str]:
        return ["git", *_SAFE, "-C", self._repository, *arguments]

    def _output(self, *arguments: str, check: bool = True, errors: bool = False) -> bytes:
        try:
            done = subprocess.run(
                self._command(*arguments),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors else subprocess.PIPE,
                env={**os.environ, **_ENVIRONMENT},
                check=False,
            )
        except FileNotFoundError:
            raise _no_git() from None
        if check and done.returncode:
            raise _failed(done.stderr)
        return done.stdout

    def _fields(self, *arguments: str) -> Iterator[bytes]:
        """The output of a command, which is separated by null characters."""
        with tempfile.TemporaryFile() as problems:
            try:
                process = subprocess.Popen(
                    self._command(*arguments),
                    stdout=subprocess.PIPE,
                    stderr=problems,
                    env={**os.environ, **_ENVIRONMENT},
                )
            except FileNotFoundError:
                raise _no_git() from None
            with process:
                output = cast("IO[bytes]", process.stdout)
                rest = b""
                while data := output.read(1 << 16):
                    *fields, rest = (rest + data).split(b"\0")
                    yield from fields
                if rest.strip():
                    yield rest
            if process.returncode:
                problems.seek(0)
                raise _failed(problems.read())


def _commits_in(fields: Iterator[bytes]) -> Iterator[_Commit]:
    """The commits in the output of `git log --raw -z`."""
    head: bytes | None = None
    parts: list[FileChange] = []
    for field in fields:
        if field.startswith(_COMMIT):
            if head is not None:
                yield _commit(head, parts)
            head, parts = field, []
        elif entry := field.lstrip(b"\n"):
            # takes its paths, which may look like anything, from the fields
            parts.append(_part(entry, fields))
    if head is not None:
        yield _commit(head, parts)


def _commit(head: bytes, parts: Sequence[FileChange]) -> _Commit:
    id, _, time = head.removeprefix(_COMMIT).decode("ascii").partition(" ")
    return _Commit(id, _time(time), tuple(parts))


def _part(entry: bytes, fields: Iterator[bytes]) -> FileChange:
    """A change in raw form: modes and contents before and after, a letter, and one or two paths."""
    _, mode, _, content, letter = entry[1:].decode("ascii").split(" ")
    place = _text(next(fields))
    origin = None
    if letter[0] in "RC":
        origin, place = place, _text(next(fields))
    if mode not in _REGULAR:
        # deleted, or replaced by a link or a submodule
        return FileChange(origin if letter[0] == "R" and origin else place, None)
    return FileChange(place, content, origin if letter[0] == "R" else None)


def _text(path: bytes) -> str:
    """A path as text; bytes that XML cannot hold are replaced."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(
        one if one >= " " and one not in "\ufffe\uffff" else ascii(one)[1:-1] for one in text
    )


def _time(seconds: str) -> datetime:
    """A commit's time; impossible ones become the nearest possible ones."""
    limit = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())
    return datetime.fromtimestamp(max(0, min(int(seconds), limit)), UTC).replace(tzinfo=None)


def _combined(commits: Sequence[_Commit]) -> tuple[FileChange, ...]:
    """What several commits in a row change, in order of place."""
    if len(commits) == 1:
        return tuple(sorted(commits[0].parts, key=lambda part: part.place))
    # where each file is now: its content, and where it was at the beginning
    now: dict[str, tuple[str | None, str | None]] = {}
    for commit in commits:
        before = dict(now)
        for part in commit.parts:
            if part.previous is not None:
                now[part.previous] = None, before.get(part.previous, (None, part.previous))[1]
        for part in commit.parts:
            origin: str | None = part.place
            if part.previous is not None:
                origin = before.get(part.previous, (None, part.previous))[1]
            elif part.place in before:
                origin = before[part.place][1]
            now[part.place] = part.content, origin
    moved = {
        origin: place
        for place, (content, origin) in now.items()
        if content is not None and origin is not None and origin != place
    }
    parts = []
    for place, (content, origin) in now.items():
        if content is not None:
            is_moved = origin is not None and origin != place
            parts.append(FileChange(place, content, origin if is_moved else None))
        elif place not in moved:
            parts.append(FileChange(place, None))
    return tuple(sorted(parts, key=lambda part: part.place))


class _Contents:
    """A process of `git cat-file --batch`."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
            )
        except FileNotFoundError:
            raise _no_git() from None

    def read(self, content: str) -> bytes:
        requests, answers = cast("IO[bytes]", self._process.stdin), self._process.stdout
        assert answers is not None
        try:
            requests.write(content.encode("ascii") + b"\n")
            requests.flush()
        except OSError:
            raise _failed(b"git cat-file ended") from None
        head = answers.readline().split()
        if len(head) != 3:
            raise error("XCQL0264", f"git cannot read the object {content}")
        size = int(head[2])
        if size > MAX_BYTES:
            left = size + 1
            while left and (skipped := answers.read(min(left, 1 << 20))):
                left -= len(skipped)
            raise error("XCQL0264", f"it has {size:,} bytes; at most {MAX_BYTES:,} are read")
        data = answers.read(size + 1)
        if len(data) != size + 1:
            raise _failed(b"git cat-file ended")
        return data[:-1]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _no_git() -> XcqlError:
    return error("XCQL0264", "the command 'git' is not installed", hints=["install git"])


def _failed(problem: bytes) -> XcqlError:
    text = problem.decode("utf-8", "replace").strip().partition("\n")[0]
    return error("XCQL0264", f"git failed: {text or 'it said nothing'}")
