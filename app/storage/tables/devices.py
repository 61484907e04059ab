"""Signed-in browsers, the one-time set-up link, and what is counted against guessing."""

from sqlalchemy import Column, Index, Integer, String, Table

from app.protocol.column_types import Instant
from app.storage.tables.base import metadata, owned_table, owner_id

devices = owned_table(
    "devices",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("hash", String(64), nullable=False, unique=True),  # of the cookie that is valid now
    Column("previous_hash", String(64)),  # of the one before, for answers still under way
    Column("rotated_at", Instant, nullable=False),
    Column("taken_up_at", Instant),  # when the newest cookie was first seen
    Column("created_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("user_agent", String(300), nullable=False, default=""),
    Column("address", String(64), nullable=False, default=""),
    Index("ix_devices_previous_hash", "previous_hash"),
    Index("ix_devices_owner_id", "owner_id"),
)

setup_links = Table(
    "setup_links",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("created_at", Instant, nullable=False),
)

login_failures = Table(
    "login_failures",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("count", Integer, nullable=False),
    Column("since", Instant, nullable=False),
)
