"""The way of one turn: what is asked, what is recorded, how it ends."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal

import pytest

from app.agent import AgentConfig, Limits, PromptInputs, Sampling
from app.errors import ProviderError, RunLost
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    Failed,
    ImagePart,
    ModelPrice,
    ModelSpec,
    OpaqueState,
    ReasoningDelta,
    TextDelta,
    TextPart,
    ToolCallFragment,
    ToolCallReady,
    ToolResultMessage,
    UsageReport,
    UserMessage,
)
from app.protocol.ports import CallOutcome, Invocation
from tests.unit.agent.fakes import FakeGate, Stage, Wait, calls, says

FAULT = ProviderError("The model is overloaded.", kind="overloaded", retryable=True)
TOO_LONG = ProviderError("Too long.", kind="context_length", retryable=False)


async def test_plain_answer_streams_is_recorded_whole_and_completes() -> None:
    stage = Stage(says("Good ", "day"))
    end = await stage.play()
    assert (end.status, end.error, end.steps) == ("completed", None, 1)
    assert stage.record.lines == [("answer", "Good "), ("answer", "day")]
    assert stage.record.items[0]["status"] == "completed"
    assert stage.record.items[0]["parts"] == [{"type": "text", "text": "Good day"}]
    assert stage.record.notes == []


async def test_deltas_of_one_batch_are_one_text_line_a_channel() -> None:
    batch = [ReasoningDelta("hm"), ReasoningDelta("m"), TextDelta("a"), TextDelta("b"), ReasoningDelta("!")]
    stage = Stage([batch, [Done("end")]])
    await stage.play()
    assert stage.record.lines == [("reasoning", "hmm"), ("answer", "ab"), ("reasoning", "!")]


async def test_back_pressure_is_asked_once_a_batch_until_the_end() -> None:
    stage = Stage(says("a", "b", "c"))
    await stage.play()
    assert stage.record.rooms == 3


async def test_tool_results_go_back_to_the_model_until_it_asks_for_none() -> None:
    stage = Stage(
        calls(("math_add", {"a": 1})),
        calls(("math_add", {"a": 2})),
        says("3"),
        gate=FakeGate().add("math::add"),
    )
    end = await stage.play()
    assert (end.status, end.steps) == ("completed", 3)
    last = stage.provider.requests[2].messages
    assert [type(message) for message in last] == [
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
        AssistantMessage,
        ToolResultMessage,
    ]
    assert isinstance(last[2], ToolResultMessage)
    assert (last[2].content, last[2].wire_id) == ('{"ok":{"a":1}}', "wire_0")
    assert [item["type"] for item in stage.record.items] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_call_ids_are_made_by_the_host_and_the_same_everywhere() -> None:
    stage = Stage(calls(("math_add", {})), says("done"), gate=FakeGate().add("math::add"))
    await stage.play()
    call_id = stage.gate.invocations[0].call_id
    assert call_id.startswith("call_")
    assert {line.id for line in stage.record.activities} == {call_id}
    assert stage.record.items[0]["calls"][0]["id"] == call_id == stage.record.items[1]["call"]["id"]


async def test_provider_state_goes_back_with_its_message_within_the_turn() -> None:
    step = [
        [OpaqueState({"signature": "s"}), ToolCallReady(0, "math_add", {}, "{}", None)],
        [Done("tool_use")],
    ]
    stage = Stage(step, says("done"), gate=FakeGate().add("math::add"))
    await stage.play()
    message = stage.provider.requests[1].messages[1]
    assert isinstance(message, AssistantMessage)
    assert (message.opaque, message.provider_id) == ({"signature": "s"}, "scripted")


async def test_usage_and_cost_add_up_over_the_steps() -> None:
    price = ModelPrice(input=2, output=4, cached_input=1)
    spec = ModelSpec("m", "scripted", "m", abilities=frozenset({"tools"}), price=price)
    first = [
        [ToolCallReady(0, "math_add", {}, "{}", None), UsageReport(100, 10, cached=50)],
        [Done("tool_use")],
    ]
    stage = Stage(first, says("3", usage=UsageReport(200, 20)), gate=FakeGate().add("math::add"), spec=spec)
    end = await stage.play()
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_input_tokens) == (300, 30, 50)
    assert end.usage.cost == "0.00067"


async def test_unknown_model_fails_the_turn_without_a_call() -> None:
    end = await Stage().play(model_id="gone")
    assert (end.status, end.steps) == ("failed", 0)
    assert end.error is not None
    assert end.error.code == "MODEL_NOT_SUPPORTED"


async def test_request_carries_sampling_tools_and_time_in_the_users_message() -> None:
    stage = Stage(says("ok"), gate=FakeGate().add("math::add"))
    await stage.play(sampling=Sampling(0.2, 99, "low"), prompt=PromptInputs(time_text="Monday 08:00"))
    request = stage.provider.requests[0]
    assert (request.temperature, request.max_output_tokens, request.reasoning_effort) == (0.2, 99, "low")
    assert [tool.wire_name for tool in request.tools] == ["math_add"]
    assert request.messages[0] == UserMessage((TextPart("Hello"), TextPart("<note>Monday 08:00</note>")))
    assert "Monday" not in request.system


async def test_model_without_tools_or_sight_gets_neither() -> None:
    spec = ModelSpec("m", "scripted", "m", abilities=frozenset({"streaming"}))
    stage = Stage(says("ok"), gate=FakeGate().add("math::add"), spec=spec)
    picture = UserMessage((ImagePart("image/png", b"x", "file_1"),))
    await stage.play(history=[picture, AssistantMessage("nice")])
    request = stage.provider.requests[0]
    assert request.tools == ()
    assert "file_1: this model cannot see images" in str(request.messages[0])


async def test_loaded_domain_is_visible_from_the_next_step() -> None:
    async def load(invocation: Invocation) -> CallOutcome:
        return CallOutcome("succeeded", result="loaded", loads=("mistakes",))

    gate = FakeGate(hidden={"mistakes"}).add("catalog::load_domain", load).add("mistakes::add")
    stage = Stage(calls(("catalog_load_domain", {"name": "mistakes"})), says("ok"), gate=gate)
    await stage.play()
    seen = [[tool.wire_name for tool in request.tools] for request in stage.provider.requests]
    assert seen == [["catalog_load_domain"], ["catalog_load_domain", "mistakes_add"]]
    assert stage.run.loaded == {"mistakes"}


async def test_system_prompt_is_the_same_at_every_step() -> None:
    stage = Stage(calls(("math_add", {})), says("ok"), gate=FakeGate().add("math::add"))
    await stage.play()
    assert stage.provider.requests[0].system == stage.provider.requests[1].system


# --- ends that are not plain -------------------------------------------------------------------


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


async def test_estimate_learns_from_reported_usage() -> None:
    usage = UsageReport(input=9_000, output=1)
    first = [[ToolCallReady(0, "math_add", {}, "{}", None), usage], [Done("tool_use")]]
    spec = ModelSpec(
        "m",
        "scripted",
        "m",
        context_window_tokens=10_000,
        max_output_tokens=100,
        abilities=frozenset({"tools"}),
    )
    stage = Stage(first, says("ok"), gate=FakeGate().add("math::add"), spec=spec)
    history = [
        message for _ in range(12) for message in (_user("question " * 100), AssistantMessage("answer"))
    ]
    await stage.play(history=history)
    assert len(stage.provider.requests[0].messages) == 25
    assert len(stage.provider.requests[1].messages) < 25


async def test_configured_model_is_used_where_the_turn_names_none() -> None:
    end = await Stage().play(config=AgentConfig(default_model="gone"))
    assert end.error is not None
    assert "gone" in end.error.message


def _user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))
