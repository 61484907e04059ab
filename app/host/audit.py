"""The audit trail (H10): who did what, when, with which outcome. Rows are added and never changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import insert, literal, select, tuple_

from app.errors import StorageUnavailable
from app.protocol.column_types import Instant, from_ms, to_ms
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.protocol.ports import AuditEntry
from app.services.cursors import Cursors
from app.storage.database import Database, Unit
from app.storage.statement import Statement
from app.storage.tables import audit

BUFFER_ENTRIES = 4096
"""Entries that may wait to be written; a caller that finds it full waits, nothing is dropped."""
GROUP_ENTRIES = 500
"""Entries of one statement."""
GATHER_S = 0.05
RETRY_S = 1.0

log = structlog.get_logger()


def entry_values(entry: AuditEntry, at: datetime) -> dict[str, Any]:
    return {
        "id": new_id("aud"),
        "owner_id": entry.actor_id or "",
        "at": at,
        "caller_kind": entry.caller_kind,
        "initiator": entry.initiator,
        "action": entry.action,
        "target": entry.target[:200],
        "version": entry.version,
        "outcome": entry.outcome,
        "error_code": entry.error_code,
        "run_id": entry.run_id,
        "session_id": entry.session_id,
        "call_id": entry.call_id,
        "token_id": entry.token_id,
        "arguments_digest": entry.arguments_digest,
        "duration_ms": entry.duration_ms,
        "usage": None if entry.usage is None else dict(entry.usage),
    }


_INSERT = Statement(
    f"INSERT INTO audit ({', '.join(c.name for c in audit.columns)})"
    f" VALUES ({', '.join(':' + c.name for c in audit.columns)})"
)


def insert_entry(unit: Unit, entry: AuditEntry, at: datetime) -> None:
    """Writes one entry in the transaction of the change that it reports, at its end."""
    values = entry_values(entry, at)
    values["at"] = to_ms(at)
    values["usage"] = None if values["usage"] is None else dump_text(values["usage"])
    unit.before_commit(_INSERT, values)


class AuditLog:
    """Implements `ports.AuditSink`, and reads the trail back.

    Entries of a change go into the change's own transaction. The rest (reads, refusals) would cost
    a commit each, so they wait a moment and are written in groups; `aclose` writes the last ones.
    """

    def __init__(self, *, database: Database, clock: Callable[[], datetime], cursors: Cursors) -> None:
        self._database = database
        self._clock = clock
        self._cursors = cursors
        self._waiting: list[dict[str, Any]] = []
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._writer: asyncio.Task[None] | None = None
        self._closing = False

    async def record(self, tx: Unit | None, entry: AuditEntry) -> None:
        at = self._clock()
        if tx is not None:
            insert_entry(tx, entry, at)
            return
        while len(self._waiting) >= BUFFER_ENTRIES and self._writer is not None:
            self._room.clear()
            await self._room.wait()
        self._waiting.append(entry_values(entry, at))
        self._arrived.set()
        if self._writer is None and not self._closing:
            self._writer = asyncio.create_task(self._write_for_ever(), name="audit-writer")

    async def aclose(self) -> None:
        """Writes what waits, then stops."""
        self._closing = True
        self._arrived.set()
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer
        await self.flush()

    async def flush(self) -> None:
        """Writes all that waits now. Raises StorageUnavailable, and then keeps what was not written."""
        while self._waiting:
            group = self._waiting[:GROUP_ENTRIES]
            async with self._database.system_write() as unit:
                await unit.connection.execute(insert(audit), group)
            del self._waiting[: len(group)]
            self._room.set()

    async def _write_for_ever(self) -> None:
        while not self._closing:
            await self._arrived.wait()
            self._arrived.clear()
            if not self._closing:
                await asyncio.sleep(GATHER_S)
            try:
                await self.flush()
            except StorageUnavailable as error:
                log.warning(
                    "audit entries wait for the database", waiting=len(self._waiting), reason=error.message
                )
                await asyncio.sleep(RETRY_S)
                self._arrived.set()
            except Exception:
                log.exception("audit entries could not be written", waiting=len(self._waiting))
                await asyncio.sleep(RETRY_S)
                self._arrived.set()

    async def list(self, principal: Principal, *, limit: int, cursor: str | None = None) -> dict[str, Any]:
        """Newest first: the caller's own entries; an operator's token reads everybody's.

        Raises:
            InvalidCursor: not one that this list gave to this caller.
        """
        everybody = principal.is_operator
        purpose = "audit:all" if everybody else "audit"
        statement = select(audit).order_by(audit.c.at.desc(), audit.c.id.desc()).limit(limit + 1)
        if not everybody:
            statement = statement.where(audit.c.owner_id == principal.user_id)
        if cursor is not None:
            at, entry_id = self._cursors.read(cursor, owner_id=principal.user_id, purpose=purpose)
            place = tuple_(literal(from_ms(at), Instant), literal(entry_id))
            statement = statement.where(tuple_(audit.c.at, audit.c.id) < place)
        context = self._database.system_read() if everybody else self._database.tenant_read(principal.user_id)
        async with context as unit:
            rows = (await unit.connection.execute(statement)).all()
        shown = rows[:limit]
        following: str | None = None
        if len(rows) > limit:
            last = shown[-1]
            following = self._cursors.make(
                (to_ms(last.at), last.id), owner_id=principal.user_id, purpose=purpose
            )
        return {"entries": _entries(shown), "next": following}


def _entries(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "actor_id": row.owner_id or None,
            "at": row.at,
            "caller_kind": row.caller_kind,
            "initiator": row.initiator,
            "action": row.action,
            "target": row.target,
            "version": row.version,
            "outcome": row.outcome,
            "error_code": row.error_code or None,
            "run_id": row.run_id,
            "session_id": row.session_id,
            "call_id": row.call_id,
            "token_id": row.token_id,
            "arguments_digest": row.arguments_digest or None,
            "duration_ms": row.duration_ms,
            "usage": row.usage,
        }
        for row in rows
    ]
