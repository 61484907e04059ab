"""Runs, the frozen snapshot each used, its items (for ever) and its event lines (for 90 days).

No foreign keys from `items` and `events`: the event writer checks the run row in the same statement,
and a trigger per row would cost more than the row.
"""

from sqlalchemy import Column, Index, Integer, String, Table, Text, UniqueConstraint

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import metadata, owned_table, owner_id

snapshots = Table(
    "snapshots",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("body", JsonText, nullable=False),
)

runs = owned_table(
    "runs",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("session_id", String(64), nullable=False),
    Column("turn", Integer, nullable=False),  # ordinal in the session, from 1
    Column("status", String(16), nullable=False),
    Column("process_id", String(64)),
    Column("fence", Integer, nullable=False, default=1),  # rises at each take-over
    Column("snapshot_digest", String(64), nullable=False),
    Column("model", String(128)),
    Column("principal", JsonText, nullable=False),  # kind, scopes, token_id, app_id
    Column("created_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("usage", JsonText),
    Column("steps", Integer, nullable=False, default=0),
    Column("error", JsonText),
    Column("events_expired", Integer, nullable=False, default=0),
    UniqueConstraint("session_id", "turn"),
    Index("ix_runs_status_process_id", "status", "process_id"),
    Index("ix_runs_owner_id_status", "owner_id", "status"),
)

items = owned_table(
    "items",
    Column("session_id", String(64), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("ordinal", Integer, primary_key=True),  # order within the turn, from 0
    Column("id", String(64), nullable=False, unique=True),
    owner_id(),
    Column("run_id", String(64), nullable=False),
    Column("type", String(16), nullable=False),  # user | assistant | tool | note
    Column("status", String(16), nullable=False),  # completed | incomplete | failed | cancelled
    Column("at", Instant, nullable=False),
    Column("seq", Integer, nullable=False, default=0),  # the run's last event seq that this item covers
    Column("body", Text, nullable=False),  # JSON; shapes as in agent/context.py
)

events = owned_table(
    "events",
    Column("run_id", String(64), primary_key=True),
    Column("seq", Integer, primary_key=True),
    owner_id(),
    Column("line", Text, nullable=False),  # the NDJSON line as sent, newline included
)
