"""Runs the QT3 cases of ../shared on the embedded engine, and compares it with the evaluator.

    make qt3 ENGINE=embedded          all cases, the rates, and what has changed
    python tools/qt3.py --engine embedded --sample 500 --seed 4 --cases REGEX --list

The evaluator defines the right answer, and an answer of the engine is XML text without types. So a
case passes if the evaluator passes it and the engine gives the same items, as XML, or an error with
the same code, for the case's query and for each query with which the runner checks an assertion.

A context document is a stream of its own, as `--doc` makes it. The view of this stream is not
always the same document. If an answer is right for the view, but not for the document, the case is
counted apart, with what the stream does not hold.

tests/runtime/embedded/qt3_known_differences.txt lists the cases that differ, each with its reason.
A case that differs and is not listed, or is listed and does not differ, makes the run fail: the
list can only shrink.

Tests: tests/runtime/embedded/test_qt3.py
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import xcql
from xcql.diagnostics import XcqlError
from xcql.history.stream import plain_view, stream_view
from xcql.model.documents import read_document
from xcql.model.fragmenter import fragment
from xcql.model.infer import infer_from_document, tag_structure
from xcql.model.tags import TagStructure
from xcql.temporary import temporary_folder
from xcql.xdm.nodes import DocumentNode, ElementNode

ROOT = Path(__file__).resolve().parents[1]
KNOWN_DIFFERENCES = ROOT / "tests/runtime/embedded/qt3_known_differences.txt"
# seconds for one case, with all its assertions
PATIENCE = 30.0
_STREAM = "document"
_ROW_BY_ROW = re.compile(r"^evaluated row by row(?: at \d+:\d+)?: (.*)$", re.MULTILINE)

# how a query was answered
NATIVE, PARTLY, EVALUATED, REJECTED = (
    "native as a whole",
    "native in part",
    "by the evaluator",
    "rejected before it runs",
)


class TimeLimit(BaseException):
    """A case takes too long. Nothing but this module handles it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The items of an answer as XML, or the code of an error."""

    items: tuple[str, ...] | None
    code: str | None = None

    def __str__(self) -> str:
        return f"error {self.code}" if self.items is None else repr(list(self.items))


@dataclass(frozen=True, slots=True)
class Difference:
    """A query that the engine answers in another way; `view`: but right for the stream's view."""

    query: str
    expected: Outcome
    found: Outcome
    view: bool


@dataclass(slots=True)
class CaseResult:
    """What came of a case."""

    name: str
    status: str = "error"
    share: str = REJECTED
    reasons: tuple[str, ...] = ()
    differences: list[Difference] = field(default_factory=list)
    lost: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def differs(self) -> bool:
        return any(not one.view for one in self.differences)

    @property
    def passes(self) -> bool:
        return self.status == "pass" and not self.differences


