"""Jobs and the inbox of sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.protocol.column_types import Instant, JsonText
from app.sdk.migration import protect

revision = "0003"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("call_id", sa.String(length=64), nullable=True),
        sa.Column("app_id", sa.String(length=64), nullable=True),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("package", sa.String(length=64), nullable=False),
        sa.Column("package_version", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("input", JsonText(), nullable=False),
        sa.Column("principal", JsonText(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("worker_id", sa.String(length=64), nullable=True),
        sa.Column("lease_until", Instant(), nullable=True),
        sa.Column("run_at", Instant(), nullable=False),
        sa.Column("rung_at", Instant(), nullable=True),
        sa.Column("progress", JsonText(), nullable=True),
        sa.Column("result", JsonText(), nullable=True),
        sa.Column("error", JsonText(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("started_at", Instant(), nullable=True),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_status_run_at", "jobs", ["status", "run_at"], unique=False)
    op.create_index("ix_jobs_owner_id_id", "jobs", ["owner_id", "id"], unique=False)
    op.create_index("ix_jobs_session_id", "jobs", ["session_id"], unique=False)

    op.create_table(
        "inbox",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("source_id", sa.String(length=64), nullable=False),
        sa.Column("body", JsonText(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("consumed_at", Instant(), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint("source", "source_id", name=op.f("uq_inbox_source_source_id")),
    )
    op.create_index(
        "ix_inbox_waiting",
        "inbox",
        ["session_id", "id"],
        unique=False,
        sqlite_where=sa.text("consumed_at IS NULL"),
        postgresql_where=sa.text("consumed_at IS NULL"),
    )
    for table in ("jobs", "inbox"):
        protect(op, table)


def downgrade() -> None:
    op.drop_table("inbox")
    op.drop_table("jobs")
