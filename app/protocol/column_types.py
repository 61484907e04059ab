"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.types import TypeDecorator


def to_ms(at: datetime) -> int:
    """Milliseconds since 1970 UTC, the stored form of every time."""
    return round(at.timestamp() * 1000)


def from_ms(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


class Instant(TypeDecorator[datetime]):
    """A moment in UTC, stored as milliseconds in a BIGINT.

    Both databases sort and compare it alike, and the event writer's raw statements need no
    conversion; SQLite has no time type of its own.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_ms(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else from_ms(value)


class JsonText(TypeDecorator[Any]):
    """A JSON value stored as TEXT: read whole, never queried into, and safe for an escaped NUL,
    which PostgreSQL's jsonb refuses."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:
        return None if value is None else orjson.loads(value)
