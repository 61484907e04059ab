"""Jobs, which are their own outbox, and the inbox through which a session hears of what ended elsewhere."""

from sqlalchemy import Boolean, Column, Index, Integer, String, UniqueConstraint, text

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

jobs = owned_table(
    "jobs",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("session_id", String(64)),  # NULL: submitted outside a session; its end re-enters nothing
    Column("run_id", String(64)),
    Column("call_id", String(64)),
    Column("app_id", String(64)),
    Column("name", String(128), nullable=False),  # namespace::job
    Column("package", String(64), nullable=False),
    Column("package_version", String(64), nullable=False),
    Column("title", String(200), nullable=False),
    Column("input", JsonText, nullable=False),
    Column("principal", JsonText, nullable=False),  # kind, scopes, token_id, app_id: facts, no authority
    Column("status", String(16), nullable=False),  # queued | running | completed | failed | cancelled
    Column("attempt", Integer, nullable=False, default=0),  # rises with each claim: the fence of later writes
    Column("max_attempts", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False, default=False),
    Column("worker_id", String(64)),
    Column("lease_until", Instant),  # database time; set while running
    Column("run_at", Instant, nullable=False),  # database time; not before then
    Column("rung_at", Instant),  # database time of the last ring
    Column("progress", JsonText),
    Column("result", JsonText),
    Column("error", JsonText),
    Column("created_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Index("ix_jobs_status_run_at", "status", "run_at"),
    Index("ix_jobs_owner_id_id", "owner_id", "id"),
    Index("ix_jobs_session_id", "session_id"),
)

inbox = owned_table(
    "inbox",
    Column("id", String(64), primary_key=True),  # sorts by time of making
    owner_id(),
    Column("session_id", String(64), nullable=False),
    Column("source", String(16), nullable=False),  # job | confirmation
    Column("source_id", String(64), nullable=False),
    Column("body", JsonText, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("consumed_at", Instant),
    Column("run_id", String(64)),  # the run that it became; NULL where it was dropped
    UniqueConstraint("source", "source_id"),
    Index(
        "ix_inbox_waiting",
        "session_id",
        "id",
        sqlite_where=text("consumed_at IS NULL"),
        postgresql_where=text("consumed_at IS NULL"),
    ),
)
