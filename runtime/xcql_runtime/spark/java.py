"""Java, which Spark needs: found and asked for its version before Spark is started.

Without this, Spark's own start script says what is missing in a way that only those understand
who know what a gateway is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from xcql.diagnostics import error

OLDEST = 17

# a throughput collector: what it costs other threads is less than of Java's own choice, G1
_COLLECTOR = "-XX:+UseParallelGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_TEMPORARY_FOLDER = re.compile(r"-Djava\.io\.tmpdir=|^spark\.local\.dir\b", re.MULTILINE)
# Java that has run out of memory is to end at once, and to say so not in the midst of an answer:
# if it goes on without the thread that was refused some, queries may wait for ever
_ENDS_WITHOUT_MEMORY = ("-XX:+ExitOnOutOfMemoryError", "-XX:+DisplayVMOutputToStderr")
# where users tell Java what they want of it
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_SIZE = re.compile(r"([0-9]{1,6})([mMgG])")
# Spark's own limit is 450 MB, of which Java counts a part as not for use
_LEAST_MEMORY = 512
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WAYS_OUT = (
    "install one: 'apt install default-jre-headless' (Debian, Ubuntu), 'brew install openjdk@17'"
    " (macOS)",
    "if Java is installed, set JAVA_HOME to its folder",
    "'xcqlc eval' answers queries without Spark, and needs no Java",
)


def check_java() -> str:
    """What the Java says of itself that Spark will run on; an error that says what to do if there
    is none that it can run on."""
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
    """How Java is to run a Spark of our own: sparing with time, and ending when memory does.

    A garbage collector that the user has chosen stays: Java does not start with two.
    """
    chosen = _is_chosen(_ANY_COLLECTOR)
    return _ENDS_WITHOUT_MEMORY if chosen else (_COLLECTOR, *_ENDS_WITHOUT_MEMORY)


def has_own_folder() -> bool:
    """Whether the user has not said where Java keeps its temporary files."""
    return not _is_chosen(_TEMPORARY_FOLDER)


def _is_chosen(option: re.Pattern[str]) -> bool:
    """Whether the user has told Java something of the kind."""
    told = [os.environ.get(name, "") for name in _VARIABLES]
    home = os.environ.get("SPARK_HOME")
    if folder := os.environ.get("SPARK_CONF_DIR") or (home and os.path.join(home, "conf")):
        defaults = Path(folder) / "spark-defaults.conf"
        if defaults.is_file():
            told.append(defaults.read_text(encoding="utf-8", errors="replace"))
    return any(map(option.search, told))


def memory() -> str:
    """How much memory Java may have for a Spark of our own, as Java writes it: `2g`."""
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
    """The major version in what a Java says of itself; None if it does not say.

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
