"""Serving processes and their leases (P7)."""

from sqlalchemy import Column, String, Table

from app.protocol.column_types import Instant
from app.storage.tables.base import metadata

processes = Table(
    "processes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),  # serve | worker
    Column(
        "instance", String(64), nullable=False
    ),  # the data folder it locked: only one of these lives at a time
    Column("started_at", Instant, nullable=False),
    Column("lease_until", Instant, nullable=False),  # database time
)
