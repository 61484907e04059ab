"""Tells faults of the database itself (gone, full, overloaded) from faults of a statement.

The first kind surfaces as `StorageUnavailable`, which ends a run and is worth another try; the second
(constraints, wrong SQL) stays SQLAlchemy's, because only the caller knows what it means.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import asyncpg
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import StorageUnavailable

# https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, resources, operator
# intervention, system error; then serialization failure and deadlock, which a second try cures.
_PG_CLASSES = ("08", "53", "57P", "58")
_PG_CODES = frozenset({"40001", "40P01", "25P03"})

# Primary result codes of https://www.sqlite.org/rescode.html: BUSY, LOCKED, NOMEM, IOERR, CORRUPT, FULL,
# CANTOPEN, PROTOCOL, NOTADB. Not READONLY: that is what a read unit answers to a write, a fault of ours.
_SQLITE_CODES = frozenset({5, 6, 7, 10, 11, 13, 14, 15, 26})

DRIVER_ERRORS: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    sqlite3.Error,
    OSError,
    asyncio.TimeoutError,
)
"""What the drivers raise when we speak to them without SQLAlchemy between."""


def is_unavailable(error: BaseException) -> bool:
    """Whether the database, not the statement, is at fault."""
    if isinstance(error, PoolTimeout | OSError | asyncio.TimeoutError):
        return True
    if isinstance(error, InvalidRequestError):
        return "invalid transaction" in str(error)  # a statement after the connection was lost
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        return error.orig is not None and _driver_says_unavailable(error.orig)
    return _driver_says_unavailable(error)


def _driver_says_unavailable(error: BaseException) -> bool:
    sqlite_code: Any = getattr(error, "sqlite_errorcode", None)
    if isinstance(sqlite_code, int):
        return sqlite_code & 0xFF in _SQLITE_CODES
    if isinstance(error, sqlite3.ProgrammingError):
        return "closed" in str(error)
    if isinstance(error, asyncpg.InterfaceError):
        return "closed" in str(error)
    if isinstance(error, asyncpg.InternalClientError):
        return True  # the server's last words came in while the connection was idle
    state: Any = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_PG_CLASSES) or state in _PG_CODES
    return False


def unavailable(error: BaseException) -> StorageUnavailable:
    """The error to raise `from error`. The cause stays in the chain for logs, not in the message."""
    name = type(getattr(error, "orig", None) or error).__name__
    return StorageUnavailable(f"The database cannot be reached or refused to work ({name}). Try again soon.")
