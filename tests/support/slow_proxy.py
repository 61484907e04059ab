"""A bad network on loopback: a TCP proxy that cuts, delays, drops, goes idle and pauses.

Stands before a server, a model, PostgreSQL or Redis:
`async with SlowProxy("127.0.0.1", 5432) as network: network.pause()`. All settings may change while
connections are open.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_READ_BYTES = 65_536


@dataclass(slots=True)
class Weather:
    """What is wrong with the network now."""

    delay: float = 0
    """Seconds that each read is held back, in both directions."""
    cut_after_bytes: int | None = None
    """A connection is reset once the server has sent so many bytes on it; the rest is lost."""
    idle_timeout: float | None = None
    """A connection without a byte in either direction for so many seconds is closed, as reverse proxies do."""
    blackhole: bool = False
    """Bytes are taken and lost; connections stay open."""
    refuse: bool = False
    """New connections are reset at once."""


class SlowProxy:
    """Forwards to one target; `weather` says how badly."""

    def __init__(self, target_host: str, target_port: int, weather: Weather | None = None) -> None:
        self.weather = weather or Weather()
        self._target = (target_host, target_port)
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._links: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0
        """How many were ever made."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        address: tuple[str, int] = self._server.sockets[0].getsockname()
        self.port = address[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    # --- orders ---

    def pause(self) -> None:
        """No byte moves, and no new connection gets through, until `resume`."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    async def pause_for(self, seconds: float) -> None:
        self.pause()
        await asyncio.sleep(seconds)
        self.resume()

    def drop_all(self) -> None:
        """Resets every open connection; new ones may come."""
        for writer in self._writers:
            writer.transport.abort()

    # --- forwarding ---

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.weather.refuse:
            writer.transport.abort()
            return
        link = asyncio.get_running_loop().create_task(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._flowing.wait()
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._target)
        except BaseException:
            writer.transport.abort()
            raise
        ends = (writer, upstream_writer)
        self._writers.update(ends)
        activity = _Activity()
        forwards = [
            asyncio.create_task(self._forward(reader, upstream_writer, activity, limited=False)),
            asyncio.create_task(self._forward(upstream_reader, writer, activity, limited=True)),
            asyncio.create_task(self._watch_idle(activity)),
        ]
        try:
            await asyncio.wait(forwards, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in forwards:
                task.cancel()
            await asyncio.gather(*forwards, return_exceptions=True)
            for end in ends:
                self._writers.discard(end)
                if activity.cut:
                    end.transport.abort()
                else:
                    end.close()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        activity: _Activity,
        *,
        limited: bool,
    ) -> None:
        """One direction, to its end; `limited` is the one that `cut_after_bytes` counts."""
        sent = 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_READ_BYTES):
                weather = self.weather
                if weather.delay:
                    await asyncio.sleep(weather.delay)
                await self._flowing.wait()
                activity.note()
                if weather.blackhole:
                    continue
                if limited and weather.cut_after_bytes is not None:
                    data = data[: max(0, weather.cut_after_bytes - sent)]
                writer.write(data)
                await writer.drain()
                sent += len(data)
                if limited and weather.cut_after_bytes is not None and sent >= weather.cut_after_bytes:
                    activity.cut = True
                    return

    async def _watch_idle(self, activity: _Activity) -> None:
        while True:
            limit = self.weather.idle_timeout
            if limit is None:
                await asyncio.sleep(0.05)
                continue
            left = activity.last + limit - asyncio.get_running_loop().time()
            if left <= 0:
                return
            await asyncio.sleep(left)


class _Activity:
    """When a link last moved a byte, and whether it must end by a reset."""

    def __init__(self) -> None:
        self.cut = False
        self.note()

    def note(self) -> None:
        self.last = asyncio.get_running_loop().time()
