"""The archive of Java's classes: used if a matching one exists, created by a real run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xcql.cli.main import main
from xcql.diagnostics import XcqlError
from xcql_runtime.spark import class_archive
from xcql_runtime.spark.class_archive import archive_options, make_archive


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    return tmp_path / "a cache" / "xcql"


def test_there_is_none_at_first(cache: Path) -> None:
    assert archive_options("Java 17") == ()
    assert not cache.exists()


def test_it_is_of_one_java_and_one_spark(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)
    names = set()
    for java, home in (("Java 17", "one"), ("Java 21", "one"), ("Java 17", "other")):
        (tmp_path / home / "jars").mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("SPARK_HOME", str(tmp_path / home))
        assert archive_options(java) == ()
        made = _written(cache, java)
        assert archive_options(java)[0] == f"-XX:SharedArchiveFile={made}"
        names.add(made.name)
    assert len(names) == 3
    os.utime(tmp_path / "other" / "jars", (1, 1))  # other jars in the same folder
    assert archive_options("Java 17") == ()


def _written(cache: Path, java: str) -> Path:
    """An empty archive, in the place for this Java and this Spark."""
    path = cache / f"{class_archive._prefix(java)}-0.jsa"
    path.touch()
    return path


def test_one_that_was_cut_off_is_not_used(cache: Path) -> None:
    cache.mkdir(parents=True)
    made = _written(cache, "Java 17")
    assert archive_options("Java 17")
    made.rename(made.with_name(made.name.replace("-0.jsa", "-12345.jsa")))
    assert archive_options("Java 17") == ()


@pytest.mark.slow
def test_a_real_archive(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["prepare", "--quiet"]) == 0
    (archive,) = cache.iterdir()
    assert str(archive) in capsys.readouterr().out
    document = tmp_path / "two.xml"
    document.write_text("<two><a/><a/></two>")
    query = ["run", "-e", "count(//a)", "--doc", str(document), "--engine", "spark"]
    asked = [sys.executable, "-m", "xcql.cli.main", *query]
    loaded = tmp_path / "loaded"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Xlog:class+load:file={loaded}")
    ran = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
    assert (ran.stdout, ran.stderr) == ("2\n", "")
    shared = [line for line in loaded.read_text().splitlines() if line.endswith("(top)")]
    assert len(shared) > 5000, "Java takes the classes from the archive"
    os.truncate(archive, 100_000)  # as on a full disk
    ran = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
    assert (ran.stdout, ran.stderr) == ("2\n", "")


@pytest.mark.slow
def test_a_java_that_makes_none(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.ui.enabled false\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))  # no archive: folder on class path
    with pytest.raises(XcqlError, match="did not create an archive"):
        make_archive()
    assert list(cache.iterdir()) == []
