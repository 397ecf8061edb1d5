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


def check_java() -> None:
    """Raise an error that says what to do, unless there is a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    needed = f"Spark needs Java {OLDEST} or newer"
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME is '{home}', which has no bin/java" if home else "there is no Java here"
        raise error("XCQL0510", f"{needed}, and {where}", hints=_WAYS_OUT)
    version = java_version(java)
    if version is not None and version < OLDEST:
        raise error("XCQL0511", f"{needed}; '{java}' is Java {version}", hints=_WAYS_OUT)


def java_version(java: str) -> int | None:
    """The major version that a Java tells; None if it does not.

    Java 8 and older call themselves 1.8 and so on.
    """
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else None
