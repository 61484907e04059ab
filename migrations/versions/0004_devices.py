"""Signed-in browsers, the set-up link and failed sign-ins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.protocol.column_types import Instant
from app.sdk.migration import protect

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "devices",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=True),
        sa.Column("rotated_at", Instant(), nullable=False),
        sa.Column("taken_up_at", Instant(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("last_seen_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("user_agent", sa.String(length=300), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_devices")),
        sa.UniqueConstraint("hash", name=op.f("uq_devices_hash")),
    )
    op.create_index("ix_devices_previous_hash", "devices", ["previous_hash"], unique=False)
    op.create_index("ix_devices_owner_id", "devices", ["owner_id"], unique=False)
    op.create_table(
        "setup_links",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_setup_links")),
    )
    op.create_table(
        "login_failures",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_login_failures")),
    )
    protect(op, "devices")


def downgrade() -> None:
    op.drop_table("login_failures")
    op.drop_table("setup_links")
    op.drop_table("devices")
