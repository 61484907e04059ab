"""A package whose own tables are not those of its code is left out; only the core's stop a start."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from app.catalog.catalog import load_catalog
from app.catalog.histories import package_migrations
from app.cli.schema import make_ready
from app.errors import NeedsMigration
from app.factory import open_host
from app.protocol.identity import Principal
from app.protocol.ids import UserId
from app.settings import Settings, load_settings
from app.storage.migrate import upgrade


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"DESKMATE_DATA_DIR": str(tmp_path)})


def change(settings: Settings, statement: str) -> None:
    with sqlite3.connect(settings.database_url.partition("///")[2]) as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("DELETE FROM alembic_version_pkg_mistakes", id="behind"),
        pytest.param("UPDATE alembic_version_pkg_mistakes SET version_num = '9999'", id="ahead"),
    ],
)
async def test_a_package_with_other_tables_is_left_out_and_the_rest_serves(
    settings: Settings, statement: str
) -> None:
    await make_ready(settings, load_catalog())
    change(settings, statement)
    async with open_host(settings) as host:
        assert host.catalog.left_out == {"mistakes": "NEEDS_MIGRATION"}
        assert host.catalog.find("mistakes::add") is None
        assert await host.health.not_ready() is None
        user = await host.identity.add_user("a@example.org")
        caller = Principal(UserId(user.id), "api", frozenset({"*"}), user.email)
        assert "result" in await host.invocations.invoke(caller, "demo::hello", {})


async def test_a_history_that_fails_does_not_stop_an_embedded_start(settings: Settings) -> None:
    await upgrade(settings.database_url, [])
    change(settings, "CREATE TABLE pkg_mistakes_entries (id TEXT)")  # its first revision will fail on this
    await make_ready(settings, load_catalog())
    async with open_host(settings) as host:
        assert host.catalog.left_out == {"mistakes": "NEEDS_MIGRATION"}


async def test_the_cores_tables_stop_a_start_until_they_are_there(settings: Settings) -> None:
    shared = settings.model_copy(update={"redis_url": "redis://nowhere"})  # an operator migrates there
    catalog = load_catalog()
    with pytest.raises(NeedsMigration, match="deskmate migrate"):
        await make_ready(shared, catalog)
    with pytest.raises(NeedsMigration, match="deskmate migrate"):
        async with open_host(settings):
            pass
    await upgrade(settings.database_url, [])
    await make_ready(shared, catalog)
    change(settings, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NeedsMigration, match="ahead"):
        await make_ready(shared, catalog)


def test_packages_that_are_left_out_have_no_history_to_check() -> None:
    catalog = load_catalog()
    assert "mistakes" in [history.id for history in package_migrations(catalog)]
    catalog.leave_out("mistakes", "NEEDS_MIGRATION")
    assert "mistakes" not in [history.id for history in package_migrations(catalog)]
