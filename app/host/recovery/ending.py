"""Takes a run over and ends it, in one transaction under a new fence."""

from __future__ import annotations

from typing import Any

import orjson
import structlog
from sqlalchemy import insert, text

from app.errors import DeskmateError, RunInterrupted
from app.host.event_log.batch import Finish
from app.host.event_log.log import RunLog, Sealed
from app.host.recovery.reconstruct import EffectFact, Remains, write_end
from app.protocol.crash import crash_point
from app.storage.database import Database, Unit
from app.storage.tables import events, items

_log = structlog.get_logger(__name__)

_LIVE = "status IN ('queued', 'running', 'cancelling')"
_TAKE = {
    # FOR UPDATE waits for an effect's transaction (FOR KEY SHARE): it commits before we look, or
    # fails its check after us.
    "postgresql": text(f"SELECT id FROM runs WHERE id = :run AND {_LIVE} FOR UPDATE"),
    "sqlite": text(f"SELECT id FROM runs WHERE id = :run AND {_LIVE}"),
}
_RAISE = text("UPDATE runs SET fence = fence + 1, process_id = :me WHERE id = :run RETURNING *")
_EVENTS = text("SELECT line FROM events WHERE run_id = :run ORDER BY seq")
_ITEMS = text(
    "SELECT type, status, seq, ordinal, body FROM items WHERE session_id = :session AND turn = :turn ORDER BY ordinal"
)
_EFFECTS = text("SELECT call_id, capability, status, result FROM effects WHERE run_id = :run ORDER BY at")
_LOADED = text("SELECT loaded_domains FROM sessions WHERE id = :session")
_END_RUN = text(
    "UPDATE runs SET status = :status, ended_at = :at, usage = :usage, steps = :steps, error = :error WHERE id = :run"
)
_FREE = text(
    "UPDATE sessions SET live_run_id = NULL, updated_at = :at, loaded_domains = :loaded,"
    " message_count = message_count + :messages WHERE id = :session AND live_run_id = :run"
)

INTERRUPTED = "The server stopped during this turn. What was done is kept; ask again to go on."


async def end_run(
    database: Database, run_id: str, *, process_id: str, error: DeskmateError | None = None
) -> bool:
    """Ends one live run as failed. False where it had already ended. Raises StorageUnavailable."""
    async with database.system_write() as unit:
        if (await unit.connection.execute(_TAKE[unit.dialect], {"run": run_id})).first() is None:
            return False
        run = (await unit.connection.execute(_RAISE, {"run": run_id, "me": process_id})).one()
        remains, next_seq, next_ordinal = await _remains(unit, run)
        log = RunLog(
            run_id=run.id,
            session_id=run.session_id,
            owner_id=run.owner_id,
            turn=run.turn,
            fence=run.fence,
            mark_dirty=lambda _: None,
            next_seq=next_seq,
            next_ordinal=next_ordinal,
        )
        loaded: str | None = (await unit.connection.execute(_LOADED, {"session": run.session_id})).scalar()
        write_end(
            log,
            remains,
            error=error or RunInterrupted(INTERRUPTED),
            loaded=orjson.loads(loaded) if loaded else [],
        )
        await _store(unit, log.seal())
        crash_point("in_recovery_before_commit")
    _log.warning("run_ended_by_recovery", run_id=run_id)
    return True


async def _remains(unit: Unit, run: Any) -> tuple[Remains, int, int]:
    lines = (await unit.connection.execute(_EVENTS, {"run": run.id})).scalars().all()
    rows = (await unit.connection.execute(_ITEMS, {"session": run.session_id, "turn": run.turn})).all()
    effects = (await unit.connection.execute(_EFFECTS, {"run": run.id})).all()
    parsed = [orjson.loads(line) for line in lines]
    stored = [{**orjson.loads(r.body), "type": r.type, "status": r.status, "seq": r.seq} for r in rows]
    facts = [
        EffectFact(r.call_id, r.capability, r.status, None if r.result is None else orjson.loads(r.result))
        for r in effects
        if r.call_id is not None
    ]
    next_seq = parsed[-1]["seq"] + 1 if parsed else 1
    next_ordinal = rows[-1].ordinal + 1 if rows else 0
    return Remains(parsed, stored, facts), next_seq, next_ordinal


async def _store(unit: Unit, sealed: Sealed) -> None:
    connection = unit.connection
    if sealed.lines:
        lines = [
            {"run_id": x.run_id, "seq": x.seq, "owner_id": x.owner_id, "line": x.line} for x in sealed.lines
        ]
        await connection.execute(insert(events), lines)
    for row in sealed.items:
        values = {name: getattr(row, name) for name in row.__slots__ if name != "at_ms"}
        await connection.execute(_PUT_ITEM, {**values, "at": row.at_ms})
    finish = sealed.finish
    assert finish is not None
    await _finish(unit, finish)


_PUT_ITEM = text(
    f"INSERT INTO items ({', '.join(c.name for c in items.columns)})"
    f" VALUES ({', '.join(':' + c.name for c in items.columns)})"
)


async def _finish(unit: Unit, finish: Finish) -> None:
    await unit.connection.execute(
        _END_RUN,
        {
            "status": finish.status,
            "at": finish.ended_at_ms,
            "usage": finish.usage,
            "steps": finish.steps,
            "error": finish.error,
            "run": finish.run_id,
        },
    )
    await unit.connection.execute(
        _FREE,
        {
            "at": finish.ended_at_ms,
            "loaded": finish.loaded_domains,
            "messages": finish.messages,
            "session": finish.session_id,
            "run": finish.run_id,
        },
    )
