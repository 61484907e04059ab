"""The record as a person's client reads it: items in pages, and the export (P5, H8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
from sqlalchemy import text

from app.errors import NotFound
from app.host.event_log.log import rfc3339
from app.protocol.identity import Principal
from app.protocol.jsontext import dump_bytes
from app.services.cursors import Cursors
from app.storage.database import Database, Unit

DEFAULT_LIMIT = 50
MOST_LIMIT = 200
EXPORT_PAGE = 500

_SESSION = text(
    "SELECT s.id, s.title, s.created_at, s.updated_at, s.model, s.profile, s.live_run_id, s.app_id,"
    " r.turn AS live_turn FROM sessions s LEFT JOIN runs r ON r.id = s.live_run_id"
    " WHERE s.id = :session AND s.owner_id = :owner"
)
_PAGE = text(
    "SELECT id, run_id, type, status, at, seq, turn, ordinal, body FROM items"
    " WHERE session_id = :session AND (turn < :turn OR (turn = :turn AND ordinal < :ordinal))"
    " ORDER BY turn DESC, ordinal DESC LIMIT :limit"
)
_FORWARD = text(
    "SELECT id, run_id, type, status, at, seq, turn, ordinal, body FROM items"
    " WHERE session_id = :session AND (turn > :turn OR (turn = :turn AND ordinal > :ordinal))"
    " ORDER BY turn, ordinal LIMIT :limit"
)
_COVERED = text("SELECT max(seq) FROM items WHERE session_id = :session AND turn = :turn")
_END = 2**31 - 1


class Projections:
    def __init__(self, *, database: Database, cursors: Cursors) -> None:
        self._database = database
        self._cursors = cursors

    async def items(
        self, principal: Principal, session_id: str, *, limit: int = DEFAULT_LIMIT, before: str | None = None
    ) -> dict[str, Any]:
        """The newest `limit` items before `before`, ascending. Raises NotFound, InvalidCursor."""
        limit = max(1, min(limit, MOST_LIMIT))
        turn, ordinal = _END, _END
        if before is not None:
            turn, ordinal = self._cursors.read(
                before, owner_id=principal.user_id, purpose=_purpose(session_id)
            )
        async with self._database.tenant_read(principal.user_id) as unit:
            session = await _session(unit, principal, session_id)
            values = {"session": session_id, "turn": turn, "ordinal": ordinal, "limit": limit + 1}
            rows = list((await unit.connection.execute(_PAGE, values)).all())
            live = None
            if session.live_run_id is not None:
                covered = await unit.connection.execute(
                    _COVERED, {"session": session_id, "turn": session.live_turn}
                )
                live = {"run_id": session.live_run_id, "after": covered.scalar() or 0}
        more = len(rows) > limit
        rows = rows[:limit][::-1]
        cursor = None
        if more:
            cursor = self._cursors.make(
                (rows[0].turn, rows[0].ordinal), owner_id=principal.user_id, purpose=_purpose(session_id)
            )
        return {"items": [item_view(row) for row in rows], "next_before": cursor, "live_run": live}

    async def export(self, principal: Principal, session_id: str) -> AsyncIterator[bytes]:
        """The whole session as JSON lines: a head, then every item. Raises NotFound before the first."""
        async with self._database.tenant_read(principal.user_id) as unit:
            session = await _session(unit, principal, session_id)
        return self._export_lines(principal, session)

    async def _export_lines(self, principal: Principal, session: Any) -> AsyncIterator[bytes]:
        head = {
            "type": "session",
            "id": session.id,
            "title": session.title,
            "created_at": rfc3339(session.created_at),
            "updated_at": rfc3339(session.updated_at),
            "model": session.model,
            "profile": session.profile,
        }
        yield dump_bytes(head) + b"\n"
        turn, ordinal = 0, -1
        while True:
            values = {"session": session.id, "turn": turn, "ordinal": ordinal, "limit": EXPORT_PAGE}
            async with self._database.tenant_read(principal.user_id) as unit:
                rows = (await unit.connection.execute(_FORWARD, values)).all()
            if rows:
                yield b"".join(dump_bytes(item_view(row)) + b"\n" for row in rows)
                turn, ordinal = rows[-1].turn, rows[-1].ordinal
            if len(rows) < EXPORT_PAGE:
                return


async def _session(unit: Unit, principal: Principal, session_id: str) -> Any:
    values = {"session": session_id, "owner": principal.user_id}
    row = (await unit.connection.execute(_SESSION, values)).first()
    if row is None or row.app_id != principal.app_id:
        raise NotFound
    return row


def _purpose(session_id: str) -> str:
    return f"items:{session_id}"


def item_view(row: Any) -> dict[str, Any]:
    """An item as the API shows it. Provider state and raw arguments stay inside."""
    body: dict[str, Any] = orjson.loads(row.body)
    view: dict[str, Any] = {
        "id": row.id,
        "run_id": row.run_id,
        "type": row.type,
        "status": row.status,
        "at": rfc3339(row.at),
    }
    if row.type == "tool":
        call = body["call"]
        view["call"] = {
            key: call.get(key)
            for key in ("id", "name", "arguments", "result", "error", "duration_ms", "status")
        }
    else:
        view["parts"] = body.get("parts", [])
        if body.get("facts"):
            view["facts"] = body["facts"]
    return view
