"""`xcql.check`: one value per query, and no verb that parses or checks a query twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import xcql
from tests.runtime.streaming.worlds import ROOT, TAGS, TAGS_TEXT, bid, drop
from xcql.check import check
from xcql.cli.main import main
from xcql.continuous import open_continuous
from xcql.diagnostics import XcqlError
from xcql.source import Source

QUERY = 'for $b in stream("s")//bid where $b > 1 return $b/price'
FILES = ["--stream", "s=inbox/a.xml", "--tags", "tags.xml"]
NOW = "2020-01-01"


class TestChecked:
    def test_parts(self) -> None:
        checked = check(QUERY, {"s": TAGS})
        assert checked.streams == {"s"}
        assert checked.source.text == QUERY
        assert [one.code for one in checked.warnings] == ["XCQL0401"]
        assert checked.types is checked.types

    def test_other_streams(self) -> None:
        checked = check(QUERY)
        over = checked.over({"s": TAGS})
        assert over.module is checked.module
        assert over.names is checked.names
        assert over.over({"s": TAGS}) is over
        assert check(over) is over

    def test_names(self) -> None:
        checked = check("declare namespace a = 'u'; declare function a:f($x) { $x }; a:f(1)")
        assert checked.names.namespaces.prefixes["a"] == "u"
        assert list(checked.names.functions) == [("u", "f", 1)]

    def test_spellings_come_first(self) -> None:
        spelled, step = check('stream("s")//bid/price, document("d.xml")', {"s": TAGS}).warnings
        assert (spelled.code, step.code) == ("XCQL0001", "XCQL0401")

    def test_a_stream_that_is_not_there(self) -> None:
        with pytest.raises(XcqlError, match='there is no stream "t"'):
            _ = check('stream("t")', {"s": TAGS}).warnings
        caught = check('try { stream("t") } catch * { 1 }', {"s": TAGS})
        assert caught.warnings == ()

    def test_what_cannot_be_typed_is_left_to_the_answer(self) -> None:
        checked = check('for $n in ("s", "t") return stream($n)', {"s": TAGS})
        assert checked.streams is None
        assert checked.warnings == ()
        with pytest.raises(XcqlError, match="must be a literal"):
            _ = checked.types

    def test_a_library_module(self) -> None:
        with pytest.raises(XcqlError, match="a library module has no expression to evaluate"):
            check("module namespace a = 'u'; declare variable $a:x := 1;")


@dataclass
class Counts:
    """How often texts were parsed, and tag types inferred, in this process."""

    texts: list[str] = field(default_factory=list)
    modules: list[object] = field(default_factory=list)

    def note_text(self, source: Source) -> None:
        self.texts.append(source.text)

    def note_module(self, module: object, *_: object) -> None:
        self.modules.append(module)

    @property
    def parsed(self) -> int:
        return self.texts.count(QUERY)

    @property
    def checked(self) -> int:
        """The largest count per query; queries derived from this one are counted separately."""
        return max(Counter(map(id, self.modules)).values(), default=0)


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Counts, in a folder with a stream and its tags."""
    monkeypatch.chdir(tmp_path)
    Path("tags.xml").write_text(TAGS_TEXT)
    drop(tmp_path / "inbox", "a.xml", [ROOT, *map(bid, range(3))])
    found = Counts()
    _note(monkeypatch, import_module("xcql.parser"), "tokenize", found.note_text)
    _note(monkeypatch, import_module("xcql.analysis.typing"), "Walker", found.note_module)
    return found


def _note(patch: pytest.MonkeyPatch, module: object, name: str, note: Callable[..., None]) -> None:
    entry = getattr(module, name)

    def noted(*arguments: Any) -> Any:
        note(*arguments)
        return entry(*arguments)

    patch.setattr(module, name, noted)


@pytest.mark.parametrize(
    ("verb", "checked"),
    [
        (["eval", "-e", QUERY, *FILES, "--now", NOW], 1),
        (["explain", "-e", QUERY, *FILES, "--now", NOW], 1),
        (["translate", "-e", QUERY, "--tags", "tags.xml", "--strategy", "qac"], 0),
        (["watch", "-e", QUERY, "--source", "inbox", "--tags", "tags.xml", "--explain"], 1),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_verbs_parse_once_and_check_once(verb: list[str], checked: int, counts: Counts) -> None:
    assert main(verb) == 0
    assert (counts.parsed, counts.checked) == (1, checked)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "verb",
    [
        ["run", "-e", QUERY, *FILES, "--now", NOW],
        ["watch", "-e", QUERY, "--source", "inbox", "--tags", "tags.xml", "--trigger", "once"],
    ],
    ids=lambda verb: verb[0],
)
def test_verbs_on_spark_parse_once_and_check_once(verb: list[str], counts: Counts) -> None:
    assert main(verb) == 0
    assert (counts.parsed, counts.checked) == (1, 1)


def test_functions_parse_once(counts: Counts) -> None:
    xcql.evaluate(QUERY, streams={"s": (Path("inbox/a.xml"), TAGS)}, now=NOW)
    assert (counts.parsed, counts.checked) == (1, 0)
    xcql.translate(QUERY, TAGS)
    assert (counts.parsed, counts.checked) == (2, 0)
    with open_continuous(QUERY, {"s": TAGS}, Path("state")) as continuous:
        continuous.explanation()
    assert (counts.parsed, counts.checked) == (3, 1)


def test_a_session_parses_a_query_once(counts: Counts) -> None:
    with xcql.Session.temporary({"s": ("inbox/a.xml", TAGS)}) as session:
        session.query(QUERY, now=NOW).explanation()
        session.query(QUERY, now="2021-01-01", context="s").explain("sql")
    assert (counts.parsed, counts.checked) == (1, 0)
