"""Handles: the only things a package can reach, as Protocols (C5).

The real objects are built by `services/`, `storage/` and `catalog/`; the testkit has others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from sqlalchemy import ColumnElement, Select

from app.protocol.identity import Initiator, Principal

ServiceName = Literal["storage", "sessions", "memory", "compute", "model", "jobs", "files"]

T = TypeVar("T")
R = TypeVar("R")


class ReadTx(Protocol):
    """A unit of work that only reads, bound to the caller: foreign rows do not exist in it."""

    async def get(self, entity: type[T], key: Any) -> T | None: ...

    async def select(self, statement: Select[T]) -> Sequence[T]:
        """Rows of one of the package's own mapped classes. Core tables and raw SQL are refused."""
        ...

    async def count(self, entity: type[Any], *where: ColumnElement[bool]) -> int: ...


class WriteTx(ReadTx, Protocol):
    """A unit of work that may change the package's own rows of the caller."""

    async def add(self, row: object) -> None:
        """Stamps `owner_id` and flushes; a foreign `owner_id` is refused."""
        ...

    async def upsert(self, entity: type[Any], values: Mapping[str, Any], *, key: Sequence[str]) -> None: ...

    async def update(self, entity: type[Any], *where: ColumnElement[bool], values: Mapping[str, Any]) -> int:
        """Filtered update of the caller's rows; returns how many changed."""
        ...

    async def delete(self, row: object) -> None: ...

    async def delete_where(self, entity: type[Any], *where: ColumnElement[bool]) -> int: ...


class Recorded:
    """What `tx.record` returns: proof that the effect has its record."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


class EffectTx(WriteTx, Protocol):
    def record(self, result: Any) -> Recorded:
        """Binds `result` (a model or JSON value) to the effect; the handler returns what this returns."""
        ...


class Call(Protocol):
    """One call as its handler sees it."""

    @property
    def call_id(self) -> str: ...

    @property
    def principal(self) -> Principal: ...

    @property
    def package_version(self) -> str: ...

    @property
    def initiator(self) -> Initiator: ...

    @property
    def session_id(self) -> str | None: ...

    @property
    def run_id(self) -> str | None: ...

    @property
    def now(self) -> datetime: ...

    @property
    def input_text(self) -> str:
        """The user's input of this run, as data; empty outside a run."""
        ...

    @property
    def earlier_results(self) -> Mapping[str, Any]:
        """Results of this run's calls so far, by call id; empty outside a run."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether the user asked for the end of the run; long work may look and stop early."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Calls an entry of a package this one depends on, and returns its result (C16).

        The manifest names it in permissions, as `call:namespace::tool`. It runs under the same initiator
        and its own effect; not possible while this call's effect is open. Raises ToolError as the inner
        call failed.
        """
        ...

    def read(self) -> AbstractAsyncContextManager[ReadTx]:
        """A read-only unit of work. Do not hold it while waiting for anything but the database."""
        ...

    def effect(self) -> AbstractAsyncContextManager[EffectTx]:
        """The one transaction of a mutating call: key, fence, writes, result, audit, one commit.

        Entered exactly once, after slow work is done. When the key is already there the recorded
        result is returned to the caller and nothing of the body is kept: under a caller's own key the
        body does not run, under the host's (always fresh, but for a retry) it is rolled back.
        """
        ...


Handler = Callable[[Call, Any], Awaitable[Any]]


class Bind(Protocol):
    """Given to `register(bind, services)`: ties handlers to declared entries (C2)."""

    def tool(self, name: str) -> Callable[[Handler], Handler]: ...

    def command(self, name: str) -> Callable[[Handler], Handler]: ...

    def event(self, name: str) -> Callable[[Handler], Handler]: ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One remembered fact."""

    id: str
    content: str
    namespace: str
    tags: tuple[str, ...]
    source: str
    created_at: datetime
    updated_at: datetime


class MemoryHandle(Protocol):
    """Facts of the caller; the namespace (global, or the app's own) follows from the caller's scopes."""

    async def search(self, tx: ReadTx, query: str, *, limit: int = 20) -> Sequence[Fact]: ...

    async def save(
        self, tx: WriteTx, content: str, *, id: str | None = None, tags: Sequence[str] = ()
    ) -> Fact:
        """Upserts by id; the same content again only moves `updated_at`."""
        ...

    async def remove(self, tx: WriteTx, id: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class SessionFacts:
    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    message_count: int
    archived: bool


class SessionsHandle(Protocol):
    """The caller's sessions (of the caller's app)."""

    async def list(self, tx: ReadTx, *, query: str = "", limit: int = 20) -> Sequence[SessionFacts]: ...

    async def find(self, tx: ReadTx, id_prefix_or_title: str) -> Sequence[SessionFacts]: ...

    async def rename(self, tx: WriteTx, session_id: str, title: str) -> SessionFacts: ...


class Services(Protocol):
    """Just the handles that the manifest's `requires` names; any other attribute raises."""

    @property
    def memory(self) -> MemoryHandle: ...

    @property
    def sessions(self) -> SessionsHandle: ...
