"""What figures depend on besides the code: the machine, and the versions of everything."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def facts() -> dict[str, str]:
    """The facts at the top of a report."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "commit": commit(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "Java": _first_line("java", "-version"),
        "Spark": _package("pyspark"),
        "DuckDB": _package("duckdb"),
    }


def commit() -> str:
    """The measured commit; with a plus sign if files differ from it."""
    name = _first_line("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    changed = _first_line("git", "-C", str(ROOT), "status", "--porcelain", "-uno")
    return name + ("+" if changed else "")


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return ((done.stdout or done.stderr).splitlines() or [""])[0].strip()
