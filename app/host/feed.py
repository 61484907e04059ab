"""The feed of one session: hints that something new is there."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sqlalchemy import text

from app.errors import NotFound
from app.host.hub import Hub
from app.protocol.identity import Principal
from app.storage.database import Database

_SESSION = text("SELECT app_id FROM sessions WHERE id = :session AND owner_id = :owner")


class Feed:
    def __init__(self, *, database: Database, hub: Hub) -> None:
        self._database = database
        self._hub = hub

    async def open(self, principal: Principal, session_id: str) -> AsyncIterator[bytes]:
        """NDJSON hints until the reader goes away. Raises NotFound before the first."""
        async with self._database.tenant_read(principal.user_id) as unit:
            values = {"session": session_id, "owner": principal.user_id}
            row = (await unit.connection.execute(_SESSION, values)).first()
        if row is None or row.app_id != principal.app_id:
            raise NotFound
        return self._hub.listen(session_id)
