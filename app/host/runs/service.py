"""Starting, watching and cancelling runs: the one door for browser, API and re-entry."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson
import structlog
from sqlalchemy import text

from app.errors import (
    DeskmateError,
    IdempotencyMismatch,
    LimitReached,
    NotFound,
    RunInterrupted,
    SessionBusy,
    VersionConflict,
)
from app.host.event_log import GroupWriter, RunLog, RunStart, RunStarted
from app.host.event_log.log import rfc3339
from app.host.hub import Hub
from app.host.runs.driver import LiveRun, RunDriver
from app.host.runs.follow import Follower
from app.host.runs.letter import Letter
from app.host.snapshot import FrozenSnapshot, Snapshots
from app.protocol.crash import crash_point
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import clean_text, dump_text
from app.protocol.ports import Bus, RunScope
from app.services.cursors import Cursors
from app.storage.database import Database

TITLE_CHARS = 60


class InputResolver(Protocol):
    """Turns a client's input parts into stored ones; file ids are looked up under the user's rights."""

    async def resolve(self, principal: Principal, parts: list[dict[str, Any]]) -> list[dict[str, Any]]: ...

    async def attach(self, owner_id: str, session_id: str, parts: list[dict[str, Any]]) -> None:
        """Notes that the session uses these uploads, so that they go with it (O20)."""
        ...


@dataclass(frozen=True, slots=True)
class StartedRun:
    run_id: str
    session_id: str
    replayed: bool
    """True where the Idempotency-Key had started this run before."""


_KEY = text(
    "SELECT run_id, body_digest FROM idempotency_keys WHERE owner_id = :owner AND route = :route AND key = :key"
)
_WHY = text(
    "SELECT s.live_run_id, s.archived_at, s.app_id,"
    " (SELECT count(*) FROM runs r WHERE r.owner_id = :owner"
    "   AND r.status IN ('queued', 'running', 'cancelling')) AS live_runs"
    " FROM sessions s WHERE s.id = :session AND s.owner_id = :owner"
)
_RUN = text("SELECT * FROM runs WHERE id = :run AND owner_id = :owner")
_SESSION_APP = text("SELECT app_id FROM sessions WHERE id = :session AND owner_id = :owner")
_RUNS = text(
    "SELECT * FROM runs WHERE session_id = :session AND owner_id = :owner AND turn < :before"
    " ORDER BY turn DESC LIMIT :limit"
)
_LIVE_RUN = text("SELECT live_run_id FROM sessions WHERE id = :session AND owner_id = :owner")
_CANCEL = text(
    "UPDATE runs SET status = 'cancelling' WHERE id = :run AND owner_id = :owner"
    " AND status IN ('queued', 'running')"
)


class RunService:
    def __init__(
        self,
        *,
        database: Database,
        writer: GroupWriter,
        driver: RunDriver,
        snapshots: Snapshots,
        inputs: InputResolver,
        hub: Hub,
        bus: Bus,
        process_id: str,
        keepalive_s: float,
        max_live_runs: int,
        default_model: str,
        cursors: Cursors,
    ) -> None:
        self._database = database
        self._writer = writer
        self._driver = driver
        self._snapshots = snapshots
        self._inputs = inputs
        self._hub = hub
        self._bus = bus
        self._process_id = process_id
        self._max_live_runs = max_live_runs
        self._default_model = default_model
        self._cursors = cursors
        self._live: dict[str, LiveRun] = {}
        self._known_snapshots: set[str] = set()
        self._closing = False
        bus.subscribe("cancel", lambda facts: self.cancel_here(facts["run_id"]))
        self._follower = Follower(database=database, live=self.live_log, keepalive_s=keepalive_s)

    # --- start --------------------------------------------------------------------------------

    async def start(
        self,
        principal: Principal,
        session_id: str,
        parts: list[dict[str, Any]],
        *,
        idempotency_key: str | None,
        body_digest: str,
    ) -> StartedRun:
        """Commits the run's first rows, then lets it go its own way.

        Raises NotFound, SessionBusy, LimitReached, IdempotencyMismatch, VersionConflict (archived) and
        what the input resolver raises.
        """
        route = f"runs:{session_id}"
        if idempotency_key is not None:
            before = await self._started_before(principal, route, idempotency_key, body_digest, session_id)
            if before is not None:
                return before
        if self._closing:
            raise RunInterrupted("The server is shutting down; try again in a moment.")
        frozen = await self._snapshots.freeze(principal)
        # Before they are looked up: another session that is deleted at this moment either finds the
        # upload shared and leaves it, or has removed it already and the turn is refused.
        await self._inputs.attach(principal.user_id, session_id, parts)
        stored = await self._inputs.resolve(principal, parts)
        start = replace(
            self._run_start(principal, session_id, frozen),
            item_body=dump_text({"parts": stored}),
            title=title_of(stored),
            route=route,
            idempotency_key=idempotency_key,
            body_digest=body_digest,
        )
        started = await self._writer.start(start)
        if started is None:
            if idempotency_key is not None:
                before = await self._started_before(
                    principal, route, idempotency_key, body_digest, session_id
                )
                if before is not None:
                    return before
            raise await self._refusal(principal, session_id)
        crash_point("after_run_start")
        self._launch(principal, frozen.snapshot, start, started, stored)
        return StartedRun(start.run_id, session_id, replayed=False)

    async def start_from_inbox(
        self, principal: Principal, session_id: str, letter: Letter, *, expected_turn: int
    ) -> str | None:
        """A run that takes up an inbox row; None where its session is busy, archived, or was faster.

        The row is marked as consumed in the transaction that starts the run, so there is one for each.
        """
        if self._closing:
            return None
        frozen = await self._snapshots.freeze(principal)
        start = replace(
            self._run_start(principal, session_id, frozen),
            item_type="note",
            item_body=dump_text(letter.note_body()),
            inbox_id=letter.id,
            expected_turn=expected_turn,
        )
        started = await self._writer.start(start)
        if started is None:
            return None
        crash_point("after_run_start")
        self._launch(principal, frozen.snapshot, start, started, [], letter=letter)
        return start.run_id

    def _run_start(self, principal: Principal, session_id: str, frozen: FrozenSnapshot) -> RunStart:
        """What every start has in common; the input is the caller's."""
        digest = frozen.snapshot.digest
        return RunStart(
            run_id=new_id("run"),
            session_id=session_id,
            owner_id=principal.user_id,
            app_id=principal.app_id,
            process_id=self._process_id,
            snapshot_digest=digest,
            snapshot_body=None if digest in self._known_snapshots else frozen.body,
            principal=dump_text(principal.facts()),
            model=self._default_model,
            at_ms=time.time_ns() // 1_000_000,
            item_id=new_id("item"),
            item_body="",
            title="",
            max_live_runs=self._max_live_runs,
            route="",
            idempotency_key=None,
            body_digest="",
        )

    def _launch(
        self,
        principal: Principal,
        snapshot: Any,
        start: RunStart,
        started: RunStarted,
        parts: list[dict[str, Any]],
        *,
        letter: Letter | None = None,
    ) -> None:
        self._known_snapshots.add(start.snapshot_digest)
        loaded: list[str] = orjson.loads(started.loaded_domains)
        scope = RunScope(
            run_id=start.run_id,
            session_id=start.session_id,
            principal=principal,
            snapshot=snapshot,
            fence=1,
            started_at=datetime.now(UTC),
            loaded={name for name in loaded if name in snapshot.domains} | set(snapshot.preloaded),
            input_text=text_of(parts),
        )
        log = RunLog(
            run_id=start.run_id,
            session_id=start.session_id,
            owner_id=start.owner_id,
            turn=started.turn,
            fence=1,
            mark_dirty=self._writer.mark_dirty,
            hurry=self._writer.hurry,
            app_id=start.app_id,
        )
        run = LiveRun(scope=scope, log=log, turn=started.turn, parts=parts, model_id=started.model)
        if letter is not None:
            run.note = letter.note_body()
            letter.open(log)
        self._live[start.run_id] = run
        run.task = asyncio.create_task(self._drive(run), name=start.run_id)
        self._hub.tell(start.session_id, "run", run_id=start.run_id, status="running")

    async def _drive(self, run: LiveRun) -> None:
        structlog.contextvars.bind_contextvars(run_id=run.scope.run_id, session_id=run.scope.session_id)
        try:
            await self._driver.drive(run)
        finally:
            self._live.pop(run.scope.run_id, None)
            self._hub.tell(run.scope.session_id, "run", run_id=run.scope.run_id, status="ended")

    async def _started_before(
        self, principal: Principal, route: str, key: str, body_digest: str, session_id: str
    ) -> StartedRun | None:
        async with self._database.tenant_read(principal.user_id) as unit:
            values = {"owner": principal.user_id, "route": route, "key": key}
            row = (await unit.connection.execute(_KEY, values)).first()
        if row is None:
            return None
        if row.body_digest != body_digest:
            raise IdempotencyMismatch(
                "This Idempotency-Key was used before with another body; take a new key."
            )
        return StartedRun(row.run_id, session_id, replayed=True)

    async def _refusal(self, principal: Principal, session_id: str) -> DeskmateError:
        async with self._database.tenant_read(principal.user_id) as unit:
            values = {"owner": principal.user_id, "session": session_id}
            row = (await unit.connection.execute(_WHY, values)).first()
        if row is None or row.app_id != principal.app_id:
            return NotFound()
        if row.archived_at is not None:
            return VersionConflict("This session is archived; set archived to false to go on in it.")
        if row.live_run_id is not None:
            return SessionBusy(
                "A run of this session is still under way; follow it, cancel it or wait for its end.",
                details={"run_id": row.live_run_id},
            )
        if row.live_runs >= self._max_live_runs:
            return LimitReached(
                f"You have {row.live_runs} runs under way, the most allowed; wait for one to end.",
                retry_after_s=5,
            )
        return SessionBusy("The session was busy a moment ago; try again.")

    # --- watch --------------------------------------------------------------------------------

    def live_log(self, run_id: str) -> RunLog | None:
        run = self._live.get(run_id)
        return None if run is None else run.log

    def live_runs(self) -> Mapping[str, LiveRun]:
        return self._live

    async def open_stream(self, principal: Principal, run_id: str, after: int) -> AsyncIterator[bytes]:
        """Committed NDJSON lines after `after`, to the run's end. Raises NotFound, EventsExpired."""
        return await self._follower.open(
            owner_id=principal.user_id, app_id=principal.app_id, run_id=run_id, after=after
        )

    async def get(self, principal: Principal, run_id: str) -> dict[str, Any]:
        async with self._database.tenant_read(principal.user_id) as unit:
            values = {"run": run_id, "owner": principal.user_id}
            row = (await unit.connection.execute(_RUN, values)).first()
        if row is None or not _of_app(row, principal):
            raise NotFound
        return run_view(row)

    async def list(
        self, principal: Principal, session_id: str, limit: int, cursor: str | None
    ) -> dict[str, Any]:
        """Runs of one session, newest first. Raises NotFound, InvalidCursor."""
        purpose = f"runs:{session_id}"
        before = 2**31 - 1
        if cursor is not None:
            (before,) = self._cursors.read(cursor, owner_id=principal.user_id, purpose=purpose)
        async with self._database.tenant_read(principal.user_id) as unit:
            values = {"session": session_id, "owner": principal.user_id}
            session = (await unit.connection.execute(_SESSION_APP, values)).first()
            if session is None or session.app_id != principal.app_id:
                raise NotFound
            page = {**values, "before": before, "limit": limit + 1}
            rows = (await unit.connection.execute(_RUNS, page)).all()
        following = None
        if len(rows) > limit:
            rows = rows[:limit]
            following = self._cursors.make((rows[-1].turn,), owner_id=principal.user_id, purpose=purpose)
        return {"runs": [run_view(row) for row in rows], "next": following}

    # --- cancel -------------------------------------------------------------------------------

    async def cancel(self, principal: Principal, run_id: str) -> None:
        """Asks for the end of a run; nothing happens to a finished one. Raises NotFound."""
        async with self._database.tenant_write(principal.user_id) as unit:
            values = {"run": run_id, "owner": principal.user_id}
            row = (await unit.connection.execute(_RUN, values)).first()
            if row is None or not _of_app(row, principal):
                raise NotFound
            await unit.connection.execute(_CANCEL, values)
        self.tell_cancel(run_id)

    def tell_cancel(self, run_id: str) -> None:
        """Tells the loop, whichever process drives the run."""
        self._bus.publish("cancel", {"run_id": run_id})

    def cancel_here(self, run_id: str) -> None:
        """Tells the loop, where this process drives the run."""
        run = self._live.get(run_id)
        if run is not None:
            run.scope.cancel.set()

    async def stop_session(self, principal: Principal, session_id: str, *, wait_s: float = 15.0) -> None:
        """Cancels the live run of a session, if any, and waits for its end. Raises SessionBusy."""
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            async with self._database.tenant_read(principal.user_id) as unit:
                values = {"session": session_id, "owner": principal.user_id}
                run_id = (await unit.connection.execute(_LIVE_RUN, values)).scalar_one_or_none()
            if run_id is None:
                return
            await self.cancel(principal, run_id)
            run = self._live.get(run_id)
            if run is not None and run.task is not None:
                await asyncio.wait({run.task}, timeout=max(0.0, deadline - time.monotonic()))
            await asyncio.sleep(0.05)
        raise SessionBusy("The live run of this session did not end in time; try again.")

    # --- the process --------------------------------------------------------------------------

    def lose_all(self, reason: DeskmateError) -> None:
        """The lease is gone: model calls stop, and nothing more is written under old fences."""
        for run in list(self._live.values()):
            run.log.lose(reason)
            if run.task is not None:
                run.task.cancel()

    async def aclose(self, *, wait_s: float = 10.0) -> list[str]:
        """Stops live runs; returns their ids, for recovery to end them on record before we go.

        What they said so far is committed by then; transactions under way are let through.
        """
        self._closing = True
        runs = list(self._live.values())
        tasks = [run.task for run in runs if run.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)
        for run in runs:
            with contextlib.suppress(DeskmateError, TimeoutError):
                async with asyncio.timeout(wait_s):
                    await run.log.committed()
            run.log.lose()
        return [run.scope.run_id for run in runs]


def text_of(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if part.get("type") == "text")


def title_of(parts: list[dict[str, Any]]) -> str:
    """A title from the user's own words, at once and without a model call (O22)."""
    words = " ".join(clean_text(text_of(parts)).split())
    return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"


def _of_app(row: Any, principal: Principal) -> bool:
    return orjson.loads(row.principal).get("app_id") == principal.app_id


def run_view(row: Any) -> dict[str, Any]:
    """The run as the API shows it; times in RFC 3339."""
    usage = None if row.usage is None else orjson.loads(row.usage)
    return {
        "id": row.id,
        "session_id": row.session_id,
        "status": row.status,
        "started_at": rfc3339(row.created_at),
        "ended_at": None if row.ended_at is None else rfc3339(row.ended_at),
        "usage": usage,
        "error": None if row.error is None else orjson.loads(row.error),
        "steps": row.steps,
        "model": row.model,
    }
