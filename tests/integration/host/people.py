"""Users for tests of host services; each test takes its own, as a module shares one database."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

from app.protocol.identity import Principal
from app.protocol.ids import UserId, new_id


def somebody(*scopes: str, operator: bool = False) -> Principal:
    """A principal without a row: enough for services that ask for the owner only."""
    return Principal(
        user_id=UserId(new_id("usr")),
        kind="operator" if operator else "api",
        scopes=frozenset(scopes or ("*",)),
        email="somebody@example.org",
        is_operator=operator,
    )


def an_email() -> str:
    return f"{secrets.token_hex(6)}@example.org"


class Clock:
    """The present moment, moved by hand; whole milliseconds, as stored."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        self.now += timedelta(**amount)
