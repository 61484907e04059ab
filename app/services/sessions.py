"""Sessions: make, list, find, change, delete with all that belongs to them (H8, H11).

Every function takes the unit it works in and never commits. An app sees the sessions it made; the user's
own clients see those that no app made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, Row, Select, and_, case, insert, literal, or_, select, tuple_, update

from app.errors import InvalidParams, NotFound, PreconditionFailed
from app.protocol.column_types import Instant, from_ms, to_ms
from app.protocol.ids import new_id
from app.protocol.jsontext import clean_text
from app.services.cursors import Cursors
from app.services.session_removal import RemovedSession, remove_session
from app.storage.tables import sessions
from app.storage.unit import Unit

TITLE_CHARS = 200
FIND_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Session:
    """One row of `sessions`."""

    id: str
    app_id: str | None
    title: str
    title_source: str
    profile: str | None
    model: str | None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    version: int
    """Rises with title, model and archive; the ETag."""
    turn_count: int
    message_count: int
    live_run_id: str | None

    @property
    def archived(self) -> bool:
        return self.archived_at is not None


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: Sequence[Session]
    next: str | None
    """Cursor of the following page; None at the end."""


class SessionChanges(TypedDict, total=False):
    """What may be changed; what is left out stays, and so does a title or archive flag of None."""

    title: str | None
    archived: bool | None
    model: str | None


_COLUMNS = [sessions.c[name] for name in Session.__dataclass_fields__]


class SessionService:
    def __init__(self, *, cursors: Cursors, clock: Callable[[], datetime] | None = None) -> None:
        self._cursors = cursors
        self._clock = clock or (lambda: datetime.now(UTC))

    async def create(
        self,
        unit: Unit,
        *,
        owner_id: str,
        app_id: str | None,
        title: str = "",
        profile: str | None = None,
        model: str | None = None,
    ) -> Session:
        now = from_ms(to_ms(self._clock()))  # as it will be read back
        title = clean_title(title)
        session = Session(
            id=new_id("ses"),
            app_id=app_id,
            title=title,
            title_source="user" if title else "none",
            profile=profile,
            model=model,
            created_at=now,
            updated_at=now,
            archived_at=None,
            version=1,
            turn_count=0,
            message_count=0,
            live_run_id=None,
        )
        row = {name: getattr(session, name) for name in Session.__dataclass_fields__}
        await unit.connection.execute(insert(sessions), {**row, "owner_id": owner_id, "loaded_domains": []})
        return session

    async def get(self, unit: Unit, *, owner_id: str, app_id: str | None, session_id: str) -> Session:
        """Raises NotFound for missing and foreign sessions alike."""
        statement = select(*_COLUMNS).where(*_own(owner_id, app_id), sessions.c.id == session_id)
        row = (await unit.connection.execute(statement)).first()
        if row is None:
            raise NotFound
        return _session(row)

    async def list(
        self,
        unit: Unit,
        *,
        owner_id: str,
        app_id: str | None,
        limit: int = 50,
        cursor: str | None = None,
        query: str = "",
    ) -> SessionPage:
        """The latest used first. `query` is a part of the title or the beginning of an id.

        Raises:
            InvalidCursor: made for somebody else, another app or another query.
        """
        query = clean_text(query).strip()
        purpose = f"sessions:{app_id or ''}:{query}"
        statement = _newest(owner_id, app_id).limit(limit + 1)
        if query:
            statement = statement.where(or_(_title_has(query), _id_begins(query)))
        if cursor is not None:
            at, last_id = self._cursors.read(cursor, owner_id=owner_id, purpose=purpose)
            place = tuple_(literal(from_ms(at), Instant), literal(last_id))
            statement = statement.where(tuple_(sessions.c.updated_at, sessions.c.id) < place)
        found = [_session(row) for row in (await unit.connection.execute(statement)).all()]
        following = None
        if len(found) > limit:
            last = found[limit - 1]
            following = self._cursors.make(
                (to_ms(last.updated_at), last.id), owner_id=owner_id, purpose=purpose
            )
        return SessionPage(found[:limit], following)

    async def find(
        self, unit: Unit, *, owner_id: str, app_id: str | None, wanted: str, limit: int = FIND_LIMIT
    ) -> Sequence[Session]:
        """By id, beginning of an id, title or part of one; the closest first."""
        wanted = clean_text(wanted).strip()
        if not wanted:
            return []
        closeness = case(
            (sessions.c.id == wanted, 0), (sessions.c.title == wanted, 1), (_id_begins(wanted), 2), else_=3
        )
        statement = (
            select(*_COLUMNS)
            .where(*_own(owner_id, app_id), or_(_title_has(wanted), _id_begins(wanted)))
            .order_by(closeness, sessions.c.updated_at.desc(), sessions.c.id.desc())
            .limit(limit)
        )
        return [_session(row) for row in (await unit.connection.execute(statement)).all()]

    async def update(
        self,
        unit: Unit,
        *,
        owner_id: str,
        app_id: str | None,
        session_id: str,
        changes: SessionChanges,
        expected_version: int | None = None,
    ) -> Session:
        """Renames, archives, sets the model. `updated_at` stays: it says when the session was last used.

        Raises:
            NotFound: missing or foreign.
            PreconditionFailed: the session is no longer at `expected_version`.
            InvalidParams: an empty title.
        """
        if not changes:
            session = await self.get(unit, owner_id=owner_id, app_id=app_id, session_id=session_id)
            _check_version(session.version, expected_version)
            return session
        where = [*_own(owner_id, app_id), sessions.c.id == session_id]
        if expected_version is not None:
            where.append(sessions.c.version == expected_version)
        statement = update(sessions).where(*where).values(self._values(changes)).returning(*_COLUMNS)
        row = (await unit.connection.execute(statement)).first()
        if row is not None:
            return _session(row)
        session = await self.get(unit, owner_id=owner_id, app_id=app_id, session_id=session_id)
        _check_version(session.version, expected_version)
        raise NotFound

    def _values(self, changes: SessionChanges) -> dict[str, Any]:
        values: dict[str, Any] = {"version": sessions.c.version + 1}
        title, archived = changes.get("title"), changes.get("archived")
        if title is not None:
            values["title"] = clean_title(title)
            if not values["title"]:
                raise InvalidParams("A title needs at least one visible character.")
            values["title_source"] = "user"
        if archived is not None:
            now = literal(self._clock(), Instant)
            kept = case((sessions.c.archived_at.is_(None), now), else_=sessions.c.archived_at)
            values["archived_at"] = kept if archived else None
        if "model" in changes:
            values["model"] = changes["model"]
        return values

    async def delete(
        self, unit: Unit, *, owner_id: str, app_id: str | None, session_id: str
    ) -> RemovedSession:
        """Removes the session and its data (O20, O21). What it returns is for the Host to finish.

        Raises:
            NotFound: missing or foreign.
        """
        statement = select(sessions.c.live_run_id).where(*_own(owner_id, app_id), sessions.c.id == session_id)
        row = (await unit.connection.execute(statement.with_for_update())).first()
        if row is None:
            raise NotFound
        return await remove_session(unit, owner_id=owner_id, session_id=session_id, live_run_id=row[0])


def clean_title(title: str) -> str:
    """One line of at most 200 characters."""
    return " ".join(clean_text(title).split())[:TITLE_CHARS].strip()


def _own(owner_id: str, app_id: str | None) -> list[ColumnElement[bool]]:
    of_app = sessions.c.app_id.is_(None) if app_id is None else sessions.c.app_id == app_id
    return [sessions.c.owner_id == owner_id, of_app]


def _newest(owner_id: str, app_id: str | None) -> Select[*tuple[Any, ...]]:
    statement = select(*_COLUMNS).where(and_(*_own(owner_id, app_id)))
    return statement.order_by(sessions.c.updated_at.desc(), sessions.c.id.desc())


def _title_has(part: str) -> ColumnElement[bool]:
    return sessions.c.title.icontains(part, autoescape=True)


def _id_begins(part: str) -> ColumnElement[bool]:
    return sessions.c.id.istartswith(part, autoescape=True)


def _session(row: Row[*tuple[Any, ...]]) -> Session:
    return Session(*row)  # `_COLUMNS` follow the order of its fields


def _check_version(version: int, expected: int | None) -> None:
    if expected is not None and version != expected:
        raise PreconditionFailed("The session has changed since you read it; read it again.")
