"""The notebook's entries."""

import sqlalchemy as sa
from alembic import op

from app.sdk import Instant
from app.sdk.migration import protect

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pkg_mistakes_entries",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("owner_id", sa.String(64), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("correct_answer", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.Column("source_file_id", sa.String(64)),
        sa.Column("archived_at", Instant()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_index("ix_pkg_mistakes_entries_owner_id", "pkg_mistakes_entries", ["owner_id"])
    op.create_index("ix_pkg_mistakes_entries_owner_id_id", "pkg_mistakes_entries", ["owner_id", "id"])
    protect(op, "pkg_mistakes_entries")


def downgrade() -> None:
    op.drop_table("pkg_mistakes_entries")
