"""Units of work: commit, rollback, cancellation, readers and writers at once, lost connections."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from app.errors import StorageUnavailable
from app.protocol.ids import new_id
from app.storage.database import Database, Unit
from app.storage.tables import sessions


def session_row(owner: str, id: str | None = None) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {"id": id or new_id("ses"), "owner_id": owner, "created_at": now, "updated_at": now}


async def put(unit: Unit, owner: str, id: str | None = None) -> None:
    await unit.connection.execute(insert(sessions), session_row(owner, id))


async def count(database: Database, owner: str) -> int:
    async with database.system_read() as unit:
        found = await unit.connection.execute(select(sessions.c.id).where(sessions.c.owner_id == owner))
        return len(found.all())


@pytest.fixture
def owner() -> str:
    return new_id("usr")


async def test_a_unit_commits_at_its_end_and_then_calls_back(database: Database, owner: str) -> None:
    seen: list[str] = []
    async with database.tenant_write(owner) as unit:
        await put(unit, owner)
        unit.on_commit(lambda: seen.append("committed"))
        assert seen == []
        assert await count(database, owner) == 0
    assert seen == ["committed"]
    assert await count(database, owner) == 1


async def test_an_error_rolls_back_and_frees_the_lock(database: Database, owner: str) -> None:
    async def fail() -> None:
        async with database.tenant_write(owner) as unit:
            await put(unit, owner)
            unit.on_commit(lambda: pytest.fail("called without a commit"))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        await fail()
    assert await count(database, owner) == 0
    assert not database.write_lock.held
    async with database.tenant_write(owner) as unit:
        await put(unit, owner)
    assert await count(database, owner) == 1


async def test_a_constraint_error_stays_what_it_is(database: Database, owner: str) -> None:
    same = new_id("ses")

    async def twice() -> None:
        async with database.tenant_write(owner) as unit:
            await put(unit, owner, same)
            await put(unit, owner, same)

    with pytest.raises(IntegrityError):
        await twice()
    assert await count(database, owner) == 0


async def test_a_swallowed_error_does_not_pass_for_a_commit(database: Database, owner: str) -> None:
    """PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, which is easily overlooked."""
    same = new_id("ses")

    async def swallow() -> None:
        async with database.tenant_write(owner) as unit:
            await put(unit, owner, same)
            with pytest.raises(IntegrityError):
                await put(unit, owner, same)

    if database.dialect == "postgresql":
        with pytest.raises(StorageUnavailable):
            await swallow()
        assert await count(database, owner) == 0
    else:  # SQLite undoes the statement alone
        await swallow()
        assert await count(database, owner) == 1


async def test_a_read_unit_cannot_write(database: Database, owner: str) -> None:
    for context in (database.tenant_read(owner), database.system_read()):
        with pytest.raises(DBAPIError):
            async with context as unit:
                await put(unit, owner)
    assert await count(database, owner) == 0


async def test_a_read_unit_sees_one_state(database: Database, owner: str) -> None:
    async with database.system_read() as reader:
        mine = select(sessions.c.id).where(sessions.c.owner_id == owner)
        assert (await reader.connection.execute(mine)).all() == []
        async with database.tenant_write(owner) as writer:
            await put(writer, owner)
        seen = len((await reader.connection.execute(mine)).all())
    assert seen == (0 if database.dialect == "sqlite" else 1)  # PostgreSQL: READ COMMITTED


async def test_the_orm_session_is_in_the_same_transaction(database: Database, owner: str) -> None:
    async with database.tenant_write(owner) as unit:
        await put(unit, owner)
        found = await unit.session.execute(select(sessions.c.id).where(sessions.c.owner_id == owner))
        assert len(found.all()) == 1
        await unit.session.execute(insert(sessions), session_row(owner))
    assert await count(database, owner) == 2


async def test_database_time_is_now(database: Database) -> None:
    async with database.system_read() as unit:
        now = await database.database_now(unit)
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=5)


async def test_a_tenant_unit_needs_an_owner(database: Database) -> None:
    for wrong in ("", "a\0b"):
        with pytest.raises(ValueError, match="owner"):
            database.tenant_read(wrong)


# --- cancellation ---


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 5, 8, 13])
async def test_a_cancelled_writer_leaves_all_or_nothing_and_no_lock(
    database: Database, owner: str, delay_ms: int
) -> None:
    async def write() -> None:
        async with database.tenant_write(owner) as unit:
            for _ in range(4):
                await put(unit, owner)

    for _ in range(10):
        task = asyncio.ensure_future(write())
        await asyncio.sleep(delay_ms / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not database.write_lock.held
        assert await count(database, owner) % 4 == 0
    before = await count(database, owner)
    await write()
    assert await count(database, owner) == before + 4


async def test_a_cancel_during_commit_lets_the_commit_and_its_callbacks_finish(
    database: Database, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.storage.unit import UnitContext

    committing, go_on = asyncio.Event(), asyncio.Event()
    commit = UnitContext._commit  # pyright: ignore[reportPrivateUsage]

    async def slow_commit(self: UnitContext, unit: Unit) -> None:
        committing.set()
        await go_on.wait()
        await commit(self, unit)

    monkeypatch.setattr(UnitContext, "_commit", slow_commit)
    seen: list[str] = []

    async def write() -> None:
        async with database.tenant_write(owner) as unit:
            await put(unit, owner)
            unit.on_commit(lambda: seen.append("committed"))

    task = asyncio.ensure_future(write())
    await committing.wait()
    task.cancel()
    await asyncio.sleep(0.01)
    task.cancel()  # once more: no less safe
    await asyncio.sleep(0.01)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["committed"]
    assert await count(database, owner) == 1
    assert not database.write_lock.held


async def test_cancelled_readers_do_not_use_up_the_pool(database: Database, owner: str) -> None:
    slow = (
        "SELECT pg_sleep(5)"
        if database.dialect == "postgresql"
        else "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT max(i) FROM n"
    )

    async def read() -> None:
        async with database.tenant_read(owner) as unit:
            await unit.connection.execute(text(slow))

    for _ in range(3):
        tasks = [asyncio.ensure_future(read()) for _ in range(5)]
        await asyncio.sleep(0.03)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(5):
        assert await count(database, owner) == 0


# --- many at once (O23) ---


async def test_twenty_writers_and_readers_at_once_lose_nothing(database: Database) -> None:
    owners = [new_id("usr") for _ in range(20)]

    async def write(owner: str) -> None:
        for _ in range(15):
            async with database.tenant_write(owner) as unit:
                seen = await unit.connection.execute(select(sessions.c.id).limit(1))
                seen.all()
                await put(unit, owner)

    async def read(owner: str) -> None:
        for _ in range(15):
            async with database.tenant_read(owner) as unit:
                (await unit.connection.execute(select(sessions).where(sessions.c.owner_id == owner))).all()

    async with asyncio.timeout(60):
        await asyncio.gather(*map(write, owners), *map(read, owners))
    assert [await count(database, owner) for owner in owners] == [15] * 20


async def test_an_urgent_unit_overtakes_waiting_writers(database: Database, owner: str) -> None:
    if database.dialect == "postgresql":
        pytest.skip("PostgreSQL has no write lock")
    order: list[str] = []

    async def write(name: str, *, urgent: bool = False) -> None:
        async with database.tenant_write(owner, urgent=urgent):
            order.append(name)

    await database.write_lock.acquire()
    tasks = [asyncio.ensure_future(write(name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    tasks.append(asyncio.ensure_future(write("events", urgent=True)))
    await asyncio.sleep(0.01)
    database.write_lock.release()
    await asyncio.gather(*tasks)
    assert order == ["events", "a", "b"]


# --- SQLite in one hop ---


async def test_one_hop_transactions_commit_or_leave_nothing(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path}/new/folder/x.db")

    def make(connection: sqlite3.Connection) -> int:
        connection.execute("CREATE TABLE t (n INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
        return connection.execute("SELECT count(*) FROM t").fetchone()[0]

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (2)")
        raise RuntimeError("stop")

    assert await database.sqlite_transaction(make) == 1
    with pytest.raises(RuntimeError, match="stop"):
        await database.sqlite_transaction(fail, urgent=True)
    async with database.system_read() as unit:
        assert (await unit.connection.execute(text("SELECT count(*) FROM t"))).scalar_one() == 1
        modes = [
            (await unit.connection.execute(text(f"PRAGMA {name}"))).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "query_only")
        ]
    assert modes == ["wal", 2, 1, 1]
    assert not database.write_lock.held
    await database.aclose()


async def test_a_file_that_cannot_be_opened_is_storage_unavailable(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    database = Database.open(f"sqlite:///{tmp_path}/x.db")
    for context in (database.system_read(), database.system_write()):
        with pytest.raises(StorageUnavailable) as caught:
            async with context:
                pass
        assert caught.value.__cause__ is not None
    assert not database.write_lock.held
    await database.aclose()
    await asyncio.sleep(0.05)  # the driver does not wait for the thread of a connection that failed to open


# --- PostgreSQL gone and back ---


@pytest.mark.postgres
async def test_connections_cut_while_idle_are_replaced_unseen(postgres_url: str) -> None:
    database = Database.open(postgres_url, pool_size=3)

    async def pid() -> int:
        async with database.system_read() as unit:
            found = (await unit.connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            await asyncio.sleep(0.05)
            return int(found)

    pids = set(await asyncio.gather(pid(), pid(), pid()))
    assert len(pids) == 3
    killer = Database.open(postgres_url)
    async with killer.system_write() as unit:
        for number in pids:
            await unit.connection.execute(text("SELECT pg_terminate_backend(:p)"), {"p": number})
    await killer.aclose()
    assert pids.isdisjoint(await asyncio.gather(pid(), pid(), pid()))
    await database.aclose()


@pytest.mark.postgres
async def test_a_connection_cut_in_a_unit_is_storage_unavailable(postgres_url: str) -> None:
    database = Database.open(postgres_url)
    with pytest.raises(StorageUnavailable) as caught:
        async with database.system_write() as unit:
            await unit.connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert caught.value.retryable
    assert caught.value.__cause__ is not None
    async with database.system_read() as unit:
        assert (await unit.connection.execute(text("SELECT 1"))).scalar_one() == 1
    await database.aclose()


async def test_no_server_is_storage_unavailable(unused_tcp_port: int) -> None:
    database = Database.open(f"postgresql://nobody@127.0.0.1:{unused_tcp_port}/none")
    with pytest.raises(StorageUnavailable):
        async with database.system_read():
            pass
    with pytest.raises(StorageUnavailable):
        await database.dedicated_connection()
    await database.aclose()


@pytest.mark.postgres
async def test_a_dedicated_connection_does_not_wait_for_the_pool(postgres_url: str) -> None:
    database = Database.open(postgres_url, pool_size=1)
    async with database.system_read():
        own = await database.dedicated_connection()
        assert (await own.execute(text("SELECT 1"))).scalar_one() == 1
        await own.close()
    await database.aclose()


async def test_a_full_pool_makes_readers_wait_and_lets_them_give_up(
    database_url: str, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database.open(database_url, pool_size=1)
    async with database.tenant_read(owner):
        waiting = asyncio.ensure_future(count(database, owner))
        given_up = asyncio.ensure_future(count(database, owner))
        await asyncio.sleep(0.02)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert not waiting.done()
        monkeypatch.setattr("app.storage.unit.SLOT_SECONDS", 0.02)
        with pytest.raises(StorageUnavailable, match="busy"):
            await count(database, owner)
    assert await waiting == 0
    await database.aclose()
