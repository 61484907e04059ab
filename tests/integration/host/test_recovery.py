"""Leases, take-over and the ends of orphaned runs, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from sqlalchemy import insert, text

from app.errors import IdentityLost, PackageDisabled, RequestCancelled, RunLost
from app.host.authority import HostAuthority
from app.host.event_log import GroupWriter, RunStart
from app.host.recovery.ending import end_run
from app.host.recovery.lease import Lease
from app.host.recovery.sweeper import Sweeper
from app.protocol.definitions import CapabilityDefinition, Snapshot
from app.protocol.identity import Principal
from app.protocol.ids import UserId, new_id
from app.protocol.ports import Invocation, RunScope
from app.storage.database import Database
from app.storage.tables import effects, package_states, package_switches

from .records import log_store, new_session, new_user, one, run_log, run_start, stored_lines

ADD = CapabilityDefinition(
    id="mistakes::add",
    wire_name="mistakes_add",
    kind="tool",
    package="mistakes",
    package_version="1.0.0",
    domain="mistakes",
    version=1,
    title="Add",
    description="",
    input_schema={},
    output_schema={},
    scopes=(),
    effect="create",
)


@pytest.fixture
async def writer(database: Database) -> AsyncIterator[GroupWriter]:
    opened = GroupWriter(store=log_store(database), interval_s=0.001)
    opened.open()
    yield opened
    await opened.aclose()


async def _begin(database: Database, writer: GroupWriter, process_id: str) -> RunStart:
    owner = await new_user(database)
    start = run_start(owner, await new_session(database, owner), process_id=process_id)
    assert await writer.start(start) is not None
    return start


def _sweeper(database: Database, process_id: str, here: set[str] | None = None) -> Sweeper:
    return Sweeper(
        database=database,
        process_id=process_id,
        live_here=lambda: here or set(),
        cancel_here=lambda _: None,
        retention_days=90,
    )


def _lease(database: Database, process_id: str, instance: str, **times: float) -> Lease:
    return Lease(
        database=database,
        process_id=process_id,
        kind="serve",
        instance=instance,
        on_lost=lambda: None,
        **times,
    )


def _call(start: RunStart, *, fence: int = 1) -> Invocation:
    principal = Principal(UserId(start.owner_id), "api", frozenset({"*"}), "x@example.org")
    scope = RunScope(
        run_id=start.run_id,
        session_id=start.session_id,
        principal=principal,
        snapshot=Snapshot("d", {}, (), (), ()),
        fence=fence,
        started_at=datetime.now(UTC),
    )
    return Invocation("call_1", "mistakes::add", {}, "{}", principal, "model", scope)


async def test_a_run_of_a_dead_process_is_ended_and_its_session_freed(
    database: Database, writer: GroupWriter
) -> None:
    start = await _begin(database, writer, "prc_dead")
    log = run_log(start, writer)
    log.text("answer", "half a sent")
    await log.committed()
    assert await _sweeper(database, "prc_me").sweep() >= 1
    lines = [orjson.loads(x) for x in await stored_lines(database, start.run_id)]
    assert [x["type"] for x in lines] == ["text", "error", "done"]
    assert await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id) == "failed"
    assert await one(database, "SELECT live_run_id FROM sessions WHERE id = :s", s=start.session_id) is None
    log.text("answer", "ence")
    with pytest.raises(RunLost):
        await log.committed()
    assert len(await stored_lines(database, start.run_id)) == 3


async def test_a_run_under_a_live_lease_is_left_alone(database: Database, writer: GroupWriter) -> None:
    process = new_id("prc")
    lease = _lease(database, process, new_id("ins"))
    await lease.open()
    start = await _begin(database, writer, process)
    await _sweeper(database, "prc_me").sweep()
    assert await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id) == "running"
    await lease.aclose()
    await _sweeper(database, "prc_me").sweep()
    assert await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id) == "failed"


async def test_a_lease_that_ran_out_gives_its_runs_away(database: Database, writer: GroupWriter) -> None:
    # SQLite has one process, by its lock file: there the lease does not run out
    expected = "running" if database.dialect == "sqlite" else "failed"
    process = new_id("prc")
    lease = _lease(database, process, new_id("ins"), lease_s=0.2, renew_s=60)
    await lease.open()
    start = await _begin(database, writer, process)
    await asyncio.sleep(0.4)
    await _sweeper(database, "prc_me").sweep()
    assert await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id) == expected
    await lease.aclose()


async def test_the_next_process_of_a_data_folder_does_not_wait_for_the_old_lease(
    database: Database, writer: GroupWriter
) -> None:
    instance = new_id("ins")
    old, new = new_id("prc"), new_id("prc")
    first = _lease(database, old, instance)
    await first.open()
    start = await _begin(database, writer, old)
    second = _lease(database, new, instance)
    await second.open()
    await _sweeper(database, new).sweep()
    assert await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id) == "failed"
    await second.aclose()
    await first.aclose()


async def test_two_sweepers_end_a_run_once(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_dead")
    ended = await asyncio.gather(*(end_run(database, start.run_id, process_id=f"prc_{n}") for n in range(4)))
    assert sorted(ended) == [False, False, False, True]
    types = [orjson.loads(x)["type"] for x in await stored_lines(database, start.run_id)]
    assert types == ["error", "done"]


async def test_an_effect_on_record_is_told_as_succeeded(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_dead")
    log = run_log(start, writer)
    log.activity("tool", "call_1", "mistakes::add", "Add", "started", {"arguments": {"question": "q"}})
    await log.committed()
    async with database.tenant_write(start.owner_id) as unit:
        await unit.connection.execute(
            insert(effects).values(
                owner_id=start.owner_id,
                key=f"run:{start.run_id}:call_1",
                capability="mistakes::add",
                package_version="1",
                arguments_digest="d",
                status="done",
                result={"id": "m1"},
                run_id=start.run_id,
                call_id="call_1",
                at=datetime.now(UTC),
            )
        )
    await end_run(database, start.run_id, process_id="prc_me")
    lines = [orjson.loads(x) for x in await stored_lines(database, start.run_id)]
    assert lines[1]["status"] == "succeeded"
    assert lines[1]["detail"]["result"] == {"id": "m1"}


# --- authority ------------------------------------------------------------------------------------


async def _check(database: Database, call: Invocation) -> None:
    async with database.tenant_write(call.principal.user_id) as unit:
        await HostAuthority().check(unit, call, ADD)


async def test_a_call_of_a_live_run_may_happen(database: Database, writer: GroupWriter) -> None:
    await _check(database, _call(await _begin(database, writer, "prc_x")))


async def test_a_call_that_only_reads_may_happen(database: Database, writer: GroupWriter) -> None:
    call = _call(await _begin(database, writer, "prc_x"))
    async with database.tenant_read(call.principal.user_id) as unit:
        await HostAuthority().check(unit, call, ADD)


async def test_a_call_under_an_old_fence_may_not(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_x")
    async with database.system_write() as unit:
        await unit.connection.execute(
            text("UPDATE runs SET fence = fence + 1 WHERE id = :r"), {"r": start.run_id}
        )
    with pytest.raises(RunLost):
        await _check(database, _call(start))


async def test_a_call_of_an_ended_run_may_not(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_x")
    await end_run(database, start.run_id, process_id="prc_me")
    with pytest.raises(RunLost):
        await _check(database, _call(start, fence=2))


async def test_a_call_after_cancel_may_not_begin(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_x")
    async with database.system_write() as unit:
        await unit.connection.execute(
            text("UPDATE runs SET status = 'cancelling' WHERE id = :r"), {"r": start.run_id}
        )
    call = _call(start)
    with pytest.raises(RequestCancelled):
        await _check(database, call)
    assert call.run is not None
    assert call.run.cancel.is_set()


async def test_a_disabled_account_calls_nothing(database: Database, writer: GroupWriter) -> None:
    start = await _begin(database, writer, "prc_x")
    async with database.system_write() as unit:
        await unit.connection.execute(
            text("UPDATE users SET status = 'disabled' WHERE id = :u"), {"u": start.owner_id}
        )
    with pytest.raises(IdentityLost):
        await _check(database, _call(start))


@pytest.mark.parametrize("by", ["user", "operator"])
async def test_a_package_switched_off_is_off_within_the_run(
    database: Database, writer: GroupWriter, by: str
) -> None:
    start = await _begin(database, writer, "prc_x")
    package = new_id("pkg")
    values: dict[str, Any] = {"package": package, "enabled": False}
    async with database.system_write() as unit:
        if by == "user":
            await unit.connection.execute(insert(package_switches).values(owner_id=start.owner_id, **values))
        else:
            await unit.connection.execute(insert(package_states).values(generation=1, **values))
    call = _call(start)
    async with database.tenant_write(start.owner_id) as unit:
        with pytest.raises(PackageDisabled):
            await HostAuthority().check(unit, call, replace(ADD, package=package))


async def test_a_take_over_waits_for_an_effect_under_way(database: Database, writer: GroupWriter) -> None:
    """Either the effect commits first and is told, or it is refused; never both."""
    start = await _begin(database, writer, "prc_x")
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def effect() -> None:
        async with database.tenant_write(start.owner_id) as unit:
            await HostAuthority().check(unit, _call(start), ADD)
            entered.set()
            await go_on.wait()

    task = asyncio.create_task(effect())
    await entered.wait()
    takeover = asyncio.create_task(end_run(database, start.run_id, process_id="prc_me"))
    await asyncio.sleep(0.2)
    assert not takeover.done()
    # meanwhile the event writer is not held up (on SQLite it waits for the one write lock, as it must)
    if database.dialect == "postgresql":
        log = run_log(start, writer)
        log.text("answer", "still talking")
        async with asyncio.timeout(2):
            await log.committed()
    go_on.set()
    await task
    assert await takeover is True


async def test_on_sqlite_a_row_from_another_data_folder_is_a_dead_process(
    database: Database, writer: GroupWriter
) -> None:
    """A copy of the file, restored into another data folder, brings the row of the process it came from."""
    old, new = new_id("prc"), new_id("prc")
    first = _lease(database, old, new_id("ins"))
    await first.open()
    start = await _begin(database, writer, old)
    second = _lease(database, new, new_id("ins"))
    await second.open()
    await _sweeper(database, new).sweep()
    status = await one(database, "SELECT status FROM runs WHERE id = :r", r=start.run_id)
    assert status == ("failed" if database.dialect == "sqlite" else "running")
    await second.aclose()
    await first.aclose()


async def test_tidying_forgets_what_others_want_forgotten_too(database: Database) -> None:
    calls: list[str] = []

    async def purge() -> int:
        calls.append("purge")
        return 0

    sweeper = Sweeper(
        database=database,
        process_id="prc_me",
        live_here=list,
        cancel_here=lambda _: None,
        retention_days=90,
        hourly=[purge],
    )
    await sweeper.tidy()
    assert calls == ["purge"]
