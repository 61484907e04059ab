"""Rights that end in mid-run, and limits that are reached: the next call is refused, and the run ends or goes on as told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.host.snapshot import STATES_S
from tests.long.service import (
    LOAD_PACE,
    ON_MODULE_LOOP,
    Person,
    Service,
    assert_well_ended,
    read_and_act,
    seconds_of,
    service,
    service_fixture,
    text_of_items,
    tool_ends,
)
from tests.support.client import answer_text
from tests.support.replies import Call, Reply, Say, call, calls, hang, say

__all__ = ["service"]
pytestmark = ON_MODULE_LOOP

RUN_SECONDS = 2
TOOL_CALLS = 4
LIVE_RUNS = 2

running = service_fixture(
    DESKMATE_RUN_SECONDS=str(RUN_SECONDS),
    DESKMATE_RUN_TOOL_CALLS=str(TOOL_CALLS),
    DESKMATE_USER_LIVE_RUNS=str(LIVE_RUNS),
)


async def revoke_token(service: Service, person: Person) -> None:
    await service.identity.revoke_token(person.user_id, person.token_id)


async def disable_user(service: Service, person: Person) -> None:
    await service.identity.set_status(person.user_id, active=False)


async def expire_token(service: Service, person: Person) -> None:
    await service.execute("UPDATE tokens SET expires_at = 1 WHERE id = :id", id=person.token_id)


LOSSES: dict[str, Callable[[Service, Person], Awaitable[None]]] = {
    "token revoked": revoke_token,
    "token expired": expire_token,
    "user disabled": disable_user,
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("next_call", ["pace_nap", "pace_stamp"])
async def test_who_loses_the_right_in_mid_run_gets_no_further_call(
    service: Service, loss: str, next_call: str
) -> None:
    arguments = '{"seconds": 0}' if next_call == "pace_nap" else '{"word": "too late"}'
    service.script(
        LOAD_PACE,
        call("pace_stamp", '{"word": "in time", "after": 0.5}'),
        call(next_call, arguments),
        say("never said"),
    )
    person = await service.person()
    session = await person.client.create_session()

    async def lose() -> None:
        await asyncio.sleep(0.15)  # by then the call has its effect, and naps
        await LOSSES[loss](service, person)

    async with person.client.run(session, "go") as stream:
        run_id = stream.run_id
        events = await read_and_act(
            stream,
            lose,
            type="activity",
            name="pace::stamp",
            status="started",
        )
    assert_well_ended(events)
    assert (events[-2]["code"], events[-1]["status"]) == ("IDENTITY_LOST", "failed")
    last = [e for e in events if e["type"] == "activity"][-1]
    assert (last["status"], last["detail"]["error"]["code"]) == ("failed", "IDENTITY_LOST")
    assert "never said" not in answer_text(events)
    assert len(service.stub.requests) == 3, "no model call after the loss was found"
    assert (await person.client.call("GET", "/me")).status_code == 401
    results = await service.rows("SELECT result FROM effects WHERE run_id = :run", run=run_id)
    assert not any("too late" in str(row) for row in results)


@pytest.mark.parametrize("whose", ["user's switch", "operator's switch"])
async def test_a_package_switched_off_in_mid_run_refuses_and_the_run_goes_on(
    service: Service, whose: str
) -> None:
    service.script(
        LOAD_PACE,
        call("pace_nap", '{"seconds": 0.5}'),
        call("pace_stamp", '{"word": "too late"}'),
        say("I could not."),
    )
    person = await service.person()

    async def switch_off() -> None:
        if whose == "user's switch":
            await service.execute(
                "INSERT INTO package_switches (owner_id, package, enabled) VALUES (:owner, 'pace', false)",
                owner=person.user_id,
            )
        else:
            await service.execute(
                "INSERT INTO package_states (package, enabled, generation) VALUES ('pace', false, 1)"
            )

    async def switch_off_later() -> None:
        await asyncio.sleep(0.15)
        await switch_off()

    session = await person.client.create_session()
    try:
        async with person.client.run(session, "go") as stream:
            events = await read_and_act(
                stream, switch_off_later, type="activity", name="pace::nap", status="started"
            )
        assert_well_ended(events)
        assert events[-1]["status"] == "completed"
        (refused,) = tool_ends(events, "pace::stamp")
        assert (refused["status"], refused["detail"]["error"]["code"]) == ("failed", "PACKAGE_DISABLED")
        assert answer_text(events) == "I could not."
        assert (await person.client.invoke("pace::nap", {"seconds": 0})).json()["code"] == "PACKAGE_DISABLED"
        service.script(say("Without it."))
        await asyncio.sleep(STATES_S)  # what is on for all is followed by then
        await person.client.ask(session, "again")
        listed = {tool["function"]["name"] for tool in service.stub.requests[-1].body["tools"]}
        assert not any(name.startswith("pace") for name in listed), "the next run does not see it"
    finally:
        await service.execute("DELETE FROM package_states WHERE package = 'pace'")


# --- limits -----------------------------------------------------------------------------------------


async def test_a_run_that_reaches_its_wall_time_ends_with_what_it_said(service: Service) -> None:
    service.script(hang("So far so good"), say("We go on."))
    client = await service.someone()
    session = await client.create_session()
    async with client.run(session, "go") as stream:
        taken = await seconds_of(stream.read_all())
        events = stream.seen
    assert_well_ended(events)
    assert (events[-2]["code"], events[-2]["retryable"]) == ("RUN_TIMEOUT", True)
    assert RUN_SECONDS - 0.2 < taken < RUN_SECONDS + 1
    assert text_of_items(await client.all_items(session)) == "So far so good"
    assert service.stub.requests[0].abandoned
    assert answer_text(await client.ask(session, "again")) == "We go on."


async def test_a_turn_gets_no_more_tool_calls_than_allowed(service: Service) -> None:
    batch = calls(*(Call(name="pace_stamp", arguments=f'{{"word": "w{n}"}}') for n in range(5)))
    service.script(LOAD_PACE, batch, say("never said"), say("We go on."))
    client = await service.someone()
    session = await client.create_session()
    events = await client.ask(session, "go")
    assert_well_ended(events)
    assert events[-2]["code"] == "MAX_TOOL_CALLS_EXCEEDED"
    ends = [e["status"] for e in tool_ends(events, "pace::stamp")]
    assert ends == ["succeeded"] * (TOOL_CALLS - 1) + ["skipped"] * 2
    run = events[0]["run_id"]
    assert len(await service.rows("SELECT 1 FROM effects WHERE run_id = :run", run=run)) == TOOL_CALLS - 1
    service.script(say("We go on."))
    assert answer_text(await client.ask(session, "again")) == "We go on."
    assert service.stub.requests[-1].fault is None


async def test_more_live_runs_than_allowed_are_told_to_wait(service: Service) -> None:
    service.script(Reply(steps=(Say(deltas=("x",) * 40, gap_ms=30),), times=0))
    client, other = await service.someone(), await service.someone()
    sessions = [await client.create_session() for _ in range(LIVE_RUNS + 1)]
    runs = [await client.start_run(session, "go") for session in sessions[:LIVE_RUNS]]
    body = {"input": [{"type": "text", "text": "go"}]}
    refused = await client.call("POST", f"/sessions/{sessions[-1]}/runs", body)
    assert (refused.status_code, refused.json()["code"]) == (429, "LIMIT_REACHED")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["retryable"] is True
    runs.append(await other.start_run(await other.create_session(), "go"))  # another user has room
    for run in runs[:-1]:
        await client.cancel(run)
        await client.wait_for_end(run)
    await other.cancel(runs[-1])
    await other.wait_for_end(runs[-1])
    service.script(say("Now."))
    assert answer_text(await client.ask(sessions[-1], "go")) == "Now."


async def test_the_same_tool_error_three_times_ends_the_run(service: Service) -> None:
    wrong = call("pace_stamp", '{"wrong": 1}')
    service.script(LOAD_PACE, wrong, wrong, wrong, say("never said"))
    client = await service.someone()
    session = await client.create_session()
    events = await client.ask(session, "go")
    assert_well_ended(events)
    assert (events[-2]["code"], events[-2]["source"]) == ("REPEATED_TOOL_ERROR", "agent")
    assert [e["detail"]["error"]["code"] for e in tool_ends(events, "pace::stamp")] == ["INVALID_PARAMS"] * 3
    assert len(service.stub.requests) == 4
    service.script(say("We go on."))
    assert answer_text(await client.ask(session, "again")) == "We go on."
    assert service.stub.requests[-1].fault is None


async def test_two_errors_and_a_success_are_no_reason_to_stop(service: Service) -> None:
    wrong, right = call("pace_nap", '{"wrong": 1}'), call("pace_nap", '{"seconds": 0}')
    service.script(LOAD_PACE, wrong, wrong, right, say("Got there."))
    client = await service.someone()
    events = await client.ask(await client.create_session(), "go")
    assert events[-1]["status"] == "completed"
    assert answer_text(events) == "Got there."
