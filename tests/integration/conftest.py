"""Databases for integration tests: each module runs on SQLite and on a PostgreSQL database of its own.

The schema is made by the migrations, as in life. `DESKMATE_TEST_POSTGRES` names a server (its login must
be allowed to create databases and roles); a server on this machine is used where it answers.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import asyncpg
import pytest

from app.storage.database import Database
from app.storage.migrate import upgrade

SERVER = os.environ.get("DESKMATE_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432")


async def _on_server(statement: str) -> None:
    connection = await cast("Any", asyncpg).connect(f"{SERVER}/postgres", timeout=5)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def postgres_server() -> str:
    try:
        asyncio.run(_on_server("SELECT 1"))
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        pytest.skip(f"POSTGRESQL IS NOT TESTED: no server at {SERVER} ({error}); set DESKMATE_TEST_POSTGRES")
    return SERVER


@pytest.fixture(scope="module")
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL database for this module."""
    name = f"deskmate_test_{secrets.token_hex(6)}"
    asyncio.run(_on_server(f"CREATE DATABASE {name}"))
    yield f"{postgres_server}/{name}"
    asyncio.run(_on_server(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of an empty database, once for each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('db')}/deskmate.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="module")
def database_url(empty_url: str) -> str:
    """The URL of a database with the core tables. Shared by a module's tests: give each its own users."""
    asyncio.run(upgrade(empty_url, []))
    return empty_url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database.open(database_url)
    yield opened
    await opened.aclose()
