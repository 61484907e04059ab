"""A hundred kill -9 at random times under load, on each database; then one checker looks at every invariant.

The seed is printed and may be given by DESKMATE_TEST_SEED, the number of kills by DESKMATE_TEST_KILLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.long.service import ENDED, assert_well_ended, tool_ends
from tests.support.client import API, AgentClient
from tests.support.databases import KINDS, NoPostgres, fresh_database
from tests.support.processes import Installation
from tests.support.server_process import free_port
from tests.support.stub_model import StubModel

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("DESKMATE_TEST_KILLS", "100"))
SEED = int(os.environ.get("DESKMATE_TEST_SEED", "20260131"))
SESSIONS = 10
_QUESTION = re.compile(r"turn \d+ of \w+")


@dataclass
class Told:
    """What clients were shown, to be compared with the record."""

    lines: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """Run id to the longest prefix of lines that anybody got."""
    questions: set[str] = field(default_factory=set[str])
    refused: list[str] = field(default_factory=list[str])

    def keep(self, run_id: str, lines: list[bytes]) -> None:
        if len(lines) > len(self.lines[run_id]):
            self.lines[run_id] = lines


@pytest.mark.parametrize("kind", KINDS)
async def test_random_kills_leave_a_record_that_tells_what_happened(tmp_path: Path, kind: Any) -> None:
    print(f"seed {SEED}, {KILLS} kills")
    chance = random.Random(SEED)
    try:
        async with fresh_database(kind, tmp_path) as database, StubModel(keep=200) as stub:
            installation = Installation(tmp_path, database, stub.base_url)
            await installation.migrate()
            token = await installation.issue_token("kim@example.org")
            port, told = free_port(), Told()
            extra = {"DESKMATE_USER_LIVE_RUNS": "100"}
            sessions: list[str] = []
            for n in range(KILLS):
                async with (
                    installation.serve(port=port, extra=extra) as server,
                    AgentClient(server.base_url, token, timeout=10) as client,
                ):
                    if not sessions:
                        sessions = [await client.create_session() for _ in range(SESSIONS)]
                    talks = [asyncio.create_task(_talk(client, s, n, told)) for s in sessions]
                    await asyncio.sleep(chance.uniform(0.02, 1.5))
                    server.kill()
                    await asyncio.gather(*talks)
            async with (
                installation.serve(port=port, extra=extra) as server,
                AgentClient(server.base_url, token) as client,
            ):
                await _check(client, sessions, told)
                for session in sessions:
                    assert (await client.ask(session, "are you well?"))[-1]["status"] == "completed"
            assert stub.counters["refused"] == 0, "no conversation was ever bricked"
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


async def _talk(client: AgentClient, session: str, kill: int, told: Told) -> None:
    """Turns of one session until the server is gone; each files one mistake of its own."""
    turn = 0
    with contextlib.suppress(httpx.TransportError):
        while True:
            turn += 1
            question = f"turn {turn} of {session[-8:]}k{kill}"
            told.questions.add(question)
            arguments = orjson.dumps({"question": question}).decode()
            order = f"bench deltas=20 gap_ms=8 tool=mistakes_add after_load=mistakes args={arguments}"
            body = {"input": [{"type": "text", "text": order}]}
            request = client.http.stream("POST", f"{API}/sessions/{session}/runs", json=body)
            async with request as response:
                if response.status_code != 200:
                    told.refused.append((await response.aread()).decode())
                    await asyncio.sleep(0.05)
                    continue
                lines: list[bytes] = []
                try:
                    async for line in _whole_lines(response):
                        lines.append(line)
                finally:
                    told.keep(response.headers["deskmate-run-id"], lines)


async def _whole_lines(response: httpx.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for data in response.aiter_bytes():
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if line:
                yield line


async def _check(client: AgentClient, sessions: list[str], told: Told) -> None:
    """Every invariant there is, over everything that happened."""
    filed = await _all_mistakes(client)
    succeeded: dict[str, int] = defaultdict(int)
    seen: set[str] = set()
    for session in sessions:
        assert (await client.json("GET", f"/sessions/{session}"))["live_run_id"] is None
        for run in await _all_runs(client, session):
            seen.add(run["id"])
            assert run["status"] in ENDED, "no run is stuck"
            raw = (await client.call("GET", f"/runs/{run['id']}/events")).content
            record = [line for line in raw.split(b"\n") if line]
            shown = told.lines.get(run["id"], [])
            assert shown == record[: len(shown)], "what was shown is a prefix of the record"
            events = [orjson.loads(line) for line in record]
            assert_well_ended(events)
            if run["status"] == "failed":
                assert events[-2]["code"] == "RUN_INTERRUPTED"
            for end in tool_ends(events, "mistakes::add"):
                if end["status"] == "succeeded":
                    found = _QUESTION.search(end["detail"]["arguments"]["question"])
                    assert found is not None
                    succeeded[found[0]] += 1
        await client.all_items(session)  # readable to its beginning
    assert set(told.lines) <= seen, "no run that was told of is missing"
    assert max(filed.values(), default=0) <= 1, "no effect happened twice"
    assert filed == dict(succeeded), "the record tells of an effect exactly if it is there"
    assert set(filed) <= told.questions
    for refusal in told.refused:
        assert orjson.loads(refusal)["code"] in {"SESSION_BUSY", "STORAGE_ERROR", "RUN_INTERRUPTED"}, refusal
    assert len(filed) > KILLS, "there was load"


async def _all_runs(client: AgentClient, session: str) -> list[dict[str, Any]]:
    return await _pages(client, f"/sessions/{session}/runs", "runs")


async def _pages(client: AgentClient, path: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 200}
    while True:
        page = await client.json("GET", path, params=query)
        found += page[name]
        if page["next"] is None:
            return found
        query["cursor"] = page["next"]


async def _all_mistakes(client: AgentClient) -> dict[str, int]:
    """How often each question is in the notebook."""
    filed: dict[str, int] = defaultdict(int)
    cursor = ""
    while True:
        answer = await client.invoke("mistakes::search", {"limit": 50, "cursor": cursor})
        page = answer.json()["result"]
        for entry in page["entries"]:
            filed[entry["question"]] += 1
        if page["next"] is None:
            return dict(filed)
        cursor = page["next"]
