"""Wake-ups between processes: quick with Redis, harmless without it (P4)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.host.bus import LocalBus, RedisBus
from app.host.bus.over_redis import MOST_WAITING, channel_name
from app.protocol.ports import Topic
from tests.support.fixtures import redis
from tests.support.redis_server import RedisServer
from tests.support.server_process import free_port

__all__ = ["redis"]
CHANNEL = channel_name(b"secret of one installation")


class Ear:
    """What one bus was told, with the moment of each."""

    def __init__(self, bus: RedisBus | LocalBus, *topics: Topic) -> None:
        self.heard: list[tuple[str, Mapping[str, Any]]] = []
        self.times: list[float] = []
        self._news = asyncio.Event()
        for topic in topics:
            bus.subscribe(topic, self._note(topic))

    def _note(self, topic: str) -> Callable[[Mapping[str, Any]], None]:
        def note(facts: Mapping[str, Any]) -> None:
            self.heard.append((topic, facts))
            self.times.append(time.monotonic())
            self._news.set()

        return note

    async def wait(self, topic: str, timeout: float = 5, **facts: Any) -> float:
        """When it was heard."""
        async with asyncio.timeout(timeout):
            while (topic, facts) not in self.heard:
                self._news.clear()
                await self._news.wait()
        return self.times[self.heard.index((topic, facts))]


@contextlib.asynccontextmanager
async def buses(url: str, *, channel: str = CHANNEL) -> AsyncGenerator[tuple[RedisBus, RedisBus]]:
    pair = (
        RedisBus(url=url, channel=channel, origin="prc_a"),
        RedisBus(url=url, channel=channel, origin="prc_b"),
    )
    for bus in pair:
        bus.open()
    try:
        yield pair
    finally:
        for bus in pair:
            await bus.aclose()


async def test_what_one_process_says_the_other_hears_at_once_and_itself_only_once(redis: RedisServer) -> None:
    async with buses(redis.url) as (a, b):
        here, there = Ear(a, "resumed", "cancel"), Ear(b, "resumed", "cancel")
        await here.wait("resumed")
        await there.wait("resumed")
        said = time.monotonic()
        a.publish("cancel", {"run_id": "run_1"})
        assert await there.wait("cancel", run_id="run_1") - said < 0.05
        await asyncio.sleep(0.05)
        assert here.heard.count(("cancel", {"run_id": "run_1"})) == 1


async def test_other_installations_on_the_same_redis_hear_nothing(redis: RedisServer) -> None:
    async with buses(redis.url) as (a, _), buses(redis.url, channel=channel_name(b"other")) as (_, stranger):
        ear, foreign = Ear(a, "resumed"), Ear(stranger, "resumed", "packages", "jobs")
        await ear.wait("resumed")
        await foreign.wait("resumed")
        a.publish("packages", {})
        stranger.publish("jobs", {})
        await foreign.wait("jobs")
        await asyncio.sleep(0.1)
        assert ("packages", {}) not in foreign.heard


async def test_only_the_newest_of_a_runs_wake_ups_is_kept_while_redis_is_away(redis: RedisServer) -> None:
    async with buses(redis.url) as (a, b):
        here, there = Ear(a, "resumed"), Ear(b, "resumed", "run", "inbox")
        await here.wait("resumed")
        await there.wait("resumed")
        redis.stop()
        here.heard.clear()
        there.heard.clear()
        with capture_logs() as logs:
            for seq in range(1, 501):
                a.publish("run", {"run_id": "run_1", "seq": seq, "ended": False})
                if seq % 100 == 0:
                    await asyncio.sleep(0.1)
            await redis.start()
            await there.wait("resumed")
            await here.wait("resumed")
            a.publish("inbox", {"session_id": "ses_1"})  # behind all that was kept
            await there.wait("inbox", session_id="ses_1")
        # Whoever of the two was back first, the other one's kept wake-up may be lost; "resumed" stands in for it.
        runs = [facts for topic, facts in there.heard if topic == "run"]
        assert runs in ([], [{"run_id": "run_1", "seq": 500, "ended": False}])
        said = [line["event"] for line in logs]
        assert said.count("redis_away") == said.count("redis_back") <= 2, "one line a process and outage"


async def test_a_redis_that_hangs_is_noticed_and_does_not_hold_up_anybody(redis: RedisServer) -> None:
    async with buses(redis.url) as (a, b):
        here, there = Ear(a, "resumed"), Ear(b, "resumed", "cancel")
        await here.wait("resumed")
        await there.wait("resumed")
        here.heard.clear()
        there.heard.clear()
        redis.freeze()
        began = time.monotonic()
        for number in range(10_000):
            a.publish("cancel", {"run_id": f"run_{number % 50}"})
        assert time.monotonic() - began < 1, "10,000 messages cost their encoding and no waiting"
        await asyncio.sleep(2.5)
        redis.thaw()
        await there.wait("cancel", run_id="run_49")
        await here.wait("resumed", timeout=10)


async def test_what_waits_is_bounded_and_a_missing_redis_costs_one_log_line() -> None:
    bus = RedisBus(url=f"redis://127.0.0.1:{free_port()}/0", channel=CHANNEL, origin="prc_a")
    with capture_logs() as logs:
        bus.open()
        for number in range(MOST_WAITING + 500):
            bus.publish("cancel", {"run_id": f"run_{number}"})
        await asyncio.sleep(0.5)
        assert len(bus._waiting) == MOST_WAITING  # pyright: ignore[reportPrivateUsage] -- nothing else shows it
        began = time.monotonic()
        await bus.aclose()
        assert time.monotonic() - began < 1
    assert [line["event"] for line in logs] == ["redis_away"]


@pytest.mark.parametrize("payload", [b"no json", b"[]", b'["prc_x", 5]', b'["prc_x", [["run"]]]'])
async def test_what_nobody_understands_is_left_aside(redis: RedisServer, payload: bytes) -> None:
    async with buses(redis.url) as (a, b):
        there = Ear(b, "resumed", "cancel")
        await there.wait("resumed")
        with capture_logs() as logs:
            await _publish_raw(redis, payload)
            a.publish("cancel", {"run_id": "run_1"})
            await there.wait("cancel", run_id="run_1")
        assert [line["event"] for line in logs if line["event"] == "redis_away"] == []


async def _publish_raw(redis: RedisServer, payload: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", redis.port)
    parts = [b"PUBLISH", CHANNEL.encode(), payload]
    writer.write(b"*3\r\n" + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
    assert (await reader.readline()).startswith(b":")
    writer.close()
    await writer.wait_closed()


async def test_a_callback_that_fails_keeps_nobody_from_hearing() -> None:
    bus = LocalBus()
    heard: list[Mapping[str, Any]] = []

    def fail(_: Mapping[str, Any]) -> None:
        raise RuntimeError("mine")

    bus.subscribe("packages", fail)
    unsubscribe = bus.subscribe("packages", heard.append)
    with capture_logs() as logs:
        bus.publish("packages", {})
        unsubscribe()
        bus.publish("packages", {})
    assert heard == [{}]
    assert [line["event"] for line in logs] == ["wake_up_failed"] * 2


def test_the_channel_shows_nothing_of_the_secret(tmp_path: Path) -> None:
    assert channel_name(b"a") != channel_name(b"b")
    assert "secret" not in channel_name(b"secret")
