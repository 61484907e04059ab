"""A unit of work: one connection, one transaction, one end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, cast

import aiosqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

from app.errors import StorageUnavailable
from app.storage.engines import DialectName
from app.storage.faults import DRIVER_ERRORS, is_unavailable, unavailable
from app.storage.shielding import to_the_end
from app.storage.statement import Row, Statement, end_on_sqlite, run_on_sqlite
from app.storage.write_lock import WriteLock

TENANT_ROLE = "deskmate_tenant"
"""The PostgreSQL role of tenant units: no login, no way around row policies (made by the migration)."""

SLOT_SECONDS = 30
"""How long a unit waits for a free connection."""

UnitMode = Literal["read", "write"]


class Flushed(Protocol):
    """What a unit writes out before its commit and lets go of after its end, such as an ORM session."""

    async def flush(self) -> None: ...

    async def close(self) -> None: ...


class Unit:
    """What services and the Host work on. Commits at the normal end of its `async with`, never before."""

    __slots__ = (
        "_last",
        "_on_commit",
        "_raw",
        "_session",
        "_sessions",
        "connection",
        "dialect",
        "mode",
        "owner_id",
    )

    def __init__(
        self,
        connection: AsyncConnection,
        *,
        raw: Any,
        dialect: DialectName,
        owner_id: str | None,
        mode: UnitMode,
    ) -> None:
        self.connection = connection
        self._raw = raw
        self.dialect: DialectName = dialect
        self.owner_id = owner_id
        """Whose rows this unit sees (PostgreSQL enforces it); None for a system unit."""
        self.mode: UnitMode = mode
        self._session: AsyncSession | None = None
        self._sessions: list[Flushed] = []
        self._on_commit: list[Callable[[], None]] = []
        self._last: list[tuple[Statement, Mapping[str, Any]]] = []

    @property
    def session(self) -> AsyncSession:
        """An ORM session on the same transaction, made on first use; core code does not pay for it."""
        if self._session is None:
            self._session = AsyncSession(bind=self.connection, expire_on_commit=False)
            self.adopt(self._session)
        return self._session

    def adopt(self, session: Flushed) -> None:
        """Flushes `session` before the commit and closes it after the end."""
        self._sessions.append(session)

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        """Runs a hot statement in this transaction, past SQLAlchemy: one round trip or one hop."""
        if self.dialect == "postgresql":
            return await self._raw.fetch(statement.postgresql, *statement.arguments(values))
        return await run_in_thread(self._raw, run_on_sqlite, sqlite_of(self._raw), statement, values)

    async def last_rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        """As `rows`, for the transaction's last statement but one: takes along what `before_commit` holds,
        where both fit into one round trip."""
        if self.dialect == "postgresql" and len(self._last) == 1:
            other, its_values = self._last.pop()
            both = statement.along_with(other)
            return await self.rows(both, {**values, **{f"also_{k}": v for k, v in its_values.items()}})
        return await self.rows(statement, values)

    def before_commit(self, statement: Statement, values: Mapping[str, Any]) -> None:
        """Runs a hot statement, whose rows nobody needs, last in this transaction: on SQLite in one hop
        with the COMMIT."""
        self._last.append((statement, values))

    def on_commit(self, call: Callable[[], None]) -> None:
        """Calls `call` right after the commit, also when the task was cancelled during it."""
        self._on_commit.append(call)

    @property
    def last(self) -> Sequence[tuple[Statement, Mapping[str, Any]]]:
        return self._last

    async def flush(self) -> None:
        for session in self._sessions:
            await session.flush()

    def committed(self) -> None:
        for call in self._on_commit:
            call()

    async def forget(self) -> None:
        """Detaches ORM objects; what they hold stays readable."""
        for session in self._sessions:
            await session.close()
        self._sessions.clear()
        self._session = None


async def driver(connection: AsyncConnection) -> Any:
    """The asyncpg or aiosqlite connection below SQLAlchemy's."""
    raw = await connection.get_raw_connection()
    return raw.driver_connection


async def run_in_thread(raw: Any, call: Callable[..., Any], *args: Any) -> Any:
    """Runs `call` on the connection's own thread: one hop, where aiosqlite's face takes two or more."""
    return await cast("aiosqlite.Connection", raw)._execute(call, *args)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]


def sqlite_of(raw: Any) -> sqlite3.Connection:
    return cast("aiosqlite.Connection", raw)._conn  # pyright: ignore[reportPrivateUsage]


