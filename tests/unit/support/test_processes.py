"""Databases come and go whole, and no child outlives its test."""

from __future__ import annotations

import asyncio
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.databases import Database, NoPostgres, connect_to_server, fresh_database
from tests.support.processes import Installation
from tests.support.redis_server import RedisServer
from tests.support.server_process import ProcessFailed, ServerProcess, clean_environment, free_port


@pytest.fixture
async def child(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    """The stub as a process: any server will do."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.stub_model", "--port", str(port)]
    server = ServerProcess(
        command, env=clean_environment({}), log=tmp_path / "log", base_url=f"http://127.0.0.1:{port}"
    )
    try:
        await server.wait_ready("/v1/models")
        yield server
    finally:
        server.close()


async def test_child_logs_its_port_and_ends_when_told(child: ServerProcess) -> None:
    await child.wait_for_log(child.base_url.rpartition(":")[2])
    child.terminate()
    assert await child.wait_exit() == 0


async def test_frozen_child_answers_nothing_and_is_still_cleaned_up(child: ServerProcess) -> None:
    child.freeze()
    async with httpx.AsyncClient(trust_env=False, timeout=0.2) as http:
        with pytest.raises(httpx.TimeoutException):
            await http.get(f"{child.base_url}/v1/models")
    child.close()
    assert not psutil.pid_exists(child.pid)


async def test_killed_child_shows_its_signal(child: ServerProcess) -> None:
    child.kill()
    assert child.exit_code == -signal.SIGKILL


async def test_child_that_dies_early_is_reported_with_its_log(tmp_path: Path) -> None:
    server = ServerProcess(
        [sys.executable, "-c", "raise SystemExit('no disk')"],
        env=clean_environment({}),
        log=tmp_path / "log",
        base_url=f"http://127.0.0.1:{free_port()}",
    )
    with pytest.raises(ProcessFailed, match="no disk"):
        await server.wait_ready()
    server.close()


@pytest.mark.postgres
async def test_postgres_database_is_dropped_with_a_client_still_on_it(tmp_path: Path) -> None:
    try:
        server = await connect_to_server()
    except NoPostgres as error:
        pytest.skip(str(error))
    async with fresh_database("postgresql", tmp_path) as fresh:
        name = fresh.url.rpartition("/")[2]
        assert await server.fetchval(f"SELECT count(*) FROM pg_database WHERE datname = '{name}'") == 1
        assert fresh.through(7).url.endswith(f"127.0.0.1:7/{name}")
    assert await server.fetchval(f"SELECT count(*) FROM pg_database WHERE datname = '{name}'") == 0
    await server.close()


def test_installation_writes_models_that_name_the_stub(tmp_path: Path) -> None:
    database = Database("sqlite", f"sqlite+aiosqlite:///{tmp_path}/deskmate.db")
    installation = Installation(tmp_path, database, "http://127.0.0.1:9/v1").with_extra(
        DESKMATE_POOL_SIZE="5"
    )
    environment = installation.environment
    models = tomllib.loads(Path(environment["DESKMATE_MODELS"]).read_text())
    assert models["providers"][0]["base_url"] == "http://127.0.0.1:9/v1"
    assert models["default"] == models["models"][0]["id"] == "stub"
    assert environment["DESKMATE_POOL_SIZE"] == "5"
    assert environment[models["providers"][0]["api_key_env"]]


async def test_redis_stops_and_comes_back_on_its_port(redis: RedisServer) -> None:
    url = redis.url
    redis.stop()
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", redis.port)
    await redis.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", redis.port)
    writer.write(b"PING\r\n")
    assert await reader.readline() == b"+PONG\r\n"
    writer.close()
    await writer.wait_closed()
    assert redis.url == url
