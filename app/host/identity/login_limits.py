"""How often one may guess: per address, and per account from one address.

There is no limit for an account alone: whoever knows an e-mail address could then lock its owner out
by failing on purpose. The owner's own address has a count of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, text

from app.errors import LimitReached
from app.protocol.column_types import to_ms
from app.storage.database import Database
from app.storage.tables import login_failures

WINDOW = timedelta(minutes=15)
PER_ACCOUNT_AND_ADDRESS = 8
PER_ADDRESS = 60

_COUNT = text(
    "INSERT INTO login_failures (key, count, since) VALUES (:key, 1, :now)"
    " ON CONFLICT (key) DO UPDATE SET"
    " count = CASE WHEN login_failures.since <= :start THEN 1 ELSE login_failures.count + 1 END,"
    " since = CASE WHEN login_failures.since <= :start THEN :now ELSE login_failures.since END"
)
_LOOK = text("SELECT count, since FROM login_failures WHERE key = :key AND since > :start")


class LoginLimits:
    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def keys(self, email: str, address: str) -> Mapping[str, int]:
        """What a try counts for, and how many failures each may have."""
        account = email.strip().lower()[:100]
        return {f"{account} {address}"[:200]: PER_ACCOUNT_AND_ADDRESS, f"@ {address}"[:200]: PER_ADDRESS}

    async def check(self, keys: Mapping[str, int]) -> None:
        """Raises LimitReached with the seconds to wait."""
        now = to_ms(self._clock())
        start = now - WINDOW // timedelta(milliseconds=1)
        async with self._database.system_read() as unit:
            for key, most in keys.items():
                row: Any = (await unit.connection.execute(_LOOK, {"key": key, "start": start})).first()
                if row is not None and row[0] >= most:
                    wait = max(1.0, (row[1] - start) / 1000)
                    raise LimitReached("Too many failed sign-ins. Wait a little.", retry_after_s=wait)

    async def count(self, keys: Mapping[str, int]) -> None:
        now = to_ms(self._clock())
        start = now - WINDOW // timedelta(milliseconds=1)
        async with self._database.system_write() as unit:
            for key in keys:
                await unit.connection.execute(_COUNT, {"key": key, "now": now, "start": start})

    async def forget(self, keys: Mapping[str, int]) -> None:
        """After a right password: the account's count, not the address's, begins anew."""
        account = next(iter(keys))
        async with self._database.system_write() as unit:
            await unit.connection.execute(delete(login_failures).where(login_failures.c.key == account))
