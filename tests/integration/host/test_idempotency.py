from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import insert, update

from app.errors import IdempotencyInProgress, IdempotencyMismatch, InvalidParams, NotFound
from app.host.idempotency import Answer, Idempotency
from app.protocol.ids import new_id
from app.storage.database import Database
from app.storage.tables import idempotency_keys, processes
from tests.integration.host.people import Clock, somebody


class Counter:
    """An action that counts how often it ran."""

    def __init__(self, status: int = 201) -> None:
        self.runs = 0
        self.status = status

    async def __call__(self) -> Answer:
        self.runs += 1
        return Answer(self.status, {"run": self.runs}, {"ETag": '"1"'})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(database: Database, clock: Clock) -> Idempotency:
    return Idempotency(database=database, process_id=new_id("prc"), clock=clock)


async def test_the_same_key_and_body_give_the_first_answer(service: Idempotency) -> None:
    caller, act = somebody(), Counter()
    first = await service.run(caller, "POST /x", "k", "d", act)
    assert await service.run(caller, "POST /x", "k", "d", act) == first
    assert act.runs == 1


async def test_another_body_is_refused(service: Idempotency) -> None:
    caller, act = somebody(), Counter()
    await service.run(caller, "POST /x", "k", "d", act)
    with pytest.raises(IdempotencyMismatch):
        await service.run(caller, "POST /x", "k", "other", act)


async def test_keys_are_each_caller_s_and_each_route_s_own(service: Idempotency) -> None:
    caller, act = somebody(), Counter()
    await service.run(caller, "POST /x", "k", "d", act)
    await service.run(somebody(), "POST /x", "k", "other", act)
    await service.run(caller, "POST /y", "k", "other", act)
    assert act.runs == 3


async def test_without_a_key_it_simply_runs(service: Idempotency) -> None:
    caller, act = somebody(), Counter()
    await service.run(caller, "POST /x", None, "", act)
    await service.run(caller, "POST /x", None, "", act)
    assert act.runs == 2


async def test_while_the_first_runs_the_second_is_told_so(service: Idempotency) -> None:
    caller, begun, go_on = somebody(), asyncio.Event(), asyncio.Event()

    async def slow() -> Answer:
        begun.set()
        await go_on.wait()
        return Answer(200, {})

    first = asyncio.create_task(service.run(caller, "POST /x", "k", "d", slow))
    await begun.wait()
    with pytest.raises(IdempotencyInProgress):
        await service.run(caller, "POST /x", "k", "d", Counter())
    go_on.set()
    assert (await first).status == 200


async def test_fifty_at_once_act_once(service: Idempotency) -> None:
    caller, act = somebody(), Counter()
    calls = [service.run(caller, "POST /x", "k", "d", act) for _ in range(50)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert act.runs == 1
    assert all(isinstance(outcome, Answer | IdempotencyInProgress) for outcome in outcomes)


async def test_an_answer_that_failed_is_not_kept(service: Idempotency) -> None:
    caller, act = somebody(), Counter(status=502)
    await service.run(caller, "POST /x", "k", "d", act)
    act.status = 200
    assert (await service.run(caller, "POST /x", "k", "d", act)).status == 200

    async def refuse() -> Answer:
        raise NotFound

    with pytest.raises(NotFound):
        await service.run(caller, "POST /x", "k2", "d", refuse)
    assert (await service.run(caller, "POST /x", "k2", "d", act)).status == 200


async def test_a_cancelled_request_frees_its_key(service: Idempotency) -> None:
    caller = somebody()

    async def hang() -> Answer:
        await asyncio.sleep(60)
        raise AssertionError

    first = asyncio.create_task(service.run(caller, "POST /x", "k", "d", hang))
    await asyncio.sleep(0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await service.run(caller, "POST /x", "k", "d", Counter())).status == 201


async def test_a_dead_process_s_key_is_taken_over(database: Database, clock: Clock) -> None:
    caller, act = somebody(), Counter()
    dead, alive = new_id("prc"), new_id("prc")
    async with database.system_write() as unit:
        now = await database.database_now(unit)
        for process, lease in ((dead, now.replace(year=2020)), (alive, now.replace(year=2099))):
            await unit.connection.execute(
                insert(processes).values(
                    id=process, kind="serve", instance="", started_at=now, lease_until=lease
                )
            )
        for key, process in (("left", dead), ("gone", new_id("prc")), ("held", alive)):
            await unit.connection.execute(
                insert(idempotency_keys).values(
                    owner_id=caller.user_id, route="POST /x", key=key, body_digest="d",
                    status="running", process_id=process, created_at=clock.now,
                )
            )  # fmt: skip
    service = Idempotency(database=database, process_id=new_id("prc"), clock=clock)
    assert (await service.run(caller, "POST /x", "left", "d", act)).status == 201
    assert (await service.run(caller, "POST /x", "gone", "d", act)).status == 201
    with pytest.raises(IdempotencyInProgress):
        await service.run(caller, "POST /x", "held", "d", act)
    async with database.system_write() as unit:
        await unit.connection.execute(
            update(processes).where(processes.c.id == alive).values(lease_until=now)
        )


async def test_a_day_later_the_key_is_free(service: Idempotency, clock: Clock) -> None:
    caller, act = somebody(), Counter()
    await service.run(caller, "POST /x", "k", "d", act)
    clock.forward(hours=25)
    await service.run(caller, "POST /x", "k", "other", act)
    assert act.runs == 2
    clock.forward(hours=25)
    assert await service.purge() >= 1


@pytest.mark.parametrize("key", ["", "é", "a\nb", "x" * 201])
async def test_a_malformed_key_is_refused(service: Idempotency, key: str) -> None:
    with pytest.raises(InvalidParams):
        await service.run(somebody(), "POST /x", key, "d", Counter())


async def test_a_row_left_behind_by_an_outage_is_taken_over_by_its_own_process(
    service: Idempotency, database: Database, clock: Clock
) -> None:
    """The database was away when the failed request wanted to free its key."""
    caller, act = somebody(), Counter()
    async with database.system_write() as unit:
        await unit.connection.execute(
            insert(idempotency_keys).values(
                owner_id=caller.user_id,
                route="POST /x",
                key="k",
                body_digest="d",
                status="running",
                process_id=service._process_id,  # pyright: ignore[reportPrivateUsage]
                created_at=clock(),
            )
        )
    assert (await service.run(caller, "POST /x", "k", "d", act)).status == 201
    assert act.runs == 1
