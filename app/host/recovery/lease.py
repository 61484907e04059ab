"""This process's row in `processes`, renewed by its own timer on its own connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import StorageUnavailable
from app.storage.clock import now_ms_sql
from app.storage.database import Database

_log = structlog.get_logger(__name__)

LEASE_S = 30.0
RENEW_S = 10.0


class Lease:
    """Holds the process's lease; `on_lost` is called once it can no longer be sure of it.

    SQLite has one process by the lock beside its file, so there its row is written once, the lease does
    not run out, and every other row is a dead process's.
    """

    def __init__(
        self,
        *,
        database: Database,
        process_id: str,
        kind: str,
        instance: str,
        on_lost: Callable[[], None],
        lease_s: float = LEASE_S,
        renew_s: float = RENEW_S,
    ) -> None:
        self._database = database
        self._process_id = process_id
        self._kind = kind
        self._instance = instance
        self._on_lost = on_lost
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._task: asyncio.Task[None] | None = None
        self._connection: AsyncConnection | None = None
        self._sure_until = 0.0
        self._lost = False
        now = now_ms_sql(database.dialect)
        self._upsert = text(
            "INSERT INTO processes (id, kind, instance, started_at, lease_until)"
            f" VALUES (:id, :kind, :instance, {now}, {now} + :lease)"
            f" ON CONFLICT (id) DO UPDATE SET lease_until = {now} + :lease"
        )

    async def open(self) -> None:
        """Registers this process. Rows of the same data folder are dead: we hold its lock.

        On SQLite all rows are, also those of a copy that was restored into another data folder.
        """
        forever = self._database.dialect == "sqlite"
        dead = "id <> :id" if forever else "instance = :instance AND id <> :id"
        values = {"id": self._process_id} if forever else {"id": self._process_id, "instance": self._instance}
        async with self._database.system_write() as unit:
            await unit.connection.execute(text(f"DELETE FROM processes WHERE {dead}"), values)
            await unit.connection.execute(self._upsert, self._values(10**12 if forever else None))
        self._sure_until = time.monotonic() + self._lease_s
        if not forever:
            self._task = asyncio.create_task(self._renew_forever(), name="lease")

    async def aclose(self) -> None:
        """Gives the lease up, so that nobody waits for it to run out."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._drop_connection()
        with contextlib.suppress(StorageUnavailable):
            async with self._database.system_write() as unit:
                await unit.connection.execute(
                    text("DELETE FROM processes WHERE id = :id"), {"id": self._process_id}
                )

    def _values(self, lease_ms: int | None = None) -> dict[str, object]:
        return {
            "id": self._process_id,
            "kind": self._kind,
            "instance": self._instance,
            "lease": lease_ms or int(self._lease_s * 1000),
        }

    async def _renew_forever(self) -> None:
        delay = self._renew_s
        while True:
            await asyncio.sleep(delay)
            asked = time.monotonic()
            try:
                async with asyncio.timeout(self._renew_s):
                    await self._renew()
            except (StorageUnavailable, SQLAlchemyError, OSError, TimeoutError) as error:
                _log.warning("lease_not_renewed", error=str(error))
                await self._drop_connection()
                delay = min(1.0, self._renew_s)
                if not self._lost and time.monotonic() >= self._sure_until:
                    self._lost = True
                    _log.error("lease_lost")
                    self._on_lost()
            else:
                # counted from before the statement: our idea of the lease ends before the database's
                self._sure_until = asked + self._lease_s
                self._lost = False
                delay = self._renew_s

    async def _renew(self) -> None:
        if self._connection is None:
            self._connection = await self._database.dedicated_connection()
        await self._connection.execute(self._upsert, self._values())

    async def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError, OSError):
                await connection.invalidate()
                await connection.close()
