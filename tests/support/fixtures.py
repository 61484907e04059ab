"""Fixtures for tests that need a database, a stub model or a whole installation.

A conftest takes them by name: `from tests.support.fixtures import database, installation, stub`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.databases import Database, NoPostgres, fresh_database
from tests.support.processes import Installation
from tests.support.redis_server import NoRedis, RedisServer, run_redis
from tests.support.stub_model import StubModel


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of each kind in turn; skips where no PostgreSQL answers, saying so."""
    try:
        async with fresh_database(request.param, tmp_path) as fresh:
            yield fresh
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[RedisServer]:
    """A Redis of the test's own; skips where the program is missing, saying so."""
    try:
        async with run_redis(tmp_path) as server:
            yield server
    except NoRedis as error:
        pytest.skip(f"NOT TESTED ON REDIS: {error}")


@pytest.fixture
async def stub() -> AsyncIterator[StubModel]:
    """A strict stub model in this process."""
    async with StubModel() as running:
        yield running


@pytest.fixture
def installation(tmp_path: Path, database: Database, stub: StubModel) -> Installation:
    """A Deskmate that asks the stub, on each kind of database; start it with `serve()`."""
    return Installation(tmp_path, database, stub.base_url)
