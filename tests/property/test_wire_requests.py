"""Whatever a session went through, a strict server of each wire format accepts the next request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelRequest,
    ModelSpec,
    TextPart,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from app.providers.anthropic import AnthropicWire
from app.providers.gemini import GeminiWire
from app.providers.http_provider import Wire
from app.providers.openai_chat import ChatWire
from app.providers.openai_responses import ResponsesWire
from tests.support import strict, strict_anthropic, strict_gemini, strict_responses

FORMATS: dict[str, tuple[Wire, Callable[[Any], str | None]]] = {
    "anthropic": (AnthropicWire(), strict_anthropic.find_fault),
    "gemini": (GeminiWire(), strict_gemini.find_fault),
    "openai-chat": (ChatWire(), strict.find_fault),
    "openai-responses": (ResponsesWire(), strict_responses.find_fault),
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "$defs": {"Tag": {"type": "string", "maxLength": 32, "const": "a"}},
    "properties": {
        "q": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "exclusiveMaximum": 50, "default": 20},
        "tags": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Tag"}}, {"type": "null"}]},
        "kind": {"enum": ["a", "b", None]},
        "any": {},
        "deep": {"oneOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"const": 3}]},
    },
    "required": ["q"],
}
EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = (ToolSpec("mistakes_search", "Finds.", SCHEMA), ToolSpec("hello_check", "Checks.", EMPTY))

texts = st.sampled_from(["", " ", "Hello", "你好，世界", "a\nb", "\ud83d"])
names = st.sampled_from(["mistakes_search", "hello_check", "no such!", "x" * 80, "工具", "2nd"])
wire_ids = st.sampled_from([None, "", "call_1", "toolu_01", "functions.add:0", "x" * 70, "id with space"])
providers = st.sampled_from(["anthropic", "gemini", "openai-chat", "openai-responses"])
contents = st.sampled_from(['{"ok":1}', "[1]", "", "not json", '{"error":{"code":"X"}}'])


def opaque_of(provider: str, text: str, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    """Provider state as the readers make it."""
    if provider == "anthropic":
        said = [{"type": "text", "text": text}] if text else []
        used: list[dict[str, Any]] = [
            {"type": "tool_use", "id": call.wire_id, "name": call.wire_name, "input": {}} for call in calls
        ]
        return {"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, *said, *used]}
    if provider == "gemini":
        parts: list[dict[str, Any]] = [
            {"functionCall": {"name": call.wire_name, "args": {}}, "thoughtSignature": "s"} for call in calls
        ]
        return {"parts": [*([{"text": text}] if text.strip() else []), *parts]}
    if provider == "openai-responses":
        items: list[dict[str, Any]] = [
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "e", "summary": []}
        ]
        if text.strip() or not calls:
            part: dict[str, Any] = {"type": "output_text", "text": text or ".", "annotations": []}
            items.append({"type": "message", "id": "m", "role": "assistant", "content": [part]})
        for call in calls:
            items.append({"type": "function_call", "call_id": call.wire_id, "name": "n", "arguments": "{}"})
        return {"items": items}
    return {}


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Turns with calls, some without results (cancelled), some results without calls, changing providers."""
    out: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["user", "image", "assistant", "assistant", "orphan"]))
        if kind == "user":
            out.append(UserMessage((TextPart(draw(texts)),)))
        elif kind == "image":
            out.append(UserMessage((TextPart("look"), ImagePart("image/png", b"\x89PNG", "f"))))
        elif kind == "orphan":
            out.append(ToolResultMessage("gone", "hello_check", "{}"))
        else:
            provider = draw(providers)
            calls: list[ToolCall] = []
            for _ in range(draw(st.integers(0, 3))):
                number += 1
                arguments = draw(st.sampled_from([{}, {"q": "x"}, None]))
                calls.append(ToolCall(f"call_{number}", draw(names), arguments, "{", draw(wire_ids)))
            unique = len({call.wire_id for call in calls}) == len(calls) and all(
                call.wire_id for call in calls
            )
            text = draw(texts)
            state = opaque_of(provider, text, tuple(calls)) if unique and draw(st.booleans()) else None
            out.append(
                AssistantMessage(text, tuple(calls), "thought", opaque=state or None, provider_id=provider)
            )
            out += [
                ToolResultMessage(call.call_id, call.wire_name, draw(contents), is_error=draw(st.booleans()))
                for call in calls
                if draw(st.integers(0, 4))
            ]
    out.append(UserMessage((TextPart("and now?"),)))
    return out


@pytest.mark.parametrize("name", FORMATS)
@given(
    messages=conversations(),
    abilities=st.sets(st.sampled_from(["tools", "vision", "reasoning", "streaming"])),
    effort=st.sampled_from([None, "low", "high"]),
)
@settings(max_examples=250, deadline=None)
def test_a_strict_server_accepts_every_request(
    name: str, messages: list[Message], abilities: set[str], effort: str | None
) -> None:
    wire, find_fault = FORMATS[name]
    model = ModelSpec("m", name, "model-1", abilities=frozenset(abilities))
    request = ModelRequest(model, "Be kind.", messages, TOOLS, temperature=0.3, reasoning_effort=effort)
    for provider_id in (name, "another"):
        sent = json.loads(wire.build(request, provider_id).encode())
        assert find_fault(sent) is None, json.dumps(sent, ensure_ascii=False)[:3000]


@pytest.mark.parametrize("name", FORMATS)
def test_the_strict_server_refuses_what_it_should(name: str) -> None:
    """The judge itself: an unpaired call does not pass."""
    wire, find_fault = FORMATS[name]
    model = ModelSpec("m", name, "model-1", abilities=frozenset({"tools"}))
    messages = [
        UserMessage((TextPart("hi"),)),
        AssistantMessage("", (ToolCall("c", "hello_check", {}),)),
        ToolResultMessage("c", "hello_check", "{}"),
        UserMessage((TextPart("go on"),)),
    ]
    body = json.loads(wire.build(ModelRequest(model, "", messages, TOOLS), name).encode())
    assert find_fault(body) is None
    listed = next(key for key in ("messages", "contents", "input") if key in body)
    results = {"anthropic": 2, "gemini": 2, "openai-chat": 2, "openai-responses": 2}
    removed = replace_without(body, listed, results[name])
    assert find_fault(removed) is not None


def replace_without(body: dict[str, Any], listed: str, at: int) -> dict[str, Any]:
    return {**body, listed: [item for number, item in enumerate(body[listed]) if number != at]}
