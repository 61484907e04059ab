"""Real sockets that answer as a test says, and notice when the client hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]

SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


@dataclass
class Server:
    """What a test server saw."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list[bytes])
    """Head and body of each request."""
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """A request has come."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """The client closed a connection."""


@asynccontextmanager
async def serve(*answers: Answer) -> AsyncGenerator[Server, None]:
    """Answers each request on each connection with the next of `answers`, the last one for good."""
    seen = Server()
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
                seen.requests.append(head + await reader.readexactly(length))
                seen.asked.set()
                await answers[min(len(seen.requests), len(answers)) - 1](writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            seen.hung_up.set()
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield seen
    finally:
        for writer in writers:
            writer.close()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)


def stream_of(*events: bytes, end: bool = True) -> Answer:
    """A streamed reply; `end` False leaves it open."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(
            SSE_HEAD + b"".join(http_chunk(event) for event in events) + (LAST_CHUNK if end else b"")
        )

    return answer


def plain(status: str, body: bytes, *headers: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = b"\r\n".join([f"HTTP/1.1 {status}".encode(), b"content-length: %d" % len(body), *headers])
        writer.write(head + b"\r\n\r\n" + body)

    return answer
