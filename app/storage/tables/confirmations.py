"""Approvals of destructive calls: one pending row per session, capability and argument digest (C19)."""

from sqlalchemy import Column, Index, String, text

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

confirmations = owned_table(
    "confirmations",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("session_id", String(64), nullable=False, default=""),  # "": asked for outside a session
    Column("run_id", String(64)),
    Column("call_id", String(64)),
    Column("capability", String(128), nullable=False),
    Column("package_version", String(64), nullable=False),
    Column("arguments", JsonText, nullable=False),
    Column("arguments_digest", String(64), nullable=False),
    Column("status", String(16), nullable=False),  # pending | approved | declined | expired
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("decided_at", Instant),
    Column("result", JsonText),
    Column("error", JsonText),
    Index(
        "uq_confirmations_pending",
        "owner_id",
        "session_id",
        "capability",
        "arguments_digest",
        unique=True,
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
)
