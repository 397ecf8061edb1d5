"""A thousand different queries in one session: the memory of the process stays the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, sys, xcql

def kilobytes(process="self"):
    return int(open(f"/proc/{process}/statm").read().split()[1]) * 4

session = xcql.Session(sys.argv[1], engine=sys.argv[2])
SHAPES = (
    'count(stream("credit")//account[string-length(customer) > {0}])',
    'for $a in stream("credit")//account where $a/@id = "{0}" return <r n="{0}">{{$a/*}}</r>',
    'sum(stream("credit")//transaction[amount > {0}]/amount)',
    'stream("credit")//transaction[amount > {0}]/(try {{ xs:integer(vendor) }} catch * {{ {0} }})',
    '{0} + 99999999999999999999',
)
for number in range(1000):
    session.query(SHAPES[number % 5].format(number), now="2004-01-01").to_xml()
    if number in (499, 999):
        gc.collect()
        print(kilobytes(), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_memory_stays_flat(store: Path, engine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store), engine],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.stderr == ""
    half, whole = map(int, done.stdout.split())
    assert whole < 1.1 * half
