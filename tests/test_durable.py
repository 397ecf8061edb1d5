"""Files are replaced as a whole; `tests/store/test_kill.py` kills writers of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from xcql import durable


def test_a_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "state"
    durable.write_whole(file, b"old")
    durable.write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_keeps_the_old_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state"
    durable.write_whole(file, b"old")

    def full(path: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(durable, "sync", full)
    with pytest.raises(OSError, match="full"):
        durable.write_whole(file, b"new")
    assert file.read_bytes() == b"old"
