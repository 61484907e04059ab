from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.errors import InsufficientScope, NotFound
from app.host.confirmations import Confirmations
from app.protocol.definitions import CapabilityDefinition
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.ports import Invocation
from app.storage.database import Database
from tests.integration.host.people import Clock, somebody

DELETE = CapabilityDefinition(
    id="mistakes::delete", wire_name="mistakes_delete", kind="tool", package="mistakes", package_version="1.0.0",
    domain="mistakes", version=1, title="Delete", description="Deletes one.", input_schema={}, output_schema={},
    scopes=("mistakes:write",), effect="delete", destructive=True,
)  # fmt: skip


def asking(caller: Principal, session_id: str | None = None, **arguments: Any) -> Invocation:
    return Invocation(
        call_id=new_id("call"), name=DELETE.id, arguments=arguments, raw_arguments="", principal=caller,
        initiator="user", run=None, session_id=session_id,
    )  # fmt: skip


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(database: Database, clock: Clock) -> Confirmations:
    return Confirmations(database=database, clock=clock, base_url="https://deskmate.example.org")


async def test_asking_twice_gives_one_row(service: Confirmations) -> None:
    caller = somebody()
    first = await service.pend(asking(caller, a=1, b=2), DELETE)
    assert await service.pend(asking(caller, b=2, a=1), DELETE) == first


async def test_each_owner_session_and_argument_has_its_own(service: Confirmations) -> None:
    caller = somebody()
    asked = [
        asking(caller, a=1),
        asking(caller, a=2),
        asking(caller, "ses_1", a=1),
        asking(somebody(), a=1),
    ]
    assert len({await service.pend(one, DELETE) for one in asked}) == 4


async def test_twenty_at_once_make_one_row(service: Confirmations) -> None:
    caller = somebody()
    ids = await asyncio.gather(*[service.pend(asking(caller, a=1), DELETE) for _ in range(20)])
    assert len(set(ids)) == 1


async def test_after_a_quarter_of_an_hour_it_is_expired_and_a_new_one_is_made(
    service: Confirmations, clock: Clock
) -> None:
    caller = somebody()
    first = await service.pend(asking(caller, a=1), DELETE)
    clock.forward(minutes=14, seconds=59)
    assert (await service.get(caller, first))["status"] == "pending"
    clock.forward(seconds=1)
    assert (await service.get(caller, first))["status"] == "expired"
    second = await service.pend(asking(caller, a=1), DELETE)
    assert second != first
    assert (await service.get(caller, first))["status"] == "expired"
    assert (await service.get(caller, second))["status"] == "pending"


async def test_it_shows_where_to_decide_and_no_arguments(service: Confirmations) -> None:
    caller = somebody()
    confirmation_id = await service.pend(asking(caller, secret="words"), DELETE)
    shown = await service.get(caller, confirmation_id)
    assert shown["url"] == f"https://deskmate.example.org/confirmations/{confirmation_id}"
    assert "words" not in str(shown)


async def test_another_user_sees_none(service: Confirmations) -> None:
    confirmation_id = await service.pend(asking(somebody(), a=1), DELETE)
    with pytest.raises(NotFound):
        await service.get(somebody(), confirmation_id)


async def test_the_token_needs_a_scope_that_fits(service: Confirmations, clock: Clock) -> None:
    caller = somebody("mistakes:write")
    confirmation_id = await service.pend(asking(caller, a=1), DELETE)
    assert await service.get(caller, confirmation_id)
    narrow = Principal(caller.user_id, "api", frozenset({"files:read"}), caller.email)
    with pytest.raises(InsufficientScope):
        await service.get(narrow, confirmation_id)
