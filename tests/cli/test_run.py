"""`xcqlc run`: queries from files, inline and stdin, over stores, documents and fragments."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from xcql.cli.main import main

SAMPLES = Path(__file__).parents[2] / "samples"
CREDIT = [
    "--stream",
    f"credit={SAMPLES / 'credit/fragments.xml'}",
    "--tags",
    str(SAMPLES / "credit/tags.xml"),
]
CUSTOMERS = 'for $a in stream("credit")//account?[now] return <c id="{$a/@id}">{$a/customer}</c>'
BOOKS = (
    "<books><book year='1922'><title>Ulysses</title></book><book><title>a,b</title></book></books>"
)

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "books.xml").write_text(BOOKS)
    return tmp_path


def test_fragments_by_every_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    query = 'count(stream("credit")//transaction[amount > $least])'
    text = f"declare variable $least as xs:integer external; {query}"
    for strategy in ("auto", "caq", "qac"):
        options = ["--strategy", strategy, "--var", "least=1000", "--now", "2003-12-01"]
        assert main(["run", "-e", text, *CREDIT, *options]) == 0
    assert capsys.readouterr().out.split() == ["4", "4", "4"]


def test_a_document_without_tags_is_the_context_item(
    books: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (books / "query.xq").write_text("//book[title = 'Ulysses']/@year/string()")
    assert main(["run", "query.xq", "--doc", "books.xml"]) == 0
    assert main(["explain", "-e", "//bok", "--doc", "books.xml", "--stage", "sql"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1922\n")
    assert "SELECT" in out  # native, like any other stream
    assert "no 'bok' below 'stream(\"books\")'; did you mean 'book'?" in err
    stdin = io.TextIOWrapper(io.BytesIO(b"//title = stream('books')//title, count(//book)"))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["run", "-", "--doc", "books.xml", "--strategy", "caq"]) == 0
    assert capsys.readouterr() == ("true\n2\n", "")


def test_a_document_with_tags_has_holes(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer-tags", "books.xml", "--temporal", "//book", "-o", "tags.xml", "-q"]) == 0
    options = ["--doc", "books.xml", "--tags", "tags.xml"]
    assert main(["run", "-e", "//book[title = 'Ulysses']/vtFrom(.)", *options]) == 0
    assert capsys.readouterr() == ("0001-01-01T00:00:00\n", "")


def test_formats(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "-e", "//book", "--doc", "books.xml", "--format"]
    for form in ("jsonl", "csv", "table"):
        assert main([*asked, form]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines[:2]] == [
        {"year": "1922", "title": "Ulysses"},
        {"title": "a,b"},
    ]
    assert lines[2:5] == ["year,title", "1922,Ulysses", ',"a,b"']
    assert lines[5].split() == ["year", "title"]
    assert [line.split() for line in lines[7:]] == [["1922", "Ulysses"], ["a,b"]]
    assert main([*asked, "table", "--limit", "1"]) == 0
    told = capsys.readouterr()
    assert "a,b" not in told.out
    assert "first 1; there are more" in told.err
    assert main([*asked, "parquet", "--out", "answer"]) == 0
    assert pq.read_table("answer").column("title").to_pylist() == ["Ulysses", "a,b"]
    assert main([*asked, "parquet", "--out", "answer"]) == 1
    assert "'answer' already exists" in capsys.readouterr().err
    assert main([*asked, "parquet"]) == 2
    assert main([*asked, "xml", "--out", "answer.xml"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("answer.xml").read_text().splitlines()[1] == "<book><title>a,b</title></book>"


def test_an_error_leaves_no_file(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--doc", "books.xml", "--out", "answer.xml"]
    assert main(["run", "-e", "//book/(title + 1)", *options]) == 1
    assert "error[FORG0001]" in capsys.readouterr().err
    assert not Path("answer.xml").exists()


def test_a_store(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fragments, tags = SAMPLES / "credit/fragments.xml", SAMPLES / "credit/tags.xml"
    ingest = ["ingest", str(fragments), "--tags", str(tags), "--stream", "credit"]
    assert main([*ingest, "--store", "store", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["run", "-e", CUSTOMERS, "--store", "store", "--now", "2003-12-01"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == '<c id="1234"><customer>John Smith</customer></c>'
    assert err == ""
    # a warning for a step that finds nothing, unless warnings are turned off
    typo = ["run", "-e", 'stream("credit")//acount', "--store", "store"]
    assert main(typo) == 0
    assert "did you mean 'account'?" in capsys.readouterr().err
    assert main([*typo, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "no input"),
        (["--store", "s", "--doc", "books.xml"], "give either a store or files"),
        (["--store", "s", "--tags", "t.xml"], "omit --tags"),
        (["--stream", "s=books.xml"], "the stream 's' has no tag structure"),
    ],
)
def test_usage(
    options: list[str], text: str, books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "-e", "1", *options]) == 2
    assert text in capsys.readouterr().err


def test_a_bug_of_ours(
    books: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("xcql.cli.data.check_query", broken)
    assert main(["run", "-e", "1", "--doc", "books.xml"]) == 70
    told = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: oh" in told
    assert "this is a bug in XCQL" in told
    assert "Traceback" not in told
    assert main(["run", "-e", "1", "--doc", "books.xml", "--verbose"]) == 70
    assert "Traceback" in capsys.readouterr().err
