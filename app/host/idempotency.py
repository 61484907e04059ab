"""Idempotency-Key: the same request sent again gets the first answer, and acts once.

A row per (owner, route, key) goes from running to done. Its owner is a process: when that process
is dead the row may be taken over, as what it began either committed under an effect key of its own
(and is found there) or did not happen. Answers that failed are not kept, so that a client may try
again with the same key.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.errors import IdempotencyInProgress, IdempotencyMismatch, InvalidParams
from app.host.jsonform import json_bytes
from app.protocol.identity import Principal
from app.storage.database import Database, Unit
from app.storage.tables import idempotency_keys, processes

KEY_CHARACTERS = 200
KEPT_FOR = timedelta(hours=24)
"""After this a key is free again."""

_KEY = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers: status, JSON body and headers worth keeping."""

    status: int
    body: Any = None
    """A JSON value; None for an answer without a body."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def check_key(key: str | None) -> str | None:
    """Raises InvalidParams for a key that is not 1 to 200 printable ASCII characters."""
    if key is None or _KEY.fullmatch(key):
        return key
    raise InvalidParams(f"Idempotency-Key must be 1 to {KEY_CHARACTERS} printable ASCII characters.")


class Idempotency:
    def __init__(self, *, database: Database, process_id: str, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._process_id = process_id
        self._clock = clock
        self._in_flight: set[tuple[str, str, str]] = set()
        """What this process really works on. A row of ours that is not among them was left behind when
        the database was away at the end of its request."""

    async def run(
        self,
        principal: Principal,
        route: str,
        key: str | None,
        body_digest: str,
        action: Callable[[], Awaitable[Answer]],
    ) -> Answer:
        """Answers with the kept answer of `key`, or runs `action` and keeps its answer.

        Raises:
            InvalidParams: the key itself is malformed.
            IdempotencyMismatch: the key was used with another body.
            IdempotencyInProgress: the first request of this key still runs.
        """
        check_key(key)
        if key is None:
            return await action()
        mine = (principal.user_id, route, key)
        kept = await self._claim(principal.user_id, route, key, body_digest)
        if kept is not None:
            return kept
        self._in_flight.add(mine)
        try:
            return await self._answer(principal.user_id, route, key, action)
        finally:
            self._in_flight.discard(mine)

    async def _answer(
        self, owner_id: str, route: str, key: str, action: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        try:
            answer = await action()
        except BaseException:
            await self._release(owner_id, route, key)
            raise
        if answer.status >= 500:
            await self._release(owner_id, route, key)
        else:
            await self._keep(owner_id, route, key, answer)
        return answer

    async def purge(self) -> int:
        """Frees keys older than a day; returns how many."""
        async with self._database.system_write() as unit:
            result = await unit.connection.execute(
                delete(idempotency_keys).where(idempotency_keys.c.created_at < self._clock() - KEPT_FOR)
            )
        return result.rowcount

    async def _claim(self, owner_id: str, route: str, key: str, body_digest: str) -> Answer | None:
        """The kept answer, or None when the key is now ours to answer.

        A system unit, because whether the other process lives is not for tenants to see; each
        statement names the owner itself.
        """
        table = idempotency_keys
        now = self._clock()
        values: dict[str, Any] = {
            "owner_id": owner_id,
            "route": route,
            "key": key,
            "body_digest": body_digest,
            "status": "running",
            "process_id": self._process_id,
            "created_at": now,
        }
        async with self._database.system_write() as unit:
            insert = sqlite_insert if unit.dialect == "sqlite" else postgresql_insert
            made = await unit.connection.execute(
                insert(table).values(values).on_conflict_do_nothing().returning(table.c.key)
            )
            if made.first() is not None:
                return None
            mine = _row(owner_id, route, key)
            row = (await unit.connection.execute(select(table).where(mine).with_for_update())).one_or_none()
            if row is None:
                # Released between the two statements: the client's next try will find it free.
                raise IdempotencyInProgress(
                    "The first request with this Idempotency-Key has just failed: try again."
                )
            if row.created_at >= now - KEPT_FOR:
                if row.body_digest != body_digest:
                    raise IdempotencyMismatch(
                        "This Idempotency-Key was used with another body: take a new key."
                    )
                if row.status == "done":
                    return _kept(row)
                if row.process_id == self._process_id:
                    running = (owner_id, route, key) in self._in_flight
                else:
                    running = await self._lives(unit, row.process_id)
                if running:
                    raise IdempotencyInProgress(
                        "The first request with this Idempotency-Key still runs.", retry_after_s=1.0
                    )
            await unit.connection.execute(update(table).where(mine).values(values))
            return None

    async def _lives(self, unit: Unit, process_id: str | None) -> bool:
        lease = (
            await unit.connection.execute(select(processes.c.lease_until).where(processes.c.id == process_id))
        ).scalar_one_or_none()
        return lease is not None and lease > await self._database.database_now(unit)

    async def _keep(self, owner_id: str, route: str, key: str, answer: Answer) -> None:
        async with self._database.tenant_write(owner_id) as unit:
            await unit.connection.execute(
                update(idempotency_keys)
                .where(_row(owner_id, route, key), idempotency_keys.c.process_id == self._process_id)
                .values(
                    status="done",
                    response_status=answer.status,
                    response_body=json_bytes(answer.body).decode(),
                    response_headers=dict(answer.headers),
                )
            )

    async def _release(self, owner_id: str, route: str, key: str) -> None:
        async with self._database.tenant_write(owner_id) as unit:
            await unit.connection.execute(
                delete(idempotency_keys).where(
                    _row(owner_id, route, key),
                    idempotency_keys.c.process_id == self._process_id,
                    idempotency_keys.c.status == "running",
                )
            )


def _row(owner_id: str, route: str, key: str) -> Any:
    table = idempotency_keys
    return (table.c.owner_id == owner_id) & (table.c.route == route) & (table.c.key == key)


def _kept(row: Any) -> Answer:
    body = None if row.response_body is None else orjson.loads(row.response_body)
    return Answer(row.response_status, body, row.response_headers or {})
