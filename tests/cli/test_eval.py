"""`xcqlc eval`."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from xcql.cli.main import main

SAMPLES = Path(__file__).parents[2] / "samples"


def test_an_expression_over_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.xml"
    file.write_text("<a><b>1</b><b>2</b></a>")
    assert main(["eval", "-e", "//b, count(//b)", "--doc", str(file)]) == 0
    assert capsys.readouterr().out == "<b>1</b>\n<b>2</b>\n2\n"


def test_a_query_file_over_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    credit = SAMPLES / "credit"
    code = main(
        [
            "eval",
            str(SAMPLES / "papers/1-3.1-fraud.xcql"),
            "--stream",
            f"credit={credit / 'fragments.xml'}",
            "--tags",
            str(credit / "tags.xml"),
            "--now",
            "2003-11-15T10:00:00",
        ]
    )
    output = capsys.readouterr()
    assert code == 0
    assert output.out == (
        '<alert><account id="9012"><customer>Ann &amp; Co</customer></account></alert>\n'
    )
    assert "warning[XCQL0001]" in output.err


def test_tags_for_one_stream_of_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = tmp_path / "plain.xml"
    plain.write_text("<x/>")
    credit = SAMPLES / "credit"
    arguments = ["--stream", f"c={credit / 'fragments.xml'}", "--stream", f"p={plain}"]
    arguments += ["--tags", f"c={credit / 'tags.xml'}", "--now", "2003-12-01"]
    query = 'count(stream("c")//account), name(stream("p")/*)'
    assert main(["eval", "-e", query, *arguments]) == 0
    assert capsys.readouterr().out == "4\nx\n"


def test_variables(capsys: pytest.CaptureFixture[str]) -> None:
    query = "declare variable $n external; declare variable $d external; $n || $d/a"
    assert main(["eval", "-e", query, "--var", "n=1=2", "--var", "d=<a>x</a>"]) == 0
    assert capsys.readouterr().out == "1=2x\n"


def test_a_variable_is_cast_to_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    query = "declare variable $n as xs:integer external; $n instance of xs:integer, $n + 1"
    assert main(["eval", "-e", query, "--var", "n=3"]) == 0
    assert capsys.readouterr().out == "true\n4\n"
    assert main(["eval", "-e", query, "--var", "n=three"]) == 1
    assert "FORG0001" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "1 div 0"], "error[FOAR0001]: division by zero"),
        (["-e", "stream('x')"], "error[XCQL0004]"),
        (["-e", "1", "--var", "n"], "--var must have the form NAME=VALUE"),
        (["-e", "1", "--tags", "a=b"], "no --stream a="),
        (["-e", "1", "--doc", "/no/such/file"], "cannot be read"),
        (["-e", "1", "--now", "soon"], "error[XCQL0002]"),
    ],
)
def test_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    usage = "--var" in arguments or "--tags" in arguments
    assert main(["eval", *arguments]) == (2 if usage else 1)
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err


def test_not_enough_memory() -> None:
    query = 'string-length(fold-left(1 to 40, "aaaa", function($a, $b) { $a || $a }))'
    limit = 3 << 30
    ran = subprocess.run(
        [sys.executable, "-m", "xcql.cli.main", "eval", "-e", query],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error[XCQL0009]: not enough memory")
