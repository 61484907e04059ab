"""The user's own decision on a destructive call, and carrying it out: once, with the stored arguments.

Three steps that each survive a crash: the decision (compare-and-set on the row), the call under the
effect key of this approval, and the outcome on the row together with the letter to the session. What
was decided but has no outcome is carried out again; the effect key makes that harmless.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import select, update

from app.errors import ConfirmationClosed, DeskmateError, NotFound
from app.host.audit import insert_entry
from app.host.hub import Hub
from app.host.identity.service import IdentityService
from app.host.reentry import Inbox
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.protocol.ports import AuditEntry, CallOutcome, Invocation, ToolGate
from app.storage.database import Database
from app.storage.tables import confirmations

LOOK_S = 10.0
LEFT_BEHIND_AFTER = timedelta(seconds=30)
"""A decided call without an outcome after this time was left by a process that died."""

_log = structlog.get_logger(__name__)


class Approvals:
    def __init__(
        self,
        *,
        database: Database,
        gate: ToolGate,
        inbox: Inbox,
        hub: Hub,
        identity: IdentityService,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._gate = gate
        self._inbox = inbox
        self._hub = hub
        self._identity = identity
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    # --- looking --------------------------------------------------------------------------------

    async def get(self, principal: Principal, confirmation_id: str) -> dict[str, Any]:
        """What is asked for, rendered from the stored row. Raises NotFound."""
        return self._shown(await self._row(principal, confirmation_id))

    async def pending(self, principal: Principal, session_id: str | None) -> Sequence[dict[str, Any]]:
        """Newest first."""
        statement = select(confirmations).where(
            confirmations.c.owner_id == principal.user_id,
            confirmations.c.status == "pending",
            confirmations.c.expires_at > self._clock(),
        )
        if session_id is not None:
            statement = statement.where(confirmations.c.session_id == session_id)
        async with self._database.tenant_read(principal.user_id) as unit:
            rows = (
                await unit.connection.execute(statement.order_by(confirmations.c.id.desc()).limit(100))
            ).all()
        return [self._shown(row) for row in rows]

    async def _row(self, principal: Principal, confirmation_id: str) -> Any:
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
        return row

    def _shown(self, row: Any) -> dict[str, Any]:
        definition = self._gate.find(row.capability)
        status = row.status
        if status == "pending" and row.expires_at <= self._clock():
            status = "expired"
        shown: dict[str, Any] = {
            "id": row.id,
            "status": status,
            "capability": row.capability,
            "title": row.capability if definition is None else definition.title,
            "description": "" if definition is None else definition.description,
            "arguments": row.arguments,
            "session_id": row.session_id or None,
            "created_at": row.created_at,
            "expires_at": row.expires_at,
        }
        if row.result is not None:
            shown["result"] = row.result
        if row.error is not None:
            shown["error"] = row.error
        return shown

    # --- deciding ---------------------------------------------------------------------------------

    async def decide(self, principal: Principal, confirmation_id: str, *, approve: bool) -> dict[str, Any]:
        """The row after the decision; for an approval the call has run.

        The same decision again changes nothing. Raises NotFound, ConfirmationClosed (decided otherwise,
        or too late).
        """
        status = "approved" if approve else "declined"
        now = self._clock()
        async with self._database.system_write() as unit:
            decided = await unit.connection.execute(
                update(confirmations)
                .where(
                    confirmations.c.id == confirmation_id,
                    confirmations.c.owner_id == principal.user_id,
                    confirmations.c.status == "pending",
                    confirmations.c.expires_at > now,
                )
                .values(status=status, decided_at=now)
            )
            mine = bool(decided.rowcount)
            if mine:
                entry = AuditEntry(
                    actor_id=principal.user_id,
                    caller_kind=principal.kind,
                    action=f"confirmation.{'approve' if approve else 'decline'}",
                    target=confirmation_id,
                    outcome="succeeded",
                    initiator="user",
                )
                insert_entry(unit, entry, now)
        row = await self._row(principal, confirmation_id)
        if not mine:
            if row.status != status:
                raise ConfirmationClosed(
                    "This was decided before." if row.status != "pending" else "The time to decide is over.",
                    details={"status": "expired" if row.status == "pending" else row.status},
                )
            return self._shown(row)
        if approve:
            await self._carry_out(principal, row)
            row = await self._row(principal, confirmation_id)
        self._tell(row, status)
        return self._shown(row)

    async def _carry_out(self, principal: Principal, row: Any) -> None:
        call_id = new_id("call")
        began = time.perf_counter()
        outcome = await self._gate.call(
            Invocation(
                call_id=call_id,
                name=row.capability,
                arguments=row.arguments,
                raw_arguments=dump_text(row.arguments),
                principal=principal,
                initiator="user",
                run=None,
                idempotency_key=f"confirmation:{row.id}",
                session_id=row.session_id or None,
                confirmed=True,
            )
        )
        duration_ms = int((time.perf_counter() - began) * 1000)
        async with self._database.system_write() as unit:
            kept = await unit.connection.execute(
                update(confirmations)
                .where(
                    confirmations.c.id == row.id,
                    confirmations.c.result.is_(None),
                    confirmations.c.error.is_(None),
                )
                .values(
                    result=outcome.result if outcome.error is None else None,
                    error=None if outcome.error is None else dict(outcome.error),
                )
            )
            if kept.rowcount and row.session_id:
                await self._inbox.put(
                    unit,
                    owner_id=row.owner_id,
                    session_id=row.session_id,
                    source="confirmation",
                    source_id=row.id,
                    body=self._letter(row, call_id, outcome, duration_ms),
                )
        if row.session_id:
            self._inbox.ring(row.session_id)

    def _letter(self, row: Any, call_id: str, outcome: CallOutcome, duration_ms: int) -> dict[str, Any]:
        definition = self._gate.find(row.capability)
        title = row.capability if definition is None else definition.title
        what = f"The user approved {row.capability} with the arguments {dump_text(row.arguments)}."
        if outcome.error is None:
            text = f"{what} It was carried out. Result: {dump_text(outcome.result)}"
        else:
            text = f"{what} It was tried and failed: {dump_text(dict(outcome.error))}"
        detail = {
            "confirmation_id": row.id,
            "arguments": row.arguments,
            "result": outcome.result,
            "error": outcome.error,
            "duration_ms": duration_ms,
        }
        return {
            "text": text,
            "facts": {"confirmation_id": row.id, "capability": row.capability, "status": outcome.status},
            "call": {
                "id": call_id,
                "name": row.capability,
                "arguments": row.arguments,
                "result": outcome.result,
                "error": outcome.error,
                "status": outcome.status,
                "duration_ms": duration_ms,
            },
            "activity": {
                "kind": "confirmation",
                "id": row.id,
                "name": row.capability,
                "title": title,
                "status": "succeeded" if outcome.error is None else "failed",
                "detail": detail,
            },
        }

    def _tell(self, row: Any, status: str) -> None:
        if row.session_id:
            self._hub.tell(row.session_id, "confirmation", confirmation_id=row.id, status=status)

    # --- what a dead process left -----------------------------------------------------------------

    def open(self) -> None:
        self._task = asyncio.create_task(self._look_for_ever(), name="approvals")

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _look_for_ever(self) -> None:
        while True:
            try:
                await self.finish_left_behind()
            except Exception:  # noqa: BLE001 - the next look tries again; the log has the traceback
                _log.exception("approvals_not_finished")
            await asyncio.sleep(LOOK_S)

    async def finish_left_behind(self) -> int:
        """Carries out what was approved long ago and has no outcome; returns how many."""
        async with self._database.system_read() as unit:
            rows = (
                await unit.connection.execute(
                    select(confirmations)
                    .where(
                        confirmations.c.status == "approved",
                        confirmations.c.decided_at <= self._clock() - LEFT_BEHIND_AFTER,
                        confirmations.c.result.is_(None),
                        confirmations.c.error.is_(None),
                    )
                    .limit(50)
                )
            ).all()
        for row in rows:
            try:
                principal = await self._identity.recall(row.owner_id, {"scopes": ["*"]})
            except DeskmateError as error:
                await self._close_without(row, error)
                continue
            await self._carry_out(principal, row)
            self._tell(row, "approved")
        return len(rows)

    async def _close_without(self, row: Any, error: DeskmateError) -> None:
        async with self._database.system_write() as unit:
            await unit.connection.execute(
                update(confirmations)
                .where(confirmations.c.id == row.id, confirmations.c.result.is_(None))
                .values(error=error.as_dict())
            )
