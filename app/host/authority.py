"""The Host's word, inside the call's own transaction, on whether a call may still happen (H3)."""

from __future__ import annotations

import time
from typing import Any

from app.errors import IdentityLost, PackageDisabled, RequestCancelled, RunLost
from app.protocol.definitions import CapabilityDefinition
from app.protocol.ports import Invocation
from app.storage.database import Unit
from app.storage.statement import Statement

# FOR KEY SHARE holds the sweeper (FOR UPDATE) off until this transaction has ended, so that a run
# cannot be taken over between this check and the effect's commit. The event writer's FOR NO KEY
# UPDATE goes on beside it. SQLite needs no lock: its write unit is the only one.
_RUN = """
SELECT r.status AS run_status, r.fence, u.status AS user_status, t.id AS token_id,
       t.revoked_at, t.expires_at, coalesce(w.enabled, s.enabled, {true}) AS enabled,
       coalesce(s.enabled, {true}) AS installed
FROM runs r
JOIN users u ON u.id = r.owner_id
LEFT JOIN tokens t ON t.id = :token
LEFT JOIN package_switches w ON w.owner_id = r.owner_id AND w.package = :package
LEFT JOIN package_states s ON s.package = :package
WHERE r.id = :run AND r.owner_id = :owner
"""
_NO_RUN = """
SELECT 'running' AS run_status, 0 AS fence, u.status AS user_status, t.id AS token_id,
       t.revoked_at, t.expires_at, coalesce(w.enabled, s.enabled, {true}) AS enabled,
       coalesce(s.enabled, {true}) AS installed
FROM users u
LEFT JOIN tokens t ON t.id = :token
LEFT JOIN package_switches w ON w.owner_id = u.id AND w.package = :package
LEFT JOIN package_states s ON s.package = :package
WHERE u.id = :owner
"""


def _statement(sql: str, lock: str = "") -> Statement:
    return Statement(sql.format(true="1"), postgresql=sql.format(true="true") + lock)


_CHECK_RUN = _statement(_RUN)
_HOLD_RUN = _statement(_RUN, " FOR KEY SHARE OF r")
_CHECK_USER = _statement(_NO_RUN)


class HostAuthority:
    """Implements `protocol.ports.Authority` with one statement a call."""

    async def check(self, tx: Any, invocation: Invocation, definition: CapabilityDefinition) -> None:
        """Raises RunLost, RequestCancelled, IdentityLost, PackageDisabled."""
        unit: Unit = tx
        principal, run = invocation.principal, invocation.run
        values = {
            "owner": principal.user_id,
            "token": principal.token_id or "",
            "package": definition.package,
        }
        if run is None:
            statement = _CHECK_USER
        else:
            values["run"] = run.run_id
            statement = _HOLD_RUN if unit.mode == "write" else _CHECK_RUN
        rows = await unit.rows(statement, values)
        if not rows:
            if run is None:
                raise IdentityLost("The user is no longer there.")
            raise RunLost("The run is no longer there.")
        run_status, fence, user_status, token_id, revoked_at, expires_at, enabled, installed = rows[0]
        if run is not None:
            if fence != run.fence or run_status not in ("queued", "running", "cancelling"):
                raise RunLost("Another process has taken this run over, or it has ended.")
            if run_status == "cancelling":
                run.cancel.set()
                raise RequestCancelled("The run was cancelled before this call began.")
        if user_status != "active":
            raise IdentityLost("This account has been disabled.")
        if principal.token_id is not None and (
            token_id is None or revoked_at is not None or expires_at <= _now_ms()
        ):
            raise IdentityLost("The token of this run has been revoked or has expired.")
        if not (enabled and installed):
            raise PackageDisabled(
                f"The package {definition.package} is switched off; switch it on in settings."
            )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
