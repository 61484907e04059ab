"""The one writer of a process: takes whatever waits, all runs together, and commits it (group commit)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import structlog

from app.errors import DeskmateError, StorageUnavailable
from app.host.event_log.batch import Batch, RunStart, RunStarted
from app.host.event_log.log import RunLog, Sealed
from app.protocol.crash import crash_point

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")

RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0
CLOSE_S = 10.0


class LogStore(Protocol):
    """The statements of one database. Raises StorageUnavailable where the outcome is unknown."""

    async def write_starts(self, starts: list[RunStart], *, again: bool) -> dict[str, RunStarted]:
        """Starts what its session takes; the answer holds the started ones by run id.

        `again`: an earlier try's outcome is unknown, so a run that is already there counts as started.
        """
        ...

    async def write_batch(self, batch: Batch, *, again: bool) -> set[str]:
        """Writes rows of runs that are live under their fence; returns those run ids."""
        ...

    async def aclose(self) -> None: ...


class GroupWriter:
    """Commits run starts and log entries in groups.

    The first entry is written at once; after it, text waits up to `interval_s` for company, so that a
    busy process shares one commit among many runs. What somebody waits for (a run's start, its first
    words, its end, a call that must be on record before it acts) does not wait. What cannot be
    written because the database is away is kept and tried again; `give_up_s` bounds how long a start
    waits, log entries wait for as long as the process holds its lease. `announce` is told, after the
    commit, of each run's last seq and whether that was its end: once a run and flush.
    """

    def __init__(
        self,
        *,
        store: LogStore,
        interval_s: float = 0.003,
        start_give_up_s: float = 20.0,
        announce: Callable[[str, int, bool], None] = lambda run_id, seq, ended: None,
    ) -> None:
        self._store = store
        self._announce = announce
        self._interval_s = interval_s
        self._start_give_up_s = start_give_up_s
        self._dirty: list[RunLog] = []
        self._starts: list[tuple[RunStart, asyncio.Future[RunStarted | None], float]] = []
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self.failing_since: float | None = None
        """Monotonic time since when the database does not answer, or None."""

    def open(self) -> None:
        self._task = asyncio.create_task(self._run(), name="event-log-writer")

    async def aclose(self) -> None:
        """Writes what waits, then stops."""
        self._closing = True
        self._wake.set()
        self._hurry.set()
        if self._task is not None:
            try:
                await asyncio.wait_for(self._task, timeout=CLOSE_S)
            except TimeoutError:
                _log.warning("event_log_not_written_at_close")  # recovery ends these runs at the next start
        await self._store.aclose()

    def mark_dirty(self, log: RunLog) -> None:
        self._dirty.append(log)
        self._wake.set()

    def hurry(self) -> None:
        """Somebody waits for what is pending."""
        self._hurry.set()

    async def start(self, start: RunStart) -> RunStarted | None:
        """Commits a run's first rows; None where its session did not take it (busy, foreign, limit).

        Raises StorageUnavailable where the database is away for too long, whatever else waits for it.
        """
        future: asyncio.Future[RunStarted | None] = asyncio.get_running_loop().create_future()
        entry = (start, future, time.monotonic() + self._start_give_up_s)
        self._starts.append(entry)
        self._wake.set()
        self._hurry.set()
        await asyncio.wait({future}, timeout=self._start_give_up_s)
        if not future.done() and entry in self._starts:  # never sent: log entries before it still wait
            self._starts.remove(entry)
            raise StorageUnavailable("The database does not take new runs right now; try again soon.")
        return await future

    # --- the loop -----------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            if not self._dirty and not self._starts:
                if self._closing:
                    return
                self._wake.clear()
                await self._wake.wait()
                continue
            began = time.monotonic()
            self._hurry.clear()
            if self._starts:
                await self._flush_starts()
            if self._dirty:
                await self._flush_logs()
            await self._gather(self._interval_s - (time.monotonic() - began))

    async def _gather(self, pause_s: float) -> None:
        """Lets more text come together, until the pause is over or somebody waits."""
        if pause_s <= 0 or self._hurry.is_set():
            await asyncio.sleep(0)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._hurry.wait()

    async def _flush_starts(self) -> None:
        waiting, self._starts = self._starts, []
        give_up_at = max(deadline for _, _, deadline in waiting)
        starts = [start for start, _, _ in waiting]
        try:
            started = await self._until_written(
                lambda again: self._store.write_starts(starts, again=again), give_up_at
            )
        except DeskmateError as error:
            for _, future, _ in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for start, future, _ in waiting:
            if not future.done():
                future.set_result(started.get(start.run_id))

    async def _flush_logs(self) -> None:
        dirty, self._dirty = self._dirty, []
        sealed: list[tuple[RunLog, Sealed]] = []
        batch = Batch()
        for log in dirty:
            if log.lost is not None:
                continue
            rows = log.seal()
            sealed.append((log, rows))
            batch.fences[log.run_id] = log.fence
            batch.lines.extend(rows.lines)
            batch.items.extend(rows.items)
            if rows.finish is not None:
                batch.finishes.append(rows.finish)
        if not sealed:
            return
        crash_point("before_event_commit")
        if batch.finishes:
            crash_point("before_finish_commit")
        try:
            kept = await self._until_written(lambda again: self._store.write_batch(batch, again=again), None)
        except DeskmateError as error:
            for log, _ in sealed:
                log.lose(error)
            return
        crash_point("after_event_commit")
        if batch.finishes:
            crash_point("after_finish_commit")
        for log, rows in sealed:
            if log.run_id in kept:
                log.publish(rows)
                if rows.lines:
                    self._announce(log.run_id, log.committed_seq, log.ended)
            else:
                log.lose()

    async def _until_written(self, write: Callable[[bool], Awaitable[_T]], give_up_at: float | None) -> _T:
        """Sends the same rows until the database took them. Raises what is not an outage at once."""
        again = False
        delay = RETRY_FIRST_S
        while True:
            try:
                answer = await write(again)
            except StorageUnavailable as error:
                now = time.monotonic()
                if self.failing_since is None:
                    self.failing_since = now
                    _log.warning("database_away", error=str(error.__cause__ or error))
                if (give_up_at is not None and now > give_up_at) or self._closing:
                    raise
                again = True
                await asyncio.sleep(delay)
                delay = min(delay * 2, RETRY_MOST_S)
            except Exception as error:
                # A row that no retry will make writable: a fault of ours, loud, and for these runs only.
                _log.exception("event_log_write_failed")
                raise StorageUnavailable("The record could not be written.") from error
            else:
                if self.failing_since is not None:
                    _log.info("database_back", away_s=round(time.monotonic() - self.failing_since, 3))
                    self.failing_since = None
                return answer
