"""Facts kept across sessions (L10)."""

from sqlalchemy import Column, Index, String, Text

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

memories = owned_table(
    "memories",
    owner_id(primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("namespace", String(64), nullable=False),  # "global" or an app's id
    Column("content", Text, nullable=False),
    Column("source", String(64), nullable=False, default=""),  # session id it came from, or "user"
    Column("tags", JsonText, nullable=False, default=list),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Index("ix_memories_owner_id_namespace_updated_at", "owner_id", "namespace", "updated_at"),
)
