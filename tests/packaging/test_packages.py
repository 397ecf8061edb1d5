"""Building and installing: an sdist, a wheel, and the README followed with nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import xcql
from tests.docs.snippets import run_document

ROOT = Path(__file__).parents[2]
NEEDED = {
    "xcql/py.typed",
    "xcql/cli/main.py",
    "xcql/explain/text.py",
    "xcql/parser/_generated/XcqlParser.py",
    "xcql/translate/xcql.xqm",
    "xcql_runtime/py.typed",
    "xcql_runtime/spark/log4j2.properties",
}


def built(kind: str, project: Path, target: Path) -> Path:
    """A distribution of a project, built with the tools installed here."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (result,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from an sdist, as pip does it."""
    folder = tmp_path_factory.mktemp("built")
    with tarfile.open(built("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    (project,) = (path for path in folder.iterdir() if path.is_dir())
    return built("wheel", project, folder / "wheel")


def test_the_wheel_has_all_that_is_needed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode("utf-8")
    assert names >= NEEDED
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"xcql", "xcql_runtime"}
    assert any("LICENSE" in name for name in names)
    assert f"\nVersion: {xcql.__version__}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text


def test_the_version_is_in_one_place() -> None:
    tracked = subprocess.run(
        ["git", "grep", "-lE", rf"version.*{re.escape(xcql.__version__)}", "--", "*.py", "*.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode > 1:
        pytest.skip("not a git checkout")
    assert tracked.stdout.split() == ["xcql/version.py"]


@pytest.fixture
def fresh(wheel: Path, tmp_path: Path) -> Path:
    """The executables of a new virtual environment with the wheel in it.

    Its dependencies are those installed here, because a test must not need the network; XCQL itself
    comes from the wheel.
    """
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / "bin"
    python = str(programs / "python")
    install = [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    path_file = Path(packages.stdout.strip()) / "dependencies.pth"
    path_file.write_text(sysconfig.get_path("purelib") + "\n")
    return programs


@pytest.mark.slow
def test_the_readme_word_for_word(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of the README, each in its own process, in an empty folder."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    shutil.copytree(ROOT / "samples", empty / "samples")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PATH": f"{fresh}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(fresh / "python"),
    }

    def run(command: str) -> str:
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

    installed = run("python -c 'import xcql, xcql_runtime; print(xcql.__file__)'").strip()
    assert installed.startswith(str(fresh.parent)), installed
    monkeypatch.setattr(
        "tests.docs.snippets._python", lambda block, *_: _in_process(run, block.text)
    )
    run_document(ROOT / "README.md", run)


def _in_process(run: object, text: str) -> None:
    Path("session.txt").write_text(text + "\n")
    told = run("python -m doctest session.txt")  # type: ignore[operator]
    assert told == "", told
