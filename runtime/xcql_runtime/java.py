"""Java, which Spark needs: found and asked for its version before Spark is started.

Without this, Spark's own start script says what is missing in a way that only those understand
who know what a gateway is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from xcql.diagnostics import error

OLDEST = 17

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WAYS_OUT = (
    "install one: 'apt install default-jre-headless' (Debian, Ubuntu), 'brew install openjdk@17'"
    " (macOS)",
    "if there is one already, let JAVA_HOME name its folder",
    "'xcqlc eval' answers queries without Spark, and needs no Java",
)


def check_java() -> str:
    """What the Java says of itself that Spark will run on; an error that says what to do if there
    is none that it can run on."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    needed = f"Spark needs Java {OLDEST} or newer"
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME is '{home}', which has no bin/java" if home else "there is no Java here"
        raise error("XCQL0510", f"{needed}, and {where}", hints=_WAYS_OUT)
    told = _told_by(java)
    version = java_version(told)
    if version is not None and version < OLDEST:
        raise error("XCQL0511", f"{needed}; '{java}' is Java {version}", hints=_WAYS_OUT)
    return told


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
