"""Gemini's quirks, numbered as in the list of known provider quirks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from app.protocol.conversation import (
    AssistantMessage,
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
from app.providers.gemini import GeminiReplyReader, GeminiWire
from app.providers.gemini_schema import gemini_schema
from app.providers.paired import NEVER_RAN
from tests.contract.providers.outcome import Outcome, outcome
from tests.support.strict_gemini import schema_faults

MODEL = ModelSpec("m", "p", "gemini", abilities=frozenset({"tools", "streaming", "reasoning"}))
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}
TOOL = ToolSpec("web_search", "Searches.", SCHEMA)


def chunk(*parts: dict[str, Any], finish: str | int | None = None, **fields: Any) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return b"data: " + json.dumps({"candidates": [candidate], **fields}).encode() + b"\r\n\r\n"


def called(name: str = "web_search", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"q": "x"}}, **more}


def read(*pieces: bytes) -> Outcome:
    reader = GeminiReplyReader()
    batches: list[list[ModelEvent]] = [batch for piece in pieces if (batch := reader.feed(piece))]
    if tail := reader.close():
        batches.append(tail)
    return outcome(batches)


def sent(*messages: Message, model: ModelSpec = MODEL, **fields: Any) -> dict[str, Any]:
    request = ModelRequest(model, fields.pop("system", ""), messages, fields.pop("tools", (TOOL,)), **fields)
    return json.loads(GeminiWire().build(request, "p").encode())


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def call(call_id: str, wire_id: str | None = None) -> ToolCall:
    return ToolCall(call_id, "web_search", {"q": call_id}, "", wire_id)


def result(call_id: str, content: str = '{"ok":1}') -> ToolResultMessage:
    return ToolResultMessage(call_id, "web_search", content)


def test_22_a_name_begins_with_a_letter_or_underscore() -> None:
    body = sent(user("a"), tools=(ToolSpec("2nd.try", "", SCHEMA),))
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "_2nd_try"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"const": "x"}}},
        {"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": 0}}},
        {"type": "object", "properties": {"a": {"type": "array"}}, "propertyNames": {"pattern": "a"}},
        {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "object", "additionalProperties": True}, {"const": 1}]}},
        },
        {
            "type": "object",
            "properties": {"a": {"type": ["string", "null"], "format": "uuid"}},
            "required": ["a", "b"],
        },
        {
            "type": "object",
            "properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}], "default": 1}},
            "$defs": {"A": {"enum": [1, 2]}},
        },
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
    ],
)
def test_33_a_schema_keeps_only_what_the_wire_knows_at_every_depth(schema: dict[str, Any]) -> None:
    written = gemini_schema(schema)
    assert list(schema_faults("p", written)) == []
    assert "a" in written["properties"]


def test_33_optional_values_become_nullable() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "A"}},
    }
    assert gemini_schema(schema)["properties"]["a"] == {"title": "A", "nullable": True, "type": "string"}


def test_33_json_schema_goes_as_it_is_where_the_profile_says_so() -> None:
    body = sent(user("a"), model=replace(MODEL, profile={"schema": "json"}))
    assert body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == SCHEMA


def test_34_two_calls_of_one_tool_without_ids_are_two_and_go_back_without() -> None:
    got = read(chunk(called(), called(), finish="STOP"))
    assert [(found.wire_id, found.name) for found in got.calls] == [(None, "web_search")] * 2
    assert len({found.index for found in got.calls}) == 2
    message = AssistantMessage("", (call("c1"), call("c2")), provider_id="p")
    body = sent(user("hi"), message, result("c2", '{"n":2}'), result("c1", '{"n":1}'))
    answers = [part["functionResponse"] for part in body["contents"][2]["parts"]]
    assert answers == [
        {"name": "web_search", "response": {"n": 1}},
        {"name": "web_search", "response": {"n": 2}},
    ]


def test_34_an_id_that_came_goes_back() -> None:
    message = AssistantMessage("", (call("c1", "fc_1"),), provider_id="p")
    body = sent(user("hi"), message, result("c1"))
    assert body["contents"][1]["parts"][0]["functionCall"]["id"] == "fc_1"
    assert body["contents"][2]["parts"][0]["functionResponse"]["id"] == "fc_1"


def test_35_the_signature_goes_back_on_its_part_with_all_calls_in_one_content() -> None:
    got = read(
        chunk({"text": "hm", "thought": True}, called(thoughtSignature="sig"), called(), finish="STOP")
    )
    assert got.opaque is not None
    calls = (call("c1"), call("c2"))
    message = AssistantMessage("", calls, opaque=got.opaque.data, provider_id="p")
    body = sent(user("hi"), message, result("c1"), result("c2"))
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    parts = body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["sig", None]
    assert all("functionCall" in part for part in parts)
    foreign = sent(user("hi"), replace(message, provider_id="other"), result("c1"), result("c2"))
    assert "thoughtSignature" not in json.dumps(foreign)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", 9])
def test_36_a_malformed_call_is_an_error_and_nothing_of_it_is_run(reason: str | int) -> None:
    got = read(chunk(called(), finish=reason))
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("malformed_tool_call", True)
    assert not got.calls


def test_37_an_error_in_mid_stream_ends_the_answer() -> None:
    error = b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\n\n'
    got = read(chunk({"text": "half"}, finish="STOP"), error)
    assert got.text == "half"
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("overloaded", True)


def test_38_every_call_has_its_response_in_one_user_content() -> None:
    message = AssistantMessage("", (call("c1"), call("c2")), provider_id="p")
    body = sent(user("hi"), message, result("c1", "[1]"), user("go on"))
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    answers = [part["functionResponse"]["response"] for part in body["contents"][2]["parts"]]
    assert answers == [{"result": [1]}, json.loads(NEVER_RAN)]


def test_17_thoughts_count_as_output() -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 7}
    got = read(chunk({"text": "hi"}, finish="STOP", usageMetadata=usage))
    assert got.usage is not None
    assert (got.usage.input, got.usage.output, got.usage.reasoning) == (5, 9, 7)


def test_partial_arguments_are_put_together_at_their_paths() -> None:
    def piece(path: str, **value: Any) -> dict[str, Any]:
        call = {"partialArgs": [{"jsonPath": path, **value}], "willContinue": True}
        return {"functionCall": call}

    got = read(
        chunk({"functionCall": {"name": "web_search", "willContinue": True}}),
        chunk(piece("$.q", stringValue="Bos"), piece("$.q", stringValue="ton")),
        chunk(piece("$.list[0].n", numberValue=1), piece("$.list[1].n", boolValue=True)),
        chunk({"functionCall": {}}, finish="STOP"),
    )
    assert [found.arguments for found in got.calls] == [{"q": "Boston", "list": [{"n": 1}, {"n": True}]}]


def test_a_call_whose_arguments_were_still_coming_is_not_run() -> None:
    got = read(chunk({"functionCall": {"name": "web_search", "willContinue": True}}, finish="MAX_TOKENS"))
    assert [found.arguments for found in got.calls] == [None]


def test_a_stream_without_a_finish_reason_is_incomplete() -> None:
    got = read(chunk(called()))
    assert got.error is not None
    assert got.error.kind == "incomplete_stream"


def test_the_key_goes_in_a_header_and_the_model_in_the_path() -> None:
    assert GeminiWire().headers("k") == {"x-goog-api-key": "k"}
    wire = GeminiWire().build(ModelRequest(MODEL, "", (user("a"),)), "p")
    assert wire.path == "/models/gemini:streamGenerateContent?alt=sse"
    tuned = replace(MODEL, name="tunedModels/mine", abilities=frozenset[str]())
    assert (
        GeminiWire().build(ModelRequest(tuned, "", (user("a"),)), "p").path
        == "/tunedModels/mine:generateContent"
    )
