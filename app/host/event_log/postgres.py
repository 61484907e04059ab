"""The event log's statements for PostgreSQL: one a flush, arrays in, data-modifying CTEs.

Each statement is its own transaction, so a flush is one round trip on a prepared statement. `unnest`
of arrays costs a tenth of a multi-row VALUES, because the text of the statement never changes.
"""

from __future__ import annotations

from typing import Any

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import StorageUnavailable
from app.host.event_log.batch import Batch, RunStart, RunStarted
from app.storage.database import Database
from app.storage.unit import driver

# FOR NO KEY UPDATE keeps out the sweeper (FOR UPDATE) but not an effect's FOR KEY SHARE: a slow
# handler's transaction must not hold up every other run's lines.
WRITE_BATCH = """
WITH want AS (SELECT * FROM unnest($1::text[], $2::int[]) AS w(run_id, fence)),
live AS (
  SELECT r.id FROM runs r JOIN want w ON r.id = w.run_id
  WHERE r.fence = w.fence AND r.status IN ('queued', 'running', 'cancelling')
  ORDER BY r.id FOR NO KEY UPDATE OF r
),
put_lines AS (
  INSERT INTO events (run_id, seq, owner_id, line)
  SELECT l.run_id, l.seq, l.owner_id, l.line
  FROM unnest($3::text[], $4::int[], $5::text[], $6::text[]) AS l(run_id, seq, owner_id, line)
  JOIN live ON live.id = l.run_id
  ON CONFLICT (run_id, seq) DO NOTHING
),
put_items AS (
  INSERT INTO items (session_id, turn, ordinal, id, owner_id, run_id, type, status, at, seq, body)
  SELECT i.* FROM unnest($7::text[], $8::int[], $9::int[], $10::text[], $11::text[], $12::text[],
                         $13::text[], $14::text[], $15::bigint[], $16::int[], $17::text[])
    AS i(session_id, turn, ordinal, id, owner_id, run_id, type, status, at, seq, body)
  JOIN live ON live.id = i.run_id
  ON CONFLICT DO NOTHING
),
done AS (
  SELECT f.* FROM unnest($18::text[], $19::text[], $20::text[], $21::bigint[], $22::text[], $23::int[],
                         $24::text[], $25::text[], $26::int[])
    AS f(run_id, session_id, status, ended_at, usage, steps, error, loaded_domains, messages)
  JOIN live ON live.id = f.run_id
),
end_runs AS (
  UPDATE runs r SET status = d.status, ended_at = d.ended_at, usage = d.usage, steps = d.steps, error = d.error
  FROM done d WHERE r.id = d.run_id
),
free_sessions AS (
  UPDATE sessions s SET live_run_id = NULL, updated_at = d.ended_at, loaded_domains = d.loaded_domains,
         message_count = s.message_count + d.messages
  FROM done d WHERE s.id = d.session_id AND s.live_run_id = d.run_id
)
SELECT id FROM live
"""

# After a try of unknown outcome: a run that is no longer live counts as written if its last line is
# there, byte for byte (its own finish went through).
WRITTEN_BEFORE = """
SELECT e.run_id FROM events e
JOIN unnest($1::text[], $2::int[], $3::text[]) AS l(run_id, seq, line)
  ON e.run_id = l.run_id AND e.seq = l.seq AND e.line = l.line
"""

WRITE_STARTS = """
WITH req AS (
  SELECT *, row_number() OVER (PARTITION BY owner_id ORDER BY run_id) AS nth
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
              $9::bigint[], $10::text[], $11::text[], $12::text[], $13::int[], $14::text[], $15::text[],
              $16::text[], $17::text[], $18::text[], $19::text[], $20::int[])
    AS r(run_id, session_id, owner_id, app_id, process_id, snapshot_digest, principal, model,
         at, item_id, item_body, title, max_live_runs, route, idempotency_key, body_digest, snapshot_body,
         item_type, inbox_id, expected_turn)
),
snap AS (
  INSERT INTO snapshots (digest, body)
  SELECT DISTINCT ON (snapshot_digest) snapshot_digest, snapshot_body FROM req WHERE snapshot_body IS NOT NULL
  ON CONFLICT DO NOTHING
),
allowed AS (
  SELECT req.* FROM req
  WHERE (SELECT count(*) FROM runs x WHERE x.owner_id = req.owner_id
           AND x.status IN ('queued', 'running', 'cancelling')) + req.nth <= req.max_live_runs
    AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.owner_id = req.owner_id
           AND k.route = req.route AND k.key = req.idempotency_key)
),
taken AS (
  UPDATE sessions s SET live_run_id = a.run_id, turn_count = s.turn_count + 1, updated_at = a.at,
         message_count = s.message_count + (a.item_type = 'user')::int,
         title = CASE WHEN s.title_source = 'none' AND a.title <> '' THEN a.title ELSE s.title END,
         title_source = CASE WHEN s.title_source = 'none' AND a.title <> '' THEN 'input' ELSE s.title_source END
  FROM allowed a
  WHERE s.id = a.session_id AND s.owner_id = a.owner_id AND s.app_id IS NOT DISTINCT FROM a.app_id
    AND s.live_run_id IS NULL AND s.archived_at IS NULL
    AND (a.expected_turn IS NULL OR s.turn_count = a.expected_turn)
  RETURNING a.run_id, s.turn_count AS turn, s.model, s.profile, s.loaded_domains
),
put_runs AS (
  INSERT INTO runs (id, owner_id, session_id, turn, status, process_id, fence, snapshot_digest, model, principal,
                    created_at, steps, events_expired)
  SELECT a.run_id, a.owner_id, a.session_id, t.turn, 'running', a.process_id, 1, a.snapshot_digest,
         coalesce(t.model, a.model), a.principal, a.at, 0, 0
  FROM taken t JOIN allowed a USING (run_id)
),
put_items AS (
  INSERT INTO items (session_id, turn, ordinal, id, owner_id, run_id, type, status, at, seq, body)
  SELECT a.session_id, t.turn, 0, a.item_id, a.owner_id, a.run_id, a.item_type, 'completed', a.at, 0, a.item_body
  FROM taken t JOIN allowed a USING (run_id)
),
put_keys AS (
  INSERT INTO idempotency_keys (owner_id, route, key, body_digest, status, process_id, run_id, created_at)
  SELECT a.owner_id, a.route, a.idempotency_key, a.body_digest, 'done', a.process_id, a.run_id, a.at
  FROM taken t JOIN allowed a USING (run_id) WHERE a.idempotency_key IS NOT NULL
),
take_up AS (
  UPDATE inbox i SET consumed_at = a.at, run_id = a.run_id
  FROM taken t JOIN allowed a USING (run_id) WHERE i.id = a.inbox_id
)
SELECT run_id, turn, model, profile, loaded_domains FROM taken
"""

