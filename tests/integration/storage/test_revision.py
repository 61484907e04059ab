"""`make migration`: a new revision is what the code's tables have and the history does not make."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Column, MetaData, String, Table

from app.storage import revision
from app.storage.migrate import CORE, SCRIPTS, Target, differences, upgrade_target


@pytest.fixture
def longer(tmp_path: Path) -> Target:
    """The core with one more table than its history makes, in a folder of its own."""
    versions = tmp_path / "versions"
    shutil.copytree(SCRIPTS / "versions", versions, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = MetaData()
    for table in CORE.metadata.sorted_tables:
        table.to_metadata(metadata)
    Table("shelves", metadata, Column("id", String(64), primary_key=True))
    return replace(CORE, versions=versions, metadata=metadata)


async def test_a_new_table_becomes_the_next_number_and_is_then_made(longer: Target, tmp_path: Path) -> None:
    numbers = sorted(file.name[:4] for file in longer.versions.glob("[0-9]*.py"))
    made = await revision.write_revision("add shelves", longer)
    assert made is not None
    assert made.name == f"{int(numbers[-1]) + 1:04}_add_shelves.py"
    text = made.read_text()
    assert "op.create_table" in text
    assert "shelves" in text
    assert text.count("create_table") == 1

    url = f"sqlite:///{tmp_path}/fresh.db"
    assert await upgrade_target(url, longer)
    assert await differences(url, longer) == []
    assert await revision.write_revision("again", longer) is None


def test_the_codes_own_tables_need_no_revision(capsys: pytest.CaptureFixture[str]) -> None:
    before = set(CORE.versions.iterdir())
    revision.main(["revision", "nothing"])
    assert "nothing to write" in capsys.readouterr().out
    assert {file for file in CORE.versions.iterdir() if file.suffix == ".py"} <= before


def test_a_name_is_needed() -> None:
    with pytest.raises(SystemExit, match="make migration"):
        revision.main(["revision", " "])
