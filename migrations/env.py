"""Run by Alembic for the core history and for every package's.

`app.storage.migrate` hands in a connection (inside a transaction it owns) and what to compare with. Run
by hand (`alembic revision --autogenerate`), DESKMATE_DATABASE_URL says where the database is.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from alembic import context
from sqlalchemy import Connection

from app.storage.migrate import CORE, context_options, on_connection


def _run(connection: Connection) -> None:
    target = context.config.attributes.get("target", CORE)
    options: dict[str, Any] = context_options(target, connection)
    context.configure(connection=connection, **options)
    context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    asyncio.run(on_connection(os.environ["DESKMATE_DATABASE_URL"], _run))
