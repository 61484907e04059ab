"""The event log on both databases: what is released to readers is committed, under its fence, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson
import pytest
from sqlalchemy import text

from app.errors import RunLost, StorageUnavailable
from app.host.event_log import Batch, GroupWriter, LogStore, RunStart, RunStarted
from app.protocol.conversation import AssistantMessage
from app.protocol.events import EVENT_ADAPTER
from app.storage.database import Database

from .records import finish, log_store, new_session, new_user, one, run_log, run_start, stored_lines


@pytest.fixture
async def writer(database: Database) -> AsyncIterator[GroupWriter]:
    opened = GroupWriter(store=log_store(database), interval_s=0.001)
    opened.open()
    yield opened
    await opened.aclose()


@pytest.fixture
async def owner(database: Database) -> str:
    return await new_user(database)


async def _begin(database: Database, writer: GroupWriter, owner: str) -> RunStart:
    start = run_start(owner, await new_session(database, owner))
    assert await writer.start(start) is not None
    return start


async def test_lines_are_numbered_from_one_without_gaps_and_fit_the_contract(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    log.text("answer", "two ")
    log.text("answer", "words")
    log.text("reasoning", "hm")
    log.activity("tool", "call_1", "mistakes::add", "Add", "started", {"arguments": {}})
    log.assistant_item(AssistantMessage("two words"), complete=True)
    finish(log)
    await log.committed()
    lines = await stored_lines(database, start.run_id)
    events = [EVENT_ADAPTER.validate_json(line) for line in lines]
    assert [e.seq for e in events] == [1, 2, 3, 4]
    assert [e.type for e in events] == ["text", "text", "activity", "done"]
    assert events[0].delta == "two words"  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert log.tail_after(0) == lines


async def test_deltas_put_in_one_turn_of_the_loop_cost_one_line(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    for letter in "x" * 500:
        log.text("answer", letter)
    finish(log)
    await log.committed()
    assert len(await stored_lines(database, start.run_id)) == 2


class _Watching:
    """A store that looks, before each commit, at what readers could already have."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self.released_before_commit: list[int] = []
        self.log_seq: Callable[[], int] = lambda: 0
        self.fail_times = 0

    async def write_starts(self, starts: list[RunStart], *, again: bool) -> dict[str, RunStarted]:
        return await self._store.write_starts(starts, again=again)

    async def write_batch(self, batch: Batch, *, again: bool) -> set[str]:
        highest = max((row.seq for row in batch.lines), default=0)
        if self.log_seq() >= highest > 0:
            self.released_before_commit.append(highest)
        kept = await self._store.write_batch(batch, again=again)
        if self.fail_times:
            self.fail_times -= 1
            raise StorageUnavailable("the answer to the commit was lost")
        return kept

    async def aclose(self) -> None:
        await self._store.aclose()


async def test_no_reader_gets_a_line_before_its_commit(database: Database, owner: str) -> None:
    store = _Watching(log_store(database))
    writer = GroupWriter(store=store, interval_s=0.001)
    writer.open()
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    store.log_seq = lambda: log.committed_seq
    seen: list[bytes] = []

    async def read() -> None:
        while True:
            ended = log.ended  # before the lines, as `follow` does: what came with the end is still read
            if not ended and log.committed_seq == len(seen):
                await log.next_commit()
            fresh = log.tail_after(len(seen)) or []
            stored = await stored_lines(database, start.run_id)
            assert fresh == stored[len(seen) : len(seen) + len(fresh)]
            seen.extend(fresh)
            if ended:
                return

    reader = asyncio.create_task(read())
    for n in range(20):
        log.text("answer", f"{n} ")
        await asyncio.sleep(0.002)
    finish(log)
    await log.committed()
    await reader
    await writer.aclose()
    assert store.released_before_commit == []
    assert seen == await stored_lines(database, start.run_id)


