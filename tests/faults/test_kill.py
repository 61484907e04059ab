"""kill -9 at named points of a run: nothing lost, nothing doubled, nothing stuck (P7).

The process ends itself with `os._exit` at the point (no clean-up, as SIGKILL), a new one starts on the
same data, and one checker looks at every invariant.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from tests.support.client import AgentClient, RunStream
from tests.support.processes import Installation
from tests.support.replies import call, say
from tests.support.stub_model import StubModel

MISTAKE = '{"question": "what is 7 x 8", "answer": "54", "subject": "math"}'

POINTS = {
    # point: whether the mistake's effect is committed when the process dies there
    "after_run_start": False,
    "before_event_commit": False,
    "after_event_commit": False,
    "after_event_commit:3": None,  # how events share commits decides which is the third
    "before_handler": False,
    "in_effect_before_commit": False,
    "after_effect_commit": True,
    "after_handler": True,
    "before_finish_commit": True,
    "after_finish_commit": True,
    "in_recovery_before_commit": True,
}


async def _read_what_comes(client: AgentClient, session: str) -> tuple[str | None, list[bytes]]:
    """A reader whose server dies: the run's id, if it was told, and all lines it was shown."""
    seen: list[bytes] = []
    run_id: str | None = None
    try:
        async with client.run(session, "please note my mistake") as stream:
            run_id = stream.run_id
            async for line in _lines(stream):
                seen.append(line)
    except Exception:
        pass
    return run_id, seen


async def _lines(stream: RunStream) -> AsyncGenerator[bytes]:
    rest = b""
    async for data in stream.response.aiter_bytes():
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if line:
                yield line


@pytest.mark.parametrize("point", POINTS)
async def test_a_killed_process_leaves_a_record_that_tells_what_happened(
    installation: Installation, stub: StubModel, point: str
) -> None:
    stub.add(
        call("catalog_load_domain", '{"name": "mistakes"}'),
        call("mistakes_add", MISTAKE),
        say("Noted."),
    )
    await installation.migrate()
    await installation.add_user("kim@example.org")
    token = await installation.create_token("kim@example.org")
    first_point = "after_effect_commit" if point == "in_recovery_before_commit" else point

    async with installation.serve(crash_at=first_point) as server:
        async with AgentClient(server.base_url, token) as client:
            session = await client.create_session()
            run_id, shown = await _read_what_comes(client, session)
        await server.wait_exit(20)
        assert server.exit_code == 137

    if point == "in_recovery_before_commit":
        async with installation.serve(crash_at=point, ready=False) as server:
            await server.wait_exit(30)
            assert server.exit_code == 137

    stub.script.clear()
    stub.add(say("We go on."))
    async with installation.serve() as server, AgentClient(server.base_url, token) as client:
        runs = (await client.json("GET", f"/sessions/{session}/runs"))["runs"]
        assert [r["status"] for r in runs] == ["completed" if point == "after_finish_commit" else "failed"]
        run = runs[0]
        assert run_id in (None, run["id"])

        raw = (await client.call("GET", f"/runs/{run['id']}/events")).content
        record = [line for line in raw.split(b"\n") if line]
        events = [orjson.loads(line) for line in record]
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
        assert shown == record[: len(shown)], "what a client saw is a prefix of the record"
        assert [e["type"] for e in events].count("done") == 1
        assert events[-1]["type"] == "done"
        if run["status"] == "failed":
            assert events[-2]["type"] == "error"
            assert events[-2]["code"] == "RUN_INTERRUPTED"
        _every_call_has_one_end(events)

        found = (await client.invoke("mistakes::search", {})).json()["result"]
        count = orjson.dumps(found).count(b"what is 7 x 8")
        expected = {True: (1,), False: (0,), None: (0, 1)}[POINTS[point]]
        assert count in expected, "the effect is there exactly once, or not at all"
        told = [
            e
            for e in events
            if e["type"] == "activity" and e["name"] == "mistakes::add" and e["status"] == "succeeded"
        ]
        assert len(told) == count, "the record tells of the effect exactly if it is there"

        await client.ask(session, "what about it?")
        messages = stub.requests[-1].body["messages"]
        text = orjson.dumps(messages).decode()
        assert stub.requests[-1].fault is None
        if count:
            assert "what is 7 x 8" in text, "the next turn knows what was done"


def _every_call_has_one_end(events: list[dict[str, Any]]) -> None:
    started: dict[str, int] = {}
    ended: dict[str, int] = {}
    for event in events:
        if event["type"] != "activity":
            continue
        if event["status"] == "started":
            started[event["id"]] = event["seq"]
        elif event["status"] != "progress":
            assert event["id"] not in ended, "one end for each call"
            ended[event["id"]] = event["seq"]
    assert set(started) == set(ended)
    assert all(started[id] < ended[id] for id in started)
