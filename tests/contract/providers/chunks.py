"""Small constructors of Chat Completions chunks, and readers for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.protocol.conversation import ModelEvent, ModelRequest, ModelSpec, ToolSpec, UserMessage
from app.protocol.conversation import TextPart as Text
from app.providers.chat_request import build_chat_request
from app.providers.chat_stream import ChatReplyReader
from app.providers.profiles import Profile, ThinkTags
from tests.contract.providers.outcome import Outcome, outcome

DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **fields: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event({"choices": [choice], **fields})


def event(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def text(piece: str) -> bytes:
    return chunk({"content": piece})


def tool(
    arguments: Any = None, *, index: int | None = None, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    """One entry of `tool_calls`; None leaves a field out."""
    function: dict[str, Any] = {}
    if name is not None:
        function["name"] = name
    if arguments is not None:
        function["arguments"] = arguments
    entry: dict[str, Any] = {"function": function}
    if index is not None:
        entry["index"] = index
    if id is not None:
        entry["id"] = id
    return entry


def tools(*entries: dict[str, Any], finish: str | None = None) -> bytes:
    return chunk({"tool_calls": list(entries)}, finish)


def batches(*pieces: bytes, think_tags: ThinkTags = "off") -> list[list[ModelEvent]]:
    reader = ChatReplyReader(think_tags)
    out = [batch for piece in pieces if (batch := reader.feed(piece))]
    if tail := reader.close():
        out.append(tail)
    return out


def read(*pieces: bytes, think_tags: ThinkTags = "off") -> Outcome:
    return outcome(batches(*pieces, think_tags=think_tags))


def calls(*pieces: bytes) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in read(*pieces).calls]


MODEL = ModelSpec(
    id="m",
    provider_id="p",
    name="model-1",
    abilities=frozenset({"tools", "streaming", "vision", "reasoning"}),
)


def request(
    *messages: Any, tools: Sequence[ToolSpec] = (), model: ModelSpec = MODEL, **fields: Any
) -> ModelRequest:
    given = messages or (UserMessage((Text("hi"),)),)
    return ModelRequest(model=model, system=fields.pop("system", ""), messages=given, tools=tools, **fields)


def sent(made: ModelRequest, **profile: Any) -> dict[str, Any]:
    """The body that goes out, as the server parses it."""
    return json.loads(build_chat_request(made, Profile.from_mapping(profile), "p").encode())
