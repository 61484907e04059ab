from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.errors import InvalidCursor, StorageUnavailable
from app.host.audit import BUFFER_ENTRIES, AuditLog
from app.protocol.identity import Principal
from app.protocol.ports import AuditEntry
from app.services.cursors import Cursors
from app.storage.database import Database
from tests.integration.host.people import Clock, somebody


def entry(caller: Principal, target: str = "mistakes::add") -> AuditEntry:
    return AuditEntry(
        actor_id=caller.user_id, caller_kind="api", action="tool.call", target=target, outcome="succeeded"
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def log(database: Database, clock: Clock) -> AsyncIterator[AuditLog]:
    service = AuditLog(database=database, clock=clock, cursors=Cursors(secret=b"s" * 32))
    yield service
    await service.aclose()


async def test_with_a_transaction_it_shares_its_fate(log: AuditLog, database: Database) -> None:
    caller = somebody()
    async with database.tenant_write(caller.user_id) as unit:
        await log.record(unit, entry(caller, "kept"))

    async def change_and_fail() -> None:
        async with database.tenant_write(caller.user_id) as unit:
            await log.record(unit, entry(caller, "rolled back"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await change_and_fail()
    page = await log.list(caller, limit=10)
    assert [one["target"] for one in page["entries"]] == ["kept"]


async def test_the_rest_is_written_in_groups_and_all_of_it_at_the_end(log: AuditLog) -> None:
    caller = somebody()
    for number in range(BUFFER_ENTRIES + 10):
        await log.record(None, entry(caller, str(number)))
    await log.aclose()
    seen, cursor = 0, None
    while True:
        page = await log.list(caller, limit=200, cursor=cursor)
        seen += len(page["entries"])
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == BUFFER_ENTRIES + 10


async def test_what_could_not_be_written_is_kept(
    log: AuditLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = somebody()

    def unavailable() -> None:
        raise StorageUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(database, "system_write", unavailable)
        await log.record(None, entry(caller))
        with pytest.raises(StorageUnavailable):
            await log.flush()
    await log.flush()
    assert len((await log.list(caller, limit=10))["entries"]) == 1


async def test_pages_hold_each_entry_once_newest_first(log: AuditLog, clock: Clock) -> None:
    caller = somebody()
    for number in range(7):
        if number % 3 == 0:
            clock.forward(seconds=1)
        await log.record(None, entry(caller, str(number)))
    await log.flush()
    targets: list[str] = []
    cursor = None
    while True:
        page = await log.list(caller, limit=3, cursor=cursor)
        targets += [one["target"] for one in page["entries"]]
        cursor = page["next"]
        if cursor is None:
            break
    # order within one millisecond is chance, and stays the same
    assert [set(targets[:1]), set(targets[1:4]), set(targets[4:])] == [
        {"6"},
        {"3", "4", "5"},
        {"0", "1", "2"},
    ]
    assert len(targets) == 7


async def test_users_read_their_own_and_operators_all(log: AuditLog) -> None:
    one, other = somebody(), somebody()
    await log.record(None, entry(one, "one's"))
    await log.record(None, entry(other, "other's"))
    await log.flush()
    assert [e["target"] for e in (await log.list(one, limit=9))["entries"]] == ["one's"]
    everything = (await log.list(somebody(operator=True), limit=200))["entries"]
    assert {"one's", "other's"} <= {e["target"] for e in everything}


async def test_a_cursor_is_good_for_its_user_only(log: AuditLog) -> None:
    one = somebody()
    for _ in range(3):
        await log.record(None, entry(one))
    await log.flush()
    cursor = (await log.list(one, limit=1))["next"]
    for caller in (somebody(), replace(one, is_operator=True)):
        with pytest.raises(InvalidCursor):
            await log.list(caller, limit=1, cursor=cursor)
    with pytest.raises(InvalidCursor):
        await log.list(one, limit=1, cursor="nonsense")
