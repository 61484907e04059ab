"""Sessions: one conversation of one user."""

from sqlalchemy import Column, Index, Integer, String

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

sessions = owned_table(
    "sessions",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("app_id", String(64)),
    Column("title", String(200), nullable=False, default=""),
    Column("title_source", String(16), nullable=False, default="none"),  # none | input | user
    Column("profile", String(64)),
    Column("model", String(128)),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("archived_at", Instant),
    Column("version", Integer, nullable=False, default=1),  # rises with title, model and archive; the ETag
    Column("turn_count", Integer, nullable=False, default=0),
    Column("message_count", Integer, nullable=False, default=0),
    Column("live_run_id", String(64)),
    Column("loaded_domains", JsonText, nullable=False, default=list),
    Index("ix_sessions_owner_id_updated_at_id", "owner_id", "updated_at", "id"),
)
