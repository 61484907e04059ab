"""Engines: how a connection to either database is made and set up.

All engines run in the driver's autocommit mode: `Unit` sends BEGIN and COMMIT itself. That saves a
round trip a unit on PostgreSQL (BEGIN travels with the tenant's settings), gives SQLite its BEGIN
IMMEDIATE, and means that nothing a package can reach is able to commit.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from app.errors import SettingsInvalid

DialectName = Literal["sqlite", "postgresql"]

SQLITE_BUSY_MS = 10_000
"""How long SQLite waits for another process (`user add` beside a running server)."""
PG_STATEMENT_SECONDS = 60
"""A statement that takes longer means that the database or the way to it is gone."""


def parse_url(url: str) -> tuple[DialectName, URL]:
    """Reads `sqlite:///…` or `postgresql://…`, with or without the driver's name.

    Raises:
        SettingsInvalid: another database, an unreadable URL, or SQLite without a file.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise SettingsInvalid("DESKMATE_DATABASE_URL cannot be read as a database URL.") from error
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise SettingsInvalid("SQLite needs a file: sqlite:///path/of/deskmate.db")
        return "sqlite", parsed.set(drivername="sqlite+aiosqlite")
    if backend == "postgresql":
        return "postgresql", parsed.set(drivername="postgresql+asyncpg")
    raise SettingsInvalid(f"The database must be sqlite or postgresql, not {backend}.")


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite URL with links followed, None for another database. Raises SettingsInvalid."""
    dialect, parsed = parse_url(url)
    return Path(parsed.database).resolve() if dialect == "sqlite" and parsed.database else None


def make_folder(url: URL) -> None:
    """Makes the folder of a SQLite file, so that a first start needs no preparation."""
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)


def postgresql_engine(url: URL, *, pool_size: int) -> AsyncEngine:
    """`pool_size` 0 makes an engine whose connections are opened and closed with each use."""
    return _engine(
        url,
        pool_size,
        connect_args={
            "timeout": 10,
            "command_timeout": PG_STATEMENT_SECONDS,
            # short statements only: compiling one with LLVM would cost more than it saves
            "server_settings": {"jit": "off", "application_name": "deskmate"},
        },
    )


def sqlite_engine(url: URL, *, pool_size: int, writes: bool, foreign_keys: bool = True) -> AsyncEngine:
    engine = _engine(url, pool_size, connect_args={"timeout": SQLITE_BUSY_MS / 1000})

    def prepare(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        _write_ahead(cursor)
        for pragma in (
            f"busy_timeout = {SQLITE_BUSY_MS}",
            "synchronous = FULL",  # a committed event survives a power cut (P2)
            f"foreign_keys = {'ON' if foreign_keys else 'OFF'}",  # off for migrations, which copy tables
            "query_only = OFF" if writes else "query_only = ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine.sync_engine, "connect", prepare)
    return engine


def _write_ahead(cursor: Any) -> None:
    """Sets WAL, a lasting property of the file, whoever opens it first.

    The change needs the file alone and does not wait for the busy time-out, so processes that start
    together on a new file must try again. Later opens only read the setting.
    """
    for attempt in range(100):
        try:
            cursor.execute("PRAGMA journal_mode")
            if cursor.fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == 99:
                raise
            time.sleep(0.02)


def _engine(url: URL, pool_size: int, **options: Any) -> AsyncEngine:
    if pool_size:
        options |= {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": 30, "pool_use_lifo": True}
    else:
        options |= {"poolclass": NullPool}
    return create_async_engine(
        url,
        isolation_level="AUTOCOMMIT",
        skip_autocommit_rollback=True,
        hide_parameters=True,  # an error's text goes to the log: no words of users, no hashes of tokens
        pool_reset_on_return=None,  # a unit ends its transaction itself or throws the connection away
        **options,
    )
