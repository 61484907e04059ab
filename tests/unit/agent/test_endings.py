"""How a turn ends when it does not end by itself: faults, filters, limits, loss of the run."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal

import pytest

from app.agent import Limits
from app.errors import ProviderError, RunLost
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    Failed,
    ModelPrice,
    ModelSpec,
    TextDelta,
    TextPart,
    ToolCallFragment,
    ToolCallReady,
    UsageReport,
    UserMessage,
)
from app.protocol.ports import CallOutcome, Invocation
from tests.unit.agent.fakes import FakeGate, Stage, Wait, calls, says

FAULT = ProviderError("The model is overloaded.", kind="overloaded", retryable=True)
TOO_LONG = ProviderError("Too long.", kind="context_length", retryable=False)


async def test_failed_stream_keeps_its_text_as_incomplete_and_runs_no_call() -> None:
    script = [[TextDelta("Half a"), ToolCallReady(0, "math_add", {}, "{}", None)], [Failed(FAULT)]]
    stage = Stage(script, gate=FakeGate().add("math::add", effect="create"))
    end = await stage.play()
    assert (end.status, end.error) == ("failed", FAULT)
    assert stage.gate.invocations == []
    assert stage.record.items[0]["status"] == "incomplete"
    assert stage.record.statuses() == [("math::add", "started"), ("math::add", "skipped")]
    sent = await stage.next_request()
    assert "Half a" in sent
    assert "cut off before its end" in sent
    assert "SKIPPED" in sent
    assert "PROVIDER_ERROR" in sent


async def test_stream_that_just_stops_is_an_incomplete_stream() -> None:
    stage = Stage([[TextDelta("Half")]])
    end = await stage.play()
    assert isinstance(end.error, ProviderError)
    assert end.error.kind == "incomplete_stream"
    assert stage.record.items[0]["status"] == "incomplete"


async def test_stream_that_ends_with_stop_error_has_failed() -> None:
    stage = Stage([[TextDelta("Half")], [Done("error", "OTHER")]])
    end = await stage.play()
    assert end.status == "failed"
    assert end.error is not None
    assert "OTHER" in end.error.message


async def test_bug_in_an_adapter_keeps_the_text_and_ends_as_provider_error() -> None:
    stage = Stage([[TextDelta("Half")], KeyError("choices")])
    end = await stage.play()
    assert end.error is not None
    assert end.error.code == "PROVIDER_ERROR"
    assert "choices" not in end.error.message
    assert stage.record.items[0]["status"] == "incomplete"


async def test_timeout_error_of_an_adapter_is_not_taken_for_the_wall_time() -> None:
    end = await Stage([TimeoutError()]).play()
    assert end.error is not None
    assert end.error.code == "PROVIDER_ERROR"


async def test_failure_before_the_first_token_leaves_no_assistant_item() -> None:
    stage = Stage([[Failed(FAULT)]])
    end = await stage.play()
    assert end.error is FAULT
    assert [item["type"] for item in stage.record.items] == ["note"]
    assert end.usage.input_tokens == 0


async def test_cut_off_stream_without_a_usage_report_is_still_counted() -> None:
    end = await Stage([[TextDelta("Half a sentence")], [Failed(FAULT)]]).play()
    assert end.usage.input_tokens > 0
    assert end.usage.output_tokens > 0


async def test_too_long_before_any_text_shrinks_and_retries_once() -> None:
    history = [
        message for n in range(20) for message in (_user("question " * 99), AssistantMessage(f"answer {n}"))
    ]
    stage = Stage([[Failed(TOO_LONG)]], says("ok"))
    end = await stage.play(history=history)
    assert (end.status, end.steps) == ("completed", 1)
    first, second = stage.provider.requests
    assert len(second.messages) < len(first.messages)
    assert "left out" in str(second.messages[0])
    assert stage.record.statuses("context") == [
        ("context::compact", "started"),
        ("context::compact", "succeeded"),
    ]


async def test_too_long_twice_fails_with_the_providers_error() -> None:
    stage = Stage([[Failed(TOO_LONG)]], [[Failed(TOO_LONG)]])
    end = await stage.play(history=[_user("question " * 500), AssistantMessage("b")])
    assert end.error is TOO_LONG
    assert len(stage.provider.requests) == 2


async def test_too_long_with_nothing_to_shrink_is_not_repeated() -> None:
    stage = Stage([[Failed(TOO_LONG)]])
    end = await stage.play()
    assert end.error is TOO_LONG
    assert len(stage.provider.requests) == 1


async def test_too_long_after_text_is_not_repeated() -> None:
    stage = Stage([[TextDelta("x")], [Failed(TOO_LONG)]])
    end = await stage.play()
    assert end.error is TOO_LONG
    assert len(stage.provider.requests) == 1


async def test_input_larger_than_the_window_fails_as_context_too_long() -> None:
    stage = Stage(spec=ModelSpec("m", "scripted", "m", context_window_tokens=2_000))
    end = await stage.play("word " * 9_000)
    assert end.error is not None
    assert end.error.code == "CONTEXT_TOO_LONG"
    assert stage.provider.requests == []


@pytest.mark.parametrize("stop", ["content_filter", "refusal"])
async def test_filtered_answer_completes_with_its_text_and_a_note(stop: str) -> None:
    script = [[TextDelta("Well"), ToolCallReady(0, "math_add", {}, "{}", None)], [Done(stop)]]  # type: ignore[arg-type]  # parametrised
    stage = Stage(script, gate=FakeGate().add("math::add"))
    end = await stage.play()
    assert end.status == "completed"
    assert [item["type"] for item in stage.record.items] == ["assistant", "tool", "note"]
    assert stage.record.items[0]["status"] == "completed"
    assert stage.gate.invocations == []
    await stage.next_request()


async def test_answer_cut_at_the_output_limit_says_so() -> None:
    stage = Stage(says("Long", stop="max_tokens"))
    assert (await stage.play()).status == "completed"
    assert "length limit" in stage.record.notes[0]


async def test_empty_answer_says_so_and_leaves_no_empty_item() -> None:
    stage = Stage(says())
    assert (await stage.play()).status == "completed"
    assert [item["type"] for item in stage.record.items] == ["note"]


async def test_call_cut_at_the_output_limit_is_told_so_and_the_turn_goes_on() -> None:
    cut = [
        [ToolCallReady(0, "math_add", {"a": 1}, '{"a":1}', None)],
        [ToolCallFragment(1, "math_add", '{"a": '), ToolCallFragment(1, "", "12")],
        [Done("max_tokens")],
    ]
    stage = Stage(cut, says("ok"), gate=FakeGate().add("math::add"))
    assert (await stage.play()).status == "completed"
    assert len(stage.gate.invocations) == 1
    error = stage.record.calls[1].outcome.error
    assert error is not None
    assert (error["code"], error["retryable"]) == ("INVALID_PARAMS", True)
    assert "length limit" in error["message"]
    assert '{"a": 12' in error["message"]


async def test_wall_time_ends_a_stream_and_keeps_its_text() -> None:
    stage = Stage([[TextDelta("Half")], Wait()])
    end = await stage.play(limits=Limits(wall_time=timedelta(milliseconds=30)))
    assert end.error is not None
    assert (end.status, end.error.code) == ("failed", "RUN_TIMEOUT")
    assert stage.record.items[0]["status"] == "incomplete"
    assert stage.provider.open_streams == 0


async def test_wall_time_used_up_by_a_tool_ends_the_run_after_its_result() -> None:
    async def slow(invocation: Invocation) -> CallOutcome:
        stage.clock.now += 700
        return CallOutcome("succeeded", result=1)

    gate = FakeGate().add("math::slow", slow, effect="create").add("math::add")
    stage = Stage(calls(("math_slow", {}), ("math_add", {})), gate=gate)
    end = await stage.play()
    assert end.error is not None
    assert end.error.code == "RUN_TIMEOUT"
    assert [call.outcome.status for call in stage.record.calls] == ["succeeded", "skipped"]
    assert stage.record.calls[0].duration_ms == 700_000


@pytest.mark.parametrize(
    "limits", [Limits(max_tokens=100), Limits(max_cost=Decimal("0.0001")), Limits(max_steps=1)]
)
async def test_used_up_budget_forbids_the_next_model_call(limits: Limits) -> None:
    step = [[ToolCallReady(0, "math_add", {}, "{}", None), UsageReport(90, 10)], [Done("tool_use")]]
    spec = ModelSpec(
        "m", "scripted", "m", abilities=frozenset({"tools"}), price=ModelPrice(input=1, output=1)
    )
    stage = Stage(step, gate=FakeGate().add("math::add"), spec=spec)
    end = await stage.play(limits=limits)
    assert end.error is not None
    assert (end.error.code, end.steps) == ("BUDGET_EXCEEDED", 1)
    assert stage.record.calls[0].outcome.status == "succeeded"


async def test_lost_run_is_raised_and_nothing_is_written_after_it() -> None:
    stage = Stage(says("a", "b"))
    stage.record.lost = True
    with pytest.raises(RunLost):
        await stage.play()
    assert stage.record.items == []
    assert stage.provider.open_streams == 0


async def test_cancelled_task_closes_the_stream_and_is_raised() -> None:
    wait = Wait()
    stage = Stage([[TextDelta("a")], wait])
    task = asyncio.create_task(stage.play())
    await wait.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.provider.open_streams == 0


def _user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))
