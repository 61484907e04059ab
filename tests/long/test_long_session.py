"""A session of five thousand turns answers as soon as an empty one."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from tests.long.service import open_service
from tests.support.client import AgentClient
from tests.support.databases import KINDS, NoPostgres

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

TURNS = 5_000
ROUNDS = 40
WORDS = "a sentence of about a dozen words, as people write them here "


@pytest.mark.parametrize("kind", KINDS)
async def test_the_first_text_of_a_long_session_comes_as_soon_as_of_an_empty_one(
    tmp_path: Path, kind: Any
) -> None:
    try:
        async with open_service(kind, tmp_path) as service:
            client = await service.someone()
            long = await client.create_session()
            for n in range(TURNS):
                events = await client.ask(long, f"{WORDS}{n}\nbench deltas=20")
                assert events[-1]["status"] == "completed"
            old: list[float] = []
            new: list[float] = []
            for _ in range(ROUNDS):  # in turn, so that the machine's moods meet both
                new.append(await _first_text(client, await client.create_session()))
                old.append(await _first_text(client, long))
            ratio = statistics.median(old) / statistics.median(new)
            print(
                f"{kind}: {statistics.median(new) * 1000:.1f} ms empty, "
                f"{statistics.median(old) * 1000:.1f} ms after {TURNS} turns, x {ratio:.2f}"
            )
            assert len(service.stub.requests[-1].body["messages"]) > 100, "the history is there"
            assert ratio <= 1.3
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


async def _first_text(client: AgentClient, session: str) -> float:
    began = time.perf_counter()
    async with client.run(session, "bench deltas=2") as stream:
        taken = 0.0
        async for event in stream.events():
            if event["type"] == "text" and not taken:
                taken = time.perf_counter() - began
    return taken
