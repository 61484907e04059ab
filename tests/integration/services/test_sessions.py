"""Sessions as their owner and each app see them, and what goes when one is deleted (H8, H11, O20)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from app.errors import InvalidCursor, InvalidParams, NotFound, PreconditionFailed
from app.protocol.ids import new_id
from app.services.cursors import Cursors
from app.services.files import add_file, attach_files, find_files, unused
from app.services.memory import MemoryService, Reach
from app.services.sessions import Session, SessionService
from app.storage.database import Database, Unit
from app.storage.tables import (
    audit,
    confirmations,
    effects,
    events,
    files,
    idempotency_keys,
    items,
    memories,
    runs,
    sessions,
)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 8, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def service() -> SessionService:
    return SessionService(cursors=Cursors(secret=b"secret"), clock=Clock())


@pytest.fixture
def owner() -> str:
    return new_id("usr")


async def create(
    database: Database, service: SessionService, owner: str, *titles: str, app_id: str | None = None
) -> list[Session]:
    async with database.tenant_write(owner) as unit:
        return [await service.create(unit, owner_id=owner, app_id=app_id, title=title) for title in titles]


async def test_a_new_session_reads_back_as_it_was_made(
    database: Database, service: SessionService, owner: str
) -> None:
    (made,) = await create(database, service, owner, "  Algebra \n homework ")
    assert (made.title, made.title_source, made.version, made.archived) == (
        "Algebra homework",
        "user",
        1,
        False,
    )
    async with database.tenant_read(owner) as unit:
        assert await service.get(unit, owner_id=owner, app_id=None, session_id=made.id) == made


async def test_another_user_and_another_app_do_not_see_it(
    database: Database, service: SessionService, owner: str
) -> None:
    (own,) = await create(database, service, owner, "mine")
    (of_app,) = await create(database, service, owner, "the app's", app_id="app_1")
    other = new_id("usr")
    attempts: list[tuple[str, str | None, str]] = [
        (other, None, own.id),
        (owner, "app_1", own.id),
        (owner, None, of_app.id),
        (owner, "app_2", of_app.id),
        (owner, None, "ses_unknown"),
    ]
    for user, app_id, session_id in attempts:
        asked: dict[str, Any] = {"owner_id": user, "app_id": app_id, "session_id": session_id}
        calls: list[Callable[[Unit], Any]] = [
            lambda unit, asked=asked: service.get(unit, **asked),
            lambda unit, asked=asked: service.update(unit, **asked, changes={"title": "taken"}),
            lambda unit, asked=asked: service.update(unit, **asked, changes={}),
            lambda unit, asked=asked: service.delete(unit, **asked),
        ]
        for call in calls:
            async with database.tenant_write(user) as unit:
                with pytest.raises(NotFound) as caught:
                    await call(unit)
                assert caught.value.message == NotFound().message
    async with database.tenant_read(owner) as unit:
        page = await service.list(unit, owner_id=owner, app_id="app_1")
        assert [session.id for session in page.sessions] == [of_app.id]
        assert await service.find(unit, owner_id=owner, app_id="app_1", wanted="mine") == []


async def test_pages_follow_each_other_without_gap_or_repeat(
    database: Database, service: SessionService, owner: str
) -> None:
    made = await create(database, service, owner, *[f"n{number}" for number in range(7)])
    seen: list[str] = []
    cursor: str | None = None
    async with database.tenant_read(owner) as unit:
        for size in (3, 3, 1):
            page = await service.list(unit, owner_id=owner, app_id=None, limit=3, cursor=cursor)
            assert len(page.sessions) == size
            seen += [session.id for session in page.sessions]
            cursor = page.next
    assert cursor is None
    assert seen == [session.id for session in reversed(made)]


async def test_a_cursor_does_not_serve_another_list(
    database: Database, service: SessionService, owner: str
) -> None:
    await create(database, service, owner, "a", "b", "c")
    async with database.tenant_read(owner) as unit:
        page = await service.list(unit, owner_id=owner, app_id=None, limit=1)
        wrong: list[dict[str, Any]] = [
            {"owner_id": owner, "app_id": None, "query": "a"},
            {"owner_id": owner, "app_id": "app_1"},
            {"owner_id": new_id("usr"), "app_id": None},
        ]
        for asked in wrong:
            with pytest.raises(InvalidCursor):
                await service.list(unit, **asked, cursor=page.next)


async def test_titles_are_searched_as_text(database: Database, service: SessionService, owner: str) -> None:
    made = await create(database, service, owner, "100% sure", "100 percent", "线性代数", "Under_score")

    async def titles(query: str) -> list[str]:
        async with database.tenant_read(owner) as unit:
            page = await service.list(unit, owner_id=owner, app_id=None, query=query)
        return [session.title for session in page.sessions]

    assert await titles("100%") == ["100% sure"]
    assert await titles("代数") == ["线性代数"]
    assert await titles("r_s") == ["Under_score"]
    assert await titles("SURE") == ["100% sure"]
    assert await titles(made[0].id) == ["100% sure"]
    assert await titles("nothing like it\0") == []


async def test_find_takes_the_closest_first(database: Database, service: SessionService, owner: str) -> None:
    first, second, third = await create(database, service, owner, "Tea and cake", "Tea", "Coffee")
    async with database.tenant_read(owner) as unit:

        async def found(wanted: str) -> list[str]:
            return [s.id for s in await service.find(unit, owner_id=owner, app_id=None, wanted=wanted)]

        assert await found("Tea") == [second.id, first.id]
        assert await found(third.id) == [third.id]
        assert third.id in await found(third.id[:12])
        assert await found("  ") == []
        assert await found("%") == []


async def test_changes_raise_the_version_and_keep_the_order(
    database: Database, service: SessionService, owner: str
) -> None:
    (made,) = await create(database, service, owner, "old")
    asked: dict[str, Any] = {"owner_id": owner, "app_id": None, "session_id": made.id}
    async with database.tenant_write(owner) as unit:
        renamed = await service.update(unit, **asked, changes={"title": "new"}, expected_version=1)
        assert (renamed.title, renamed.version, renamed.updated_at) == ("new", 2, made.updated_at)
        archived = await service.update(unit, **asked, changes={"archived": True, "model": "m"})
        assert (archived.archived, archived.model, archived.version) == (True, "m", 3)
        again = await service.update(unit, **asked, changes={"archived": True})
        assert again.archived_at == archived.archived_at
        back = await service.update(unit, **asked, changes={"archived": False, "model": None})
        assert (back.archived, back.model) == (False, None)
        same = await service.update(unit, **asked, changes={"title": None, "archived": None})
        assert (same.title, same.archived) == ("new", False)
        for changes in ({"title": "x"}, {}):
            with pytest.raises(PreconditionFailed):
                await service.update(unit, **asked, changes=changes, expected_version=1)  # type: ignore[arg-type]
        with pytest.raises(InvalidParams):
            await service.update(unit, **asked, changes={"title": " \n"})


async def fill(unit: Unit, owner: str, session_id: str) -> None:
    """One row of everything that belongs to a session."""
    now = datetime.now(UTC)
    run = new_id("run")
    rows: list[tuple[Any, dict[str, Any]]] = [
        (
            runs,
            {
                "id": run, "session_id": session_id, "turn": 1, "status": "running",
                "snapshot_digest": "d", "principal": {}, "created_at": now,
            },
        ),
        (
            items,
            {
                "session_id": session_id, "turn": 1, "ordinal": 0, "id": new_id("itm"), "run_id": run,
                "type": "user", "status": "completed", "at": now, "body": "{}",
            },
        ),
        (events, {"run_id": run, "seq": 1, "line": "{}\n"}),
        (
            effects,
            {
                "key": f"run:{run}:1", "capability": "a::b", "package_version": "1", "arguments_digest": "d",
                "status": "done", "session_id": session_id, "run_id": run, "at": now,
            },
        ),
        (
            idempotency_keys,
            {
                "route": "POST", "key": run, "body_digest": "d", "status": "done", "run_id": run,
                "created_at": now,
            },
        ),
        (
            confirmations,
            {
                "id": new_id("cnf"), "session_id": session_id, "capability": "a::b", "package_version": "1",
                "arguments": {}, "arguments_digest": "d", "status": "pending", "created_at": now,
                "expires_at": now,
            },
        ),
        (
            audit,
            {
                "id": new_id("aud"), "session_id": session_id, "at": now, "caller_kind": "api", "action": "x",
                "target": "t", "outcome": "ok",
            },
        ),
    ]  # fmt: skip
    for table, values in rows:
        await unit.connection.execute(insert(table), {**values, "owner_id": owner})
    reach = Reach(owner, ("global",), "global")
    await MemoryService().save(unit, reach, f"canary of {session_id}", source=session_id)
    await unit.connection.execute(
        sessions.update().where(sessions.c.id == session_id).values(live_run_id=run)
    )


async def test_deleting_takes_all_that_came_from_the_session_and_nothing_else(
    database: Database, service: SessionService, owner: str
) -> None:
    gone, kept = await create(database, service, owner, "gone", "kept")
    now = datetime.now(UTC)
    async with database.tenant_write(owner) as unit:
        for session in (gone, kept):
            await fill(unit, owner, session.id)
        uploads = [
            await add_file(
                unit, owner_id=owner, name="a.txt", media_type="text/plain", size_bytes=1, sha256=digest * 64, at=now
            )
            for digest in "abc"
        ]  # fmt: skip
        alone, shared, free = [upload.id for upload in uploads]
        await attach_files(unit, owner_id=owner, session_id=gone.id, ids=[alone, shared])
        await attach_files(unit, owner_id=owner, session_id=kept.id, ids=[shared])
        await attach_files(unit, owner_id=owner, session_id=gone.id, ids=[shared])
    async with database.tenant_write(owner) as unit:
        removed = await service.delete(unit, owner_id=owner, app_id=None, session_id=gone.id)
    assert removed.live_run_id is not None
    assert removed.file_digests == ["a" * 64]
    async with database.system_read() as unit:
        assert await unused(unit, removed.file_digests) == ["a" * 64]
        assert set(await find_files(unit, owner_id=owner, ids=[alone, shared, free])) == {shared, free}
        for table in (sessions, runs, items, events, effects, idempotency_keys, confirmations, memories):
            counted = select(func.count()).select_from(table).where(table.c.owner_id == owner)
            assert (await unit.connection.execute(counted)).scalar_one() == 1, table.name
        trail = select(func.count()).select_from(audit).where(audit.c.session_id == gone.id)
        assert (await unit.connection.execute(trail)).scalar_one() == 1
        mine = select(files.c.session_id).where(files.c.id == shared)
        assert (await unit.connection.execute(mine)).scalar_one() == ""


async def test_a_blob_that_another_user_has_too_is_in_use(
    database: Database, service: SessionService, owner: str
) -> None:
    other, digest = new_id("usr"), new_id("sha").ljust(64, "0")
    (session,) = await create(database, service, owner, "s")
    ids: list[str] = []
    for user in (owner, other):
        async with database.tenant_write(user) as unit:
            upload = await add_file(
                unit, owner_id=user, name="hw.jpg", media_type="image/jpeg", size_bytes=1, sha256=digest,
                at=datetime.now(UTC),
            )  # fmt: skip
            ids.append(upload.id)
    assert len(set(ids)) == 2
    async with database.tenant_write(owner) as unit:
        assert await find_files(unit, owner_id=owner, ids=[ids[1]]) == {}
        await attach_files(unit, owner_id=owner, session_id=session.id, ids=ids)
        removed = await service.delete(unit, owner_id=owner, app_id=None, session_id=session.id)
    assert removed.file_digests == [digest]
    async with database.system_read() as unit:
        assert await unused(unit, removed.file_digests) == []
        assert set(await find_files(unit, owner_id=other, ids=ids)) == {ids[1]}
