"""The event log's statements for SQLite: one hop to the writer thread a transaction."""

from __future__ import annotations

import sqlite3

from app.host.event_log.batch import Batch, RunStart, RunStarted
from app.storage.database import Database

_LIVE = "status IN ('queued', 'running', 'cancelling')"

TAKE_SESSION = f"""
UPDATE sessions SET live_run_id = :run_id, turn_count = turn_count + 1, updated_at = :at_ms,
       message_count = message_count + (:item_type = 'user'),
       title = CASE WHEN title_source = 'none' AND :title <> '' THEN :title ELSE title END,
       title_source = CASE WHEN title_source = 'none' AND :title <> '' THEN 'input' ELSE title_source END
WHERE id = :session_id AND owner_id = :owner_id AND app_id IS :app_id
  AND live_run_id IS NULL AND archived_at IS NULL AND (:expected_turn IS NULL OR turn_count = :expected_turn)
  AND (SELECT count(*) FROM runs WHERE owner_id = :owner_id AND {_LIVE}) < :max_live_runs
  AND NOT EXISTS (SELECT 1 FROM idempotency_keys
                  WHERE owner_id = :owner_id AND route = :route AND key = :idempotency_key)
RETURNING turn_count, model, profile, loaded_domains
"""

PUT_RUN = """
INSERT INTO runs (id, owner_id, session_id, turn, status, process_id, fence, snapshot_digest, model, principal,
                  created_at, steps, events_expired)
VALUES (:run_id, :owner_id, :session_id, :turn, 'running', :process_id, 1, :snapshot_digest, :model, :principal,
        :at_ms, 0, 0)
"""
PUT_ITEM = """
INSERT INTO items (session_id, turn, ordinal, id, owner_id, run_id, type, status, at, seq, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
PUT_KEY = """
INSERT INTO idempotency_keys (owner_id, route, key, body_digest, status, process_id, run_id, created_at)
VALUES (:owner_id, :route, :idempotency_key, :body_digest, 'done', :process_id, :run_id, :at_ms)
"""
TAKE_UP = "UPDATE inbox SET consumed_at = :at_ms, run_id = :run_id WHERE id = :inbox_id"
PUT_LINE = "INSERT INTO events (run_id, seq, owner_id, line) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
SAME_LINE = "SELECT 1 FROM events WHERE run_id = ? AND seq = ? AND line = ?"
LIVE_UNDER_FENCE = f"SELECT 1 FROM runs WHERE id = ? AND fence = ? AND {_LIVE}"
END_RUN = "UPDATE runs SET status = ?, ended_at = ?, usage = ?, steps = ?, error = ? WHERE id = ?"
FREE_SESSION = """
UPDATE sessions SET live_run_id = NULL, updated_at = ?, loaded_domains = ?, message_count = message_count + ?
WHERE id = ? AND live_run_id = ?
"""


class SqliteLogStore:
    """Implements `LogStore`; its transactions are next in line for the process's one write lock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write_starts(self, starts: list[RunStart], *, again: bool) -> dict[str, RunStarted]:
        return await self._database.sqlite_transaction(lambda db: _write_starts(db, starts), urgent=True)

    async def write_batch(self, batch: Batch, *, again: bool) -> set[str]:
        return await self._database.sqlite_transaction(
            lambda db: _write_batch(db, batch, again=again), urgent=True
        )

    async def aclose(self) -> None:
        """Nothing of its own: the connection is the database's."""


def _write_starts(db: sqlite3.Connection, starts: list[RunStart]) -> dict[str, RunStarted]:
    started: dict[str, RunStarted] = {}
    for start in starts:
        values = {name: getattr(start, name) for name in RunStart.__slots__}
        row = db.execute(TAKE_SESSION, values).fetchone()
        if row is None:
            continue
        turn, model, profile, loaded_domains = row
        if start.snapshot_body is not None:
            db.execute(
                "INSERT INTO snapshots (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (start.snapshot_digest, start.snapshot_body),
            )
        values["turn"] = turn
        values["model"] = model or start.model
        db.execute(PUT_RUN, values)
        db.execute(
            PUT_ITEM,
            (
                start.session_id, turn, 0, start.item_id, start.owner_id, start.run_id,
                start.item_type, "completed", start.at_ms, 0, start.item_body,
            ),
        )  # fmt: skip
        if start.idempotency_key is not None:
            db.execute(PUT_KEY, values)
        if start.inbox_id is not None:
            db.execute(TAKE_UP, values)
        started[start.run_id] = RunStarted(start.run_id, turn, model, profile, loaded_domains)
    return started


def _write_batch(db: sqlite3.Connection, batch: Batch, *, again: bool) -> set[str]:
    live = {
        run_id
        for run_id, fence in batch.fences.items()
        if db.execute(LIVE_UNDER_FENCE, (run_id, fence)).fetchone() is not None
    }
    db.executemany(PUT_LINE, [(x.run_id, x.seq, x.owner_id, x.line) for x in batch.lines if x.run_id in live])
    db.executemany(
        PUT_ITEM,
        [
            (
                x.session_id,
                x.turn,
                x.ordinal,
                x.id,
                x.owner_id,
                x.run_id,
                x.type,
                x.status,
                x.at_ms,
                x.seq,
                x.body,
            )
            for x in batch.items
            if x.run_id in live
        ],
    )
    for x in batch.finishes:
        if x.run_id in live:
            db.execute(END_RUN, (x.status, x.ended_at_ms, x.usage, x.steps, x.error, x.run_id))
            db.execute(FREE_SESSION, (x.ended_at_ms, x.loaded_domains, x.messages, x.session_id, x.run_id))
    return live | _written_before(db, batch, live) if again else live


def _written_before(db: sqlite3.Connection, batch: Batch, live: set[str]) -> set[str]:
    """After a try of unknown outcome: a run that is no longer live counts as written if its last line
    is there, byte for byte (its own finish went through)."""
    last = {x.run_id: x for x in batch.lines if x.run_id not in live}
    return {x.run_id for x in last.values() if db.execute(SAME_LINE, (x.run_id, x.seq, x.line)).fetchone()}
