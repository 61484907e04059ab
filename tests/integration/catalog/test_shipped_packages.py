"""The shipped packages on both databases, with the real services behind their handles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.catalog.discover import SHIPPED
from app.protocol.identity import Principal
from app.services.cursors import Cursors
from app.services.handles import PackageMemory, PackageSessions
from app.services.memory import MemoryService
from app.services.sessions import SessionService
from app.storage.migrate import PackageMigrations, check
from app.testkit import BOB, PackageHarness, open_harness

SESSIONS = SessionService(cursors=Cursors(secret=b"x" * 32))


@pytest.fixture
async def shipped(empty_url: str) -> AsyncIterator[PackageHarness]:
    services = {"memory": PackageMemory(MemoryService()), "sessions": PackageSessions(SESSIONS)}
    folders = [path.parent for path in SHIPPED.glob("*/manifest.toml")]
    async with open_harness(*folders, url=empty_url, services=services) as harness:
        yield harness


async def new_session(shipped: PackageHarness, me: Principal, title: str) -> str:
    async with shipped.database.tenant_write(me.user_id) as unit:
        made = await SESSIONS.create(unit, owner_id=me.user_id, app_id=None, title=title)
    return made.id


async def test_tables_are_what_the_migrations_made(shipped: PackageHarness, empty_url: str) -> None:
    histories = [
        PackageMigrations(package.id, package.migrations, package.metadata)
        for package in shipped.catalog.packages
        if package.migrations is not None
    ]
    assert [line for line in await check(empty_url, histories) if not line.startswith("core")] == []


async def test_the_notebook_keeps_owners_apart(shipped: PackageHarness, me: Principal) -> None:
    made = await shipped.ok("mistakes::add", {"question": "5 × 7 = 33？", "tags": ["乘法"]}, by=me)
    for params in ({"query": "７"}, {"tag": "乘法"}, {"query": "5 ×"}):
        page = await shipped.ok("mistakes::search", params, by=me)
        assert page["entries"] == [made]
    assert (await shipped.ok("mistakes::search", {}, by=BOB))["entries"] == []
    change = {"id": made["id"], "version": 1, "cause": "乘法表"}
    assert await shipped.refused("mistakes::update", change, by=BOB) == "NOT_FOUND"
    changed = await shipped.ok("mistakes::update", change, by=me)
    assert (changed["cause"], changed["version"]) == ("乘法表", 2)
    assert await shipped.refused("mistakes::update", change, by=me) == "VERSION_CONFLICT"
    archived = await shipped.ok("mistakes::archive", {"id": made["id"]}, by=me, confirmed=True)
    assert archived["archived_at"] is not None
    await shipped.ok("mistakes::remove", {"id": made["id"]}, by=me, confirmed=True)
    assert (
        await shipped.refused("mistakes::archive", {"id": made["id"]}, by=me, confirmed=True) == "NOT_FOUND"
    )


async def test_memory_is_saved_corrected_found_and_removed(shipped: PackageHarness, me: Principal) -> None:
    saved = await shipped.ok("memory::save", {"content": "在准备中考"}, by=me)
    corrected = await shipped.ok("memory::save", {"content": "在准备高考", "id": saved["id"]}, by=me)
    assert corrected["id"] == saved["id"]
    found = await shipped.ok("memory::search", {"query": "高考"}, by=me)
    assert [fact["content"] for fact in found["facts"]] == ["在准备高考"]
    assert await shipped.refused("memory::remove", {"id": saved["id"]}, by=BOB, confirmed=True) == "NOT_FOUND"
    await shipped.ok("memory::remove", {"id": saved["id"]}, by=me, confirmed=True)
    assert (await shipped.ok("memory::search", {}, by=me))["facts"] == []


async def test_sessions_are_listed_renamed_and_switched_to(shipped: PackageHarness, me: Principal) -> None:
    session = await new_session(shipped, me, "Fractions")
    other = await new_session(shipped, me, "Poems")
    listed = await shipped.ok("session::list", {}, by=me)
    assert {one["id"] for one in listed["sessions"]} == {session, other}
    renamed = await shipped.ok("session::rename", {"session_id": session, "title": "分数"}, by=me)
    assert renamed["title"] == "分数"
    asked = await shipped.ask("session_switch", {"session": "poems"}, run=shipped.run(me))
    assert asked.result == {"switch_to": other, "title": "Poems"}
    assert asked.control_fact is not None
    assert other in asked.control_fact
    foreign: dict[str, Any] = {"session_id": session, "title": "mine"}
    assert await shipped.refused("session::rename", foreign, by=BOB) == "NOT_FOUND"
