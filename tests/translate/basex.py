"""Runs translated queries on BaseX, all in one process, because each would start its own Java."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.translate.saxon import SEPARATOR

BETWEEN_ANSWERS = "\ue001"
_DRIVER = """
declare variable $files external;
for $file in tokenize($files, "\\|")
return (
  try {
    let $items := xquery:eval(xs:anyURI($file))
    return string-join($items ! serialize(., map { "indent" : false() }), "SEPARATOR")
  } catch * { "error " || $err:code || " " || $err:description },
  "BETWEEN_ANSWERS"
)
"""


def run_all(modules: Sequence[str], folder: Path) -> list[list[str]]:
    """The items of each module's answer, as XML text."""
    files = []
    for number, module in enumerate(modules):
        file = folder / f"{number}.xq"
        file.write_text(module)
        files.append(str(file))
    driver = folder / "driver.xq"
    text = _DRIVER.replace("SEPARATOR", SEPARATOR).replace("BETWEEN_ANSWERS", BETWEEN_ANSWERS)
    driver.write_text(text)
    # -w: white space is data
    command = ["basex", "-w", "-smethod=text", "-sitem-separator=", f"-bfiles={'|'.join(files)}"]
    ended = subprocess.run(
        [*command, str(driver)], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    answers = ended.stdout.split(BETWEEN_ANSWERS)[:-1]
    assert len(answers) == len(modules), ended.stderr
    return [answer.split(SEPARATOR) if answer else [] for answer in answers]
