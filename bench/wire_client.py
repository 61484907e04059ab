"""An HTTP/1.1 client that costs next to nothing: one connection, one request at a time, bytes counted.

httpx would take more CPU than the server that is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tests.support.directives import MARK

FIRST_TEXT = b" word"
"""How the stub's text begins, in every target's stream."""
_END_OF_CHUNKED = b"\r\n0\r\n\r\n"
_MARK = MARK.encode()


@dataclass(slots=True)
class Exchange:
    """One request and its whole answer. Times are `time.perf_counter()`."""

    sent_at: float
    status: int = 0
    first_text_at: float = 0
    ended_at: float = 0
    body: bytes = b""
    """Chunk framing included where the answer is chunked."""

    @property
    def deltas(self) -> int:
        return self.body.count(_MARK)


class WireConnection(asyncio.Protocol):
    """A kept-alive connection to 127.0.0.1."""

    def __init__(self, on_first_text: Callable[[], None] | None = None) -> None:
        self._on_first_text = on_first_text
        self._answer: asyncio.Future[Exchange] | None = None

    @classmethod
    async def open(cls, port: int, on_first_text: Callable[[], None] | None = None) -> WireConnection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: cls(on_first_text), "127.0.0.1", port)
        return connection

    def close(self) -> None:
        self._transport.close()

    async def exchange(self, request: bytes) -> Exchange:
        """Raises ConnectionError where the server closes before the answer is whole."""
        self._answer = asyncio.get_running_loop().create_future()
        self._parts: list[bytes] = []
        self._length: int | None = None
        self._current = Exchange(sent_at=time.perf_counter())
        self._transport.write(request)
        return await self._answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError(f"closed within an answer: {exc}"))

    def data_received(self, data: bytes) -> None:
        current, parts = self._current, self._parts
        parts.append(data)
        if not current.first_text_at and FIRST_TEXT in data:
            current.first_text_at = time.perf_counter()
            if self._on_first_text is not None:
                self._on_first_text()
        if not current.status and not self._read_head():
            return
        if self._is_whole(data):
            current.ended_at = time.perf_counter()
            current.body = b"".join(parts)
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(current)

    def _read_head(self) -> bool:
        received = b"".join(self._parts)
        head, found, body = received.partition(b"\r\n\r\n")
        if not found:
            return False
        self._current.status = int(head[9:12])
        self._parts[:] = [b"\r\n" + body]
        for line in head.lower().split(b"\r\n")[1:]:
            if line.startswith(b"content-length:"):
                self._length = int(line[15:])
        return True

    def _is_whole(self, data: bytes) -> bool:
        parts = self._parts
        if self._length is not None:
            return sum(map(len, parts)) - 2 >= self._length
        if len(parts) > 1 and len(data) < len(_END_OF_CHUNKED):
            return b"".join(parts[-8:]).endswith(_END_OF_CHUNKED)
        return parts[-1].endswith(_END_OF_CHUNKED)


def request_bytes(method: str, path: str, body: bytes = b"", token: str = "") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n"
    if body:
        head += "content-type: application/json\r\n"
    if token:
        head += f"authorization: Bearer {token}\r\n"
    return head.encode() + b"\r\n" + body
