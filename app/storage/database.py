"""The database as the rest of the service sees it: four kinds of unit, one write lock, little else."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import URL, BigInteger, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.protocol.column_types import from_ms
from app.storage.engines import DialectName, make_folder, parse_url, postgresql_engine, sqlite_engine
from app.storage.faults import is_unavailable, unavailable
from app.storage.shielding import to_the_end
from app.storage.statement import Row, Statement, run_on_sqlite
from app.storage.unit import Unit, UnitContext, UnitMode, driver, run_in_thread, sqlite_of
from app.storage.write_lock import WriteLock

__all__ = ["Database", "Unit"]

R = TypeVar("R")

_PG_NOW_MS = select(literal_column("(extract(epoch from clock_timestamp()) * 1000)::bigint", BigInteger))


class Database:
    """Opened once a process by the factory; nothing is connected before the first unit."""

    def __init__(
        self, url: URL, *, dialect: DialectName, reads: AsyncEngine, writes: AsyncEngine, pool_size: int
    ) -> None:
        self.url = url
        self.dialect: DialectName = dialect
        self.write_lock = WriteLock(enabled=dialect == "sqlite")
        self._reads = reads
        self._writes = writes
        self._own: AsyncEngine | None = None
        self._slots = asyncio.Semaphore(pool_size)
        # one try for each connection that may have gone stale in the pool, and a fresh one
        self._retries = 0 if dialect == "sqlite" else pool_size + 1

    @classmethod
    def open(cls, url: str, *, pool_size: int = 5) -> Database:
        """Raises SettingsInvalid for a URL that is neither a SQLite file nor PostgreSQL."""
        dialect, parsed = parse_url(url)
        if dialect == "postgresql":
            engine = postgresql_engine(parsed, pool_size=pool_size)
            return cls(parsed, dialect=dialect, reads=engine, writes=engine, pool_size=pool_size)
        make_folder(parsed)
        return cls(
            parsed,
            dialect=dialect,
            reads=sqlite_engine(parsed, pool_size=pool_size, writes=False),
            writes=sqlite_engine(parsed, pool_size=1, writes=True),
            pool_size=pool_size,
        )

    def tenant_read(self, owner_id: str) -> UnitContext:
        """A unit that sees the rows of `owner_id` and changes nothing."""
        return self._unit(owner_id, "read", urgent=False)

    def tenant_write(self, owner_id: str, *, urgent: bool = False) -> UnitContext:
        """A unit that sees and changes the rows of `owner_id`. Await nothing but the database in it."""
        return self._unit(owner_id, "write", urgent=urgent)

    def system_read(self) -> UnitContext:
        """For the Host's own work over all users: sign-in, sweeper, outbox."""
        return self._unit(None, "read", urgent=False)

    def system_write(self, *, urgent: bool = False) -> UnitContext:
        """As `system_read`, with writes. `urgent` overtakes waiting write units on SQLite."""
        return self._unit(None, "write", urgent=urgent)

    def _unit(self, owner_id: str | None, mode: UnitMode, *, urgent: bool) -> UnitContext:
        if owner_id is not None and (not owner_id or "\0" in owner_id):
            raise ValueError("a tenant unit needs an owner")
        writes = mode == "write"
        return UnitContext(
            self._writes if writes else self._reads,
            dialect=self.dialect,
            owner_id=owner_id,
            mode=mode,
            lock=self.write_lock if writes and self.dialect == "sqlite" else None,
            # SQLite's writers queue for the lock alone: they have one connection
            slots=None if writes and self.dialect == "sqlite" else self._slots,
            urgent=urgent,
            retries=self._retries,
        )

    async def sqlite_transaction(self, work: Callable[[sqlite3.Connection], R], *, urgent: bool = False) -> R:
        """One write transaction in one hop to the writer's thread; for the event writer on SQLite.

        `work` runs on that thread between BEGIN IMMEDIATE and COMMIT: no await, no shared state.
        """
        async with self.write_lock.hold(urgent=urgent):
            return await to_the_end(self._in_one_hop(work))

    async def _in_one_hop(self, work: Callable[[sqlite3.Connection], R]) -> R:
        try:
            async with self._writes.connect() as connection:
                raw = await driver(connection)
                return await run_in_thread(raw, _transaction, sqlite_of(raw), work)
        except Exception as error:
            if is_unavailable(error):
                raise unavailable(error) from error
            raise

    async def lookup(
        self, statement: Statement, values: Mapping[str, Any], *, owner_id: str | None = None
    ) -> Sequence[Row]:
        """One reading statement, at a fraction of a read unit's cost: for what every run asks.

        Args:
            statement: reads only; it is sent again on another connection where the first has gone stale.
            values: its parameters.
            owner_id: whose rows it sees, as in `tenant_read`; None sees all and is for sign-in.
        """
        if owner_id is not None and self.dialect == "postgresql":
            async with self.tenant_read(owner_id) as unit:
                return await unit.rows(statement, values)
        for left in range(self._retries, -1, -1):
            try:
                async with self._slots:
                    return await self._look(statement, values)
            except Exception as error:
                if not is_unavailable(error):
                    raise
                if not left:
                    raise unavailable(error) from error
        raise AssertionError("unreachable")

    async def _look(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        connection = await to_the_end(self._connect_read(), undo=_close)
        try:
            raw = await driver(connection)
            if self.dialect == "postgresql":
                return await raw.fetch(statement.postgresql, *statement.arguments(values))
            return await run_in_thread(raw, run_on_sqlite, sqlite_of(raw), statement, values)
        except BaseException as error:
            # after a cancel the driver may still be at work on it: never back into the pool
            if is_unavailable(error) or not isinstance(error, Exception):
                await to_the_end(_invalidate(connection))
            raise
        finally:
            await to_the_end(connection.close())

    async def _connect_read(self) -> AsyncConnection:
        return await self._reads.connect()

    async def dedicated_connection(self) -> AsyncConnection:
        """A PostgreSQL connection outside the pool, in autocommit: each statement is a transaction.

        For what must not wait behind requests: the event writer and the lease timer. The caller closes
        it. SQLite has `sqlite_transaction` instead, as a second writer would break the write lock.
        """
        if self.dialect == "sqlite":
            raise RuntimeError("SQLite has one writer: use sqlite_transaction")
        if self._own is None:
            self._own = postgresql_engine(self.url, pool_size=0)
        try:
            return await self._own.connect()
        except Exception as error:
            if is_unavailable(error):
                raise unavailable(error) from error
            raise

    async def database_now(self, unit: Unit) -> datetime:
        """The one clock all processes share. SQLite's is this machine's, so no statement is needed."""
        if unit.dialect == "sqlite":
            return datetime.now(UTC)
        return from_ms((await unit.connection.execute(_PG_NOW_MS)).scalar_one())

    async def aclose(self) -> None:
        engines: list[AsyncEngine | None] = [self._reads, self._own]
        if self._writes is not self._reads:
            engines.append(self._writes)
        for engine in engines:
            if engine is not None:
                await engine.dispose()


async def _close(connection: AsyncConnection) -> None:
    await connection.close()


async def _invalidate(connection: AsyncConnection) -> None:
    await connection.invalidate()


def _transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Any]) -> Any:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result
