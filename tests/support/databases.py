"""A fresh database for each test that asks: SQLite in a folder, or a PostgreSQL database of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit

import asyncpg

Kind = Literal["sqlite", "postgresql"]
KINDS: tuple[Kind, ...] = ("sqlite", "postgresql")

POSTGRES_VARIABLE = "DESKMATE_TEST_POSTGRES"
DEFAULT_POSTGRES = "postgresql://postgres@127.0.0.1:5432"


class NoPostgres(Exception):
    """No PostgreSQL server answers; the message says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Database:
    kind: Kind
    url: str
    """SQLAlchemy address with its async driver."""

    @property
    def plain_url(self) -> str:
        """The address without a driver, as asyncpg and psql take it."""
        return self.url.replace("+asyncpg", "").replace("+aiosqlite", "")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of a PostgreSQL server, to put a `SlowProxy` before it."""
        parts = urlsplit(self.url)
        return parts.hostname or "127.0.0.1", parts.port or 5432

    def through(self, port: int) -> Database:
        """The same database behind a proxy on 127.0.0.1."""
        parts = urlsplit(self.url)
        user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return Database(self.kind, parts._replace(netloc=f"{user}127.0.0.1:{port}").geturl())


def server_url() -> str:
    return os.environ.get(POSTGRES_VARIABLE, DEFAULT_POSTGRES).rstrip("/")


class ServerConnection(Protocol):
    """What we use of asyncpg's connection, which carries no types."""

    async def execute(self, query: str) -> str: ...
    async def fetchval(self, query: str) -> Any: ...
    async def close(self) -> None: ...


async def connect_to_server() -> ServerConnection:
    """A connection as the superuser.

    Raises:
        NoPostgres: nothing answers there.
    """
    url = server_url()
    try:
        return await cast("Any", asyncpg).connect(f"{url}/postgres", timeout=5)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        where = urlsplit(url).netloc.rpartition("@")[2]
        raise NoPostgres(f"no PostgreSQL at {where} (set {POSTGRES_VARIABLE}): {error}") from error


@contextlib.asynccontextmanager
async def fresh_database(kind: Kind, folder: Path) -> AsyncGenerator[Database]:
    """An empty database, without tables; gone afterwards, whoever is still connected."""
    if kind == "sqlite":
        yield Database("sqlite", f"sqlite+aiosqlite:///{folder / 'deskmate.db'}")
        return
    name = f"deskmate_test_{secrets.token_hex(6)}"
    server = await connect_to_server()
    try:
        await server.execute(f'CREATE DATABASE "{name}"')
    finally:
        await server.close()
    try:
        yield Database(
            "postgresql", f"{server_url().replace('postgresql://', 'postgresql+asyncpg://')}/{name}"
        )
    finally:
        server = await connect_to_server()
        try:
            await server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        finally:
            await server.close()
