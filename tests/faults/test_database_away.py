"""The database gone for ten seconds (PostgreSQL behind a bad network): runs go on, nothing is lost, the API says so."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.long.service import Service, assert_well_ended
from tests.support.client import AgentClient, RunStream, answer_text
from tests.support.databases import NoPostgres, fresh_database
from tests.support.processes import Installation
from tests.support.replies import Reply, Say, say
from tests.support.slow_proxy import SlowProxy
from tests.support.stub_model import StubModel

pytestmark = pytest.mark.postgres

AWAY_S = 10
WORDS = tuple(f"<{n}>" for n in range(130))
GAP_MS = 100
"""Thirteen seconds of talk: it begins before the outage and ends after it."""


@contextlib.asynccontextmanager
async def behind_a_network(tmp_path: Path) -> AsyncGenerator[tuple[Service, SlowProxy]]:
    try:
        async with fresh_database("postgresql", tmp_path) as database, StubModel() as stub:
            # users are made past the network; the server knows only the way through it
            direct = Installation(tmp_path, database, stub.base_url)
            async with SlowProxy(*database.address) as network:
                far = Installation(tmp_path, database.through(network.port), stub.base_url)
                async with far.serve() as server:
                    service = Service(direct, server, stub)
                    try:
                        yield service, network
                    finally:
                        await service.aclose()
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


@pytest.mark.parametrize("outage", ["refused", "silent"])
async def test_ten_seconds_without_the_database_lose_no_word(tmp_path: Path, outage: str) -> None:
    async with behind_a_network(tmp_path) as (service, network):
        service.stub.add(Reply(steps=(Say(deltas=WORDS, gap_ms=GAP_MS),)))
        client = await service.someone()
        session = await client.create_session()
        async with client.run(session, "talk") as stream:
            reader = asyncio.create_task(_read_all(stream))
            await service.stub.wait_for_requests(1)
            await asyncio.sleep(1)
            began = time.monotonic()
            if outage == "refused":
                network.weather.refuse = True
                network.drop_all()
            else:
                network.pause()
            if outage == "refused":
                await _assert_told_meanwhile(service, client, session)
            await asyncio.sleep(AWAY_S - (time.monotonic() - began))
            assert not reader.done(), "the run went on"
            network.weather.refuse = False
            network.resume()
            async with asyncio.timeout(20):
                events = await reader
        assert_well_ended(events)
        assert events[-1]["status"] == "completed"
        assert answer_text(events) == "".join(WORDS)
        assert await client.events_after(events[0]["run_id"]) == events
        service.stub.add(say("Back."))
        assert answer_text(await client.ask(session, "and now?")) == "Back."


async def _read_all(stream: RunStream) -> list[dict[str, Any]]:
    return await stream.read_all()


async def _assert_told_meanwhile(service: Service, client: AgentClient, session: str) -> None:
    """Every door says in its own words, and soon, that the database is away; liveness is no matter of it."""
    bare = httpx.AsyncClient(base_url=service.server.base_url, trust_env=False)
    async with bare, asyncio.timeout(AWAY_S - 2):
        assert (await bare.get("/healthz")).status_code == 200
        assert (await bare.get("/readyz")).status_code == 503
        doors: list[tuple[str, str, dict[str, Any] | None]] = [
            ("GET", f"/sessions/{session}/items", None),
            ("GET", "/sessions", None),
            ("POST", "/sessions", {}),
            ("POST", "/capabilities/mistakes::search/invoke", {"params": {}}),
        ]
        for method, path, body in doors:
            answer = await client.call(method, path, body)
            assert (answer.status_code, answer.json()["code"]) == (503, "STORAGE_ERROR"), answer.text
            assert answer.json()["retryable"] is True
            assert "retry-after" in answer.headers
            assert "asyncpg" not in answer.text
            assert "Traceback" not in answer.text


async def test_what_is_asked_while_the_database_is_away_is_done_once_it_is_back(tmp_path: Path) -> None:
    """A start waits for the database a while; its run is there once, or was refused by code."""
    async with behind_a_network(tmp_path) as (service, network):
        client = await service.someone()
        sessions = [await client.create_session() for _ in range(5)]
        network.pause()
        starts = [asyncio.create_task(_start(client, session)) for session in sessions]
        await asyncio.sleep(2)
        network.drop_all()
        network.resume()
        async with asyncio.timeout(30):
            outcomes = await asyncio.gather(*starts)
        for session, outcome in zip(sessions, outcomes, strict=True):
            runs = (await client.json("GET", f"/sessions/{session}/runs"))["runs"]
            if outcome == "started":
                assert len(runs) == 1
            else:
                assert outcome == "STORAGE_ERROR"
                assert len(runs) <= 1, "an unknown outcome is at most one run"
            for run in runs:
                ended = await client.wait_for_end(run["id"])
                assert ended["status"] == "completed"
                assert_well_ended(await client.events_after(run["id"]))


async def _start(client: AgentClient, session: str) -> str:
    body = {"input": [{"type": "text", "text": "hi"}]}
    headers = {"prefer": "respond-async"}
    answer = await client.call("POST", f"/sessions/{session}/runs", body, headers=headers)
    return "started" if answer.status_code == 202 else answer.json()["code"]
