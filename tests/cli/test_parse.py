"""`xcqlc parse`, and what all verbs share: inputs, exit codes, messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from xcql import __version__
from xcql.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def xcqlc(*arguments: str, stdin: bytes = b"", **extra: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in its own process."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'runtime'}", **extra}
    return subprocess.run(
        [sys.executable, "-m", "xcql.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        env=environment,
        cwd=ROOT,
        timeout=60,
    )


# ---------------------------------------------------------------- formats


def test_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "-e", "$a + 1"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "MainModule @1:1",
        "  body: Binary op='+' @1:1",
        "    left: VariableRef name=a @1:1",
        "    right: IntegerLiteral value=1 @1:6",
    ]
    assert err == ""


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--format", "json", "-e", "(1.5, 1e999, a?[now])"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["node"] == "MainModule"
    assert [item["node"] for item in data["body"]["items"]] == [
        "DecimalLiteral",
        "DoubleLiteral",
        "IntervalProjection",
    ]
    assert data["body"]["items"][2]["line"] == 1
    assert "Infinity" not in out
    assert err == ""


def test_xquery(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--format", "xquery", "-e", "((1+2))*3"]) == 0
    assert capsys.readouterr() == ("(1 + 2) * 3\n", "")


# ---------------------------------------------------------------- inputs


def test_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "q.xcql"
    query.write_bytes("\ufeff1 +\r\n 'é'".encode())
    assert main(["parse", "--format", "xquery", str(query)]) == 0
    assert capsys.readouterr().out == '1 + "é"\n'


def test_standard_input() -> None:
    done = xcqlc("parse", "--format", "xquery", "-", stdin="\ufeff'é'".encode())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, '"é"\n', b"")


def test_standard_input_is_utf_8_whatever_the_locale() -> None:
    done = xcqlc(
        "parse", "--format", "xquery", "-", stdin="'é𝄞'".encode(), LC_ALL="C", PYTHONUTF8="0"
    )
    assert (done.returncode, done.stdout.decode()) == (0, '"é𝄞"\n')


@pytest.mark.parametrize("name", ["-", "q.xcql"])
def test_bytes_that_are_no_utf_8(name: str, tmp_path: Path) -> None:
    (tmp_path / "q.xcql").write_bytes(b"'\xff'")
    done = xcqlc("parse", name if name == "-" else str(tmp_path / name), stdin=b"'\xff'")
    assert done.returncode == 1
    assert b"UTF-8" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    "arguments", [["no-such-file.xcql"], ["."], [], ["-e", "1", "x.xcql"]], ids=str
)
def test_inputs_that_are_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[XCQL01")
    assert "Traceback" not in err


# ---------------------------------------------------------------- errors


def test_an_error_goes_to_stderr_with_exit_code_1() -> None:
    done = xcqlc("parse", "-e", "for $x in a retrun $x")
    assert done.returncode == 1
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.startswith("error[XPST0003]: ")
    assert "Did you mean 'return'?" in text
    assert "Traceback" not in text
    assert "\x1b" not in text


def test_error_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--error-format", "concise", "-e", "1 +\n ]"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("<query>:2:2: error[XPST0003]: ")
    assert main(["parse", "--error-format", "json", "-e", "1 +\n ]"]) == 1
    out, err = capsys.readouterr()
    data = json.loads(err)
    assert (out, data["code"], data["line"], data["column"]) == ("", "XPST0003", 2, 2)
    assert data["severity"] == "error"


def test_warnings_go_to_stderr_and_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--format", "xquery", "-e", "currentDate()"]) == 0
    out, err = capsys.readouterr()
    assert out == "current-date()\n"
    assert err.startswith("warning[XCQL0001]: ")
    main(["parse", "--error-format", "json", "-e", "currentDate()"])
    assert json.loads(capsys.readouterr().err)["severity"] == "warning"


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["parse", "--nosuch"], ["parse", "--format", "nosuch"]], ids=str
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: xcqlc" in err


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "examples:" in capsys.readouterr().out


def test_deep_nesting_is_no_crash() -> None:
    done = xcqlc("parse", "-", stdin=b"(" * 5000 + b")" * 5000)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error[")


def test_a_reader_that_goes_away_is_no_fault() -> None:
    command = f"{sys.executable} -m xcql.cli.main parse -e '{'1,' * 30000} 1' | head -n 1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, env=environment, cwd=ROOT, timeout=60
    )
    assert done.stdout.startswith(b"MainModule")
    assert done.stderr == b""


# ---------------------------------------------------------------- help


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"xcqlc {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["parse", "--help"]], ids=str)
def test_help_has_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert "xcqlc parse" in out


@pytest.mark.parametrize(
    "code",
    [
        "from xcql.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "import xcql",
    ],
)
def test_starting_up_imports_nothing_heavy(code: str) -> None:
    heavy = {"pyspark", "antlr4", "elementpath", "xcql.parser", "xmlschema", "pyarrow", "sqlglot"}
    script = f"import sys\n{code}\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.stdout.decode().splitlines()[-1] == "[]", done.stderr.decode()
