"""Sessions as the Host offers them: the service in units of work, checked models, audited changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from app.errors import InvalidParams, ModelNotSupported, PreconditionFailed
from app.host.audit import AuditLog
from app.host.event_log.log import rfc3339
from app.protocol.column_types import to_ms
from app.protocol.identity import Principal
from app.protocol.ports import AuditEntry, ModelCatalog
from app.services.sessions import Session, SessionChanges, SessionService
from app.storage.database import Database

_ETAG = re.compile(r'^"(\d+)"$')


class LiveRuns(Protocol):
    async def stop_session(self, principal: Principal, session_id: str) -> None: ...


class Blobs(Protocol):
    async def remove_unused(self, digests: Sequence[str]) -> None: ...


class Sessions:
    def __init__(
        self,
        *,
        database: Database,
        sessions: SessionService,
        models: ModelCatalog,
        runs: LiveRuns,
        files: Blobs,
        audit: AuditLog,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._models = models
        self._runs = runs
        self._files = files
        self._audit = audit
        self._clock = clock

    async def create(
        self, principal: Principal, *, title: str | None, profile: str | None, model: str | None
    ) -> dict[str, Any]:
        """Raises InvalidParams for a model or profile that is not there."""
        self._check_model(model)
        if profile is not None:
            raise InvalidParams("No profiles are configured here; leave `profile` out.")
        async with self._database.tenant_write(principal.user_id) as unit:
            session = await self._sessions.create(
                unit, owner_id=principal.user_id, app_id=principal.app_id, title=title or "", model=model
            )
        return session_view(session)

    async def get(self, principal: Principal, session_id: str) -> dict[str, Any]:
        async with self._database.tenant_read(principal.user_id) as unit:
            session = await self._sessions.get(
                unit, owner_id=principal.user_id, app_id=principal.app_id, session_id=session_id
            )
        return session_view(session)

    async def list(
        self, principal: Principal, *, limit: int, cursor: str | None, q: str | None
    ) -> dict[str, Any]:
        async with self._database.tenant_read(principal.user_id) as unit:
            page = await self._sessions.list(
                unit,
                owner_id=principal.user_id,
                app_id=principal.app_id,
                limit=limit,
                cursor=cursor,
                query=q or "",
            )
        return {"sessions": [session_view(session) for session in page.sessions], "next": page.next}

    async def update(
        self, principal: Principal, session_id: str, changes: SessionChanges, *, if_match: str | None
    ) -> dict[str, Any]:
        """Raises PreconditionFailed for a stale or unreadable If-Match, InvalidParams for bad values."""
        if "model" in changes:
            self._check_model(changes["model"])
        async with self._database.tenant_write(principal.user_id) as unit:
            session = await self._sessions.update(
                unit,
                owner_id=principal.user_id,
                app_id=principal.app_id,
                session_id=session_id,
                changes=changes,
                expected_version=_version(if_match),
            )
        return session_view(session)

    async def delete(self, principal: Principal, session_id: str) -> None:
        """Ends its live run first, so that nothing is written behind the removal.

        Raises NotFound, SessionBusy where the run does not end in time.
        """
        await self._runs.stop_session(principal, session_id)
        async with self._database.tenant_write(principal.user_id) as unit:
            removed = await self._sessions.delete(
                unit, owner_id=principal.user_id, app_id=principal.app_id, session_id=session_id
            )
            await self._audit.record(
                unit,
                AuditEntry(
                    actor_id=principal.user_id,
                    caller_kind=principal.kind,
                    action="session.delete",
                    target=session_id,
                    outcome="succeeded",
                    initiator="user",
                    session_id=session_id,
                    token_id=principal.token_id,
                ),
            )
        await self._files.remove_unused(sorted(removed.file_digests))

    def _check_model(self, model: str | None) -> None:
        if model is None:
            return
        try:
            self._models.resolve(model)
        except ModelNotSupported:
            known = ", ".join(spec.id for spec in self._models.list())
            raise InvalidParams(f"No model is called {model!r} here; there are: {known}.") from None


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = _ETAG.match(if_match.strip())
    if found is None:
        raise PreconditionFailed("If-Match holds no ETag of this session; read it again and take its ETag.")
    return int(found[1])


def session_view(session: Session) -> dict[str, Any]:
    """The session as the API shows it."""
    return {
        "id": session.id,
        "title": session.title,
        "profile": session.profile,
        "model": session.model,
        "created_at": rfc3339(to_ms(session.created_at)),
        "updated_at": rfc3339(to_ms(session.updated_at)),
        "archived": session.archived,
        "message_count": session.message_count,
        "version": session.version,
        "live_run_id": session.live_run_id,
    }
