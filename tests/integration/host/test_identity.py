from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

import pytest
from sqlalchemy import insert, select

from app.errors import InvalidParams, NotFound, Unauthenticated
from app.host.identity.service import IdentityService
from app.host.identity.tokens import make_token
from app.storage.database import Database
from app.storage.statement import Row, Statement
from app.storage.tables import audit, package_switches, tokens
from tests.integration.host.people import Clock, an_email

PACKAGE_SCOPES = ("mistakes:read", "mistakes:write")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def identity(database: Database, clock: Clock) -> AsyncIterator[IdentityService]:
    service = IdentityService(database=database, clock=clock, package_scopes=lambda: PACKAGE_SCOPES)
    yield service
    await service.aclose()


async def test_a_token_leads_to_its_user(identity: IdentityService) -> None:
    user = await identity.add_user(f" {an_email().upper()} ")
    token, row = await identity.create_token(user.email, ["runs:write"])
    caller = await identity.authenticate(f"bearer {token}")
    assert (caller.user_id, caller.email, caller.token_id) == (user.id, user.email, row.id)
    assert caller.kind == "api"
    assert caller.scopes == {"runs:write"}
    assert not caller.is_operator


class _Counting:
    """The database's look-ups and nothing else: any unit that is opened fails the test."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.asked: list[str] = []

    async def lookup(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        self.asked.append(statement.postgresql)
        return await self._database.lookup(statement, values)


async def test_asking_costs_one_query_and_writes_nothing(
    identity: IdentityService, database: Database, clock: Clock
) -> None:
    user = await identity.add_user(an_email())
    token, _ = await identity.create_token(user.email, ["*"])
    counting = _Counting(database)
    asking = IdentityService(database=cast("Database", counting), clock=clock)
    await asking.authenticate(f"Bearer {token}")
    mistyped = token[:-1] + ("a" if token[-1] != "a" else "b")
    with pytest.raises(Unauthenticated):
        await asking.authenticate(f"Bearer {mistyped}")
    assert len(counting.asked) == 1
    assert counting.asked[0].startswith("SELECT")
    await cancel_used_writer(asking)


async def cancel_used_writer(service: IdentityService) -> None:
    """Ends the task that notes last use, without its last write."""
    task = service._writer  # pyright: ignore[reportPrivateUsage]
    if task is not None:
        task.cancel()
        await asyncio.wait([task])


async def test_what_a_user_has_switched_off_comes_with_the_principal(
    identity: IdentityService, database: Database
) -> None:
    user = await identity.add_user(an_email())
    token, _ = await identity.create_token(user.email, ["*"])
    async with database.tenant_write(user.id) as unit:
        for package, enabled in (("mistakes", False), ("hello", True)):
            await unit.connection.execute(
                insert(package_switches).values(owner_id=user.id, package=package, enabled=enabled)
            )
    assert (await identity.authenticate(f"Bearer {token}")).switched_off == {"mistakes"}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer abc", "deskmate_u_x"])
async def test_what_is_no_token_is_refused(identity: IdentityService, header: str | None) -> None:
    with pytest.raises(Unauthenticated):
        await identity.authenticate(header)


async def test_an_unknown_expired_or_revoked_token_is_refused_alike(
    identity: IdentityService, clock: Clock
) -> None:
    user = await identity.add_user(an_email())
    expiring, _ = await identity.create_token(user.email, ["*"], expires_days=1)
    revoked, row = await identity.create_token(user.email, ["*"])
    await identity.revoke_token(user.id, row.id)
    await identity.revoke_token(user.id, row.id)
    clock.forward(days=1)
    told: set[str] = set()
    for token in (make_token("user"), expiring, revoked):
        with pytest.raises(Unauthenticated) as caught:
            await identity.authenticate(f"Bearer {token}")
        told.add(caught.value.message)
    assert len(told) == 1


async def test_a_disabled_user_is_out_at_once(identity: IdentityService) -> None:
    user = await identity.add_user(an_email(), "correct horse battery")
    token, _ = await identity.create_token(user.email, ["*"])
    await identity.set_status(user.id, active=False)
    with pytest.raises(Unauthenticated):
        await identity.authenticate(f"Bearer {token}")
    assert await identity.check_password(user.email, "correct horse battery") is None


async def test_an_operator_s_user_token_has_no_operator_s_rights(identity: IdentityService) -> None:
    user = await identity.add_user(an_email(), operator=True)
    as_user, _ = await identity.create_token(user.email, ["*"])
    as_operator, row = await identity.create_token(user.email, operator=True)
    assert not (await identity.authenticate(f"Bearer {as_user}")).is_operator
    caller = await identity.authenticate(f"Bearer {as_operator}")
    assert caller.is_operator
    assert caller.kind == "operator"
    assert row.scopes == ()
    assert not caller.allows("runs:read")


async def test_operator_tokens_are_for_operators(identity: IdentityService) -> None:
    user = await identity.add_user(an_email())
    with pytest.raises(InvalidParams, match="not an operator"):
        await identity.create_token(user.email, operator=True)


async def test_an_unknown_scope_is_refused_with_the_valid_ones(identity: IdentityService) -> None:
    user = await identity.add_user(an_email())
    with pytest.raises(InvalidParams, match=r"runs:fly.*mistakes:write"):
        await identity.create_token(user.email, ["runs:fly"])
    with pytest.raises(InvalidParams):
        await identity.create_token(user.email, [])
    _, row = await identity.create_token(user.email, ["mistakes:write", "mistakes:write"])
    assert row.scopes == ("mistakes:write",)


async def test_a_token_without_end_is_refused(identity: IdentityService) -> None:
    user = await identity.add_user(an_email())
    for days in (0, -1, 100_000):
        with pytest.raises(InvalidParams):
            await identity.create_token(user.email, ["*"], expires_days=days)


async def test_the_token_itself_is_not_kept(identity: IdentityService, database: Database) -> None:
    user = await identity.add_user(an_email())
    token, _ = await identity.create_token(user.email, ["*"])
    async with database.system_read() as unit:
        row = (await unit.connection.execute(select(tokens).where(tokens.c.owner_id == user.id))).one()
    assert token not in str(row)
    assert token.startswith(row.hint)


async def test_two_users_cannot_have_one_address(identity: IdentityService) -> None:
    email = an_email()
    await identity.add_user(email)
    with pytest.raises(InvalidParams, match="already"):
        await identity.add_user(email.upper())
    with pytest.raises(InvalidParams):
        await identity.add_user("not an address")
    with pytest.raises(NotFound):
        await identity.create_token("nobody@example.org", ["*"])


async def test_passwords_are_checked(identity: IdentityService) -> None:
    user = await identity.add_user(an_email(), "correct horse battery")
    found = await identity.check_password(user.email.upper(), "correct horse battery")
    assert found is not None
    assert found.id == user.id
    assert await identity.check_password(user.email, "wrong") is None
    assert await identity.check_password("nobody@example.org", "wrong") is None


async def test_what_changes_is_audited_with_it(identity: IdentityService, database: Database) -> None:
    user = await identity.add_user(an_email())
    _, row = await identity.create_token(user.email, ["*"])
    await identity.revoke_token(user.id, row.id)
    async with database.system_read() as unit:
        actions = (
            await unit.connection.execute(
                select(audit.c.action).where(audit.c.owner_id == user.id).order_by(audit.c.at, audit.c.id)
            )
        ).scalars()
        assert list(actions) == ["user.add", "token.create", "token.revoke"]


async def test_another_user_s_token_cannot_be_revoked(identity: IdentityService) -> None:
    owner, other = await identity.add_user(an_email()), await identity.add_user(an_email())
    token, row = await identity.create_token(owner.email, ["*"])
    with pytest.raises(NotFound):
        await identity.revoke_token(other.id, row.id)
    await identity.authenticate(f"Bearer {token}")


async def test_the_time_of_last_use_is_written_later(identity: IdentityService, clock: Clock) -> None:
    user = await identity.add_user(an_email())
    token, _ = await identity.create_token(user.email, ["*"])
    await identity.authenticate(f"Bearer {token}")
    assert (await identity.list_tokens(user.id))[0].last_used_at is None
    await identity.write_used()
    assert (await identity.list_tokens(user.id))[0].last_used_at == clock.now
