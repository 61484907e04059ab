"""Sessions as the API sees them: the session service in units of work, with the Host's own checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol, cast

from app.errors import InvalidParams, PreconditionFailed
from app.host.audit import insert_entry
from app.host.event_log.log import rfc3339
from app.host.hub import Hub
from app.protocol.column_types import to_ms
from app.protocol.identity import Principal
from app.protocol.ports import AuditEntry, ModelCatalog
from app.services.sessions import Session, SessionChanges, SessionService
from app.storage.database import Database

_STRONG_TAG = re.compile(r'"(\d{1,9})"')


class LiveRuns(Protocol):
    """What deleting a session asks of the runs."""

    async def stop_session(self, principal: Principal, session_id: str) -> None: ...

    def tell_cancel(self, run_id: str) -> None: ...


class UnusedFiles(Protocol):
    """Where contents go that lost their last row."""

    async def remove_unused(self, digests: list[str]) -> None: ...


class Sessions:
    def __init__(
        self,
        *,
        database: Database,
        sessions: SessionService,
        models: ModelCatalog,
        runs: LiveRuns,
        files: UnusedFiles,
        hub: Hub,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._models = models
        self._runs = runs
        self._files = files
        self._hub = hub
        self._clock = clock

    async def create(
        self,
        principal: Principal,
        *,
        title: str | None = None,
        profile: str | None = None,
        model: str | None = None,
    ) -> dict[str, Any]:
        """Raises InvalidParams for a model or profile that is not declared."""
        self._check_model(model)
        if profile is not None:
            raise InvalidParams(f"There is no profile {profile}: none are declared.")
        async with self._database.tenant_write(principal.user_id) as unit:
            session = await self._sessions.create(
                unit, owner_id=principal.user_id, app_id=principal.app_id, title=title or "", model=model
            )
        return session_view(session)

    async def list(
        self, principal: Principal, *, limit: int, cursor: str | None = None, q: str | None = None
    ) -> dict[str, Any]:
        """The latest used first. Raises InvalidCursor."""
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

    async def get(self, principal: Principal, session_id: str) -> dict[str, Any]:
        """Raises NotFound."""
        async with self._database.tenant_read(principal.user_id) as unit:
            session = await self._sessions.get(
                unit, owner_id=principal.user_id, app_id=principal.app_id, session_id=session_id
            )
        return session_view(session)

    async def update(
        self,
        principal: Principal,
        session_id: str,
        changes: Mapping[str, Any],
        *,
        if_match: str | None = None,
    ) -> dict[str, Any]:
        """Changes title, archived or model.

        Args:
            principal: whose session it is.
            session_id: which one.
            changes: only what is to change.
            if_match: the header; compared strongly (RFC 9110 section 13.1.1), `*` fits any version.

        Raises:
            NotFound, InvalidParams.
            PreconditionFailed: somebody else has changed the session; nothing was done.
        """
        self._check_model(changes.get("model"))
        async with self._database.tenant_write(principal.user_id) as unit:
            expected: int | None = None
            if if_match is not None and if_match.strip() != "*":
                session = await self._sessions.get(
                    unit, owner_id=principal.user_id, app_id=principal.app_id, session_id=session_id
                )
                if session.version not in _versions(if_match):
                    raise PreconditionFailed("The session has changed since you read it; read it again.")
                expected = session.version
            session = await self._sessions.update(
                unit,
                owner_id=principal.user_id,
                app_id=principal.app_id,
                session_id=session_id,
                changes=cast("SessionChanges", dict(changes)),
                expected_version=expected,
            )
        return session_view(session)

    async def delete(self, principal: Principal, session_id: str) -> None:
        """Ends a live run, then removes the session and all that belongs to it.

        Raises:
            NotFound: missing or foreign.
            SessionBusy: the live run did not end in time; nothing was removed.
        """
        await self.get(principal, session_id)
        await self._runs.stop_session(principal, session_id)
        async with self._database.tenant_write(principal.user_id) as unit:
            removed = await self._sessions.delete(
                unit, owner_id=principal.user_id, app_id=principal.app_id, session_id=session_id
            )
            insert_entry(unit, _deletion(principal, session_id), self._clock())
        if removed.live_run_id is not None:
            # It began after the last one had ended; its rows are gone and its writes are refused.
            self._runs.tell_cancel(removed.live_run_id)
        self._hub.tell_deleted(session_id)
        await self._files.remove_unused(sorted(removed.file_digests))

    def _check_model(self, model: str | None) -> None:
        if model is None:
            return
        known = [spec.id for spec in self._models.list()]
        if model not in known:
            raise InvalidParams(f"There is no model {model}. Valid ones: {', '.join(known)}.")


def session_view(session: Session) -> dict[str, Any]:
    """A session as answers show it. Strings for times, so that a kept answer is the same bytes."""
    return {
        "id": session.id,
        "title": session.title,
        "profile": session.profile,
        "model": session.model,
        "created_at": rfc3339(to_ms(session.created_at)),
        "updated_at": rfc3339(to_ms(session.updated_at)),
        "archived": session.archived,
        "message_count": session.message_count,
        "live_run_id": session.live_run_id,
        "version": session.version,
    }


def _versions(if_match: str) -> set[int]:
    """Versions of the strong tags in the header; weak and foreign ones match nothing."""
    return {
        int(match[1])
        for tag in if_match.split(",")
        if (match := _STRONG_TAG.fullmatch(tag.strip())) is not None
    }


def _deletion(principal: Principal, session_id: str) -> AuditEntry:
    return AuditEntry(
        actor_id=principal.user_id,
        caller_kind=principal.kind,
        action="session.delete",
        target=session_id,
        outcome="succeeded",
        initiator="user",
        session_id=session_id,
        token_id=principal.token_id,
    )
