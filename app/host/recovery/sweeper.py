"""Ends runs that nobody drives any more, and hourly forgets what is past its time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog
from sqlalchemy import text

from app.errors import StorageUnavailable
from app.host.recovery.ending import end_run
from app.storage.clock import now_ms_sql
from app.storage.database import Database

_log = structlog.get_logger(__name__)

SWEEP_S = 5.0
TIDY_EVERY_S = 3600.0
OWN_GRACE_MS = 15_000
"""A run of ours that nothing drives here is an orphan after this time (its end could not be written)."""


class Sweeper:
    """One task of a serving process.

    Args:
        database: where runs, events and leases are.
        process_id: ours.
        live_here: ids of the runs that this process drives.
        cancel_here: cancels one of them.
        retention_days: after this the events of an ended run are forgotten.
        hourly: what others want forgotten, called once an hour.
        sweep_s: seconds between two sweeps.
    """

    def __init__(
        self,
        *,
        database: Database,
        process_id: str,
        live_here: Callable[[], Iterable[str]],
        cancel_here: Callable[[str], None],
        retention_days: int,
        hourly: Sequence[Callable[[], Awaitable[object]]] = (),
        sweep_s: float = SWEEP_S,
    ) -> None:
        self._database = database
        self._process_id = process_id
        self._live_here = live_here
        self._cancel_here = cancel_here
        self._retention_ms = retention_days * 86_400_000
        self._hourly = (self.forget_old_events, *hourly)
        self._sweep_s = sweep_s
        self._task: asyncio.Task[None] | None = None
        now = now_ms_sql(database.dialect)
        self._orphans = text(
            "SELECT r.id, r.process_id, r.status, r.created_at FROM runs r"
            " LEFT JOIN processes p ON p.id = r.process_id"
            " WHERE r.status IN ('queued', 'running', 'cancelling')"
            f" AND (p.id IS NULL OR p.lease_until < {now} OR r.process_id = :me)"
        )

    async def open(self) -> None:
        """Sweeps once, so that orphans of a dead predecessor end before anybody connects."""
        await self.sweep()
        self._task = asyncio.create_task(self._sweep_forever(), name="sweeper")

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def sweep(self) -> int:
        """Ends orphaned runs; returns how many. Raises StorageUnavailable."""
        async with self._database.system_read() as unit:
            rows = (await unit.connection.execute(self._orphans, {"me": self._process_id})).all()
        here = set(self._live_here())
        ended = 0
        for row in rows:
            if row.process_id == self._process_id:
                if row.id in here:
                    if row.status == "cancelling":
                        self._cancel_here(row.id)
                    continue
                if time.time_ns() // 1_000_000 - row.created_at < OWN_GRACE_MS:
                    continue
            ended += await end_run(self._database, row.id, process_id=self._process_id)
        return ended

    async def tidy(self) -> None:
        """Forgets what is past its time. Raises StorageUnavailable."""
        for forget in self._hourly:
            await forget()

    async def forget_old_events(self) -> int:
        """Deletes event lines of runs past the retention time, a few hundred runs at a time."""
        before = time.time_ns() // 1_000_000 - self._retention_ms
        async with self._database.system_write() as unit:
            ids = (
                (
                    await unit.connection.execute(
                        text("SELECT id FROM runs WHERE ended_at < :before AND events_expired = 0 LIMIT 500"),
                        {"before": before},
                    )
                )
                .scalars()
                .all()
            )
            for run_id in ids:
                await unit.connection.execute(text("DELETE FROM events WHERE run_id = :run"), {"run": run_id})
                await unit.connection.execute(
                    text("UPDATE runs SET events_expired = 1 WHERE id = :run"), {"run": run_id}
                )
        return len(ids)

    async def _sweep_forever(self) -> None:
        next_tidy = time.monotonic() + 60
        while True:
            await asyncio.sleep(self._sweep_s)
            try:
                await self.sweep()
                if time.monotonic() >= next_tidy:
                    next_tidy = time.monotonic() + TIDY_EVERY_S
                    await self.tidy()
            except StorageUnavailable as error:
                _log.warning("sweep_skipped", error=str(error.__cause__ or error))
            except Exception:  # noqa: BLE001 - the next sweep tries again; the log has the traceback
                _log.exception("sweep_failed")