async def test_a_commit_whose_answer_was_lost_is_sent_again_and_counted_once(
    database: Database, owner: str
) -> None:
    store = _Watching(log_store(database))
    writer = GroupWriter(store=store, interval_s=0)
    writer.open()
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    store.fail_times = 2
    log.text("answer", "once")
    log.assistant_item(AssistantMessage("once"), complete=True)
    finish(log)
    await log.committed()
    await writer.aclose()
    assert log.ended
    assert len(await stored_lines(database, start.run_id)) == 2
    assert await one(database, "SELECT count(*) FROM items WHERE run_id = :r", r=start.run_id) == 2
    assert await one(database, "SELECT message_count FROM sessions WHERE id = :s", s=start.session_id) == 2


async def test_a_run_under_an_old_fence_writes_nothing_and_learns_that_it_is_lost(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    start, other = await _begin(database, writer, owner), await _begin(database, writer, owner)
    log, healthy = run_log(start, writer), run_log(other, writer)
    async with database.system_write() as unit:
        await unit.connection.execute(
            text("UPDATE runs SET fence = fence + 1 WHERE id = :r"), {"r": start.run_id}
        )
    log.text("answer", "from the dead")
    healthy.text("answer", "alive")
    with pytest.raises(RunLost):
        await log.committed()
    await healthy.committed()
    assert await stored_lines(database, start.run_id) == []
    assert len(await stored_lines(database, other.run_id)) == 1


async def test_nothing_follows_a_terminal_run(database: Database, writer: GroupWriter, owner: str) -> None:
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    finish(log)
    await log.committed()
    late = run_log(start, writer)
    late.text("answer", "too late")
    with pytest.raises(RunLost):
        await late.committed()
    assert [orjson.loads(x)["type"] for x in await stored_lines(database, start.run_id)] == ["done"]


async def test_a_session_takes_one_run_at_a_time(database: Database, writer: GroupWriter, owner: str) -> None:
    session = await new_session(database, owner)
    starts = [run_start(owner, session) for _ in range(5)]
    answers = await asyncio.gather(*(writer.start(s) for s in starts))
    taken = [a for a in answers if a is not None]
    assert len(taken) == 1
    assert taken[0].turn == 1
    winner = next(s for s in starts if s.run_id == taken[0].run_id)
    log = run_log(winner, writer)
    finish(log)
    await log.committed()
    again = await writer.start(run_start(owner, session))
    assert again is not None
    assert again.turn == 2
    assert orjson.loads(again.loaded_domains) == ["mistakes"]


async def test_a_foreign_session_takes_no_run(database: Database, writer: GroupWriter, owner: str) -> None:
    session = await new_session(database, owner)
    stranger = await new_user(database)
    assert await writer.start(run_start(stranger, session)) is None
    assert await one(database, "SELECT count(*) FROM runs WHERE session_id = :s", s=session) == 0


async def test_the_users_limit_holds_also_within_one_group(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    starts = [run_start(owner, await new_session(database, owner), max_live_runs=3) for _ in range(6)]
    answers = await asyncio.gather(*(writer.start(s) for s in starts))
    assert sum(a is not None for a in answers) == 3


async def test_a_key_that_started_a_run_starts_no_second(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    session = await new_session(database, owner)
    first = run_start(owner, session, key="k1")
    assert await writer.start(first) is not None
    log = run_log(first, writer)
    finish(log)
    await log.committed()
    assert await writer.start(run_start(owner, session, key="k1")) is None
    assert await writer.start(run_start(owner, session, key="k2")) is not None


async def test_the_first_words_become_the_title_once(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    start = await _begin(database, writer, owner)
    assert await one(database, "SELECT title FROM sessions WHERE id = :s", s=start.session_id) == (
        "What is a prime?"
    )


async def test_text_that_no_database_can_hold_is_kept_readable(
    database: Database, writer: GroupWriter, owner: str
) -> None:
    start = await _begin(database, writer, owner)
    log = run_log(start, writer)
    log.text("answer", "nul \x00 lone \ud800 end")
    log.activity("tool", "c", "x::y", "t", "started", {"arguments": {"big": 2**70, "s": "\ud800"}})
    finish(log)
    await log.committed()
    first, second, _ = (orjson.loads(x) for x in await stored_lines(database, start.run_id))
    assert first["delta"] == "nul \ufffd lone \ufffd end"
    assert second["detail"]["arguments"]["big"] == str(2**70)
