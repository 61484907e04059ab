"""A process that was stopped past its lease (SIGSTOP) wakes up and finds that its runs belong to somebody else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.long.service import LOAD_PACE, PACKAGES, Service, assert_well_ended
from tests.support.client import AgentClient, answer_text
from tests.support.databases import NoPostgres, fresh_database
from tests.support.processes import Installation
from tests.support.replies import Reply, Say, call, say
from tests.support.stub_model import StubModel

SHORT_LEASE = {
    "DESKMATE_LEASE_SECONDS": "2",
    "DESKMATE_LEASE_RENEW_SECONDS": "0.5",
    "DESKMATE_SWEEP_SECONDS": "0.5",
    "DESKMATE_CAPABILITIES": str(PACKAGES),
}


@pytest.mark.postgres
async def test_a_process_that_slept_past_its_lease_changes_nothing_when_it_wakes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    try:
        async with fresh_database("postgresql", tmp_path) as database, StubModel() as stub:
            first = Installation(tmp_path / "one", database, stub.base_url, extra=SHORT_LEASE)
            second = Installation(tmp_path / "two", database, stub.base_url, extra=SHORT_LEASE)
            async with first.serve() as sleeper, second.serve() as watcher:
                service = Service(first, sleeper, stub)
                try:
                    await _sleeps_and_wakes(service, watcher.base_url)
                finally:
                    await service.aclose()
    except NoPostgres as error:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


async def _sleeps_and_wakes(service: Service, watcher_url: str) -> None:
    stub, sleeper = service.stub, service.server
    talks = Reply(steps=(Say(deltas=tuple(f"<{n}>" for n in range(200)), gap_ms=60),), contains="talk")
    stub.add(
        talks,
        LOAD_PACE.model_copy(update={"contains": "act"}),
        call("pace_stamp", '{"word": "late", "before": 2}').model_copy(update={"contains": "act"}),
        say("never said").model_copy(update={"contains": "act"}),
    )
    at_sleeper = await service.someone()
    async with AgentClient(watcher_url, at_sleeper.token) as at_watcher:
        sessions = [await at_sleeper.create_session() for _ in range(2)]
        talk = await at_sleeper.start_run(sessions[0], "talk")
        act = await at_sleeper.start_run(sessions[1], "act")
        async with at_sleeper.events(act) as stream:
            await stream.read_until(type="activity", name="pace::stamp", status="started")

        sleeper.freeze()
        try:
            ended = [await at_watcher.wait_for_end(run, timeout=10) for run in (talk, act)]
            assert [run["status"] for run in ended] == ["failed", "failed"]
            assert {run["error"]["code"] for run in ended} == {"RUN_INTERRUPTED"}
            before = await _record(at_watcher, sessions, (talk, act))
        finally:
            sleeper.thaw()
        await asyncio.sleep(3)  # the model goes on talking, the tool comes to its effect

        assert await _record(at_watcher, sessions, (talk, act)) == before
        assert await service.rows("SELECT 1 FROM effects WHERE run_id = :run", run=act) == []
        for run in (talk, act):
            assert_well_ended(await at_watcher.events_after(run))
        said = answer_text(await at_watcher.events_after(talk))
        assert said
        assert "".join(f"<{n}>" for n in range(200)).startswith(said)

        # the sleeper is of use again, and the sessions go on at either
        stub.script.clear()
        stub.add(say("Here."), say("There."))
        assert answer_text(await at_sleeper.ask(sessions[0], "and now?")) == "Here."
        assert answer_text(await at_watcher.ask(sessions[1], "and now?")) == "There."
        assert [record.fault for record in stub.requests if record.fault] == []


async def _record(client: AgentClient, sessions: list[str], runs: tuple[str, ...]) -> list[Any]:
    """All that is on record of these."""
    record: list[Any] = [await client.all_items(session) for session in sessions]
    record += [(await client.call("GET", f"/runs/{run}")).content for run in runs]
    record += [(await client.call("GET", f"/runs/{run}/events")).content for run in runs]
    return record
