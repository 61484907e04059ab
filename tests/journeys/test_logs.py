"""The log of a real server: who asked, which run, and nothing of what was said; no fault where there is none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import API, AgentClient
from tests.support.databases import Database
from tests.support.processes import Installation
from tests.support.server_process import ServerProcess
from tests.support.stub_model import StubModel

WORDS = "my-own-words-7341"
SLOWLY = f"bench deltas=400 gap_ms=50 {WORDS}"


@pytest.fixture
async def plain(tmp_path: Path, stub: StubModel) -> Installation:
    database = Database("sqlite", f"sqlite+aiosqlite:///{tmp_path}/data/deskmate.db")
    made = Installation(tmp_path, database, stub.base_url)
    made = made.with_extra(DESKMATE_LOG="info", DESKMATE_SHUTDOWN_SECONDS="1")
    await made.migrate()
    return made


def lines(server: ServerProcess) -> list[dict[str, Any]]:
    """The log's lines; the greeting goes to standard output, which the test keeps in the same file."""
    return [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]


async def test_lines_carry_request_and_run_and_no_words(plain: Installation) -> None:
    async with plain.serve() as server, await plain.new_client(server, "a@example.org") as client:
        session = await client.create_session()
        async with client.run(session, f"bench deltas=3 {WORDS}") as stream:
            await stream.read_all()
            request_id = stream.response.headers["x-request-id"]
        await client.call("GET", "/sessions", params={"q": WORDS})
        await server.wait_for_log("run_ended")
        told = lines(server)
        (ended,) = (line for line in told if line["event"] == "run_ended")
        assert (ended["run_id"], ended["session_id"]) == (stream.run_id, session)
        assert ended["request_id"] == request_id
        assert ended["status"] == "completed"
        routes = {line["route"] for line in told if line["event"] == "request"}
        assert {f"{API}/sessions", f"{API}/sessions/{{session_id}}/runs"} <= routes
        assert all("request_id" in line for line in told if line["event"] == "request")
        assert WORDS not in server.log
        assert client.token not in server.log


async def test_a_reader_still_there_at_the_stop_is_no_fault(plain: Installation) -> None:
    async with plain.serve() as server, await plain.new_client(server, "a@example.org") as client:
        session = await client.create_session()
        async with client.run(session, SLOWLY) as stream:
            await stream.read_until(type="text")
            server.terminate()
            assert await server.wait_exit() == 0
        assert "Traceback" not in server.log
        assert "CancelledError" not in server.log


FORM = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf'


@pytest.mark.parametrize(
    ("path", "kind", "begun"),
    [("/sessions", "application/json", b'{"ti'), ("/files", "multipart/form-data; boundary=b", FORM)],
)
async def test_who_hangs_up_within_a_body_is_no_fault(
    plain: Installation, path: str, kind: str, begun: bytes
) -> None:
    async with plain.serve() as server, await plain.new_client(server, "a@example.org") as client:
        await _hang_up(server, client, path, kind, begun)
        await server.wait_for_log("client_gone_within_body")
        assert "Traceback" not in server.log
        assert {line["level"] for line in lines(server)} == {"info"}


async def test_who_leaves_a_stream_is_no_fault(plain: Installation) -> None:
    async with plain.serve() as server, await plain.new_client(server, "a@example.org") as client:
        session = await client.create_session()
        async with client.run(session, "bench deltas=20 gap_ms=20") as stream:
            await stream.read_until(type="text")
        await client.wait_for_end(stream.run_id)
        assert "Traceback" not in server.log


async def _hang_up(server: ServerProcess, client: AgentClient, path: str, kind: str, begun: bytes) -> None:
    host, port = server.base_url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST {API}{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {client.token}\r\n"
        f"content-type: {kind}\r\ncontent-length: 1000\r\n\r\n"
    )
    writer.write(head.encode() + begun)
    await writer.drain()
    await asyncio.sleep(0.2)
    writer.close()
    await writer.wait_closed()
