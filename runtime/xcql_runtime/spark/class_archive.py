"""Java's archive of the classes that Spark needs; it makes Spark start faster.

Java spends most of Spark's start time on finding, checking and linking thousands of classes. It can
keep them ready in a file, once it has seen which ones a run needs. `xcqlc prepare` creates that
file; every later session on this machine uses it. Java itself checks whether the file matches, and
ignores it if not.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyspark

from xcql.diagnostics import error
from xcql.temporary import remove_abandoned, temporary_folder
from xcql_runtime.spark.java import check_java

# Java's messages about archives only matter for debugging them
_QUIET = "-Xlog:cds*=off"
# a query that needs what others need: a join, groups, an order, elements
_DOCUMENT = """\
<shop>
  <customer id="c1"><name>Ann</name></customer><customer id="c2"><name>Bob</name></customer>
  <order customer="c1"><price>3.50</price></order><order customer="c1"><price>4</price></order>
  <order customer="c2"><price>12</price></order>
</shop>
"""
_QUERY = """\
for $c in //customer
let $orders := //order[@customer = $c/@id]
where count($orders) > 0
order by $c/name
return <customer name="{$c/name}" orders="{count($orders)}">{sum($orders/price)}</customer>
"""
# -P: do not import a module of that name from the current folder
_XCQLC = (sys.executable, "-P", "-m", "xcql.cli.main")


def archive_options(java: str) -> tuple[str, ...]:
    """The options that make Java use the archive; none if there is no archive.

    `java` is the output of `java -version`: an archive belongs to one Java and one Spark.
    """
    remove_abandoned(_folder())
    for path in _archives(java):
        try:
            file = path.stat()
        except OSError:  # it was just removed
            continue
        # Java crashes on a truncated archive, and runs any code in it
        if path.name == _name(java, file.st_size) and file.st_uid in (os.getuid(), 0):
            return f"-XX:SharedArchiveFile={path}", _QUIET
    return ()


def make_archive() -> Path:
    """Run a small query and archive the classes that it needed; return the path of the archive."""
    java = check_java()
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with temporary_folder(folder) as work:
        made, document = work / "classes.jsa", work / "shop.xml"
        document.write_text(_DOCUMENT)
        told = _run_query(document, made, work)
        if not made.exists():
            raise error(
                "XCQL0512",
                "Java did not create an archive of its classes",
                hints=[_last_line(told), "everything else works without it"],
            )
        known = _archives(java)
        path = made.rename(folder / _name(java, made.stat().st_size))
    for old in known:
        if old != path:
            old.unlink(missing_ok=True)
    return path


def _run_query(document: Path, archive: Path, work: Path) -> str:
    """Run the query so that Java writes the archive; return its standard error."""
    # Java writes the archive when it ends, and keeps the pipes open until then
    process = subprocess.Popen(
        [*_XCQLC, "run", "--engine", "spark", "--verbose", "-e", _QUERY, "--doc", str(document)],
        env={
            **os.environ,
            "SPARK_SUBMIT_OPTS": f'"-XX:ArchiveClassesAtExit={archive}" {_QUIET}',
            # no archive can be used while one is created
            "XDG_CACHE_HOME": str(work),
            # if it is killed, its files are removed with the folder
            "TMPDIR": str(work),
            # use this machine's Spark, wherever queries run otherwise
            "XCQL_SPARK": "",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # so that it can be killed together with its Java
        start_new_session=True,
    )
    try:
        return process.communicate()[1]
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def _archives(java: str) -> list[Path]:
    return list(_folder().glob(f"{_prefix(java)}-*.jsa"))


def _name(java: str, size: int) -> str:
    return f"{_prefix(java)}-{size}.jsa"


def _prefix(java: str) -> str:
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    jars = home / "jars"
    # in whole seconds, because container images round it
    changed = int(jars.stat().st_mtime) if jars.exists() else 0
    known = hashlib.sha256(repr((java, str(jars), changed)).encode()).hexdigest()
    return f"spark-classes-{known[:16]}"


def _folder() -> Path:
    # a user without a home folder has no archive: this must not fail
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "xcql"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f"it printed: {lines[-1]}" if lines else "it printed nothing"
