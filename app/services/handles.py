"""The services as packages get them: bound to the caller of the unit of work they hand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from app.errors import InvalidParams, NotFound
from app.protocol.identity import Principal
from app.sdk.errors import InvalidInput, NotFoundHere
from app.sdk.handles import Fact, ReadTx, SessionFacts, WriteTx
from app.services.memory import MemoryService, Reach
from app.services.sessions import Session, SessionService
from app.storage.package_tx import PackageTx
from app.storage.unit import Unit


class PackageMemory:
    """Implements the sdk's MemoryHandle."""

    def __init__(self, service: MemoryService) -> None:
        self._service = service

    async def search(self, tx: ReadTx, query: str, *, limit: int = 20) -> Sequence[Fact]:
        unit, principal = _behind(tx)
        return await self._service.search(unit, Reach.of(principal), query, limit=limit)

    async def save(
        self, tx: WriteTx, content: str, *, id: str | None = None, tags: Sequence[str] = ()
    ) -> Fact:
        unit, principal = _behind(tx)
        return await self._service.save(
            unit, Reach.of(principal), content, id=id, tags=tags, source=_source(tx)
        )

    async def remove(self, tx: WriteTx, id: str) -> bool:
        unit, principal = _behind(tx)
        return await self._service.remove(unit, Reach.of(principal), id)


class PackageSessions:
    """Implements the sdk's SessionsHandle."""

    def __init__(self, service: SessionService) -> None:
        self._service = service

    async def list(self, tx: ReadTx, *, query: str = "", limit: int = 20) -> Sequence[SessionFacts]:
        unit, principal = _behind(tx)
        page = await self._service.list(
            unit, owner_id=principal.user_id, app_id=principal.app_id, limit=limit, query=query
        )
        return [_facts(session) for session in page.sessions]

    async def find(self, tx: ReadTx, id_prefix_or_title: str) -> Sequence[SessionFacts]:
        unit, principal = _behind(tx)
        found = await self._service.find(
            unit, owner_id=principal.user_id, app_id=principal.app_id, wanted=id_prefix_or_title
        )
        return [_facts(session) for session in found]

    async def rename(self, tx: WriteTx, session_id: str, title: str) -> SessionFacts:
        unit, principal = _behind(tx)
        try:
            session = await self._service.update(
                unit,
                owner_id=principal.user_id,
                app_id=principal.app_id,
                session_id=session_id,
                changes={"title": title},
            )
        except NotFound as error:
            raise NotFoundHere("There is no such conversation.") from error
        except InvalidParams as error:
            raise InvalidInput(error.message) from error
        return _facts(session)


def _behind(tx: ReadTx) -> tuple[Unit, Principal]:
    """The unit below the package's narrow view of it."""
    narrow = cast("PackageTx", tx)
    return narrow.unit, narrow.principal


def _source(tx: ReadTx) -> str:
    """Where a fact comes from: it is removed with that session (O21)."""
    return cast("PackageTx", tx).session_id or "user"


def _facts(session: Session) -> SessionFacts:
    return SessionFacts(
        id=session.id,
        title=session.title,
        created_at=session.created_at,
        updated_at=session.updated_at,
        message_count=session.message_count,
        archived=session.archived,
    )
