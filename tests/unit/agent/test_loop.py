"""The way of one turn: what is asked, what is recorded, how it ends."""

from __future__ import annotations

from app.agent import AgentConfig, PromptInputs, Sampling
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    ImagePart,
    ModelPrice,
    ModelSpec,
    OpaqueState,
    ReasoningDelta,
    TextDelta,
    TextPart,
    ToolCallReady,
    ToolResultMessage,
    UsageReport,
    UserMessage,
)
from app.protocol.ports import CallOutcome, Invocation
from tests.unit.agent.fakes import FakeGate, Stage, calls, says


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
