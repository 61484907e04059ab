"""A small HTTP/1.1 server side on asyncio.Protocol: keep-alive, chunked answers, and full control of faults.

No framework: the stub must cut, hang and dribble at will, and must cost so little that a bench
measures the server that talks to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


Handler = Callable[[HttpRequest, "HttpConnection"], Awaitable[None]]


class HttpConnection(asyncio.Protocol):
    """One client connection. Requests are answered one after the other by `handler`."""

    def __init__(self, handler: Handler, connections: set[HttpConnection]) -> None:
        self._handler = handler
        self._connections = connections
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.on_close: list[Callable[[], None]] = []
        """Called once, when the socket is gone."""

    # --- the socket ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next_request()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        for callback in self.on_close:
            callback()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # --- requests in ---

    def _next_request(self) -> None:
        if self._task is not None:
            return
        request = self._take_request()
        if request is not None:
            self._task = asyncio.get_running_loop().create_task(self._answer(request))

    def _take_request(self) -> HttpRequest | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        start = end + 4
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, stop = _join_chunks(self._buffer, start)
            if body is None:
                return None
        else:
            stop = start + int(headers.get("content-length", 0))
            if len(self._buffer) < stop:
                return None
            body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        method, path, _ = first.split(" ", 2)
        return HttpRequest(method, path, headers, body)

    async def _answer(self, request: HttpRequest) -> None:
        try:
            await self._handler(request, self)
        except asyncio.CancelledError:
            # Only connection_lost and the server's stop cancel; both leave nobody to answer.
            self.transport.abort()
            return
        except BaseException:
            self.transport.abort()
            raise
        self._task = None
        self._next_request()

    # --- answers out ---

    @property
    def closed(self) -> bool:
        return self.transport.is_closing()

    async def drain(self) -> None:
        await self._writable.wait()

    def send(self, data: bytes) -> None:
        self.transport.write(data)

    def send_whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        head = _head(status, {**headers, "content-length": str(len(body))})
        self.transport.write(head + body)

    def start_chunked(self, status: int, headers: Mapping[str, str]) -> None:
        self.transport.write(_head(status, {**headers, "transfer-encoding": "chunked"}))

    def send_chunk(self, data: bytes) -> None:
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_chunked(self) -> None:
        self.transport.write(b"0\r\n\r\n")

    async def wait_closed(self) -> None:
        """Until the client goes; ended by the cancellation that its going brings."""
        await asyncio.Event().wait()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _join_chunks(buffer: bytearray, at: int) -> tuple[bytes | None, int]:
    """Body of a chunked request that starts at `at`, and where it ends; None while it is not whole."""
    body = bytearray()
    while True:
        line_end = buffer.find(b"\r\n", at)
        if line_end < 0:
            return None, at
        size = int(bytes(buffer[at:line_end]).split(b";")[0], 16)
        at = line_end + 2
        if len(buffer) < at + size + 2:
            return None, at
        if size == 0:
            return bytes(body), at + 2
        body += buffer[at : at + size]
        at += size + 2


class HttpServer:
    """Listens on 127.0.0.1 and hands each request to `handler`."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._connections: set[HttpConnection] = set()

    async def start(self, port: int = 0) -> int:
        """Returns the port in use."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: HttpConnection(self._handler, self._connections), "127.0.0.1", port, backlog=2048
        )
        address: tuple[str, int] = self._server.sockets[0].getsockname()
        return address[1]

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def stop(self) -> None:
        self._server.close()
        for connection in tuple(self._connections):
            connection.transport.abort()
        while self._connections:  # noqa: ASYNC110 - connection_lost is due in the next turns
            await asyncio.sleep(0)
        await asyncio.sleep(0)
