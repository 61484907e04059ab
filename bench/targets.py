"""What is measured: the stub's raw self, the bare proxy, and the service on each database."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.load import Load, Mode, Outcome
from tests.support.databases import Kind, fresh_database
from tests.support.processes import Installation
from tests.support.server_process import ROOT, ServerProcess, clean_environment, free_port

EMAIL = "bench@example.org"
LIMITS = {"DESKMATE_USER_LIVE_RUNS": "5000", "DESKMATE_RUN_TOKENS": "0"}
"""Limits of one user, out of the way: the bench is one user with the load of many."""


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    mode: Mode
    port: int
    process: psutil.Process
    token: str = ""
    database_url: str = ""

    def cpu_seconds(self) -> float:
        """User and system time of the process so far; the database's is not in it."""
        times = self.process.cpu_times()
        return times.user + times.system

    def rss_bytes(self) -> int:
        return self.process.memory_info().rss


@contextlib.asynccontextmanager
async def running(command: list[str], port: int, ready: str, log: Path) -> AsyncGenerator[ServerProcess]:
    server = ServerProcess(command, env=clean_environment({}), log=log, base_url=f"http://127.0.0.1:{port}")
    try:
        await server.wait_ready(ready)
        yield server
    finally:
        await asyncio.to_thread(server.close)


@contextlib.asynccontextmanager
async def run_stub(folder: Path) -> AsyncGenerator[Target]:
    """The model, as strict as ever; as a target it is the raw client's."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.stub_model", "--port", str(port), "--keep", "20"]
    async with running(command, port, "/v1/models", folder / "stub.log") as server:
        yield Target("model alone", "raw", port, psutil.Process(server.pid))


@contextlib.asynccontextmanager
async def run_proxy(folder: Path, model_url: str) -> AsyncGenerator[Target]:
    port = free_port()
    command = [sys.executable, "-m", "bench.proxy", "--port", str(port), "--model-url", model_url]
    async with running(command, port, "/readyz", folder / "proxy.log") as server:
        yield Target("proxy", "proxy", port, psutil.Process(server.pid))


@contextlib.asynccontextmanager
async def run_service(
    folder: Path, model_url: str, kind: Kind, extra: dict[str, str] | None = None
) -> AsyncGenerator[Target]:
    """`deskmate serve` on a database of its own, with one user who may do everything."""
    home = folder / f"{kind}-{free_port()}"
    home.mkdir(parents=True)
    async with fresh_database(kind, home) as database:
        installation = Installation(home, database, model_url, extra={**LIMITS, **(extra or {})})
        await installation.migrate()
        await installation.add_user(EMAIL)
        token = await installation.create_token(EMAIL)
        async with installation.serve() as server:
            port = int(server.base_url.rpartition(":")[2])
            yield Target(kind, "service", port, psutil.Process(server.pid), token, database.plain_url)


class LoadFailed(Exception):
    """The generator ended without a result."""


async def drive(
    load: Load, *, on_ready: Callable[[], None], on_live: Callable[[], Awaitable[None]] | None = None
) -> Outcome:
    """Runs the load generator once. `on_ready` comes directly before the load, `on_live` while it stands."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.load",
        json.dumps(asdict(load)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(600):
            while line := (await process.stdout.readline()).decode().strip():
                if line == "ready":
                    on_ready()
                    process.stdin.write(b"go\n")
                elif line == "live":
                    if on_live is not None:
                        await on_live()
                else:
                    return Outcome(**json.loads(line))
        raise LoadFailed(f"the generator for {load.mode} ended early; its reason is above")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
