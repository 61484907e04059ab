"""The second wall: row policies that hold whatever a statement in a tenant unit says.

The login of these tests is a superuser where the server's is, which the role must not inherit.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, cast

import asyncpg
import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from app.protocol.ids import new_id
from app.storage.database import Database, Unit
from app.storage.migrate import check, upgrade
from app.storage.tables import OWNED, audit, metadata, sessions, users

pytestmark = pytest.mark.postgres


async def put(unit: Unit, owner: str) -> None:
    now = datetime.now(UTC)
    row = {"id": new_id("ses"), "owner_id": owner, "created_at": now, "updated_at": now}
    await unit.connection.execute(insert(sessions), row)


@pytest.fixture
async def walled(postgres_url: str) -> AsyncIterator[Database]:
    await upgrade(postgres_url, [])
    database = Database.open(postgres_url)
    yield database
    await database.aclose()


async def test_every_owned_table_has_its_policies(walled: Database) -> None:
    async with walled.system_read() as unit:
        rows = await unit.connection.execute(
            text(
                "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, count(p.oid) FROM pg_class c"
                " LEFT JOIN pg_policy p ON p.polrelid = c.oid WHERE c.relkind = 'r'"
                " AND c.relnamespace = current_schema()::regnamespace GROUP BY 1, 2"
            )
        )
        found = {row[0]: (row[1], row[2]) for row in rows}
    owned = {name for name, table in metadata.tables.items() if "owner_id" in table.c}
    assert owned == OWNED
    assert {name: found[name] for name in owned} == dict.fromkeys(owned, (True, 2))
    assert found["users"] == (True, 2)


async def test_raw_sql_sees_no_foreign_row_in_any_table(walled: Database) -> None:
    alice, bob = new_id("usr"), new_id("usr")
    for user in (alice, bob):
        async with walled.tenant_write(user) as unit:
            await put(unit, user)
    async with walled.tenant_read(alice) as unit:
        for name in sorted(OWNED):
            rows = await unit.connection.execute(text(f"SELECT DISTINCT owner_id FROM {name}"))
            assert set(rows.scalars()) <= {alice}, name
        count = text("SELECT count(*) FROM sessions")
        assert (await unit.connection.execute(count)).scalar_one() == 1
    async with walled.system_read() as unit:
        both = text("SELECT count(*) FROM sessions WHERE owner_id IN (:a, :b)")
        assert (await unit.connection.execute(both, {"a": alice, "b": bob})).scalar_one() == 2


async def test_raw_sql_cannot_write_for_another(walled: Database) -> None:
    alice, bob = new_id("usr"), new_id("usr")
    async with walled.tenant_write(bob) as unit:
        await put(unit, bob)
    with pytest.raises(DBAPIError, match="row-level security"):
        async with walled.tenant_write(alice) as unit:
            await put(unit, bob)
    async with walled.tenant_write(alice) as unit:
        await put(unit, alice)
        changed = await unit.connection.execute(text("UPDATE sessions SET title = 'x'"))
        assert changed.rowcount == 1
        gone = await unit.connection.execute(text(f"DELETE FROM sessions WHERE owner_id = '{bob}'"))
        assert gone.rowcount == 0
    with pytest.raises(DBAPIError, match="row-level security"):
        async with walled.tenant_write(alice) as unit:
            await unit.connection.execute(text(f"UPDATE sessions SET owner_id = '{bob}'"))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM processes",
        "SELECT password_hash FROM users",
        "UPDATE users SET is_operator = true",
        "INSERT INTO snapshots (digest, body) VALUES ('x', '{}')",
        "UPDATE package_states SET enabled = false",
        "UPDATE audit SET outcome = 'x'",
        "DELETE FROM audit",
        "TRUNCATE sessions",
        "DROP TABLE sessions",
        "ALTER TABLE sessions DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE mine (id int)",
        "SELECT * FROM alembic_version",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
async def test_the_tenant_role_has_no_more_rights_than_it_needs(walled: Database, statement: str) -> None:
    with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
        async with walled.tenant_write(new_id("usr")) as unit:
            await unit.connection.execute(text(statement))


async def test_the_tenant_reads_its_own_user_and_adds_to_its_audit_trail(walled: Database) -> None:
    alice, bob = new_id("usr"), new_id("usr")
    values = {"password_hash": "x", "is_operator": False, "status": "active", "created_at": None}
    async with walled.system_write() as unit:
        now = await walled.database_now(unit)
        for user in (alice, bob):
            row = {**values, "id": user, "email": f"{user}@example.org", "created_at": now}
            await unit.connection.execute(insert(users), row)
    async with walled.tenant_write(alice) as unit:
        seen = await unit.connection.execute(select(users.c.id, users.c.email))
        assert [row.id for row in seen] == [alice]
        entry = {
            "id": new_id("aud"), "owner_id": alice, "at": now, "caller_kind": "api", "action": "a",
            "target": "t", "outcome": "ok",
        }  # fmt: skip
        await unit.connection.execute(insert(audit), entry)
        assert len((await unit.connection.execute(select(audit.c.id))).all()) == 1


async def test_an_owner_with_quotes_stays_a_literal(walled: Database) -> None:
    odd = "x'), set_config('role', 'none', true) --"
    async with walled.tenant_read(odd) as unit:
        told = await unit.connection.execute(text("SELECT current_setting('deskmate.owner'), current_user"))
        assert tuple(told.one()) == (odd, "deskmate_tenant")


async def test_the_role_ends_with_its_unit(walled: Database) -> None:
    database = Database.open(str(walled.url.render_as_string(hide_password=False)), pool_size=1)

    async def who() -> tuple[Any, ...]:
        async with database.system_read() as unit:
            asked = await unit.connection.execute(
                text(
                    "SELECT current_user = session_user, coalesce(current_setting('deskmate.owner', true), '')"
                )
            )
            return tuple(asked.one())

    async with database.tenant_write(new_id("usr")):
        pass
    assert await who() == (True, "")
    with pytest.raises(RuntimeError):
        async with database.tenant_write(new_id("usr")):
            raise RuntimeError
    assert await who() == (True, "")
    task = asyncio.ensure_future(_sleep_in(database))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await who() == (True, "")
    await database.aclose()


async def _sleep_in(database: Database) -> None:
    async with database.tenant_write(new_id("usr")) as unit:
        await unit.connection.execute(text("SELECT pg_sleep(5)"))


async def test_a_login_without_privileges_migrates_and_serves(postgres_server: str) -> None:
    """The owner of the tables is bound by FORCE like anybody, and still sees all in system units."""
    name = f"deskmate_login_{secrets.token_hex(4)}"
    admin = await cast("Any", asyncpg).connect(f"{postgres_server}/postgres")
    await admin.execute(f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD '{name}'")
    await admin.execute(f"CREATE DATABASE {name} OWNER {name}")
    url = f"postgresql://{name}:{name}@{postgres_server.rpartition('@')[2]}/{name}"
    try:
        assert await upgrade(url, []) == ["core"]
        assert await check(url) == []
        database = Database.open(url)
        alice, bob = new_id("usr"), new_id("usr")
        for user in (alice, bob):
            async with database.tenant_write(user) as unit:
                await put(unit, user)
        async with database.system_write() as unit:
            every = await unit.connection.execute(text("UPDATE sessions SET title = 'x'"))
            assert every.rowcount == 2
        async with database.tenant_read(alice) as unit:
            mine = await unit.connection.execute(text("SELECT owner_id FROM sessions"))
            assert list(mine.scalars()) == [alice]
        await database.aclose()
    finally:
        await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await admin.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
        await admin.close()
