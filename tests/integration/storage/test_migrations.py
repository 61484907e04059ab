"""The schema: from empty to the code's tables, on both databases, by any number of processes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from sqlalchemy import MetaData, text

from app.errors import CapabilityInvalid, NeedsMigration
from app.storage import migrate
from app.storage.database import Database
from app.storage.migrate import PackageMigrations, check, pending, upgrade

PACKAGE_REVISION = """
from alembic import op
import sqlalchemy as sa
from app.sdk.migration import protect

revision = "{revision}"
down_revision = {down}
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "{table}",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("owner_id", sa.String(64), nullable=False),
    )
    protect(op, "{table}")
"""


def package(folder: Path, id: str = "notes", *tables: str) -> PackageMigrations:
    """A package whose history makes `tables`, one revision each."""
    versions = folder / id / "migrations" / "versions"
    versions.mkdir(parents=True, exist_ok=True)
    metadata = MetaData()
    down = "None"
    for number, table in enumerate(tables or (f"pkg_{id}_entries",), start=1):
        body = PACKAGE_REVISION.format(revision=f"{id}_{number}", down=down, table=table)
        (versions / f"{number:04}.py").write_text(body)
        down = repr(f"{id}_{number}")
    return PackageMigrations(id=id, folder=versions.parent, metadata=metadata)


async def drop_everything(url: str) -> None:
    database = Database.open(url)
    async with database.system_write() as unit:
        if unit.dialect == "postgresql":
            await unit.connection.execute(text("DROP SCHEMA public CASCADE"))
            await unit.connection.execute(text("CREATE SCHEMA public"))
        else:
            names = await unit.connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))
            for name in names.scalars().all():
                await unit.connection.execute(text(f'DROP TABLE "{name}"'))
    await database.aclose()


@pytest.fixture(autouse=True)
async def _empty(empty_url: str) -> None:
    await drop_everything(empty_url)


async def test_an_empty_database_reaches_the_codes_tables(empty_url: str) -> None:
    assert await pending(empty_url, []) == ["core"]
    assert await upgrade(empty_url, []) == ["core"]
    assert await pending(empty_url, []) == []
    assert await upgrade(empty_url, []) == []
    assert await check(empty_url) == []


async def test_a_package_has_a_history_of_its_own(empty_url: str, tmp_path: Path) -> None:
    await upgrade(empty_url, [])
    notes = package(tmp_path)
    assert await pending(empty_url, [notes]) == ["notes"]
    assert await upgrade(empty_url, [notes]) == ["notes"]
    package(tmp_path, "notes", "pkg_notes_entries", "pkg_notes_tags")
    assert await pending(empty_url, [notes]) == ["notes"]
    assert await upgrade(empty_url, [notes]) == ["notes"]
    # its folder may go; the core does not miss it
    assert await pending(empty_url, []) == []
    assert await check(empty_url) == []


async def test_a_package_that_makes_another_ones_table_is_undone(empty_url: str, tmp_path: Path) -> None:
    await upgrade(empty_url, [])
    bad = package(tmp_path, "bad", "pkg_bad_entries", "pkg_notes_entries")
    with pytest.raises(CapabilityInvalid, match="pkg_notes_entries"):
        await upgrade(empty_url, [bad])
    assert await pending(empty_url, [bad]) == ["bad"]
    await upgrade(empty_url, [package(tmp_path, "good")])
    database = Database.open(empty_url)
    with pytest.raises(Exception, match="pkg_bad_entries"):
        async with database.system_read() as unit:
            await unit.connection.execute(text("SELECT * FROM pkg_bad_entries"))
    await database.aclose()


async def test_a_package_table_that_is_not_declared_is_a_difference(empty_url: str, tmp_path: Path) -> None:
    notes = package(tmp_path)
    longer = package(tmp_path, "notes_more")
    await upgrade(empty_url, [notes, longer])
    found = await check(empty_url, [notes, longer])
    assert len([line for line in found if line.startswith("notes: ")]) >= 1
    assert not any("pkg_notes_more" in line for line in found if line.startswith("notes: "))


async def test_a_database_ahead_of_the_code_is_refused(empty_url: str) -> None:
    await upgrade(empty_url, [])
    database = Database.open(empty_url)
    async with database.system_write() as unit:
        await unit.connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await database.aclose()
    with pytest.raises(NeedsMigration, match="9999"):
        await pending(empty_url, [])


async def test_processes_that_migrate_at_once_all_succeed(empty_url: str, tmp_path: Path) -> None:
    notes = package(tmp_path)
    script = (
        "import asyncio, sys; from pathlib import Path; from sqlalchemy import MetaData\n"
        "from app.storage.migrate import PackageMigrations, upgrade\n"
        "p = PackageMigrations(id='notes', folder=Path(sys.argv[2]), metadata=MetaData())\n"
        "print(asyncio.run(upgrade(sys.argv[1], [p])))\n"
    )
    racers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            script,
            empty_url,
            str(notes.folder),
            cwd=Path(migrate.__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for _ in range(4)
    ]
    answers = [await racer.communicate() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4, answers
    winners = "".join(out.decode() for out, _ in answers)
    assert winners.count("core") == 1
    assert winners.count("notes") == 1
    assert await pending(empty_url, [notes]) == []


async def test_nothing_pending_means_no_statement_that_changes_the_schema(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upgrade(empty_url, [])

    def never(*_: object) -> None:
        raise AssertionError("upgraded although nothing was pending")

    monkeypatch.setattr(migrate, "_upgrade", never)
    assert await upgrade(empty_url, []) == []
