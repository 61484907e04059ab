"""The bus between processes: Redis pub/sub, from a bounded buffer, never in anybody's way.

One task owns two connections (a subscribed one cannot publish). It sends what waits in one message,
reads what the others say, and after a fault connects again. Redis promises no delivery, and neither do
we: after each connection everybody here is told `resumed` and looks at the tables.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson
import structlog
from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from app.host.bus.local import LocalBus
from app.protocol.jsontext import dump_bytes
from app.protocol.ports import Topic, WakeUp

_log = structlog.get_logger(__name__)

MOST_WAITING = 10_000
"""Messages kept while Redis is away; beyond it the oldest goes, since the tables hold the truth."""
MOST_AT_ONCE = 1_000
GATHER_S = 0.005
"""Pause after a message, so that busy runs share one instead of sending one a flush each."""
ANSWER_S = 2.0
BEAT_S = 2.0
"""How often a quiet process speaks, so that it hears itself."""
SILENCE_S = 5.0
"""Not having heard oneself for so long, the connection is dead however open it looks."""
GOODBYE_S = 0.5
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0


def channel_name(secret: bytes) -> str:
    """One channel an installation: pub/sub knows no database numbers, and a stranger cannot guess it."""
    return "deskmate:" + hmac.new(secret, b"bus", hashlib.sha256).hexdigest()[:24]


class RedisBus:
    """Implements `protocol.ports.Bus` for all processes that share a Redis and a secret.

    Args:
        url: `redis://`, `rediss://` or `unix://`.
        channel: from `channel_name`.
        origin: this process; what it said itself was delivered here already.
    """

    def __init__(self, *, url: str, channel: str, origin: str) -> None:
        # answers have their own time limit below; only connecting takes the pool's
        self._pool = cast("Any", ConnectionPool).from_url(url, socket_connect_timeout=ANSWER_S)
        self._channel = channel
        self._origin = origin
        self._here = LocalBus()
        self._waiting: dict[str | bytes, bytes] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._away_since: float | None = None
        self._dropped = 0
        self._heard_at = 0.0
        self._sent = asyncio.Event()
        self._sent.set()
        self._closed = False

    def open(self) -> None:
        """Starts to connect and returns: without Redis a process serves too, only slower to hear."""
        self._task = asyncio.create_task(self._run(), name="bus")

    async def aclose(self) -> None:
        """Sends what waits, if Redis takes it at once."""
        self._closed = True
        self._wake.set()
        if self._task is None:
            return
        if self._away_since is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sent.wait(), timeout=GOODBYE_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def publish(self, topic: Topic, facts: Mapping[str, Any]) -> None:
        self._here.deliver(topic, facts)
        if self._closed:
            return
        message = dump_bytes([topic, dict(facts)])
        # of a run only the newest matters, of anything else one of the same
        key = facts["run_id"] if topic == "run" else message
        waiting = self._waiting
        waiting.pop(key, None)
        waiting[key] = message
        if len(waiting) > MOST_WAITING:
            del waiting[next(iter(waiting))]
            self._dropped += 1
        self._sent.clear()
        self._wake.set()

    def subscribe(self, topic: Topic, callback: WakeUp) -> Callable[[], None]:
        return self._here.subscribe(topic, callback)

    # --- the link -----------------------------------------------------------------------------

    async def _run(self) -> None:
        delay = RETRY_FIRST_S
        while True:
            began = time.monotonic()
            try:
                await self._link()
            except (RedisError, OSError, TimeoutError) as error:
                self._note_away(error)
            except Exception:  # noqa: BLE001 - a fault of ours must not end wake-ups for good; the log has it
                _log.exception("bus_failed")
            if time.monotonic() - began > RETRY_MOST_S:
                delay = RETRY_FIRST_S  # it had worked for a while
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the processes
            delay = min(delay * 2, RETRY_MOST_S)

    async def _link(self) -> None:
        """Connects and carries messages both ways until something fails."""
        ears, mouth = self._connection(), self._connection()
        try:
            async with asyncio.timeout(2 * ANSWER_S):
                await ears.connect()
                await ears.send_command("SUBSCRIBE", self._channel)
                await ears.read_response()
                await mouth.connect()
            self._note_back()
            both = [asyncio.create_task(self._hear(ears)), asyncio.create_task(self._speak(mouth))]
            try:
                done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                done.pop().result()
            finally:
                for task in both:
                    task.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            await ears.disconnect(nowait=True)
            await mouth.disconnect(nowait=True)

    def _connection(self) -> Any:
        return self._pool.make_connection()

    async def _hear(self, ears: Any) -> None:
        self._heard_at = time.monotonic()
        while True:
            reply = await ears.read_response(timeout=1.0)
            if reply is None:
                if time.monotonic() - self._heard_at > SILENCE_S:
                    raise TimeoutError("Redis does not deliver")
                continue
            if reply[0] == b"message":
                self._take(reply[2])

    def _take(self, payload: bytes) -> None:
        try:
            origin, messages = orjson.loads(payload)
            if origin == self._origin:
                self._heard_at = time.monotonic()
                return
            for topic, facts in messages:
                self._here.deliver(topic, facts)
        except (ValueError, TypeError):
            _log.warning("wake_up_not_understood", bytes=len(payload))

    async def _speak(self, mouth: Any) -> None:
        while True:
            if not self._waiting:
                self._wake.clear()
                try:
                    async with asyncio.timeout(BEAT_S):
                        await self._wake.wait()
                except TimeoutError:
                    pass  # an empty message: we still want to hear ourselves
            sent = dict(list(self._waiting.items())[:MOST_AT_ONCE])
            for key in sent:
                del self._waiting[key]
            try:
                payload = b'["%b",[%b]]' % (self._origin.encode(), b",".join(sent.values()))
                async with asyncio.timeout(ANSWER_S):
                    await mouth.send_command("PUBLISH", self._channel, payload)
                    await mouth.read_response()
            except BaseException:
                self._waiting = {**sent, **self._waiting}  # the newer of a run's two wins
                raise
            if not self._waiting:
                self._sent.set()
            await asyncio.sleep(GATHER_S)

    def _note_away(self, error: Exception) -> None:
        if self._away_since is None:
            self._away_since = time.monotonic()
            _log.warning("redis_away", error=str(error) or type(error).__name__)

    def _note_back(self) -> None:
        if self._away_since is not None:
            away_s = round(time.monotonic() - self._away_since, 3)
            _log.info("redis_back", away_s=away_s, dropped=self._dropped)
            self._away_since = None
            self._dropped = 0
        self._here.deliver("resumed", {})
