"""Five hundred slow streams on a pool of five connections (field case O12 at size)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.long.service import assert_well_ended, open_service, seconds_of
from tests.support.client import answer_text
from tests.support.databases import KINDS, NoPostgres
from tests.support.replies import say

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

STREAMS = 500


@pytest.mark.parametrize("kind", KINDS)
async def test_five_hundred_streams_leave_a_pool_of_five_free(tmp_path: Path, kind: Any) -> None:
    extra = {"DESKMATE_POOL_SIZE": "5", "DESKMATE_USER_LIVE_RUNS": "1000"}
    try:
        async with open_service(kind, tmp_path, extra=extra) as service:
            client = await service.someone()
            quiet = await client.create_session()
            service.script(say("Something to read."))
            await client.ask(quiet, "hello")
            sessions = [await client.create_session() for _ in range(STREAMS)]
            streams = [
                asyncio.create_task(client.ask(session, "bench deltas=15 gap_ms=2000"))
                for session in sessions
            ]
            await service.stub.wait_for_requests(STREAMS + 1, timeout=60)
            health: list[float] = []
            history: list[float] = []
            async with httpx.AsyncClient(base_url=service.server.base_url, trust_env=False) as http:
                for _ in range(40):
                    health.append(await seconds_of(http.get("/healthz")))
                    history.append(await seconds_of(client.items(quiet)))
                    await asyncio.sleep(0.1)
            assert not any(stream.done() for stream in streams), "all of them were open meanwhile"
            print(f"{kind}: health {sorted(health)[20]:.3f} s, history {sorted(history)[20]:.3f} s (medians)")
            for taken in (health, history):
                assert sorted(taken)[-3] < 0.2, sorted(taken)
            for events in await asyncio.gather(*streams):
                assert_well_ended(events)
                assert events[-1]["status"] == "completed"
                assert answer_text(events).count("~") == 15
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")
