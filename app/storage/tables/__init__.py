"""Core tables, one file a noun. `metadata` holds them all; Alembic compares against it."""

from app.storage.tables.audit import audit
from app.storage.tables.base import OWNED, metadata
from app.storage.tables.confirmations import confirmations
from app.storage.tables.devices import devices, login_failures, setup_links
from app.storage.tables.effects import effects, idempotency_keys
from app.storage.tables.files import files
from app.storage.tables.jobs import inbox, jobs
from app.storage.tables.memories import memories
from app.storage.tables.packages import package_states, package_switches
from app.storage.tables.processes import processes
from app.storage.tables.runs import events, items, runs, snapshots
from app.storage.tables.sessions import sessions
from app.storage.tables.users import tokens, users

__all__ = [
    "OWNED",
    "audit",
    "confirmations",
    "devices",
    "effects",
    "events",
    "files",
    "idempotency_keys",
    "inbox",
    "items",
    "jobs",
    "login_failures",
    "memories",
    "metadata",
    "package_states",
    "package_switches",
    "processes",
    "runs",
    "sessions",
    "setup_links",
    "snapshots",
    "tokens",
    "users",
]
