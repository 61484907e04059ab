"""The one clock that all processes share: the database's own."""

from __future__ import annotations

_NOW = {
    "postgresql": "(extract(epoch from clock_timestamp()) * 1000)::bigint",
    "sqlite": "cast((julianday('now') - 2440587.5) * 86400000 AS integer)",
}


def now_ms_sql(dialect: str) -> str:
    """The database's clock in milliseconds, as an SQL expression: all processes compare with one clock."""
    return _NOW[dialect]
