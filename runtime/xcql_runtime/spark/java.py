"""Find the Java that Spark needs, and check its version before Spark is started.

Without this check, Spark's own start script reports a missing Java in terms of a "gateway", which
few users understand.

Tests: tests/runtime/spark/test_start.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from xcql.diagnostics import error

OLDEST = 17

# a throughput collector: it slows down other threads less than G1, Java's default
_COLLECTOR = "-XX:+UseParallelGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_TEMPORARY_FOLDER = re.compile(r"-Djava\.io\.tmpdir=|^spark\.local\.dir\b", re.MULTILINE)
# Java must end at once when it runs out of memory, and must not report that within an answer: if it
# went on without the thread whose allocation failed, queries could wait forever
_ENDS_WITHOUT_MEMORY = ("-XX:+ExitOnOutOfMemoryError", "-XX:+DisplayVMOutputToStderr")
# the variables with which users set Java's options
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_SIZE = re.compile(r"([0-9]{1,6})([mMgG])")
# Spark requires 450 MB, and Java counts a part of its memory as unusable
_LEAST_MEMORY = 512
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WAYS_OUT = (
    "install one: 'apt install default-jre-headless' (Debian, Ubuntu), 'brew install openjdk@17'"
    " (macOS)",
    "if Java is installed, set JAVA_HOME to its folder",
    "the embedded engine answers queries without Java: --engine embedded",
)


def check_java() -> str:
    """The `java -version` output of the Java that Spark will run on; if there is no usable Java,
    raise an error that says what to do."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    needed = f"Spark needs Java {OLDEST} or newer"
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME is '{home}', which has no bin/java" if home else "Java is not installed"
        raise error("XCQL0510", f"{needed}, and {where}", hints=_WAYS_OUT)
    told = _told_by(java)
    version = java_version(told)
    if version is not None and version < OLDEST:
        raise error("XCQL0511", f"{needed}; '{java}' is Java {version}", hints=_WAYS_OUT)
    return told


def local_options() -> tuple[str, ...]:
    """The Java options for our own local Spark: a fast collector, and exit when out of memory.

    A garbage collector that the user has chosen stays: Java does not start with two.
    """
    chosen = _is_chosen(_ANY_COLLECTOR)
    return _ENDS_WITHOUT_MEMORY if chosen else (_COLLECTOR, *_ENDS_WITHOUT_MEMORY)


def has_own_folder() -> bool:
    """Whether our own temporary folder applies: the user has not chosen one for Java."""
    return not _is_chosen(_TEMPORARY_FOLDER)


def _is_chosen(option: re.Pattern[str]) -> bool:
    """Whether the user has set a Java or Spark option that matches."""
    told = [os.environ.get(name, "") for name in _VARIABLES]
    home = os.environ.get("SPARK_HOME")
    if folder := os.environ.get("SPARK_CONF_DIR") or (home and os.path.join(home, "conf")):
        defaults = Path(folder) / "spark-defaults.conf"
        if defaults.is_file():
            told.append(defaults.read_text(encoding="utf-8", errors="replace"))
    return any(map(option.search, told))


def memory() -> str:
    """The memory limit of Java for our own Spark, in Java's notation: `2g`."""
    size = os.environ.get("XCQL_MEMORY") or "2g"
    found = _SIZE.fullmatch(size)
    if not found or int(found[1]) << (10 if found[2] in "gG" else 0) < _LEAST_MEMORY:
        raise error(
            "XCQL0506",
            f"XCQL_MEMORY is '{size}', which is not a valid size, or too small for Spark",
            hints=[f"write 4g or 4096m; the minimum is {_LEAST_MEMORY}m"],
        )
    return size


def java_version(told: str) -> int | None:
    """The major version in the output of `java -version`; None if it is not there.

    Java 8 and older call themselves 1.8 and so on.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('version "1.8.0_412"')
    (17, 8)
    """
    found = _VERSION.search(told)
    return int(found[1]) if found else None


def _told_by(java: str) -> str:
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stderr + said.stdout
