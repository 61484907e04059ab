"""A statement for hot paths: written once, sent to the driver as it is, one hop or round trip each.

SQLAlchemy's own execution costs several thread hops on SQLite and a few hundred microseconds on
PostgreSQL; that is nothing for a page of sessions and much for what every run and call does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Row = Sequence[Any]
"""Values in the order of the statement's columns; both drivers give more, only this is common."""

_NAME = re.compile(r"(?<!:):([a-z_]+)")


class Statement:
    """SQL with `:name` parameters.

    Args:
        sql: for both databases, or for SQLite where `postgresql` is given too.
        postgresql: its own text where the two differ.
        then: further statements of the same unit on SQLite, which has no data-modifying CTE. They run
            only if the first one changed a row.
    """

    __slots__ = ("names", "postgresql", "sqlite")

    def __init__(self, sql: str, *, postgresql: str | None = None, then: Sequence[str] = ()) -> None:
        self.sqlite: tuple[str, ...] = (sql, *then)
        source = postgresql or sql
        self.names: list[str] = []
        for name in _NAME.findall(source):
            if name not in self.names:
                self.names.append(name)
        self.postgresql = _NAME.sub(lambda found: f"${self.names.index(found[1]) + 1}", source)

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of PostgreSQL's numbered parameters."""
        return [values[name] for name in self.names]


def run_on_sqlite(connection: Any, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
    """All of the statement on SQLite's own thread; the rows of its first part."""
    first, *rest = statement.sqlite
    cursor = connection.execute(first, values)
    rows: list[Row] = cursor.fetchall()
    if rest and (rows or cursor.rowcount > 0):
        for sql in rest:
            connection.execute(sql, values)
    return rows
