"""Hints: what changed in which session, for the feeds that are open, on whatever process they are."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from app.protocol.jsontext import dump_bytes
from app.protocol.ports import Bus

WAITING_HINTS = 64
"""Hints kept for a slow reader; the oldest goes first, since a hint only says: look again."""

_DELETED = "deleted"

_Queue = asyncio.Queue[bytes | None]
"""Lines; None is the end."""


class Hub:
    """Fan-out of hints by session. Nothing here is a record: who missed a hint reads the session."""

    def __init__(self, *, bus: Bus, keepalive_s: float) -> None:
        self._bus = bus
        self._keepalive_s = keepalive_s
        self._open: defaultdict[str, set[_Queue]] = defaultdict(set)
        bus.subscribe("session", self._hear)

    def tell(self, session_id: str, kind: str, **facts: Any) -> None:
        """One hint line for each open feed of the session. Call it after the commit."""
        self._bus.publish("session", {"type": kind, "session_id": session_id, **facts})

    def tell_deleted(self, session_id: str) -> None:
        """The session is gone: its feeds end."""
        self._bus.publish("session", {"type": _DELETED, "session_id": session_id})

    def end(self, queues: Iterable[_Queue]) -> None:
        for queue in queues:
            _put(queue, None)

    def end_all(self) -> None:
        """Ends every feed here: this process goes."""
        for queues in self._open.values():
            self.end(queues)

    async def listen(self, session_id: str) -> AsyncIterator[bytes]:
        """Hints of one session until the reader goes away; a blank line keeps the connection open."""
        queue: _Queue = asyncio.Queue(WAITING_HINTS)
        self._open[session_id].add(queue)
        try:
            yield b"\n"
            while True:
                try:
                    async with asyncio.timeout(self._keepalive_s):
                        line = await queue.get()
                except TimeoutError:
                    line = b"\n"
                if line is None:
                    return
                yield line  # outside the timer: it would end a reader who takes his time
        finally:
            self._open[session_id].discard(queue)
            if not self._open[session_id]:
                del self._open[session_id]

    def _hear(self, facts: Mapping[str, Any]) -> None:
        queues = self._open.get(facts["session_id"])
        if not queues:
            return
        line = None if facts["type"] == _DELETED else dump_bytes(dict(facts)) + b"\n"
        for queue in queues:
            _put(queue, line)


def _put(queue: _Queue, line: bytes | None) -> None:
    if queue.full():
        with contextlib.suppress(asyncio.QueueEmpty):
            queue.get_nowait()
    queue.put_nowait(line)
