"""The audit trail (H10): appended, never changed; the tenant role has no UPDATE or DELETE on it."""

from sqlalchemy import Column, Index, Integer, String

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

audit = owned_table(
    "audit",
    Column("id", String(64), primary_key=True),
    owner_id(),  # the actor; "" where nobody could be told (a failed sign-in)
    Column("at", Instant, nullable=False),
    Column("caller_kind", String(16), nullable=False),
    Column("initiator", String(16), nullable=False, default=""),
    Column("action", String(64), nullable=False),
    Column("target", String(200), nullable=False),
    Column("version", String(64), nullable=False, default=""),
    Column("outcome", String(32), nullable=False),
    Column("error_code", String(64), nullable=False, default=""),
    Column("run_id", String(64)),
    Column("session_id", String(64)),
    Column("call_id", String(64)),
    Column("token_id", String(64)),
    Column("arguments_digest", String(64), nullable=False, default=""),
    Column("duration_ms", Integer, nullable=False, default=0),
    Column("usage", JsonText),
    Index("ix_audit_owner_id_at_id", "owner_id", "at", "id"),
)
