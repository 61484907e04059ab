"""What ended outside a run comes back into its session: once, in order, when the session is free (J4).

The inbox is a table. Who ends something puts a row into it in the transaction of that end; a run takes
the row up in the transaction of its own start. Wake-ups only save time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

import orjson
import structlog
from sqlalchemy import text

from app.errors import DeskmateError, IdentityLost, PackageDisabled, StorageUnavailable, VersionConflict
from app.host.audit import insert_entry
from app.host.identity.service import IdentityService
from app.host.runs.letter import Letter
from app.host.runs.service import RunService
from app.host.snapshot import Snapshots
from app.protocol.column_types import to_ms
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.protocol.ports import AuditEntry, Bus
from app.storage.database import Database, Unit

_log = structlog.get_logger(__name__)

Source = Literal["job", "confirmation"]
POLL_S = 2.0
"""How often it is looked without a wake-up: what another process puts in is taken up within this time."""
WAITING_AT_MOST = 200

_PUT = text(
    "INSERT INTO inbox (id, owner_id, session_id, source, source_id, body, created_at)"
    " VALUES (:id, :owner, :session, :source, :source_id, :body, :at)"
    " ON CONFLICT (source, source_id) DO NOTHING"
)
# The oldest of each session. A confirmation has no facts about who asked but those of its run.
_WAITING = text(
    "SELECT i.id, i.owner_id, i.session_id, i.source, i.source_id, i.body, s.turn_count, s.live_run_id,"
    " s.archived_at, s.app_id, j.package, coalesce(j.principal, r.principal) AS principal"
    " FROM inbox i JOIN sessions s ON s.id = i.session_id"
    " LEFT JOIN jobs j ON i.source = 'job' AND j.id = i.source_id"
    " LEFT JOIN confirmations c ON i.source = 'confirmation' AND c.id = i.source_id"
    " LEFT JOIN runs r ON r.id = c.run_id"
    " WHERE i.consumed_at IS NULL AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.session_id = i.session_id"
    "   AND o.consumed_at IS NULL AND o.id < i.id)"
    " ORDER BY i.id LIMIT :limit"
)
_DROP = text("UPDATE inbox SET consumed_at = :at WHERE id = :id AND consumed_at IS NULL")


class Inbox:
    """Where ends are put for their sessions."""

    def __init__(self, *, bus: Bus, clock: Callable[[], datetime]) -> None:
        self._bus = bus
        self._clock = clock

    async def put(
        self,
        unit: Unit,
        *,
        owner_id: str,
        session_id: str,
        source: Source,
        source_id: str,
        body: Mapping[str, Any],
    ) -> None:
        """In the caller's transaction; a second row of the same source and id is not made.

        Call `ring` after the commit. `body` is described at `runs.letter.Letter`.
        """
        values = {
            "id": new_id("inb"),
            "owner": owner_id,
            "session": session_id,
            "source": source,
            "source_id": source_id,
            "body": dump_text(dict(body)),
            "at": to_ms(self._clock()),
        }
        await unit.connection.execute(_PUT, values)

    def ring(self, session_id: str) -> None:
        """After the commit: somebody may take it up at once."""
        self._bus.publish("inbox", {"session_id": session_id})


class Reentry:
    """One task of a serving process: starts runs for waiting inbox rows. Others do too; one wins."""

    def __init__(
        self,
        *,
        database: Database,
        bus: Bus,
        identity: IdentityService,
        snapshots: Snapshots,
        runs: RunService,
        clock: Callable[[], datetime],
        poll_s: float = POLL_S,
    ) -> None:
        self._database = database
        self._identity = identity
        self._snapshots = snapshots
        self._runs = runs
        self._clock = clock
        self._poll_s = poll_s
        self._look = asyncio.Event()
        self._busy: set[str] = set()
        """Live runs whose end somebody waits for."""
        self._unsubscribe = (
            bus.subscribe("inbox", lambda _: self._look.set()),
            bus.subscribe("resumed", lambda _: self._look.set()),
            bus.subscribe("run", self._hear_run),
        )
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._task = asyncio.create_task(self._look_forever(), name="reentry")

    async def aclose(self) -> None:
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _hear_run(self, facts: Mapping[str, Any]) -> None:
        if facts.get("ended") and facts["run_id"] in self._busy:
            self._look.set()

    async def _look_forever(self) -> None:
        while True:
            self._look.clear()
            try:
                await self.take_up()
            except StorageUnavailable as error:
                _log.warning("inbox_not_read", error=str(error.__cause__ or error))
            except Exception:  # noqa: BLE001 - the next look tries again; the log has the traceback
                _log.exception("reentry_failed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_s):
                    await self._look.wait()

    async def take_up(self) -> int:
        """Starts a run for each session that waits and is free; returns how many."""
        async with self._database.system_read() as unit:
            rows = (await unit.connection.execute(_WAITING, {"limit": WAITING_AT_MOST})).all()
        self._busy = {row.live_run_id for row in rows if row.live_run_id is not None}
        started = 0
        for row in rows:
            if row.live_run_id is None:
                started += await self._take_up(row)
        return started

    async def _take_up(self, row: Any) -> bool:
        letter = Letter(row.id, row.source, row.source_id, orjson.loads(row.body))
        try:
            principal = await self._principal(row)
        except (IdentityLost, PackageDisabled, VersionConflict) as refusal:
            await self._drop(row, refusal)
            return False
        run_id = await self._runs.start_from_inbox(
            principal, row.session_id, letter, expected_turn=row.turn_count
        )
        if run_id is not None:
            self._busy.add(run_id)
            _log.info("session_re_entered", session_id=row.session_id, run_id=run_id, source=row.source)
        return run_id is not None

    async def _principal(self, row: Any) -> Principal:
        """Who the run is for, checked now. Raises IdentityLost, PackageDisabled, VersionConflict."""
        if row.archived_at is not None:
            raise VersionConflict("The session was archived meanwhile.")
        if row.principal is None:
            # A confirmation that no run asked for: decided in the browser, by the session's owner.
            facts: dict[str, Any] = {"kind": "browser", "scopes": ["*"], "app_id": row.app_id}
        else:
            facts = orjson.loads(row.principal)
        principal = await self._identity.recall(row.owner_id, facts)
        if row.package is not None:
            enabled = await self._snapshots.enabled_packages(principal)
            if not enabled.get(row.package, True):
                raise PackageDisabled(f"The package {row.package} is switched off.")
        return principal

    async def _drop(self, row: Any, reason: DeskmateError) -> None:
        """The outcome stays readable where it is recorded; the session just does not hear of it."""
        entry = AuditEntry(
            actor_id=row.owner_id,
            caller_kind="worker",
            action="session.reenter",
            target=row.source_id,
            outcome="denied",
            session_id=row.session_id,
            error_code=reason.code,
        )
        async with self._database.system_write() as unit:
            await unit.connection.execute(_DROP, {"id": row.id, "at": to_ms(self._clock())})
            insert_entry(unit, entry, self._clock())
        _log.warning("session_not_re_entered", session_id=row.session_id, code=reason.code)
