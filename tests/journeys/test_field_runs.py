"""What users of such systems ran into (field cases): runs that are left, cancelled, fed nonsense or many at once."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from typing import Any

import httpx
import orjson
import pytest

from app.agent.loop import TURN_CANCELLED
from tests.long.service import (
    ENDED,
    LOAD_PACE,
    ON_MODULE_LOOP,
    Service,
    assert_well_ended,
    read_and_act,
    seconds_of,
    service,
    service_fixture,
    text_of_items,
    tool_ends,
)
from tests.support.client import API, AgentClient, RunStream, answer_text
from tests.support.replies import (
    AskTools,
    Call,
    Reply,
    Say,
    Wait,
    call,
    calls,
    hang,
    hang_before_headers,
    say,
)
from tests.support.slow_proxy import SlowProxy, Weather

__all__ = ["service"]
pytestmark = ON_MODULE_LOOP

running = service_fixture(
    DESKMATE_POOL_SIZE="5", DESKMATE_USER_LIVE_RUNS="100", DESKMATE_KEEPALIVE_SECONDS="1"
)


async def test_a_client_that_leaves_while_a_tool_runs_loses_neither_result_nor_answer(
    service: Service,
) -> None:
    """O4, without the approval."""
    service.script(LOAD_PACE, call("pace_stamp", '{"word": "kept", "before": 0.5}'), say("All ", "done."))
    client = await service.someone()
    session = await client.create_session()
    async with client.run(session, "stamp it") as stream:
        run_id = stream.run_id
        await stream.read_until(type="activity", name="pace::stamp", status="started")
    run = await client.wait_for_end(run_id)
    assert run["status"] == "completed"
    items = await client.all_items(session)
    results = [i["call"]["result"] for i in items if i["type"] == "tool"]
    assert results[-1] == {"word": "kept"}
    assert text_of_items(items) == "All done."
    events = await client.events_after(run_id)
    assert_well_ended(events)
    assert [e["status"] for e in tool_ends(events, "pace::stamp")] == ["succeeded"]


async def test_the_next_turn_knows_what_a_cancelled_one_did_and_said(service: Service) -> None:
    """O5."""
    half = "Half of a sentence that"
    service.script(LOAD_PACE, call("pace_stamp", '{"word": "kumquat"}'), hang(half), say("I know."))
    client = await service.someone()
    session = await client.create_session()
    async with client.run(session, "stamp it") as stream:
        events = await read_and_act(stream, lambda: client.cancel(stream.run_id), type="text")
    assert events[-1]["status"] == "cancelled"
    assert_well_ended(events)
    assert (await client.ask(session, "what happened?"))[-1]["status"] == "completed"
    request = service.stub.requests[-1]
    assert request.fault is None
    told = [orjson.dumps(m).decode() for m in request.body["messages"]]
    at_effect = next(n for n, m in enumerate(told) if "kumquat" in m and '"tool"' in m)
    at_half = next(n for n, m in enumerate(told) if half in m)
    at_mark = next(n for n, m in enumerate(told) if "the user cancelled this turn" in m)
    assert at_effect < at_half < at_mark, "the effect, what was said, and that it was cut short"
    assert TURN_CANCELLED.partition("/")[2].strip(" ]") in told[at_mark]


async def test_a_cancel_right_after_the_start_always_ends_the_run(service: Service) -> None:
    """O6: 200 fresh sessions; half of the callers even leave before they know their run's id."""
    client = await service.someone()
    chance = random.Random(6)
    statuses: set[int] = set()
    order = "bench deltas=20 gap_ms=20"

    async def once(leaves: bool, wait_s: float) -> None:
        session = await client.create_session()
        if leaves:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await client.start_run(session, order)
            listed = await client.json("GET", f"/sessions/{session}/runs")
            runs = [run["id"] for run in listed["runs"]]
            assert len(runs) <= 1
        else:
            runs = [await client.start_run(session, order)]
            await asyncio.sleep(wait_s)
        for run_id in runs:
            statuses.add((await client.call("POST", f"/runs/{run_id}/cancel")).status_code)

    turns = asyncio.Semaphore(12)

    async def in_turn(n: int) -> None:
        async with turns:
            await once(n % 2 == 0, chance.uniform(0, 0.02))

    await asyncio.gather(*(in_turn(n) for n in range(200)))
    assert statuses == {202}
    me = (await client.json("GET", "/me"))["user_id"]
    async with asyncio.timeout(5):
        while await service.rows(_LIVE_RUNS, me=me):  # noqa: ASYNC110 - the end is in the database
            await asyncio.sleep(0.05)
    ended = await service.rows(
        "SELECT status, count(*) FROM runs WHERE owner_id = :me GROUP BY status", me=me
    )
    assert {row[0] for row in ended} <= ENDED
    assert dict(tuple(row) for row in ended)["cancelled"] >= 100
    assert (
        await service.rows("SELECT id FROM sessions WHERE live_run_id IS NOT NULL AND owner_id = :me", me=me)
        == []
    )


