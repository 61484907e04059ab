"""Facts: whose they are, and that the same one is kept once (L10, H11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.errors import ToolForbidden
from app.protocol.identity import CallerKind, Principal
from app.protocol.ids import UserId, new_id
from app.sdk.errors import InvalidInput, NotFoundHere
from app.sdk.tables import package_base
from app.services.cursors import Cursors
from app.services.handles import PackageMemory, PackageSessions
from app.services.memory import MemoryService, Reach
from app.services.sessions import SessionService
from app.storage.database import Database
from app.storage.package_schema import PackageSchema
from app.storage.package_tx import PackageTx


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 8, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def caller(user: str, *scopes: str, kind: CallerKind = "api", app_id: str | None = None) -> Principal:
    return Principal(
        user_id=UserId(user), kind=kind, scopes=frozenset(scopes), email="a@example.org", app_id=app_id
    )


@pytest.fixture
def owner() -> str:
    return new_id("usr")


@pytest.fixture
def memory() -> MemoryService:
    return MemoryService(clock=Clock())


def test_who_a_caller_is_says_what_it_reaches() -> None:
    assert Reach.of(caller("u", kind="browser")) == Reach("u", ("global",), "global")
    assert Reach.of(caller("u", "memory:global")) == Reach("u", ("global",), "global")
    assert Reach.of(caller("u", "*")) == Reach("u", ("global",), "global")
    assert Reach.of(caller("u", kind="app", app_id="app_1")) == Reach("u", ("app_1",), "app_1")
    assert Reach.of(caller("u", "memory:global", kind="app", app_id="app_1")) == Reach(
        "u", ("global", "app_1"), "global"
    )
    assert Reach.of(caller("u", "runs:read")) == Reach("u", (), None)


async def test_apps_keep_apart(database: Database, memory: MemoryService, owner: str) -> None:
    own = Reach.of(caller(owner, kind="browser"))
    one, two = (Reach.of(caller(owner, kind="app", app_id=app)) for app in ("app_1", "app_2"))
    nobody = Reach.of(caller(owner))
    async with database.tenant_write(owner) as unit:
        fact = await memory.save(unit, own, "likes green tea")
        secret = await memory.save(unit, one, "green secret of app one")
        assert [f.id for f in await memory.search(unit, own, "green")] == [fact.id]
        assert [f.id for f in await memory.search(unit, one, "green")] == [secret.id]
        assert await memory.search(unit, two, "green") == []
        assert await memory.search(unit, nobody, "") == []
        with pytest.raises(ToolForbidden):
            await memory.save(unit, nobody, "x")
        for reach in (two, own, nobody):
            assert not await memory.remove(unit, reach, secret.id)
        for reach in (two, own):
            with pytest.raises(NotFoundHere):
                await memory.save(unit, reach, "overwritten", id=secret.id)
        assert await memory.remove(unit, one, secret.id)
        assert not await memory.remove(unit, one, secret.id)


async def test_other_users_facts_are_not_there(database: Database, memory: MemoryService, owner: str) -> None:
    other = new_id("usr")
    async with database.tenant_write(owner) as unit:
        fact = await memory.save(unit, Reach(owner, ("global",), "global"), "likes tea", id="tea")
    async with database.tenant_write(other) as unit:
        theirs = Reach(other, ("global",), "global")
        assert await memory.search(unit, theirs, "tea") == []
        assert not await memory.remove(unit, theirs, fact.id)
        assert (await memory.save(unit, theirs, "hates tea", id="tea")).content == "hates tea"
    async with database.tenant_read(owner) as unit:
        mine = Reach(owner, ("global",), "global")
        assert [f.content for f in await memory.search(unit, mine, "tea")] == ["likes tea"]


async def test_the_same_content_is_the_same_fact(
    database: Database, memory: MemoryService, owner: str
) -> None:
    reach = Reach(owner, ("global",), "global")
    async with database.tenant_write(owner) as unit:
        first = await memory.save(unit, reach, "likes tea", tags=["taste"], source="ses_1")
        again = await memory.save(unit, reach, "  likes tea\n")
        assert (again.id, again.tags, again.source) == (first.id, ("taste",), "ses_1")
        assert again.updated_at > first.updated_at
        assert again.created_at == first.created_at
        changed = await memory.save(unit, reach, "likes coffee", id=first.id, tags=["taste", "taste", " "])
        assert (changed.content, changed.tags) == ("likes coffee", ("taste",))
        assert await memory.newest(unit, reach) == [changed]


async def test_facts_that_are_none_are_refused(database: Database, memory: MemoryService, owner: str) -> None:
    reach = Reach(owner, ("global",), "global")
    async with database.tenant_write(owner) as unit:
        for content, id in ((" \n", None), ("x" * 4001, None), ("x", "a b"), ("x", "../x"), ("x", "y" * 65)):
            with pytest.raises(InvalidInput):
                await memory.save(unit, reach, content, id=id)


async def test_the_handles_are_bound_to_the_unit_they_are_given(database: Database, owner: str) -> None:
    base = package_base("empty")
    schema = PackageSchema(base)
    principal = caller(owner, kind="browser")
    service = SessionService(cursors=Cursors(secret=b"s"))
    memory, sessions = PackageMemory(MemoryService()), PackageSessions(service)
    async with database.tenant_write(owner) as unit:
        made = await service.create(unit, owner_id=owner, app_id=None, title="Algebra")
        tx = PackageTx(unit, schema=schema, principal=principal, session_id=made.id)
        assert [s.title for s in await sessions.list(tx)] == ["Algebra"]
        assert [s.id for s in await sessions.find(tx, made.id[:10])] == [made.id]
        assert (await sessions.rename(tx, made.id, "Geometry")).title == "Geometry"
        with pytest.raises(NotFoundHere):
            await sessions.rename(tx, "ses_unknown", "x")
        with pytest.raises(InvalidInput):
            await sessions.rename(tx, made.id, " ")
        fact = await memory.save(tx, "线性代数 is hard")
        assert fact.source == made.id
        assert [f.id for f in await memory.search(tx, "代数")] == [fact.id]
        await service.delete(unit, owner_id=owner, app_id=None, session_id=made.id)
        assert await memory.search(tx, "") == []
        assert not await memory.remove(tx, fact.id)
