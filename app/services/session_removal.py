"""What belongs to a session and goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import CursorResult, Table, delete, select

from app.services.files import delete_session_files
from app.storage.tables import (
    confirmations,
    effects,
    events,
    idempotency_keys,
    inbox,
    items,
    jobs,
    memories,
    runs,
    sessions,
)
from app.storage.unit import Unit


@dataclass(frozen=True, slots=True)
class RemovedSession:
    """What is left to do once the removal is committed."""

    live_run_id: str | None
    """A run that was under way. Its writes are refused from now on, but its model call must be stopped."""
    file_digests: list[str]
    """Contents that may have lost their last row; the Host removes the blobs that have."""


async def remove_session(
    unit: Unit, *, owner_id: str, session_id: str, live_run_id: str | None
) -> RemovedSession:
    """Deletes the session's rows everywhere but in the audit trail, which says that it was deleted.

    Files go if this session alone used them; facts go if they came from it.
    """
    its_runs = select(runs.c.id).where(runs.c.owner_id == owner_id, runs.c.session_id == session_id)
    digests = await delete_session_files(unit, owner_id=owner_id, session_id=session_id)

    async def remove(table: Table, condition: Any) -> int:
        statement = delete(table).where(table.c.owner_id == owner_id, condition)
        return cast("CursorResult[Any]", await unit.connection.execute(statement)).rowcount

    for table in (events, idempotency_keys):
        await remove(table, table.c.run_id.in_(its_runs))
    for table in (items, confirmations, effects, inbox, jobs, runs):
        await remove(table, table.c.session_id == session_id)
    await remove(memories, memories.c.source == session_id)
    await remove(sessions, sessions.c.id == session_id)
    return RemovedSession(live_run_id=live_run_id, file_digests=digests)
