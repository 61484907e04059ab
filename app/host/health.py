"""Whether this process can serve: the database answers and has the tables of this code."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy import text

from app.errors import DeskmateError
from app.storage.database import Database

SCHEMA_CHECK_INTERVAL_S = 30.0
"""Looking at the migration history costs tens of milliseconds, and readiness is asked often."""

_ANSWERS = text("SELECT 1")


class Health:
    """For `/readyz`.

    Args:
        database: asked each time.
        pending: names of what is behind its code; raises NeedsMigration where the database is ahead.
    """

    def __init__(self, *, database: Database, pending: Callable[[], Awaitable[Sequence[str]]]) -> None:
        self._database = database
        self._pending = pending
        self._current_until = 0.0

    async def not_ready(self) -> str | None:
        """Why not, in one sentence; None when ready."""
        try:
            async with self._database.system_read() as unit:
                await unit.connection.execute(_ANSWERS)
            if time.monotonic() >= self._current_until:
                behind = await self._pending()
                if behind:
                    return f"The database is behind this code ({', '.join(behind)}): run `deskmate migrate`."
                self._current_until = time.monotonic() + SCHEMA_CHECK_INTERVAL_S
        except DeskmateError as error:
            return error.message
        return None
