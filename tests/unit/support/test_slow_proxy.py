"""The bad network does what its weather says, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from tests.support.slow_proxy import SlowProxy, Weather


@pytest.fixture
async def echo_port() -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1000):
                writer.write(data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextlib.asynccontextmanager
async def connected(proxy: SlowProxy) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    yield reader, writer
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_fair_weather_forwards_both_ways_to_the_end(echo_port: int) -> None:
    async with SlowProxy("127.0.0.1", echo_port) as proxy, connected(proxy) as (reader, writer):
        writer.write(b"x" * 200_000)
        assert await reader.readexactly(200_000) == b"x" * 200_000
        assert proxy.connections == 1


async def test_cut_after_bytes_sends_exactly_so_many(echo_port: int) -> None:
    async with (
        SlowProxy("127.0.0.1", echo_port, Weather(cut_after_bytes=5)) as proxy,
        connected(proxy) as (reader, writer),
    ):
        writer.write(b"0123456789")
        received = b""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(100):
                received += data
        assert received == b"01234"


async def test_idle_connection_is_closed_and_a_busy_one_is_not(echo_port: int) -> None:
    async with (
        SlowProxy("127.0.0.1", echo_port, Weather(idle_timeout=0.2)) as proxy,
        connected(proxy) as (reader, writer),
    ):
        for _ in range(6):
            writer.write(b".")
            assert await reader.read(1) == b"."
            await asyncio.sleep(0.06)
        started = time.monotonic()
        assert await reader.read(1) == b""
        assert time.monotonic() - started < 1


async def test_paused_bytes_arrive_after_the_pause(echo_port: int) -> None:
    async with SlowProxy("127.0.0.1", echo_port) as proxy, connected(proxy) as (reader, writer):
        proxy.pause()
        writer.write(b"late")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await reader.read(4)
        proxy.resume()
        assert await reader.readexactly(4) == b"late"


async def test_blackhole_loses_bytes_and_keeps_the_connection(echo_port: int) -> None:
    async with SlowProxy("127.0.0.1", echo_port) as proxy, connected(proxy) as (reader, writer):
        proxy.weather.blackhole = True
        writer.write(b"lost")
        await asyncio.sleep(0.05)
        proxy.weather.blackhole = False
        writer.write(b"kept")
        assert await reader.readexactly(4) == b"kept"


async def test_drop_all_resets_and_new_connections_work(echo_port: int) -> None:
    async with SlowProxy("127.0.0.1", echo_port) as proxy:
        async with connected(proxy) as (reader, writer):
            writer.write(b"a")
            await reader.readexactly(1)
            proxy.drop_all()
            with contextlib.suppress(ConnectionError):
                assert await reader.read(1) == b""
        async with connected(proxy) as (reader, writer):
            writer.write(b"b")
            assert await reader.readexactly(1) == b"b"


async def test_delay_holds_each_read_back(echo_port: int) -> None:
    async with (
        SlowProxy("127.0.0.1", echo_port, Weather(delay=0.1)) as proxy,
        connected(proxy) as (reader, writer),
    ):
        started = time.monotonic()
        writer.write(b"a")
        await reader.readexactly(1)
        assert time.monotonic() - started >= 0.2
