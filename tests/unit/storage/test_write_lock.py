"""The order in which writers get their turn, and that no cancel loses it."""

from __future__ import annotations

import asyncio

import pytest

from app.storage.write_lock import WriteLock


async def writer(lock: WriteLock, name: str, order: list[str], *, urgent: bool = False) -> None:
    async with lock.hold(urgent=urgent):
        order.append(name)
        await asyncio.sleep(0)


async def started(*coroutines: object) -> list[asyncio.Task[None]]:
    """Starts them one after the other, each so far that it waits for the lock."""
    tasks: list[asyncio.Task[None]] = []
    for coroutine in coroutines:
        tasks.append(asyncio.ensure_future(coroutine))  # type: ignore[arg-type]
        await asyncio.sleep(0)
    return tasks


async def test_first_come_first_served_but_an_urgent_waiter_is_next() -> None:
    lock, order = WriteLock(), list[str]()
    await lock.acquire()
    tasks = await started(
        writer(lock, "a", order),
        writer(lock, "b", order),
        writer(lock, "events", order, urgent=True),
        writer(lock, "c", order),
    )
    lock.release()
    await asyncio.gather(*tasks)
    assert order == ["events", "a", "b", "c"]
    assert not lock.held


async def test_a_newcomer_does_not_overtake_those_who_wait() -> None:
    lock, order = WriteLock(), list[str]()
    await lock.acquire()
    tasks = await started(writer(lock, "a", order))
    lock.release()
    tasks += await started(writer(lock, "late", order))
    await asyncio.gather(*tasks)
    assert order == ["a", "late"]


async def test_a_cancelled_waiter_leaves_the_queue() -> None:
    lock, order = WriteLock(), list[str]()
    await lock.acquire()
    first, second = await started(writer(lock, "a", order), writer(lock, "b", order))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    lock.release()
    await second
    assert order == ["b"]
    assert not lock.held


async def test_a_waiter_cancelled_as_its_turn_comes_passes_it_on() -> None:
    lock, order = WriteLock(), list[str]()
    await lock.acquire()
    first, second = await started(writer(lock, "a", order), writer(lock, "b", order))
    lock.release()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert order == ["b"]
    assert not lock.held


async def test_the_lock_is_given_back_after_an_error() -> None:
    lock = WriteLock()
    with pytest.raises(RuntimeError):
        async with lock.hold():
            raise RuntimeError
    assert not lock.held


async def test_on_postgresql_it_holds_nobody_up() -> None:
    lock = WriteLock(enabled=False)
    async with lock.hold(), lock.hold(), lock.hold(urgent=True):
        assert not lock.held
