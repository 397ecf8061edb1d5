"""Java is killed or runs out of memory: what the user is told, and that the session continues.

Everything runs in separate processes, because the tests' own Java must survive.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CREDIT = ROOT / "samples" / "credit"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

_BEGIN = f"""
import os, signal, sys, threading, time
from pathlib import Path
import xcql
from xcql import XcqlError

CREDIT = Path({str(CREDIT)!r})
ACCOUNTS = 'count(stream("credit")//account)'
LONG = 'sum(for $a in 1 to 100000, $b in 1 to 100000 return $a * $b)'
# a text of a gigabyte, made of some of a megabyte
LARGE = (
    'string-length(string-join(for $a in 1 to 1000 return'
    f' string-join(for $b in 1 to 1000 return "x", "{{"x" * 1000}}"), ""))'
)

def java():
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            if Path("/proc", child, "comm").read_text() == "java\\n":
                return int(child)

def kill():
    pid = java()
    os.kill(pid, signal.SIGKILL)
    while len(os.listdir(f"/proc/{{pid}}/task")) > 1:
        time.sleep(0.01)
    time.sleep(0.1)

def told(action):
    try:
        print(action())
    except XcqlError as problem:
        print(problem.code, problem.message)

streams = {{"credit": (CREDIT / "fragments.xml", CREDIT / "tags.xml")}}
"""


def run(program: str, folder: Path, **environment: str) -> list[str]:
    """The output of a program, which must leave nothing behind and print nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + program],
        env={**os.environ, "TMPDIR": str(folder), "XCQL_MEMORY": "600m", **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert list(folder.glob("xcql-*")) == []
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_session_goes_on(tmp_path: Path) -> None:
    said = run(
        """
with xcql.Session.temporary(streams, engine='spark') as session:
    session.register("twice", lambda number: 2 * number, returns="xs:integer")
    before = session.query(ACCOUNTS)
    session.create_view("accounts", 'stream("credit")//account')
    frame = session.spark.createDataFrame([(1,)], "number int")
    rows = session.query("declare variable $r external; $r", variables={"r": frame})
    old = before.df
    told(before.count)
    kill()
    # all that the session has given out, and all that it was given, is there again
    told(before.to_xml)
    told(before.count)
    told(lambda: session.spark.sql("SELECT count(*) FROM accounts").collect()[0][0])
    told(lambda: session.query(ACCOUNTS, strategy="caq").to_xml())
    told(lambda: session.query(f"twice({ACCOUNTS})").to_xml())
    told(rows.to_xml)
    told(lambda: session.query("declare variable $r external; $r", variables={"r": frame}))
    told(lambda: session.query(LARGE).to_xml())
    told(lambda: session.ingest([], stream="credit"))
    told(lambda: list(session.query(ACCOUNTS).items()))
""",
        tmp_path,
    )
    lost = "XCQL0505 the DataFrame of the variable $r was lost when its Spark ended"
    assert said == [
        *("1", "['4']", "1", "4", "['4']", "['8']"),
        *(lost, lost),
        "XCQL0505 Spark's Java process ran out of memory",
        "stream 'credit': nothing new",
        "['4']",
    ]