class UnitContext:
    """`async with` around a unit. A class, not a generator: it is entered several times a run."""

    __slots__ = (
        "_begin",
        "_dialect",
        "_engine",
        "_lock",
        "_mode",
        "_owner_id",
        "_raw",
        "_retries",
        "_slots",
        "_unit",
        "_urgent",
    )

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        dialect: DialectName,
        owner_id: str | None,
        mode: UnitMode,
        lock: WriteLock | None,
        slots: asyncio.Semaphore | None,
        urgent: bool,
        retries: int,
    ) -> None:
        self._engine = engine
        self._dialect: DialectName = dialect
        self._owner_id = owner_id
        self._mode: UnitMode = mode
        self._lock = lock
        self._slots = slots
        self._urgent = urgent
        self._retries = retries
        self._begin = begin_statement(dialect, owner_id, mode)
        self._unit: Unit | None = None
        self._raw: Any = None

    async def __aenter__(self) -> Unit:
        await self._queue()
        try:
            connection = await self._open()
        except BaseException:
            self._leave()
            raise
        self._unit = Unit(
            connection, raw=self._raw, dialect=self._dialect, owner_id=self._owner_id, mode=self._mode
        )
        return self._unit

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        unit = self._unit
        assert unit is not None
        try:
            if error is None:
                try:
                    await unit.flush()
                except BaseException:
                    await to_the_end(self._abandon(unit))
                    raise
                if self._mode == "read":
                    await self._finish_read(unit)
                else:
                    await to_the_end(self._commit(unit))
            else:
                await to_the_end(self._abandon(unit))
        except Exception as fault:
            if is_unavailable(fault):
                raise unavailable(fault) from fault
            raise
        finally:
            self._leave()
        if error is not None and is_unavailable(error):
            raise unavailable(error) from error

    async def _queue(self) -> None:
        """Waits for its turn. Here, and not in the pool, so that what follows never waits for others and
        may be run to its end when the caller is cancelled."""
        if self._lock is not None:
            await self._lock.acquire(urgent=self._urgent)
        if self._slots is None:
            return
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(SLOT_SECONDS):
                await self._slots.acquire()
        except TimeoutError as error:
            raise StorageUnavailable("All connections to the database are busy. Try again soon.") from error

    def _leave(self) -> None:
        if self._slots is not None:
            self._slots.release()
        if self._lock is not None:
            self._lock.release()

    async def _connect(self) -> AsyncConnection:
        return await self._engine.connect()

    async def _open(self) -> AsyncConnection:
        """A connection with its transaction begun.

        An idle connection may have been cut by a restart of the database. The BEGIN finds that out,
        before anything was asked for, so it is simply tried again on the next connection: this costs
        nothing while all is well, unlike a ping at each check-out.
        """
        for left in range(self._retries, -1, -1):
            try:
                # a cancel while a driver opens a connection would leave it open without an owner
                connection = await to_the_end(self._connect(), undo=_give_back)
            except Exception as error:
                if is_unavailable(error):
                    raise unavailable(error) from error
                raise
            try:
                self._raw = await driver(connection)
                await self._send(self._begin)
            except BaseException as error:
                await to_the_end(_discard(connection))
                if not isinstance(error, DRIVER_ERRORS):
                    raise
                if left and self._dialect == "postgresql" and is_unavailable(error):
                    continue
                if is_unavailable(error):
                    raise unavailable(error) from error
                if getattr(error, "sqlstate", None) == "22023":  # the role is not there
                    raise StorageUnavailable("The database is not set up: run `deskmate migrate`.") from error
                raise
            return connection
        raise AssertionError("unreachable")

    async def _end(self, unit: Unit) -> str | None:
        """The unit's last statements and COMMIT."""
        if self._dialect == "sqlite":
            await run_in_thread(self._raw, end_on_sqlite, sqlite_of(self._raw), unit.last)
            return None
        for statement, values in unit.last:
            await unit.rows(statement, values)
        return await self._send("COMMIT")

    async def _send(self, statement: str) -> str | None:
        if self._dialect == "postgresql":
            return await self._raw.execute(statement)
        await run_in_thread(self._raw, sqlite_of(self._raw).execute, statement)
        return None

    async def _finish_read(self, unit: Unit) -> None:
        try:
            await self._send("ROLLBACK")
        except BaseException:
            await to_the_end(_discard(unit.connection))
            raise
        await unit.forget()
        await to_the_end(unit.connection.close())

    async def _commit(self, unit: Unit) -> None:
        try:
            status = await self._end(unit)
        except BaseException:
            await self._abandon(unit)
            raise
        if status == "ROLLBACK":
            # PostgreSQL answers so when a statement had failed and somebody swallowed the error
            await self._abandon(unit, begun=False)
            raise StorageUnavailable("The transaction had already failed; nothing of it was kept.")
        try:
            unit.committed()
        finally:
            await unit.forget()
            await unit.connection.close()

    async def _abandon(self, unit: Unit, *, begun: bool = True) -> None:
        connection = unit.connection
        if not connection.invalidated and begun:
            try:
                await self._rollback()
            except (*DRIVER_ERRORS, ValueError):  # ValueError: aiosqlite on a closed connection
                await _discard(connection)
        await unit.forget()
        await connection.close()

    async def _rollback(self) -> None:
        if self._dialect == "postgresql":
            await self._send("ROLLBACK")
            return
        raw = sqlite_of(self._raw)
        # SQLite ends the transaction by itself on some faults (disk full), and then refuses ROLLBACK
        await run_in_thread(self._raw, lambda: raw.execute("ROLLBACK") if raw.in_transaction else None)


def begin_statement(dialect: DialectName, owner_id: str | None, mode: UnitMode) -> str:
    if dialect == "sqlite":
        return "BEGIN" if mode == "read" else "BEGIN IMMEDIATE"
    begin = "BEGIN READ ONLY" if mode == "read" else "BEGIN"
    if owner_id is None:
        return begin
    # One message of two statements cannot carry bind parameters, so the literal is quoted here. Ids are
    # the host's own (`protocol.ids`); the doubling holds for any text, with standard_conforming_strings
    # at its default. The owner is set before the role, which has no more rights than it needs.
    owner = owner_id.replace("'", "''")
    return f"{begin}; SELECT set_config('deskmate.owner', '{owner}', true), set_config('role', '{TENANT_ROLE}', true)"


async def _give_back(connection: AsyncConnection) -> None:
    await connection.close()


async def _discard(connection: AsyncConnection) -> None:
    """Closes the connection for good instead of giving it back."""
    if not connection.invalidated and not connection.closed:
        await connection.invalidate()
    await connection.close()
