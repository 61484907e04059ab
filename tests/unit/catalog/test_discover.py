"""Packages are found by their folder; the rest is passed over with a word (C4)."""

from pathlib import Path

from structlog.testing import capture_logs

from app.catalog.discover import SHIPPED, discover
from tests.unit.catalog.packages import write_package


def test_hidden_incomplete_and_stray_entries_are_passed_over(tmp_path: Path) -> None:
    write_package(tmp_path, "notes")
    write_package(tmp_path, ".hidden")
    write_package(tmp_path, "_private")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "manifest.toml").touch()
    (tmp_path / "README.md").touch()
    with capture_logs() as lines:
        found = discover([tmp_path])
    assert [folder.name for folder in found.folders] == ["notes"]
    told = {line["path"].rsplit("/", 1)[1]: line["reason"] for line in lines}
    assert told == {
        ".hidden": "hidden",
        "_private": "hidden",
        "half": "incomplete: no contract.py",
        "README.md": "not a folder",
    }


def test_a_folder_of_the_operator_that_is_not_there_is_told(tmp_path: Path) -> None:
    (passed,) = discover([tmp_path / "nowhere"]).passed_over
    assert passed.reason == "no such folder"


def test_the_shipped_packages_are_found() -> None:
    names = {folder.name for folder in discover([SHIPPED]).folders}
    assert names >= {"hello", "memory", "mistakes", "session"}
