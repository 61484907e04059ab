"""What a strict Messages server refuses, said in one sentence; close to what api.anthropic.com answers 400 to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
WIRE_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
KNOWN_FIELDS = frozenset(
    [
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "thinking",
        "output_config",
        "metadata",
        "service_tier",
    ]
)
BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
OF_ROLE = {
    "user": frozenset({"text", "image", "tool_result"}),
    "assistant": frozenset({"text", "tool_use", "thinking", "redacted_thinking"}),
}
MOST_MARKS = 4


def find_fault(request: Any) -> str | None:
    """The first fault in a request body, or None."""
    return next(_faults(_object(request)), None)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _faults(body: dict[str, Any]) -> Iterator[str]:
    for name in body:
        if name not in KNOWN_FIELDS:
            yield f"{name}: Extra inputs are not permitted"
    if not isinstance(body.get("model"), str):
        yield "model: Field required"
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield "max_tokens: must be a whole number above 0"
    yield from _thinking_faults(body)
    yield from _tool_faults(_list(body.get("tools")))
    messages = _list(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    yield from _message_faults([_object(message) for message in messages])
    if str(body).count("'cache_control'") > MOST_MARKS:
        yield "more than 4 blocks with cache_control"


def _thinking_faults(body: dict[str, Any]) -> Iterator[str]:
    thinking = _object(body.get("thinking"))
    if not thinking:
        return
    if (
        thinking.get("type") == "enabled"
        and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]
    ):
        yield "thinking.budget_tokens: at least 1024 and below max_tokens"
    if body.get("temperature") not in (None, 1):
        yield "temperature may only be 1 with thinking"


def _tool_faults(tools: list[Any]) -> Iterator[str]:
    seen: set[str] = set()
    for at, tool in enumerate(map(_object, tools)):
        name = tool.get("name")
        if not isinstance(name, str) or not WIRE_NAME.match(name):
            yield f"tools.{at}.name: {name!r} does not match the pattern"
        elif name in seen:
            yield f"tools.{at}: names must be unique"
        seen.add(str(name))
        if _object(tool.get("input_schema")).get("type") != "object":
            yield f"tools.{at}.input_schema.type: must be object"
        if set(tool) - {"name", "description", "input_schema", "cache_control"}:
            yield f"tools.{at}: Extra inputs are not permitted"


def _message_faults(messages: list[dict[str, Any]]) -> Iterator[str]:
    expected_role = "user"
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role, content = message.get("role"), _list(message.get("content"))
        if role != expected_role:
            yield f"messages.{at}: roles must alternate and begin with user; found {role!r}"
            return
        expected_role = "assistant" if role == "user" else "user"
        if not content:
            yield f"messages.{at}: content must not be empty"
        for number, block in enumerate(map(_object, content)):
            yield from _block_faults(f"messages.{at}.content.{number}", str(role), block)
        results = [str(block.get("tool_use_id")) for block in content if block.get("type") == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"messages.{at}: results {results} do not answer the calls {waiting}"
        kinds = [block.get("type") for block in content]
        if "tool_result" in kinds and kinds[: len(results)] != ["tool_result"] * len(results):
            yield f"messages.{at}: tool_result blocks must come first"
        waiting = [str(block.get("id")) for block in content if block.get("type") == "tool_use"]
        if len(set(waiting)) < len(waiting):
            yield f"messages.{at}: tool_use ids must be unique"
    if waiting:
        yield f"tool_use {waiting} without tool_result directly after"
    if messages and messages[-1].get("role") != "user":
        yield "the conversation must end with a user message"


def _block_faults(where: str, role: str, block: dict[str, Any]) -> Iterator[str]:
    kind = str(block.get("type"))
    if kind not in OF_ROLE[role]:
        yield f"{where}: {kind} may not stand in a message of {role}"
        return
    if extra := set(block) - BLOCK_FIELDS[kind]:
        yield f"{where}: Extra inputs are not permitted: {sorted(extra)}"
    if kind == "text" and not str(block.get("text", "")).strip():
        yield f"{where}: text content blocks must be non-empty"
    if kind == "thinking" and not block.get("signature"):
        yield f"{where}: thinking.signature: Field required"
    if kind == "redacted_thinking" and not block.get("data"):
        yield f"{where}: redacted_thinking.data: Field required"
    if kind == "tool_use":
        if not WIRE_ID.match(str(block.get("id"))):
            yield f"{where}.id: {block.get('id')!r} does not match the pattern"
        if not WIRE_NAME.match(str(block.get("name"))):
            yield f"{where}.name: {block.get('name')!r} does not match the pattern"
        if not isinstance(block.get("input"), dict):
            yield f"{where}.input: must be an object"
    if kind == "image" and _object(block.get("source")).get("type") != "base64":
        yield f"{where}.source: must be base64"
