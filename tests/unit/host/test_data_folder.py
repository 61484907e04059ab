"""Who may serve from a folder or a SQLite file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import DataFolderInUse, SettingsInvalid
from app.host.data_folder import DataFolder


def test_a_folder_serves_one_process_at_a_time_and_keeps_its_id(tmp_path: Path) -> None:
    first, second = DataFolder(tmp_path / "data"), DataFolder(tmp_path / "data")
    first.open()
    with pytest.raises(DataFolderInUse, match="DESKMATE_DATA_DIR"):
        second.open()
    first.close()
    second.open()
    assert second.instance == first.instance
    second.close()


def test_a_sqlite_file_serves_one_process_whatever_its_data_folder_is(tmp_path: Path) -> None:
    file = tmp_path / "db" / "deskmate.db"
    first = DataFolder(tmp_path / "one", file)
    second = DataFolder(tmp_path / "two", file)
    first.open()
    with pytest.raises(DataFolderInUse, match=r"deskmate\.db"):
        second.open()
    # the refused one keeps no lock of its own
    third = DataFolder(tmp_path / "two")
    third.open()
    third.close()
    first.close()
    second.open()
    second.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match="DESKMATE_DATA_DIR"):
        DataFolder(tmp_path / "file" / "data").open()
