"""Broadcasting into a folder: each file appears in one atomic step."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from xcql.publish.addresses import FolderAddress
from xcql.publish.play import Pace, groups_of


def drop_files(address: FolderAddress, fragments: Iterator[bytes], pace: Pace, stream: str) -> int:
    """Write fragments to files in the order of their names; return how many were written.

    The root of each file has a unique number, because a file with the same content as an earlier
    one would be skipped. Modification times differ too, because readers sort by them.
    """
    folder = address.path
    folder.mkdir(parents=True, exist_ok=True)
    begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    sent, changed = 0, 0
    for number, (pause, group) in enumerate(groups_of(fragments, pace)):
        time.sleep(pause)
        name = f"{stream}-{begun}-{number:09}.xml"
        draft = folder / f".{name}"
        lines = [f'<fragments begun="{begun}" number="{number}">'.encode(), *group, b"</fragments>"]
        draft.write_bytes(b"\n".join(lines) + b"\n")
        changed = max(time.time_ns(), changed + 1_000_000)
        os.utime(draft, ns=(changed, changed))
        draft.rename(folder / name)
        sent += len(group)
    return sent
