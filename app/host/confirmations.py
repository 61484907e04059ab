"""Pending approvals of destructive calls (C19): the exact arguments, for a quarter of an hour.

Asking is all that happens here. Approval comes from the user's own browser session, never from
model text, page content or a client's flag; the Host then runs what is stored in the row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.errors import InsufficientScope, NotFound, StorageUnavailable
from app.protocol.definitions import CapabilityDefinition
from app.protocol.digests import digest
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.ports import Invocation
from app.storage.database import Database
from app.storage.tables import confirmations

VALID_FOR = timedelta(minutes=15)


class Confirmations:
    """Implements `ports.Confirmations`.

    Args:
        database: where the rows are.
        clock: the present moment, UTC.
        base_url: our origin, for the link to the page where the user decides.
    """

    def __init__(self, *, database: Database, clock: Callable[[], datetime], base_url: str) -> None:
        self._database = database
        self._clock = clock
        self._base_url = base_url

    def url(self, confirmation_id: str) -> str:
        """The page where the user decides. It holds the random id and no credential."""
        return f"{self._base_url}/confirmations/{confirmation_id}"

    async def pend(self, invocation: Invocation, definition: CapabilityDefinition) -> str:
        """Asks for approval of these arguments; asking again while it is pending gives the same id."""
        owner_id = invocation.principal.user_id
        session_id = invocation.run.session_id if invocation.run is not None else invocation.session_id
        arguments = dict(invocation.arguments or {})
        arguments_digest = digest(arguments)
        now = self._clock()
        pending = (
            (confirmations.c.owner_id == owner_id)
            & (confirmations.c.session_id == (session_id or ""))
            & (confirmations.c.capability == definition.id)
            & (confirmations.c.arguments_digest == arguments_digest)
            & (confirmations.c.status == "pending")
        )
        async with self._database.tenant_write(owner_id) as unit:
            await unit.connection.execute(
                update(confirmations)
                .where(pending, confirmations.c.expires_at <= now)
                .values(status="expired")
            )
            insert = sqlite_insert if unit.dialect == "sqlite" else postgresql_insert
            made = await unit.connection.execute(
                insert(confirmations)
                .values(
                    id=new_id("cnf"),
                    owner_id=owner_id,
                    session_id=session_id or "",
                    run_id=None if invocation.run is None else invocation.run.run_id,
                    call_id=invocation.call_id,
                    capability=definition.id,
                    package_version=definition.package_version,
                    arguments=arguments,
                    arguments_digest=arguments_digest,
                    status="pending",
                    created_at=now,
                    expires_at=now + VALID_FOR,
                )
                .on_conflict_do_nothing()
                .returning(confirmations.c.id)
            )
            confirmation_id = made.scalar_one_or_none()
            if confirmation_id is None:
                confirmation_id = (
                    await unit.connection.execute(select(confirmations.c.id).where(pending))
                ).scalar_one_or_none()
        if confirmation_id is None:
            # Decided between the two statements; a new request starts over.
            raise StorageUnavailable("The approval was decided while it was asked for: try again.")
        return confirmation_id

    async def get(self, principal: Principal, confirmation_id: str) -> dict[str, Any]:
        """Status and outcome of one of the caller's approvals.

        Raises:
            NotFound: no such row, or another user's.
            InsufficientScope: the token may neither read runs nor the capability's namespace.
        """
        async with self._database.tenant_read(principal.user_id) as unit:
            row = (
                await unit.connection.execute(
                    select(confirmations).where(
                        confirmations.c.id == confirmation_id, confirmations.c.owner_id == principal.user_id
                    )
                )
            ).one_or_none()
        if row is None:
            raise NotFound
        needed = f"{row.capability.partition('::')[0]}:read"
        if not (principal.allows("runs:read") or principal.allows(needed)):
            raise InsufficientScope(f"This needs the scope runs:read or {needed}.", details={"scope": needed})
        return self._shown(row)

    def _shown(self, row: Any) -> dict[str, Any]:
        status = row.status
        if status == "pending" and row.expires_at <= self._clock():
            status = "expired"
        shown: dict[str, Any] = {
            "id": row.id,
            "status": status,
            "capability": row.capability,
            "session_id": row.session_id or None,
            "created_at": row.created_at,
            "expires_at": row.expires_at,
            "url": self.url(row.id),
        }
        if row.result is not None:
            shown["result"] = row.result
        if row.error is not None:
            shown["error"] = row.error
        return shown
