"""A run's committed lines for one reader: from memory while the run is live here, else from the table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
from sqlalchemy import text

from app.errors import EventsExpired, NotFound
from app.host.event_log.log import RunLog
from app.protocol.events import KEEPALIVE_LINE
from app.storage.database import Database

PAGE_LINES = 500
ELSEWHERE_POLL_S = 0.25
"""How often a run that another process drives is looked at, where no wake-up reaches us."""

_STATE = text("SELECT status, events_expired, principal FROM runs WHERE id = :run AND owner_id = :owner")
_PAGE = text(
    "SELECT seq, line FROM events WHERE run_id = :run AND owner_id = :owner AND seq > :after"
    f" ORDER BY seq LIMIT {PAGE_LINES}"
)


class Follower:
    """Opens readers. No connection is held while a reader waits for lines or for its client (O12)."""

    def __init__(
        self, *, database: Database, live: Callable[[str], RunLog | None], keepalive_s: float
    ) -> None:
        self._database = database
        self._live = live
        self._keepalive_s = keepalive_s

    async def open(
        self, *, owner_id: str, app_id: str | None, run_id: str, after: int
    ) -> AsyncIterator[bytes]:
        """Lines after `after`, then what follows, to the end of the run.

        Raises NotFound and EventsExpired before the first chunk. A live run's own log is asked first,
        so that the usual reader costs no query.
        """
        log = self._live(run_id)
        if log is not None and (log.owner_id, log.app_id) == (owner_id, app_id):
            return self._live_lines(log, after)
        row = await self._state(owner_id, run_id)
        if orjson.loads(row.principal).get("app_id") != app_id:
            raise NotFound
        if row.events_expired:
            raise EventsExpired("The events of this run are no longer kept; read the session's items.")
        return self._stored_lines(owner_id, run_id, after, row.status)

    async def _live_lines(self, log: RunLog, after: int) -> AsyncIterator[bytes]:
        seq = after
        while True:
            ended, lost = log.ended, log.lost is not None
            lines = log.tail_after(seq)
            if lines is None:
                async for chunk, last_seq in self._pages(log.owner_id, log.run_id, seq):
                    seq = last_seq
                    yield chunk
                continue
            if lines:
                seq += len(lines)
                yield b"".join(lines)
                continue
            if ended:
                return
            if lost:
                break
            try:
                async with asyncio.timeout(self._keepalive_s):
                    await log.next_commit()
            except TimeoutError:
                yield KEEPALIVE_LINE
        async for chunk in self._stored_lines(log.owner_id, log.run_id, seq, "running"):
            yield chunk

    async def _stored_lines(
        self, owner_id: str, run_id: str, after: int, status: str
    ) -> AsyncIterator[bytes]:
        seq = after
        quiet_s = 0.0
        while True:
            found = False
            async for chunk, last_seq in self._pages(owner_id, run_id, seq):
                found, seq = True, last_seq
                yield chunk
            if status in ("completed", "cancelled", "failed"):
                return
            if found:
                quiet_s = 0.0
            elif quiet_s >= self._keepalive_s:
                quiet_s = 0.0
                yield KEEPALIVE_LINE
            log = self._live(run_id)
            if log is not None and log.lost is None:
                async for chunk in self._live_lines(log, seq):
                    yield chunk
                return
            await asyncio.sleep(ELSEWHERE_POLL_S)
            quiet_s += ELSEWHERE_POLL_S
            try:
                # read before the lines: a terminal status seen now means that all lines are there
                status = (await self._state(owner_id, run_id)).status
            except NotFound:
                return  # deleted while we watched

    async def _pages(self, owner_id: str, run_id: str, after: int) -> AsyncIterator[tuple[bytes, int]]:
        while True:
            async with self._database.tenant_read(owner_id) as unit:
                rows = (
                    await unit.connection.execute(_PAGE, {"run": run_id, "owner": owner_id, "after": after})
                ).all()
            if not rows:
                return
            after = rows[-1].seq
            yield "".join([row.line for row in rows]).encode(), after
            if len(rows) < PAGE_LINES:
                return

    async def _state(self, owner_id: str, run_id: str) -> Any:
        async with self._database.tenant_read(owner_id) as unit:
            row = (await unit.connection.execute(_STATE, {"run": run_id, "owner": owner_id})).first()
        if row is None:
            raise NotFound
        return row
