"""Uploaded files. The bytes lie under their SHA-256 in the data folder; the row is whose they are."""

from sqlalchemy import BigInteger, Column, Index, String

from app.protocol.column_types import Instant
from app.storage.tables.base import owned_table, owner_id

files = owned_table(
    "files",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("name", String(255), nullable=False),  # for display only, never a path
    Column("media_type", String(100), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column(
        "session_id", String(64)
    ),  # deleted with that session; NULL: not used yet, "": used by several, kept
    Column("created_at", Instant, nullable=False),
    Index("ix_files_sha256", "sha256"),
    Index("ix_files_owner_id_created_at", "owner_id", "created_at"),
)
