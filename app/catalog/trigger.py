"""The one door through which users start an entry by name (C8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.ports import CallOutcome, Invocation, ToolGate


async def trigger_command(
    gate: ToolGate,
    entry: str,
    params: Mapping[str, Any] | None,
    *,
    principal: Principal,
    call_id: str | None = None,
    session_id: str | None = None,
    idempotency_key: str | None = None,
    confirmed: bool = False,
) -> CallOutcome:
    """Runs the command `entry`, or the tool of that name where there is no such command.

    Names are unique over commands and tools (C6), so the gate's one look-up is both steps. Parameters
    are validated there; there is no way to hand in text to be executed.
    """
    return await gate.call(
        Invocation(
            call_id=call_id or new_id("call"),
            name=entry,
            arguments=params,
            raw_arguments="",
            principal=principal,
            initiator="user",
            run=None,
            idempotency_key=idempotency_key,
            session_id=session_id,
            confirmed=confirmed,
        )
    )