_LIVE_RUNS = "SELECT id FROM runs WHERE owner_id = :me AND status IN ('queued', 'running', 'cancelling')"

_SLOW = '{"word": "first", "before": 0.4}'
PHASES: dict[str, tuple[Reply, ...]] = {
    "while the arguments stream": (
        Reply(
            steps=(
                AskTools(
                    calls=(Call(name="pace_stamp", arguments='{"word": "never"}'),), fragments=12, gap_ms=100
                ),
            )
        ),
    ),
    "while a call waits for its turn": (
        calls(
            Call(name="pace_stamp", arguments=_SLOW), Call(name="pace_stamp", arguments='{"word": "second"}')
        ),
    ),
    "while a call runs": (call("pace_nap", '{"seconds": 0.4}'),),
    "after a result was committed": (call("pace_stamp", '{"word": "first"}'), hang_before_headers()),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_a_cancelled_tool_call_never_bricks_the_session(service: Service, phase: str) -> None:
    """O10, against a model that refuses unpaired calls."""
    service.script(LOAD_PACE, *PHASES[phase])
    client = await service.someone()
    session = await client.create_session()
    async with client.run(session, "go") as stream:
        events = await _cancelled_in(phase, service, client, stream)
    assert events[-1]["status"] == "cancelled"
    assert_well_ended(events)
    ends = [e["status"] for e in tool_ends(events, "pace::stamp")]
    expected = {
        "while the arguments stream": [],
        "while a call waits for its turn": ["succeeded", "skipped"],
        "while a call runs": [],
        "after a result was committed": ["succeeded"],
    }
    assert ends == expected[phase] or (phase == "while a call waits for its turn" and ends == ["skipped"] * 2)
    service.script(say("We go on."))
    after = await client.ask(session, "and now?")
    assert after[-1]["status"] == "completed"
    assert answer_text(after) == "We go on."
    assert [r.fault for r in service.stub.requests] == [None]


async def _cancelled_in(
    phase: str, service: Service, client: AgentClient, stream: RunStream
) -> list[dict[str, Any]]:
    """All events of a run that was cancelled there."""
    if phase in ("while a call waits for its turn", "while a call runs"):
        name = "pace::nap" if phase == "while a call runs" else "pace::stamp"
        started = {"type": "activity", "name": name, "status": "started"}
        return await read_and_act(stream, lambda: client.cancel(stream.run_id), **started)
    await service.stub.wait_for_requests(3 if phase == "after a result was committed" else 2)
    await asyncio.sleep(0.3)
    await client.cancel(stream.run_id)
    return await stream.read_all()


ARGUMENTS: dict[str | None, bool] = {
    "": True,
    '{"limit": ': False,
    "null": True,
    "[1, 2]": False,
    "   ": True,
    '"text"': False,
    None: True,
    "{}": True,
}
"""Raw arguments, and whether they count as no arguments at all."""


async def test_empty_and_broken_arguments_are_read_as_none_or_told_to_the_model(service: Service) -> None:
    """O11, also when the next turn replays them."""
    service.script(
        call("catalog_load_domain", '{"name": "mistakes"}'),
        *(call("mistakes_search", arguments) for arguments in ARGUMENTS),
        calls(*(Call(name="mistakes_search", arguments=a) for a in ("", "[", "null", "7", "{}"))),
        say("Looked."),
        say("Replayed."),
    )
    client = await service.someone()
    session = await client.create_session()
    events = await client.ask(session, "look")
    assert events[-1]["status"] == "completed", events[-2]
    assert_well_ended(events)
    ends = tool_ends(events, "mistakes::search")
    batch = [True, False, True, False, True]
    assert sorted(e["status"] == "succeeded" for e in ends[-5:]) == sorted(batch)
    assert [e["status"] == "succeeded" for e in ends[:-5]] == list(ARGUMENTS.values())
    for end in ends:
        if end["status"] == "failed":
            error = end["detail"]["error"]
            assert (error["code"], error["retryable"]) == ("INVALID_PARAMS", True)
        else:
            assert end["detail"]["arguments"] == {}
    assert answer_text(await client.ask(session, "again")) == "Replayed."
    assert [r.fault for r in service.stub.requests if r.fault] == []
    for message in service.stub.requests[-1].body["messages"]:
        for asked in message.get("tool_calls", ()):
            assert isinstance(orjson.loads(asked["function"]["arguments"]), dict)


async def test_fifty_slow_streams_leave_the_pool_of_five_free(service: Service) -> None:
    """O12: no connection is held while tokens are awaited, so health and history stay quick."""
    client = await service.someone()
    quiet = await client.create_session(title="history")
    service.script(say("Something to read."))
    await client.ask(quiet, "hello")
    sessions = [await client.create_session() for _ in range(50)]
    order = "bench deltas=8 gap_ms=300"
    streams = [asyncio.create_task(client.ask(session, order)) for session in sessions]
    await service.stub.wait_for_requests(51)
    health: list[float] = []
    history: list[float] = []
    async with httpx.AsyncClient(base_url=service.server.base_url, trust_env=False) as http:
        for _ in range(15):
            health.append(await seconds_of(http.get("/healthz")))
            history.append(await seconds_of(client.items(quiet)))
    assert not any(stream.done() for stream in streams), "all of them were open meanwhile"
    for taken in (health, history):
        assert sorted(taken)[-2] < 0.2, taken  # one may meet a neighbour on this machine
    for events in await asyncio.gather(*streams):
        assert_well_ended(events)
        assert answer_text(events).count("~") == 8


async def test_a_proxy_with_little_patience_cuts_neither_silent_models_nor_silent_tools(
    service: Service,
) -> None:
    """O13: two seconds of patience, six of silence, blank lines in between."""
    if service.kind == "postgresql":
        pytest.skip("the database has no part in keep-alives; once is enough for six seconds")
    service.script(
        Reply(steps=(Wait(seconds=6), Say(deltas=("late",))), contains="model"),
        LOAD_PACE.model_copy(update={"contains": "tool"}),
        call("pace_nap", '{"seconds": 6}').model_copy(update={"contains": "tool"}),
        say("late").model_copy(update={"contains": "tool"}),
    )
    port = int(service.server.base_url.rpartition(":")[2])
    async with SlowProxy("127.0.0.1", port, Weather(idle_timeout=2)) as proxy:
        client = await service.someone(base_url=f"http://127.0.0.1:{proxy.port}")

        async def silent(who: str) -> tuple[str, int]:
            session = await client.create_session()
            async with client.run(session, who) as stream:
                events = await stream.read_all()
                assert_well_ended(events)
                return answer_text(events), stream.keepalives

        for text, keepalives in await asyncio.gather(silent("model"), silent("tool")):
            assert text == "late"
            assert keepalives >= 4


PENDING: dict[str, Reply] = {
    "before its first byte": hang_before_headers(),
    "in mid-sentence": hang("I was about to"),
    "in mid-call": Reply(
        steps=(
            AskTools(
                calls=(Call(name="pace_stamp", arguments='{"word": "x", "before": 1}'),),
                fragments=30,
                gap_ms=200,
            ),
        )
    ),
}


@pytest.mark.parametrize("where", PENDING)
async def test_cancel_hangs_up_on_the_model_within_a_second(service: Service, where: str) -> None:
    """O14: what is not heard is not paid."""
    service.script(PENDING[where])
    client = await service.someone()
    session = await client.create_session()
    async with client.run(session, "go") as stream:
        (record,) = await service.stub.wait_for_requests(1)
        await asyncio.sleep(0.2)
        asked = time.monotonic()
        await client.cancel(stream.run_id)
        closed = await service.stub.wait_until_closed(record, timeout=3)
        events = await stream.read_all()
    assert closed - asked < 1
    assert record.abandoned
    assert events[-1]["status"] == "cancelled"
    await asyncio.sleep(0.3)
    assert len(service.stub.requests) == 1, "no later model call"


async def test_twenty_streams_and_readers_of_history_at_once_lose_no_event(service: Service) -> None:
    """O23: above all on SQLite, where everybody wants the one lock."""
    client = await service.someone()
    sessions = [await client.create_session() for _ in range(20)]
    order = (
        "bench deltas=60 gap_ms=10 tool=mistakes_add after_load=mistakes "
        'args={"question": "what is 6 x 7", "answer": "41"}'
    )
    statuses: list[int] = []
    streaming = True

    async def read(path: str) -> None:
        while streaming:
            answer = await client.http.get(f"{API}{path}")
            statuses.append(answer.status_code)
            await asyncio.sleep(0.02)

    readers = [
        asyncio.create_task(read(path))
        for session in sessions[:5]
        for path in (f"/sessions/{session}/items", f"/sessions/{session}", "/sessions")
    ]
    try:
        told = await asyncio.gather(*(client.ask(session, order) for session in sessions))
    finally:
        streaming = False
        await asyncio.gather(*readers)
    assert set(statuses) == {200}
    for events in told:
        assert_well_ended(events)
        assert events[-1]["status"] == "completed"
        assert answer_text(events) == "".join(f" word~{n}" for n in range(60))
        again = await client.events_after(events[0]["run_id"])
        assert again == events
    found = (await client.invoke("mistakes::search", {"limit": 50})).json()["result"]
    assert len(found["entries"]) == 20
