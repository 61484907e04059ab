"""Facts kept across sessions (L10): save, search, remove. Takes a unit, never commits.

A user's facts lie in namespaces: `global`, which all of the user's own clients share, and one for each
app. Which of them a caller reaches follows from who it is, never from what it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, insert, select, update

from app.errors import ToolForbidden
from app.protocol.column_types import from_ms, to_ms
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import clean_text
from app.sdk.errors import InvalidInput, NotFoundHere
from app.sdk.handles import Fact
from app.services.ranking import ranked
from app.storage.tables import memories
from app.storage.unit import Unit

GLOBAL = "global"
CONTENT_CHARS = 4_000
TAGS = 20
TAG_CHARS = 40
SCANNED_FACTS = 2_000
"""The newest facts that a search looks at; more than a person reads, few enough to rank in Python."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The namespaces of one caller."""

    owner_id: str
    reads: tuple[str, ...]
    writes: str | None
    """None: this caller has no memory."""

    @classmethod
    def of(cls, principal: Principal) -> Reach:
        """`global` for the browser and by scope `memory:global`; an app without it has its own only."""
        everywhere = principal.kind == "browser" or principal.allows("memory:global")
        reads = ((GLOBAL,) if everywhere else ()) + ((principal.app_id,) if principal.app_id else ())
        return cls(principal.user_id, reads, GLOBAL if everywhere else principal.app_id)


class MemoryService:
    def __init__(self, *, clock: Callable[[], datetime] | None = None) -> None:
        self._clock = clock or (lambda: datetime.now(UTC))

    async def newest(self, unit: Unit, reach: Reach, *, limit: int = SCANNED_FACTS) -> list[Fact]:
        statement = (
            select(memories)
            .where(memories.c.owner_id == reach.owner_id, memories.c.namespace.in_(reach.reads))
            .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
            .limit(limit)
        )
        return [_fact(row) for row in (await unit.connection.execute(statement)).all()]

    async def search(self, unit: Unit, reach: Reach, query: str, *, limit: int = 20) -> list[Fact]:
        """Facts that share words with the query, best first; for an empty query the newest."""
        found = await self.newest(unit, reach)
        return ranked(query, found, lambda fact: " ".join((fact.content, *fact.tags)), limit=limit)

    async def save(
        self,
        unit: Unit,
        reach: Reach,
        content: str,
        *,
        id: str | None = None,
        tags: Sequence[str] = (),
        source: str = "user",
    ) -> Fact:
        """Upserts by id. The same content once more is the same fact: it only moves `updated_at`.

        Args:
            source: the session that the fact came from (it is removed with it), or `user`.

        Raises:
            ToolForbidden: this caller has no memory.
            InvalidInput: empty or too long.
            NotFoundHere: the id is taken in a namespace that this caller does not see.
        """
        if reach.writes is None:
            raise ToolForbidden("This token has no memory: it needs the scope memory:global.")
        content, clean_tags = _clean(content), _clean_tags(tags)
        now = from_ms(to_ms(self._clock()))
        found = await self._existing(unit, reach, content, id)
        if found is not None:
            kept = clean_tags or list(found.tags)
            values: dict[str, Any] = {"updated_at": now, "tags": kept}
            if id is not None:
                values["content"] = content
            where = (memories.c.owner_id == reach.owner_id, memories.c.id == found.id)
            await unit.connection.execute(update(memories).where(*where).values(values))
            return _replaced(found, values)
        fact = Fact(
            id=id or new_id("mem"),
            content=content,
            namespace=reach.writes,
            tags=tuple(clean_tags),
            source=source,
            created_at=now,
            updated_at=now,
        )
        row = {name: getattr(fact, name) for name in Fact.__dataclass_fields__}
        await unit.connection.execute(
            insert(memories), {**row, "tags": clean_tags, "owner_id": reach.owner_id}
        )
        return fact

    async def _existing(self, unit: Unit, reach: Reach, content: str, id: str | None) -> Fact | None:
        own = select(memories).where(memories.c.owner_id == reach.owner_id)
        if id is not None:
            if (
                not 0 < len(id) <= 64
                or not id.isascii()
                or not id.replace("_", "").replace("-", "").isalnum()
            ):
                raise InvalidInput("The id of a fact is at most 64 letters, digits, `_` and `-`.")
            row = (await unit.connection.execute(own.where(memories.c.id == id))).first()
            if row is not None and row.namespace not in reach.reads:
                raise NotFoundHere("There is no such fact.")
        else:
            same = own.where(memories.c.namespace == reach.writes, memories.c.content == content).limit(1)
            row = (await unit.connection.execute(same)).first()
        return None if row is None else _fact(row)

    async def remove(self, unit: Unit, reach: Reach, id: str) -> bool:
        statement = delete(memories).where(
            memories.c.owner_id == reach.owner_id,
            memories.c.namespace.in_(reach.reads),
            memories.c.id == id,
        )
        return cast("CursorResult[Any]", await unit.connection.execute(statement)).rowcount > 0


def _clean(content: str) -> str:
    content = clean_text(content).strip()
    if not content:
        raise InvalidInput("A fact needs some text.")
    if len(content) > CONTENT_CHARS:
        raise InvalidInput(f"A fact has at most {CONTENT_CHARS} characters; keep the essence.")
    return content


def _clean_tags(tags: Sequence[str]) -> list[str]:
    cleaned = (" ".join(clean_text(tag).split())[:TAG_CHARS] for tag in tags)
    return list(dict.fromkeys(tag for tag in cleaned if tag))[:TAGS]


def _fact(row: Any) -> Fact:
    return Fact(
        id=row.id,
        content=row.content,
        namespace=row.namespace,
        tags=tuple(row.tags),
        source=row.source,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _replaced(fact: Fact, values: dict[str, Any]) -> Fact:
    return Fact(
        id=fact.id,
        content=values.get("content", fact.content),
        namespace=fact.namespace,
        tags=tuple(values["tags"]),
        source=fact.source,
        created_at=fact.created_at,
        updated_at=values["updated_at"],
    )
