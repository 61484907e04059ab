"""Limits of the HTTP reader itself, below any application: how long and how slow a request's head may be.

httptools sets no limit of its own, and joins the pieces of a header that never ends in quadratic time, so
one connection without a token could hold up the whole process.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/problem+json\r\n"
    b'connection: close\r\n\r\n{"type":"about:blank","title":"Request Header Fields Too Large","status":431,'
    b'"code":"HEAD_TOO_LARGE","detail":"The request line and headers together may have 64 KiB."}'
)


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's own protocol, which ends a connection whose request head is too long or too slow."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_bytes = 0
        self._head_open = False
        self._head_timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._head_open:
            self._head_bytes = 0
            return
        # what came with the end of an earlier request is counted too: the limit is no exact figure
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self._end_slow_head(_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_open = True
        self._head_timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._end_slow_head)

    def on_headers_complete(self) -> None:
        self._head_open = False
        self._drop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_timer()
        super().connection_lost(exc)

    def _end_slow_head(self, answer: bytes = b"") -> None:
        self._drop_timer()
        if not self.transport.is_closing():
            if answer:
                self.transport.write(answer)
            self.transport.close()

    def _drop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
