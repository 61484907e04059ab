"""Counts."""

import sqlalchemy as sa
from alembic import op

from app.sdk.migration import protect

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "pkg_lab_counts",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("owner_id", sa.String(64), nullable=False, index=True),
        sa.Column("amount", sa.Integer(), nullable=False),
    )
    protect(op, "pkg_lab_counts")
