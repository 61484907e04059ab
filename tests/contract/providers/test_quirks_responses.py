"""Quirks of the Responses format, numbered as in the list of known provider quirks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

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
from app.providers.openai_responses import ResponsesReplyReader, ResponsesWire
from app.providers.paired import NEVER_RAN
from tests.contract.providers.outcome import Outcome, outcome

MODEL = ModelSpec("m", "p", "gpt", abilities=frozenset({"tools", "streaming", "vision", "reasoning"}))
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}
TOOL = ToolSpec("web_search", "Searches.", SCHEMA)
REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "web_search",
    "arguments": '{"q":"x"}',
}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def item(index: int, entry: dict[str, Any], *between: bytes) -> bytes:
    started = {**entry, "arguments": ""} if "arguments" in entry else entry
    added = event("response.output_item.added", output_index=index, item=started)
    return added + b"".join(between) + event("response.output_item.done", output_index=index, item=entry)


def completed(status: str = "completed", **fields: Any) -> bytes:
    return event(f"response.{status}", response={"status": status, **fields})


def read(*pieces: bytes) -> Outcome:
    reader = ResponsesReplyReader()
    batches: list[list[ModelEvent]] = [batch for piece in pieces if (batch := reader.feed(piece))]
    if tail := reader.close():
        batches.append(tail)
    return outcome(batches)


def sent(*messages: Message, model: ModelSpec = MODEL, **fields: Any) -> dict[str, Any]:
    request = ModelRequest(model, fields.pop("system", ""), messages, fields.pop("tools", (TOOL,)), **fields)
    return json.loads(ResponsesWire().build(request, "p").encode())


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


CALL = ToolCall("c1", "web_search", {"q": "x"}, '{"q":"x"}', "call_1")
RESULT = ToolResultMessage("c1", "web_search", '{"ok":1}')


def kept(*items: dict[str, Any], calls: tuple[ToolCall, ...] = (CALL,)) -> AssistantMessage:
    return AssistantMessage("", calls, opaque={"items": list(items)}, provider_id="p")


def kinds(body: dict[str, Any]) -> list[str]:
    return [entry["type"] for entry in body["input"]]


# --- what goes out ----------------------------------------------------------------------------


def test_23_strict_is_said_only_of_schemas_that_are() -> None:
    assert sent(user("a"))["tools"][0]["strict"] is False
    strict = replace(MODEL, profile={"strict_tools": True})
    tool = sent(user("a"), model=strict)["tools"][0]
    assert tool["strict"] is True
    assert tool["parameters"]["required"] == ["q"]


def test_24_reasoning_goes_back_whole_and_directly_before_its_call() -> None:
    body = sent(user("hi"), kept(REASONING, CALLED), RESULT, user("go on"))
    assert kinds(body) == ["message", "reasoning", "function_call", "function_call_output", "message"]
    assert body["input"][1] == REASONING
    assert body["input"][3]["call_id"] == "call_1"


def test_24_reasoning_whose_call_is_gone_is_left_out_with_it() -> None:
    body = sent(user("hi"), kept(REASONING, CALLED, calls=()), user("go on"))
    assert kinds(body) == ["message", "message"]
    other = replace(CALL, call_id="c2", wire_id="call_2")
    body = sent(user("hi"), kept(REASONING, CALLED, calls=(other,)), user("go on"))
    assert kinds(body) == ["message", "function_call", "function_call_output", "message"]


def test_24_reasoning_never_goes_to_another_provider() -> None:
    body = sent(user("hi"), replace(kept(REASONING, CALLED), provider_id="other"), RESULT, user("x"))
    assert "reasoning" not in kinds(body)


def test_24_the_reader_keeps_what_the_writer_needs() -> None:
    got = read(item(0, REASONING), item(1, CALLED), completed())
    assert got.opaque is not None
    assert got.opaque.data["items"] == [REASONING, CALLED]


def test_nothing_is_stored_and_reasoning_is_asked_for_in_encrypted_form() -> None:
    body = sent(user("hi"), system="Be kind.", reasoning_effort="low")
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["instructions"] == "Be kind."
    plain = replace(MODEL, abilities=frozenset({"streaming"}))
    assert "include" not in sent(user("hi"), model=plain)


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() -> None:
    body = sent(
        user("hi"), AssistantMessage("", (CALL,), provider_id="p"), ToolResultMessage("gone", "x", "{}")
    )
    assert kinds(body) == ["message", "function_call", "function_call_output"]
    assert body["input"][2]["output"] == NEVER_RAN


def test_images_go_as_data_addresses() -> None:
    body = sent(UserMessage((ImagePart("image/png", b"\x89PNG", "f"),)))
    assert body["input"][0]["content"] == [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="}
    ]


# --- what comes in ----------------------------------------------------------------------------


def test_items_are_told_apart_by_their_place_not_by_their_id() -> None:
    deltas = [
        event("response.function_call_arguments.delta", output_index=0, item_id="a", delta='{"q":'),
        event("response.function_call_arguments.delta", output_index=0, item_id="b", delta='"x"}'),
    ]
    got = read(item(0, {**CALLED, "arguments": ""}, *deltas), completed())
    assert [found.arguments for found in got.calls] == [{"q": "x"}]


def test_a_stream_that_never_completes_is_incomplete() -> None:
    got = read(item(0, CALLED))
    assert got.error is not None
    assert got.error.kind == "incomplete_stream"
    assert not got.calls


def test_an_answer_cut_by_its_limit_says_so_and_its_open_call_is_not_run() -> None:
    cut = event("response.output_item.added", output_index=0, item={**CALLED, "arguments": ""})
    got = read(cut, completed("incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert got.stop == "max_tokens"
    assert [found.arguments for found in got.calls] == [None]


def test_a_refusal_is_text_and_a_stop_of_its_own() -> None:
    refusal = event("response.refusal.delta", output_index=0, delta="I will not.")
    got = read(refusal, completed())
    assert (got.text, got.stop) == ("I will not.", "refusal")


def test_a_failed_response_and_an_error_event_are_faults() -> None:
    for tail in (
        event(
            "response.failed",
            response={"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}},
        ),
        event("error", code="rate_limit_exceeded", message="slow"),
        event("error", error={"code": "rate_limit_exceeded", "message": "slow"}),
    ):
        got = read(item(0, CALLED), tail)
        assert got.error is not None
        assert (got.error.kind, got.error.retryable) == ("rate_limit", True)
        assert not got.calls
