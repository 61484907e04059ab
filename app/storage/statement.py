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
    """

    __slots__ = ("_with", "names", "postgresql", "source", "sqlite")

    def __init__(self, sql: str, *, postgresql: str | None = None) -> None:
        self.sqlite = sql
        self.source = source = postgresql or sql
        self._with: dict[int, Statement] = {}
        self.names: list[str] = []
        for name in _NAME.findall(source):
            if name not in self.names:
                self.names.append(name)
        self.postgresql = _NAME.sub(lambda found: f"${self.names.index(found[1]) + 1}", source)

    def along_with(self, other: Statement) -> Statement:
        """Both in one PostgreSQL statement, `other` as a data-modifying CTE; its parameters get the prefix
        `also_`. Statements live as long as the process, so each pair is put together once."""
        both = self._with.get(id(other))
        if both is None:
            text = _NAME.sub(lambda found: f":also_{found[1]}", other.source)
            both = self._with[id(other)] = Statement(f"WITH also AS ({text}) {self.source}")
        return both

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of PostgreSQL's numbered parameters."""
        return [values[name] for name in self.names]


def run_on_sqlite(connection: Any, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
    """The statement and its rows, on SQLite's own thread."""
    return connection.execute(statement.sqlite, values).fetchall()


def end_on_sqlite(connection: Any, last: Sequence[tuple[Statement, Mapping[str, Any]]]) -> None:
    """The last statements of a transaction and its COMMIT, on SQLite's own thread."""
    for statement, values in last:
        connection.execute(statement.sqlite, values)
    connection.execute("COMMIT")
