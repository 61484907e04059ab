"""The INSERT of one new row, past the ORM's flush: what nearly each mutating call does.

A flush sorts, groups, compiles and fetches back, which costs more than the whole rest of a small
effect. A plain new row needs none of it. What is not plain (generated keys, database defaults, SQL
expressions as values) is left to the ORM.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
from sqlalchemy import ClauseElement, Column, Dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapper, make_transient_to_detached

from app.storage.statement import Statement
from app.storage.unit import Unit

_CONSTRAINTS = (sqlite3.IntegrityError, asyncpg.IntegrityConstraintViolationError)


def is_expression(value: object) -> bool:
    return isinstance(value, ClauseElement) or hasattr(value, "__clause_element__")


@dataclass(frozen=True, slots=True)
class _Value:
    """One column: where its value is, and how it goes to the driver."""

    attribute: str
    parameter: str
    default: Any
    to_driver: Callable[[Any], Any] | None
    is_key: bool


class PlainInsert:
    """Built once for a mapped class and dialect."""

    def __init__(self, table: str, values: list[_Value], quoted: list[str]) -> None:
        self._values = values
        names = ", ".join(quoted)
        marks = ", ".join(f":{value.parameter}" for value in values)
        self._statement = Statement(f"INSERT INTO {table} ({names}) VALUES ({marks})")

    async def run(self, unit: Unit, row: object) -> bool:
        """Inserts the row and fills its defaults in; False, with nothing done, where it is not plain.

        Raises:
            IntegrityError: SQLAlchemy's, as a flush would.
        """
        held = row.__dict__
        filled: dict[str, Any] = {}
        sent: dict[str, Any] = {}
        for value in self._values:
            found = held.get(value.attribute, value.default)
            if is_expression(found) or (value.is_key and found is None):
                return False
            filled[value.attribute] = found
            sent[value.parameter] = found if value.to_driver is None else value.to_driver(found)
        try:
            await unit.rows(self._statement, sent)
        except _CONSTRAINTS as error:
            raise IntegrityError(self._statement.source, None, error) from error
        for name, found in filled.items():
            if name not in held:
                setattr(row, name, found)
        return True


class AddedRows:
    """Rows inserted past the ORM. It learns of them when it is first needed, or if one is changed."""

    def __init__(self, session: Callable[[], AsyncSession]) -> None:
        self._open = session
        self._rows: list[tuple[object, dict[str, Any]]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def note(self, row: object) -> None:
        """What is in the row now is what the database has."""
        self._rows.append((row, dict(row.__dict__)))

    def attach_to(self, session: AsyncSession) -> None:
        rows, self._rows = self._rows, []
        for row, stored in rows:
            changes = _changes(row, stored)
            for name in changes:
                setattr(row, name, stored[name])
            make_transient_to_detached(row)
            session.add(row)
            for name, value in changes.items():
                setattr(row, name, value)

    async def flush(self) -> None:
        """As the ORM does at the end of a unit: what was changed after it was added is written."""
        if any(_changes(row, stored) for row, stored in self._rows):
            await self._open().flush()

    async def close(self) -> None:
        self._rows.clear()


def _changes(row: object, stored: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in row.__dict__.items()
        if not name.startswith("_sa_") and name in stored and value != stored[name]
    }


def plain_insert(mapper: Mapper[Any], dialect: Dialect) -> PlainInsert | None:
    """None where rows of this class need the ORM: a column is filled by the database or by a function."""
    values: list[_Value] = []
    quoted: list[str] = []
    quote = dialect.identifier_preparer
    for attribute in mapper.column_attrs:
        column = attribute.columns[0]
        assert isinstance(column, Column)
        if column.server_default is not None or column.computed is not None or column.identity is not None:
            return None
        if column.default is not None and not column.default.is_scalar:
            return None
        default = None if column.default is None else getattr(column.default, "arg", None)
        values.append(
            _Value(
                attribute=attribute.key,
                parameter=f"c_{_letters(len(values))}",
                default=default,
                to_driver=column.type.dialect_impl(dialect).bind_processor(dialect),
                is_key=column.primary_key,
            )
        )
        quoted.append(quote.format_column(column))
    return PlainInsert(quote.format_table(mapper.local_table), values, quoted)  # pyright: ignore[reportArgumentType]


def _letters(number: int) -> str:
    """Parameter names hold letters alone: `Statement` says so."""
    name = chr(97 + number % 26)
    return name if number < 26 else _letters(number // 26 - 1) + name
