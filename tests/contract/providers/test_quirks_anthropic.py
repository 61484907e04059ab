"""Anthropic's quirks, numbered as in the list of known provider quirks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelEvent,
    ModelRequest,
    ModelSpec,
    TextPart,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from app.providers.anthropic import LEFT_OUT, AnthropicReplyReader, AnthropicWire
from app.providers.http_provider import Endpoint, HttpProvider
from app.providers.paired import NEVER_RAN
from app.providers.transport import HttpTransport
from tests.contract.providers.outcome import Outcome, outcome
from tests.contract.providers.servers import serve, stream_of

MODEL = ModelSpec("m", "p", "claude", abilities=frozenset({"tools", "streaming", "vision", "reasoning"}))
TOOL = ToolSpec("web_search", "Searches.", {"type": "object", "properties": {}})


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any], closed: bool = True) -> bytes:
    out = event("content_block_start", index=index, content_block=start)
    out += b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return out + (event("content_block_stop", index=index) if closed else b"")


def text_block(index: int, text: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def tool_block(index: int, *pieces: str, id: str = "toolu_1", closed: bool = True) -> bytes:
    start: dict[str, Any] = {"type": "tool_use", "id": id, "name": "web_search", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, start, *deltas, closed=closed)


def end(reason: str, **usage: int) -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


START = event("message_start", message={"usage": {"input_tokens": 10, "output_tokens": 1}})


def read(*pieces: bytes) -> Outcome:
    reader = AnthropicReplyReader()
    batches: list[list[ModelEvent]] = [batch for piece in pieces if (batch := reader.feed(piece))]
    if tail := reader.close():
        batches.append(tail)
    return outcome(batches)


def sent(*messages: Message, model: ModelSpec = MODEL, **fields: Any) -> dict[str, Any]:
    request = ModelRequest(model, fields.pop("system", ""), messages, fields.pop("tools", (TOOL,)), **fields)
    return json.loads(AnthropicWire().build(request, "p").encode())


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def call(call_id: str, wire_id: str | None = None) -> ToolCall:
    return ToolCall(call_id, "web_search", {"q": call_id}, "", wire_id)


def result(call_id: str) -> ToolResultMessage:
    return ToolResultMessage(call_id, "web_search", '{"ok":1}')


# --- what comes in ----------------------------------------------------------------------------


def test_16_the_last_usage_of_each_field_counts() -> None:
    got = read(START, text_block(0, "hi"), end("end_turn", input_tokens=12, output_tokens=7))
    assert got.usage is not None
    assert (got.usage.input, got.usage.output) == (12, 7)


def test_25_overload_in_the_stream_is_an_error_that_may_be_tried_again() -> None:
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    got = read(START, text_block(0, "half"), error)
    assert got.text == "half"
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("overloaded", True)


@pytest.mark.parametrize("tail", [b"", event("message_stop")])
def test_25_a_stream_without_a_stop_reason_is_incomplete(tail: bytes) -> None:
    got = read(START, text_block(0, "half"), tool_block(1, '{"q":1}'), tail)
    assert got.error is not None
    assert got.error.kind == "incomplete_stream"
    assert not got.calls


@pytest.mark.parametrize("pieces", [(), ("",), ("", "")])
def test_26_a_tool_without_arguments_gets_an_empty_object(pieces: tuple[str, ...]) -> None:
    got = read(START, tool_block(0, *pieces), end("tool_use"))
    assert [(found.name, found.arguments) for found in got.calls] == [("web_search", {})]


def test_a_call_that_was_cut_off_is_never_run() -> None:
    for pieces in (('{"q": "unfin',), ()):
        got = read(START, tool_block(0, *pieces, closed=False), end("max_tokens"))
        assert got.stop == "max_tokens"
        assert [found.arguments for found in got.calls] == [None]


def test_calls_of_a_refused_answer_are_not_handed_out() -> None:
    got = read(START, tool_block(0, "{}"), end("refusal"))
    assert (got.stop, got.calls) == ("refusal", [])


# --- what goes out ----------------------------------------------------------------------------


def thinking(*blocks: dict[str, Any], calls: tuple[ToolCall, ...] = (), text: str = "") -> AssistantMessage:
    return AssistantMessage(text, calls, "hm", opaque={"content": list(blocks)}, provider_id="p")


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
REDACTED = {"type": "redacted_thinking", "data": "blob"}
USED = {"type": "tool_use", "id": "toolu_1", "name": "web_search", "input": {"q": "c1"}}


def test_27_blank_text_blocks_are_left_out() -> None:
    body = sent(
        user("hi"),
        user("  "),
        thinking(THOUGHT, {"type": "text", "text": " "}, USED, calls=(call("c1", "toolu_1"),)),
        result("c1"),
        user("x"),
    )
    assert [part["type"] for part in body["messages"][1]["content"]] == ["thinking", "tool_use"]
    assert [part["text"] for part in body["messages"][0]["content"]] == ["hi"]


def test_28_and_29_thinking_goes_back_unchanged_and_before_the_call() -> None:
    said = {"type": "text", "text": "Let me look."}
    message = thinking(THOUGHT, REDACTED, said, USED, calls=(call("c1", "toolu_1"),), text="Let me look.")
    body = sent(user("hi"), message, result("c1"), user("go on"))
    assert body["messages"][1]["content"] == [THOUGHT, REDACTED, said, USED]


def test_28_thinking_never_goes_to_another_provider() -> None:
    message = replace(thinking(THOUGHT, USED, calls=(call("c1", "toolu_1"),)), provider_id="other")
    body = sent(user("hi"), message, result("c1"), user("go on"))
    assert [part["type"] for part in body["messages"][1]["content"]] == ["tool_use"]


def test_28_the_reader_keeps_what_the_writer_needs() -> None:
    signed = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "sig"},
    )
    got = read(START, signed, block(1, REDACTED), tool_block(2, '{"q":"c1"}'), end("tool_use"))
    assert got.opaque is not None
    assert got.reasoning == "hm"
    assert got.opaque.data["content"] == [THOUGHT, REDACTED, USED]


def test_30_results_stand_first_in_the_very_next_user_message() -> None:
    message = AssistantMessage("", (call("c1"), call("c2"), call("c3")), provider_id="p")
    body = sent(user("hi"), message, user("what now?"), result("c2"), result("c1"))
    answer = body["messages"][2]
    assert answer["role"] == "user"
    kinds = [(part["type"], part.get("tool_use_id")) for part in answer["content"]]
    assert kinds == [("tool_result", "c1"), ("tool_result", "c2"), ("tool_result", "c3"), ("text", None)]
    assert answer["content"][2]["content"] == NEVER_RAN
    assert answer["content"][2]["is_error"] is True


def test_30_a_result_whose_call_is_gone_is_left_out() -> None:
    body = sent(user("hi"), result("gone"), user("go on"))
    assert [part["text"] for part in body["messages"][0]["content"]] == ["hi", "go on"]


def test_31_roles_alternate_and_begin_with_the_user() -> None:
    body = sent(
        AssistantMessage("earlier"), AssistantMessage("and more"), user("a"), user("b"), system="Be kind."
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"][0]["text"] == LEFT_OUT
    assert body["system"][0]["text"] == "Be kind."


async def test_32_a_paused_turn_is_asked_to_go_on_with_its_own_words() -> None:
    server_tool = block(
        0,
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"query":"x"}'},
    )
    first = (START, server_tool, text_block(1, "Half. "), end("pause_turn", output_tokens=5))
    second = (START, text_block(0, "Whole."), end("end_turn", output_tokens=3))
    async with serve(stream_of(*first), stream_of(*second)) as server:
        transport = HttpTransport(max_connections=2, connect_timeout_s=2, idle_timeout_s=5)
        provider = HttpProvider(Endpoint("p", server.url, "k"), transport, AnthropicWire())
        request = ModelRequest(MODEL, "", (user("hi"),), (TOOL,))
        got = outcome([batch async for batch in provider.stream(request)])
        await provider.aclose()
    assert (got.text, got.stop) == ("Half. Whole.", "end")
    assert got.usage is not None
    assert (got.usage.input, got.usage.output) == (20, 8)
    again = json.loads(server.requests[1].partition(b"\r\n\r\n")[2])
    assert again["messages"][-1] == {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "text", "text": "Half. "},
        ],
    }
    assert again["tools"] == json.loads(server.requests[0].partition(b"\r\n\r\n")[2])["tools"]


def test_the_key_and_the_version_go_in_headers() -> None:
    assert AnthropicWire().headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}


def test_images_go_as_base64_and_only_to_models_that_see() -> None:
    message = UserMessage((TextPart("look"), ImagePart("image/png", b"\x89PNG", "f")))
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    content = sent(message, tools=())["messages"][0]["content"]
    assert content[1]["source"] == source
    blind = replace(MODEL, abilities=frozenset({"tools"}))
    assert [part["type"] for part in sent(message, model=blind)["messages"][0]["content"]] == ["text", "text"]


def test_cache_marks_stand_behind_tools_instructions_and_the_newest_message() -> None:
    body = sent(user("a"), AssistantMessage("b"), user("c"), system="Be kind.")
    assert body["tools"][-1]["cache_control"] == body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    marked = [message for message in body["messages"] if "cache_control" in message["content"][-1]]
    assert marked == [body["messages"][-1]]
    plain = replace(MODEL, profile={"cache_marks": False})
    assert "cache_control" not in json.dumps(sent(user("a"), model=plain, system="x"))


def test_thinking_is_asked_for_as_the_profile_says() -> None:
    adaptive = sent(user("a"), reasoning_effort="low", temperature=0.3)
    assert adaptive["thinking"] == {"type": "adaptive"}
    assert adaptive["output_config"] == {"effort": "low"}
    assert "temperature" not in adaptive
    old = replace(MODEL, profile={"thinking": "budget"}, max_output_tokens=4096)
    assert sent(user("a"), model=old, reasoning_effort="high")["thinking"] == {
        "type": "enabled",
        "budget_tokens": 4095,
    }
    assert "thinking" not in sent(user("a"), model=old, reasoning_effort="high", max_output_tokens=1000)
    assert sent(user("a"), temperature=0.3)["temperature"] == 0.3
