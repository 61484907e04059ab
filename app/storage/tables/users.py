"""Users and their bearer tokens."""

from sqlalchemy import Boolean, Column, Integer, String, Table, Text

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import metadata, owned_table, owner_id

users = Table(
    "users",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("email", String(320), nullable=False, unique=True),  # lower case
    Column("password_hash", Text),  # argon2id; NULL: cannot sign in with a password
    Column("is_operator", Boolean, nullable=False, default=False),
    Column("status", String(16), nullable=False, default="active"),  # active | disabled
    Column("created_at", Instant, nullable=False),
    Column("max_live_runs", Integer),  # NULL: the service's default
)

tokens = owned_table(
    "tokens",
    Column("id", String(64), primary_key=True),
    owner_id(),
    Column("kind", String(16), nullable=False),  # user | operator
    Column("hash", String(64), nullable=False, unique=True),  # SHA-256 of the token, hex
    Column("hint", String(24), nullable=False),  # first characters, for lists
    Column("name", String(120), nullable=False, default=""),
    Column("scopes", JsonText, nullable=False),
    Column("app_id", String(64)),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("last_used_at", Instant),
    Column("revoked_at", Instant),
)