class Document:
    """A context document as a stream of a store, with a session."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text = text
        self._folder = folder
        (folder / "document.xml").write_text(text, encoding="utf-8", newline="")
        self._fragments = folder / "fragments.xml"
        self.session = xcql.Session(folder / "store", engine="embedded", memory="1g", threads=1)
        self.session.ingest(self._fragments, stream=_STREAM, tags=self._tags, strict=True)

    @cached_property
    def _tags(self) -> TagStructure:
        document = self._folder / "document.xml"
        with document.open("rb") as file:
            tags = tag_structure(infer_from_document(read_document(file, str(document))), [], [])
        with document.open("rb") as file, self._fragments.open("wb") as output:
            fragment(read_document(file, str(document)), tags, "start", output)
        return tags

    def view(self, now: datetime) -> DocumentNode:
        """The document that the engine is asked about."""
        return stream_view(self._fragments, self._tags, now).document

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """What the document has and the stream does not."""
        return tuple(_lost(self.text))


def _lost(text: str) -> Iterator[str]:
    document = plain_view(text).document
    if any(not isinstance(one, ElementNode) for one in document.children):
        yield "comments and processing instructions beside the root element"
    if "<!DOCTYPE" in text:
        yield "the document type declaration"


class Comparison:
    """Runs queries by the evaluator and on the engine."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._documents: dict[str, Document] = {}
        self.now = datetime.now(UTC).replace(tzinfo=None)

    def __enter__(self) -> Self:
        self._folder = self._open.enter_context(temporary_folder())
        self._empty = self._open.enter_context(
            xcql.Session(self._folder / "empty", engine="embedded", memory="1g", threads=1)
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def document(self, text: str) -> Document:
        if text not in self._documents:
            folder = self._folder / f"document{len(self._documents)}"
            folder.mkdir()
            self._documents[text] = document = Document(text, folder)
            self._open.enter_context(document.session)
        return self._documents[text]

    def case(self, runner: Any, case: Mapping[str, Any]) -> CaseResult:
        """Judge a case by the runner, and compare the answers of all queries that it asks."""
        result = CaseResult(f"{case['set']}/{case['name']}")
        started = time.monotonic()
        asked: dict[str, xcql.Result | XcqlError] = {}

        def ask(query: str, context: str | None, variables: dict[str, str]) -> Any:
            if query not in asked:
                asked[query] = self._compared(result, query, context, variables)
            answer = asked[query]
            if isinstance(answer, XcqlError):
                raise answer
            return list(answer)

        try:
            with _limited(PATIENCE):
                run = runner.Case(ask, case)
                run.plain()  # the first query that is compared is the case's own
                result.status = runner.judge(ask, case)["status"]
        except TimeLimit:
            result.differences.append(
                Difference(case["query"], Outcome(None), Outcome(None, "timeout"), view=False)
            )
        result.seconds = time.monotonic() - started
        return result

    def _compared(
        self, result: CaseResult, query: str, context: str | None, variables: dict[str, str]
    ) -> xcql.Result | XcqlError:
        """The evaluator's answer, after it was compared with the engine's."""
        answer, expected = self._evaluated(query, context, variables)
        document = None if context is None else self.document(context)
        found, share, reasons = self._answered(document, query, variables)
        if found != expected:
            view = document and self._evaluated(query, document.view(self.now), variables)[1]
            if document:
                result.lost = document.lost
            result.differences.append(Difference(query, expected, found, view=found == view))
        if not result.reasons:
            result.share, result.reasons = share, reasons or ("",)
        return answer

    def _evaluated(
        self, query: str, context: str | DocumentNode | None, variables: dict[str, str]
    ) -> tuple[xcql.Result | XcqlError, Outcome]:
        try:
            answer = xcql.evaluate(query, context=context, variables=variables, now=self.now)
            return answer, Outcome(tuple(item.xml for item in answer))
        except XcqlError as problem:
            return problem, Outcome(None, problem.code)

    def _answered(
        self, document: Document | None, query: str, variables: dict[str, str]
    ) -> tuple[Outcome, str, tuple[str, ...]]:
        session = document.session if document else self._empty
        context = _STREAM if document else None
        try:
            answer = session.query(query, now=self.now, variables=variables, context=context)
        except Exception as problem:
            return Outcome(None, _code(problem)), REJECTED, ()
        try:
            found = Outcome(tuple(answer.to_xml()))
        except Exception as problem:
            found = Outcome(None, _code(problem))
        if answer.strategy == "caq":
            return found, EVALUATED, tuple(map(_reason, answer.reasons))
        parts = tuple(map(_reason, _ROW_BY_ROW.findall(answer.explain())))
        return found, PARTLY if parts else NATIVE, parts


def _code(problem: Exception) -> str:
    """The code of an error; anything else is a crash, which equals no error of the evaluator."""
    if isinstance(problem, XcqlError):
        return problem.code
    return f"{type(problem).__name__}: {problem}"


def _reason(text: str) -> str:
    """A reason without the place in the query."""
    return re.sub(r" \(line \d+\)$", "", text)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def load_runner(folder: Path) -> Any:
    """The module ../shared/qt3/run.py."""
    spec = importlib.util.spec_from_file_location("qt3_runner", folder / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def select_cases(
    runner: Any, folder: Path, sample: int | None = None, seed: int = 1, cases: str | None = None
) -> list[dict[str, Any]]:
    """All cases, those whose name matches, or a fixed sample."""
    wanted = argparse.Namespace(sets=None, cases=cases, sample=sample, seed=seed, limit=None)
    selected: list[dict[str, Any]] = runner.select_cases(
        runner.load_cases(str(folder / "open.jsonl.gz")), wanted
    )
    return selected


def run_cases(runner: Any, cases: Iterable[Mapping[str, Any]]) -> Iterator[CaseResult]:
    with Comparison() as comparison:
        for case in cases:
            yield comparison.case(runner, case)


def known_differences() -> dict[str, str]:
    """The cases that are known to differ, with the reason; one `set/name  reason` per line."""
    lines = KNOWN_DIFFERENCES.read_text(encoding="utf-8").splitlines()
    kept = (line for line in lines if line.strip() and not line.startswith("#"))
    found = {}
    for line in kept:
        name, reason = line.split(maxsplit=1)
        found[name] = reason
    return found


def changes(results: Sequence[CaseResult]) -> tuple[list[str], list[str]]:
    """Unexpected differences, and known ones that are no longer there."""
    known = known_differences()
    new = [_shown(one) for one in results if one.differs and one.name not in known]
    mended = [one.name for one in results if not one.differs and one.name in known]
    return new, mended


def _shown(result: CaseResult) -> str:
    one = next(one for one in result.differences if not one.view)
    query = " ".join(one.query.split())
    return f"{result.name}: {query[:300]}\n    expected {one.expected}\n    found    {one.found}"


def _table(results: Sequence[CaseResult]) -> Iterator[str]:
    def share(count: int, of: int = len(results)) -> str:
        return f"{count:6d}  {100 * count / max(of, 1):6.2f}%"

    passed = [one for one in results if one.status == "pass"]
    differing = [one for one in results if one.differs]
    apart = [one for one in results if one.differences and not one.differs]
    yield f"cases: {len(results)}; {sum(one.seconds for one in results):.0f} seconds"
    yield f"  the evaluator passes        {share(len(passed))}"
    yield f"  the embedded engine passes  {share(sum(one.passes for one in results))}"
    yield f"  differ from the evaluator   {share(len(differing))}"
    yield f"  differ from the document    {share(len(apart))}"
    lost = Counter("; ".join(one.lost) or "something else" for one in apart)
    yield from (f"    {count:6d}  the stream does not hold {what}" for what, count in lost.items())
    yield "how the case's own query is answered"
    for kind in (NATIVE, PARTLY, EVALUATED, REJECTED):
        yield f"  {kind:27} {share(sum(one.share == kind for one in results))}"
    for kind in (EVALUATED, PARTLY):
        yield f"{kind}: the ten most frequent reasons"
        reasons = Counter(
            why for one in results if one.share == kind for why in dict.fromkeys(one.reasons)
        )
        yield from (f"  {count:6d}  {why}" for why, count in reasons.most_common(10))


def main(folder: Path, arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="qt3.py --engine embedded")
    parser.add_argument("--sample", type=int, metavar="N", help="a fixed sample of N cases")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which sample")
    parser.add_argument("--cases", metavar="REGEX", help="only cases whose set/name matches")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came of each case")
    given = parser.parse_args(arguments)
    runner = load_runner(folder)
    cases = select_cases(runner, folder, given.sample, given.seed, given.cases)
    results = []
    for result in run_cases(runner, cases):
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{len(results)} of {len(cases)}", end="", file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1))
    print("\n".join(_table(results)))
    new, mended = changes(results)
    print(f"known differences: {len(known_differences())}")
    for case in new:
        print(f"NEW DIFFERENCE {case}")
    for case in mended:
        print(f"SAME NOW {case}: remove it from the list")
    return 1 if new or mended else 0
