"""The stream of a run as an HTTP answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

NDJSON = "application/x-ndjson; charset=utf-8"

_HEADERS = (
    (b"content-type", NDJSON.encode()),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class NdjsonResponse(Response):
    """Sends chunks as they come. The chunks are whole lines, already committed.

    In place of Starlette's StreamingResponse, which opens a task group a stream. A reader that goes
    away ends only this answer: the run belongs to nobody's connection.
    """

    def __init__(self, chunks: AsyncIterator[bytes], headers: Mapping[str, str] | None = None) -> None:
        self.status_code = 200
        self.background = None
        self.body = b""
        self.raw_headers = [
            *_HEADERS,
            *((k.lower().encode(), v.encode()) for k, v in (headers or {}).items()),
        ]
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pump = asyncio.current_task()
        assert pump is not None
        gone = False

        async def watch() -> None:
            nonlocal gone
            while (await receive())["type"] != "http.disconnect":
                pass
            gone = True
            pump.cancel()

        watcher = asyncio.create_task(watch(), name="reader-watch")
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            watcher.cancel()  # from here on a reader that goes away interrupts nothing
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            # pump.uncancel() > 0: somebody else wants this task to end as well
            if not gone or pump.uncancel() > 0:
                raise
        finally:
            watcher.cancel()
            close = getattr(self._chunks, "aclose", None)
            if close is not None:
                await close()
