"""Hints inside one process: what changed in which session, for feeds that are open here."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

from app.protocol.jsontext import dump_bytes

WAITING_HINTS = 64
"""Hints kept for a slow reader; the oldest goes first, since a hint only says: look again."""


class Hub:
    """Fan-out of hints by session. Nothing here is a record: who missed a hint reads the session."""

    def __init__(self, *, keepalive_s: float) -> None:
        self._keepalive_s = keepalive_s
        self._open: defaultdict[str, set[asyncio.Queue[bytes]]] = defaultdict(set)

    def tell(self, session_id: str, kind: str, **facts: Any) -> None:
        """Queues one hint line for each open feed of the session."""
        if session_id not in self._open:
            return
        line = dump_bytes({"type": kind, "session_id": session_id, **facts}) + b"\n"
        for queue in self._open[session_id]:
            if queue.full():
                with contextlib.suppress(asyncio.QueueEmpty):
                    queue.get_nowait()
            queue.put_nowait(line)

    async def listen(self, session_id: str) -> AsyncIterator[bytes]:
        """Hints of one session until the reader goes away; a blank line keeps the connection open."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(WAITING_HINTS)
        self._open[session_id].add(queue)
        try:
            yield b"\n"
            while True:
                try:
                    async with asyncio.timeout(self._keepalive_s):
                        line = await queue.get()
                except TimeoutError:
                    line = b"\n"
                yield line  # outside the timer: it would end a reader who takes his time
        finally:
            self._open[session_id].discard(queue)
            if not self._open[session_id]:
                del self._open[session_id]
