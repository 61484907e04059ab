"""The one write lock of a process on SQLite: first come first served, but an urgent waiter is next.

SQLite lets one connection write at a time. Waiting here, in a queue that the event loop sees, costs
nothing and is fair; waiting inside SQLite is a poll with a time-out that ends in "database is locked".
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from app.errors import StorageUnavailable

WAIT_S = 20.0
"""How long a write unit queues. Its holder waits for the file itself, so a program outside that keeps the
file locked would otherwise keep every later request waiting for all before it."""


class WriteLock:
    """A FIFO lock with one fast lane.

    The event writer is urgent: what it commits is what every open client waits for.
    """

    def __init__(self, *, enabled: bool = True, wait_s: float = WAIT_S) -> None:
        self._enabled = enabled
        self._wait_s = wait_s
        self._held = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def held(self) -> bool:
        return self._held

    def hold(self, *, urgent: bool = False) -> Hold:
        """`async with lock.hold():`. Write units take it by themselves; do not nest it around one."""
        return Hold(self, urgent=urgent)

    async def acquire(self, *, urgent: bool = False) -> None:
        if not self._enabled:
            return
        if not self._held:  # a release hands over while `_held` stays true, so nobody can slip in between
            self._held = True
            return
        queue = self._urgent if urgent else self._waiting
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            async with asyncio.timeout(None if urgent else self._wait_s):
                await self._own_turn(turn, queue)
        except TimeoutError as error:
            raise StorageUnavailable("The database is busy with another program; try again soon.") from error

    async def _own_turn(self, turn: asyncio.Future[None], queue: deque[asyncio.Future[None]]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # our turn came together with the cancel: pass it on
            else:
                queue.remove(turn)
            raise

    def release(self) -> None:
        if not self._enabled:
            return
        for queue in (self._urgent, self._waiting):
            while queue:
                turn = queue.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._held = False


class Hold:
    """One use of the lock as a context manager."""

    __slots__ = ("_lock", "_urgent")

    def __init__(self, lock: WriteLock, *, urgent: bool) -> None:
        self._lock = lock
        self._urgent = urgent

    async def __aenter__(self) -> None:
        await self._lock.acquire(urgent=self._urgent)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
