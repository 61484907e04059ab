"""A model provider that refuses, hangs, cuts or fails: told by code, partial text kept, the session usable afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.long.service import (
    HASTE_S,
    ON_MODULE_LOOP,
    Service,
    assert_well_ended,
    seconds_of,
    service,
    service_fixture,
    text_of_items,
)
from tests.support.client import answer_text
from tests.support.replies import (
    AskTools,
    Call,
    Cut,
    Reply,
    Say,
    SendRaw,
    Wait,
    cut,
    fail_midway,
    hang,
    hang_before_headers,
    refuse,
    say,
)

__all__ = ["service"]
pytestmark = ON_MODULE_LOOP

running = service_fixture(hasty=True)

TOO_LONG = refuse(
    400, "This model's maximum context length is 8192 tokens", type="invalid_request_error",
    code="context_length_exceeded",
)  # fmt: skip
HALF = "The first half of it"

FAULTS: dict[str, tuple[list[Reply], bool, str, int]] = {
    # what the provider does: (replies, retryable, text that must be kept, model calls made)
    "401": ([refuse(401, "Incorrect API key", code="invalid_api_key")], False, "", 1),
    "429 that asks for a long wait": ([refuse(429, "slow down", headers={"retry-after": "60"})], True, "", 1),
    "429 again and again": ([refuse(429, "slow down", headers={"retry-after": "0.1"})] * 3, True, "", 3),
    "500 again and again": ([refuse(500, "oops")] * 3, True, "", 3),
    "HTML instead of an error": ([Reply(status=403, body="<html><body>Forbidden</body></html>")], False, "", 1),
    "context too long": ([TOO_LONG] * 2, False, "", 1),
    "silence before the first byte": ([hang_before_headers()] * 3, True, "", 3),
    "silence in mid-sentence": ([hang(HALF)], True, HALF, 1),
    "reset in mid-sentence": ([cut(HALF)], True, HALF, 1),
    "end of stream in mid-sentence": ([cut(HALF, reset=False)], True, HALF, 1),
    "an error in mid-stream": ([fail_midway(HALF)], True, HALF, 1),
    "broken JSON in mid-stream": (
        [Reply(steps=(Say(deltas=(HALF,)), SendRaw(text='data: {"choices": [{\n\n')), complete=False)], True, HALF, 1,
    ),
    "a cut in the middle of a tool call": (
        [
            Reply(
                steps=(
                    Say(deltas=(HALF,)),
                    AskTools(calls=(Call(name="mistakes_add", arguments='{"question": "x'),)),
                    Cut(),
                ),
                complete=False,
            )
        ],
        True, HALF, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failing_provider_ends_the_run_by_code_and_not_the_session(
    service: Service, fault: str
) -> None:
    replies, retryable, kept, calls = FAULTS[fault]
    service.script(*replies)
    client = await service.someone()
    session = await client.create_session()
    events = await client.ask(session, "tell me")
    assert_well_ended(events)
    assert events[-1]["status"] == "failed"
    error = events[-2]
    assert (error["code"], error["source"]) == ("PROVIDER_ERROR", "provider")
    assert error["retryable"] is retryable, error
    assert "stub-key" not in str(events)
    assert answer_text(events) == kept
    assert len(service.stub.requests) == calls
    run = await client.get_run(events[0]["run_id"])
    assert run["error"]["code"] == "PROVIDER_ERROR"
    items = await client.all_items(session)
    assert text_of_items(items) == kept
    if kept:
        assert [item["status"] for item in items if item["type"] == "assistant"] == ["incomplete"]

    service.script(say("Better now."))
    after = await client.ask(session, "and now?")
    assert after[-1]["status"] == "completed"
    assert answer_text(after) == "Better now."
    assert [record.fault for record in service.stub.requests] == [None]
    assert kept in str(service.stub.requests[0].body["messages"])


PASSING: dict[str, list[Reply]] = {
    "500": [refuse(500, "oops")],
    "429 with a wait": [refuse(429, "slow down", headers={"retry-after": "1"})],
    "silence": [hang_before_headers()],
    "a cut before any text": [Reply(steps=(Cut(),), complete=False)],
}


@pytest.mark.parametrize("fault", PASSING)
async def test_a_fault_before_any_text_is_tried_again_unseen(service: Service, fault: str) -> None:
    service.script(*PASSING[fault], say("Here I am."))
    client = await service.someone()
    session = await client.create_session()
    events: list[dict[str, Any]] = []

    async def ask() -> None:
        events.extend(await client.ask(session, "tell me"))

    taken = await seconds_of(ask())
    assert events[-1]["status"] == "completed"
    assert answer_text(events) == "Here I am."
    assert len(service.stub.requests) == 2
    if "wait" in fault:
        assert taken >= 1, "the provider's wish is kept"


async def test_silence_shorter_than_the_limit_is_patience(service: Service) -> None:
    service.script(
        Reply(
            steps=(
                Say(deltas=("a",)),
                Wait(seconds=HASTE_S / 2),
                Say(deltas=("b",)),
                Wait(seconds=HASTE_S / 2),
            )
        )
    )
    client = await service.someone()
    events = await client.ask(await client.create_session(), "tell me")
    assert events[-1]["status"] == "completed"
    assert answer_text(events) == "ab"


async def test_the_first_answer_s_failure_does_not_cost_the_session_its_title(service: Service) -> None:
    service.script(refuse(401, "no"))
    client = await service.someone()
    session = await client.create_session()
    await client.ask(session, "How do fractions work?")
    assert (await client.json("GET", f"/sessions/{session}"))["title"] == "How do fractions work?"
