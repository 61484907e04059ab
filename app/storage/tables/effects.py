"""What mutating calls did, under their keys (P8), and answers kept for Idempotency-Key."""

from sqlalchemy import Column, Index, Integer, String, Text

from app.protocol.column_types import Instant, JsonText
from app.storage.tables.base import owned_table, owner_id

effects = owned_table(
    "effects",
    owner_id(primary_key=True),
    Column("key", String(400), primary_key=True),  # run:<run>:<call> or api:<capability>:<Idempotency-Key>
    Column("capability", String(128), nullable=False),
    Column("package_version", String(64), nullable=False),
    Column("arguments_digest", String(64), nullable=False),
    Column("status", String(16), nullable=False),  # intent | done
    Column("result", JsonText),
    Column("run_id", String(64)),
    Column("call_id", String(64)),
    Column("session_id", String(64)),
    Column("at", Instant, nullable=False),
    Index("ix_effects_run_id", "run_id"),
)

idempotency_keys = owned_table(
    "idempotency_keys",
    owner_id(primary_key=True),
    Column("route", String(200), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("body_digest", String(64), nullable=False),
    Column("status", String(16), nullable=False),  # running | done
    Column("process_id", String(64)),
    Column("run_id", String(64)),  # for run starts: the answer is the run's own stream
    Column("response_status", Integer),
    Column("response_body", Text),
    Column("response_headers", JsonText),
    Column("created_at", Instant, nullable=False),
    Index("ix_idempotency_keys_created_at", "created_at"),
)
