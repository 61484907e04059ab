"""Core tables, the tenant role and its row policies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.protocol.column_types import Instant, JsonText
from app.sdk.migration import protect, restrict

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

OWNED = (
    "confirmations",
    "effects",
    "events",
    "files",
    "idempotency_keys",
    "items",
    "memories",
    "package_switches",
    "runs",
    "sessions",
    "tokens",
)
OWN_ROWS = "owner_id = NULLIF(current_setting('deskmate.owner', true), '')"
PUBLIC_USER_COLUMNS = ("id", "email", "is_operator", "status", "created_at", "max_live_runs")

# Roles belong to the whole server, so another database may have made this one, or be making it now.
# A superuser is a member of every role; another login needs the membership to take the role on.
TENANT_ROLE_SQL = """
DO $$ BEGIN
  BEGIN
    CREATE ROLE deskmate_tenant NOLOGIN NOBYPASSRLS NOINHERIT;
  EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'deskmate_tenant') THEN
        RAISE EXCEPTION 'this login may not create roles'
          USING HINT = 'As an administrator: CREATE ROLE deskmate_tenant NOLOGIN; GRANT deskmate_tenant TO <login>';
      END IF;
  END;
  IF NOT pg_has_role(current_user, 'deskmate_tenant', 'MEMBER') THEN
    EXECUTE format('GRANT deskmate_tenant TO %I', current_user);
  END IF;
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO deskmate_tenant', current_schema());
END $$
"""


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("caller_kind", sa.String(length=16), nullable=False),
        sa.Column("initiator", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("call_id", sa.String(length=64), nullable=True),
        sa.Column("token_id", sa.String(length=64), nullable=True),
        sa.Column("arguments_digest", sa.String(length=64), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("usage", JsonText(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_owner_id_at_id", "audit", ["owner_id", "at", "id"], unique=False)

    op.create_table(
        "confirmations",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("call_id", sa.String(length=64), nullable=True),
        sa.Column("capability", sa.String(length=128), nullable=False),
        sa.Column("package_version", sa.String(length=64), nullable=False),
        sa.Column("arguments", JsonText(), nullable=False),
        sa.Column("arguments_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("decided_at", Instant(), nullable=True),
        sa.Column("result", JsonText(), nullable=True),
        sa.Column("error", JsonText(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_confirmations")),
    )
    op.create_index(
        "uq_confirmations_pending",
        "confirmations",
        ["owner_id", "session_id", "capability", "arguments_digest"],
        unique=True,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )

    op.create_table(
        "effects",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("capability", sa.String(length=128), nullable=False),
        sa.Column("package_version", sa.String(length=64), nullable=False),
        sa.Column("arguments_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("result", JsonText(), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("call_id", sa.String(length=64), nullable=True),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "key", name=op.f("pk_effects")),
    )
    op.create_index("ix_effects_run_id", "effects", ["run_id"], unique=False)

    op.create_table(
        "events",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("pk_events")),
    )
    op.create_table(
        "files",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
    )
    op.create_index("ix_files_owner_id_created_at", "files", ["owner_id", "created_at"], unique=False)
    op.create_index("ix_files_sha256", "files", ["sha256"], unique=False)

    op.create_table(
        "idempotency_keys",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("route", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("process_id", sa.String(length=64), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("response_status", sa.Integer(), nullable=True),
        sa.Column("response_body", sa.Text(), nullable=True),
        sa.Column("response_headers", JsonText(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "route", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"], unique=False)

    op.create_table(
        "items",
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "turn", "ordinal", name=op.f("pk_items")),
        sa.UniqueConstraint("id", name=op.f("uq_items_id")),
    )
    op.create_table(
        "memories",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("namespace", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("tags", JsonText(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "id", name=op.f("pk_memories")),
    )
    op.create_index(
        "ix_memories_owner_id_namespace_updated_at",
        "memories",
        ["owner_id", "namespace", "updated_at"],
        unique=False,
    )

    op.create_table(
        "package_states",
        sa.Column("package", sa.String(length=64), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("config", JsonText(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("package", name=op.f("pk_package_states")),
    )
    op.create_table(
        "package_switches",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("package", sa.String(length=64), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "package", name=op.f("pk_package_switches")),
    )
    op.create_table(
        "processes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("instance", sa.String(length=64), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processes")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("process_id", sa.String(length=64), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("snapshot_digest", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=True),
        sa.Column("principal", JsonText(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.Column("usage", JsonText(), nullable=True),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("error", JsonText(), nullable=True),
        sa.Column("events_expired", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("session_id", "turn", name=op.f("uq_runs_session_id_turn")),
    )
    op.create_index("ix_runs_owner_id_status", "runs", ["owner_id", "status"], unique=False)
    op.create_index("ix_runs_status_process_id", "runs", ["status", "process_id"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("app_id", sa.String(length=64), nullable=True),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("title_source", sa.String(length=16), nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=True),
        sa.Column("model", sa.String(length=128), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("archived_at", Instant(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("live_run_id", sa.String(length=64), nullable=True),
        sa.Column("loaded_domains", JsonText(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(
        "ix_sessions_owner_id_updated_at_id", "sessions", ["owner_id", "updated_at", "id"], unique=False
    )

    op.create_table(
        "snapshots",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", JsonText(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_snapshots")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("hint", sa.String(length=24), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("scopes", JsonText(), nullable=False),
        sa.Column("app_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("last_used_at", Instant(), nullable=True),
        sa.Column("revoked_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("is_operator", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("max_live_runs", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
    )
    protect_tenants()


def protect_tenants() -> None:
    """The second wall of tenancy: a role without login, and row policies on whatever belongs to a user."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(TENANT_ROLE_SQL)
    for table in OWNED:
        protect(op, table)
    # appended, never changed (H10)
    restrict(op, "audit", using=OWN_ROWS, privileges=("SELECT", "INSERT"))
    own_user = OWN_ROWS.replace("owner_id", "id")
    restrict(op, "users", using=own_user, privileges=("SELECT",), columns=PUBLIC_USER_COLUMNS)
    for table in ("snapshots", "package_states"):
        op.execute(f"GRANT SELECT ON {table} TO deskmate_tenant")


def downgrade() -> None:
    op.drop_table("users")
    op.drop_table("tokens")
    op.drop_table("snapshots")
    op.drop_table("sessions")
    op.drop_table("runs")
    op.drop_table("processes")
    op.drop_table("package_switches")
    op.drop_table("package_states")
    op.drop_table("memories")
    op.drop_table("items")
    op.drop_table("idempotency_keys")
    op.drop_table("files")
    op.drop_table("events")
    op.drop_table("effects")
    op.drop_table("confirmations")
    op.drop_table("audit")
