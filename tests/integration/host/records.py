"""Rows that the host's tests begin with."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from sqlalchemy import insert, text

from app.host.event_log import GroupWriter, LogStore, RunLog, RunStart
from app.host.event_log.postgres import PostgresLogStore
from app.host.event_log.sqlite import SqliteLogStore
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.storage.database import Database
from app.storage.tables import sessions, users


def log_store(database: Database) -> LogStore:
    return PostgresLogStore(database) if database.dialect == "postgresql" else SqliteLogStore(database)


async def new_user(database: Database) -> str:
    user_id = new_id("usr")
    async with database.system_write() as unit:
        await unit.connection.execute(
            insert(users).values(
                id=user_id,
                email=f"{user_id}@example.org",
                is_operator=False,
                status="active",
                created_at=datetime.now(UTC),
            )
        )
    return user_id


async def new_session(database: Database, owner_id: str) -> str:
    session_id = new_id("ses")
    now = datetime.now(UTC)
    async with database.system_write() as unit:
        await unit.connection.execute(
            insert(sessions).values(
                id=session_id, owner_id=owner_id, created_at=now, updated_at=now, loaded_domains=[]
            )
        )
    return session_id


def run_start(
    owner_id: str,
    session_id: str,
    *,
    process_id: str = "prc_test",
    key: str | None = None,
    max_live_runs: int = 8,
    words: str = "What is a prime?",
) -> RunStart:
    return RunStart(
        run_id=new_id("run"),
        session_id=session_id,
        owner_id=owner_id,
        app_id=None,
        process_id=process_id,
        snapshot_digest="d" * 64,
        snapshot_body="{}",
        principal=dump_text({"kind": "api", "scopes": ["*"], "token_id": None, "app_id": None}),
        model="demo",
        at_ms=time.time_ns() // 1_000_000,
        item_id=new_id("item"),
        item_body=dump_text({"parts": [{"type": "text", "text": words}]}),
        title=words,
        max_live_runs=max_live_runs,
        route=f"runs:{session_id}",
        idempotency_key=key,
        body_digest="b" * 64,
    )


def run_log(start: RunStart, writer: GroupWriter, *, fence: int = 1, turn: int = 1) -> RunLog:
    return RunLog(
        run_id=start.run_id,
        session_id=start.session_id,
        owner_id=start.owner_id,
        turn=turn,
        fence=fence,
        mark_dirty=writer.mark_dirty,
        hurry=writer.hurry,
    )


def finish(log: RunLog, status: str = "completed") -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cached_input_tokens": 0, "cost": "0"}
    log.finish(status=status, usage=usage, steps=1, error=None, loaded_domains=["mistakes"])


async def stored_lines(database: Database, run_id: str) -> list[bytes]:
    async with database.system_read() as unit:
        rows = await unit.connection.execute(
            text("SELECT line FROM events WHERE run_id = :run ORDER BY seq"), {"run": run_id}
        )
        return [row.line.encode() for row in rows]


async def one(database: Database, statement: str, **values: object) -> object:
    async with database.system_read() as unit:
        return (await unit.connection.execute(text(statement), values)).scalar()
