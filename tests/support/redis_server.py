"""A Redis of one test's own: it may be stopped, and come back empty on the same port."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from tests.support.server_process import ProcessFailed, ServerProcess, clean_environment, free_port


class NoRedis(Exception):
    """There is no redis-server program on this machine."""


class RedisServer:
    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise NoRedis("no redis-server on the PATH")
        self.port = free_port()
        self._log = folder / "redis.log"
        # Nothing on disk: after a restart all is gone, the worst that a Redis may do to us.
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._command += ["--appendonly", "no", "--dir", str(folder)]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        """Returns when it answers; also after a `stop`."""
        self._process = ServerProcess(self._command, env=clean_environment({}), log=self._log)
        deadline = time.monotonic() + 10
        while not await self._answers():
            if self._process.exit_code is not None or time.monotonic() > deadline:
                raise ProcessFailed(f"redis-server did not start\n{self._process.log[-2000:]}")
            await asyncio.sleep(0.02)

    async def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(b"PING\r\n")
            answer = await reader.read(64)
            writer.close()
            await writer.wait_closed()
            return answer == b"+PONG\r\n"
        return False

    def stop(self) -> None:
        self._process.close()

    def freeze(self) -> None:
        """Connections stay open and nothing is answered."""
        self._process.freeze()

    def thaw(self) -> None:
        self._process.thaw()


@contextlib.asynccontextmanager
async def run_redis(folder: Path) -> AsyncGenerator[RedisServer]:
    """Raises NoRedis where it is not installed."""
    server = RedisServer(folder)
    await server.start()
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)