STARTED_BEFORE = """
SELECT r.id AS run_id, r.turn, s.model, s.profile, s.loaded_domains
FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = ANY($1::text[])
"""

_AWAY = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError)
_RETRY = (
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.TooManyConnectionsError,
)


class PostgresLogStore:
    """Implements `LogStore` on one connection of its own, opened on first use and after each loss."""

    def __init__(self, database: Database, *, statement_timeout_s: float = 15.0) -> None:
        self._database = database
        self._connection: AsyncConnection | None = None
        self._driver: Any = None
        self._timeout_s = statement_timeout_s

    async def write_starts(self, starts: list[RunStart], *, again: bool) -> dict[str, RunStarted]:
        found: dict[str, RunStarted] = {}
        if again:
            rows = await self._fetch(STARTED_BEFORE, [s.run_id for s in starts])
            found = {row["run_id"]: _started(row) for row in rows}
            starts = [s for s in starts if s.run_id not in found]
            if not starts:
                return found
        columns = (
            [s.run_id for s in starts],
            [s.session_id for s in starts],
            [s.owner_id for s in starts],
            [s.app_id for s in starts],
            [s.process_id for s in starts],
            [s.snapshot_digest for s in starts],
            [s.principal for s in starts],
            [s.model for s in starts],
            [s.at_ms for s in starts],
            [s.item_id for s in starts],
            [s.item_body for s in starts],
            [s.title for s in starts],
            [s.max_live_runs for s in starts],
            [s.route for s in starts],
            [s.idempotency_key for s in starts],
            [s.body_digest for s in starts],
            [s.snapshot_body for s in starts],
            [s.item_type for s in starts],
            [s.inbox_id for s in starts],
            [s.expected_turn for s in starts],
        )
        rows = await self._fetch(WRITE_STARTS, *columns)
        return found | {row["run_id"]: _started(row) for row in rows}

    async def write_batch(self, batch: Batch, *, again: bool) -> set[str]:
        lines, items, finishes = batch.lines, batch.items, batch.finishes
        rows = await self._fetch(
            WRITE_BATCH,
            list(batch.fences),
            list(batch.fences.values()),
            [x.run_id for x in lines],
            [x.seq for x in lines],
            [x.owner_id for x in lines],
            [x.line for x in lines],
            [x.session_id for x in items],
            [x.turn for x in items],
            [x.ordinal for x in items],
            [x.id for x in items],
            [x.owner_id for x in items],
            [x.run_id for x in items],
            [x.type for x in items],
            [x.status for x in items],
            [x.at_ms for x in items],
            [x.seq for x in items],
            [x.body for x in items],
            [x.run_id for x in finishes],
            [x.session_id for x in finishes],
            [x.status for x in finishes],
            [x.ended_at_ms for x in finishes],
            [x.usage for x in finishes],
            [x.steps for x in finishes],
            [x.error for x in finishes],
            [x.loaded_domains for x in finishes],
            [x.messages for x in finishes],
        )
        kept: set[str] = {row[0] for row in rows}
        if again and len(kept) < len(batch.fences):
            last = {x.run_id: x for x in lines if x.run_id not in kept}
            rows = await self._fetch(
                WRITTEN_BEFORE, list(last), [x.seq for x in last.values()], [x.line for x in last.values()]
            )
            kept |= {row[0] for row in rows}
        return kept

    async def aclose(self) -> None:
        await self._drop()

    async def _fetch(self, statement: str, *args: Any) -> list[Any]:
        try:
            if self._driver is None or self._driver.is_closed():
                await self._drop()
                self._connection = await self._database.dedicated_connection()
                self._driver = await driver(self._connection)
            return await self._driver.fetch(statement, *args, timeout=self._timeout_s)
        except _RETRY as error:
            raise StorageUnavailable("The database cannot take the record right now.") from error
        except _AWAY as error:
            await self._drop()
            raise StorageUnavailable("The database does not answer.") from error

    async def _drop(self) -> None:
        connection, self._connection, self._driver = self._connection, None, None
        if connection is not None:
            await connection.invalidate()
            await connection.close()


def _started(row: Any) -> RunStarted:
    return RunStarted(row["run_id"], row["turn"], row["model"], row["profile"], row["loaded_domains"])
