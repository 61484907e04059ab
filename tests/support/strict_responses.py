"""What a strict Responses server refuses, said in one sentence; close to what api.openai.com answers 400 to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
KNOWN_FIELDS = frozenset(
    [
        "model",
        "input",
        "instructions",
        "max_output_tokens",
        "stream",
        "store",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "reasoning",
        "include",
        "metadata",
        "truncation",
        "text",
        "prompt_cache_key",
        "service_tier",
        "user",
    ]
)
PARTS = {"user": ("input_text", "input_image", "input_file"), "assistant": ("output_text", "refusal")}


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
            yield f"Unknown parameter: {name!r}"
    if not isinstance(body.get("model"), str):
        yield "Missing required parameter: 'model'"
    for at, tool in enumerate(map(_object, _list(body.get("tools")))):
        yield from _tool_faults(at, tool)
    if not _list(body.get("input")):
        yield "Missing required parameter: 'input'"
    yield from _item_faults([_object(item) for item in _list(body.get("input"))])


def _tool_faults(at: int, tool: dict[str, Any]) -> Iterator[str]:
    if tool.get("type") != "function" or not WIRE_NAME.match(str(tool.get("name"))):
        yield f"Invalid 'tools[{at}]'"
    schema = _object(tool.get("parameters"))
    if schema.get("type") != "object":
        yield f"tools[{at}]: parameters must be a schema of type object"
    if tool.get("strict") is not False:
        yield from _strict_faults(f"tools[{at}]", schema)


def _strict_faults(where: str, schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("type") == "object":
        properties = _object(schema.get("properties"))
        if schema.get("additionalProperties") is not False or set(_list(schema.get("required"))) != set(
            properties
        ):
            yield f"{where}: strict needs additionalProperties false and every property in required"
        for name, item in properties.items():
            yield from _strict_faults(f"{where}.{name}", _object(item))


def _item_faults(items: list[dict[str, Any]]) -> Iterator[str]:
    waiting: dict[str, int] = {}
    for at, item in enumerate(items):
        kind = item.get("type")
        follower = items[at + 1].get("type") if at + 1 < len(items) else None
        match kind:
            case "message":
                if item.get("role") == "user" and waiting:
                    yield f"No tool output found for function call {next(iter(waiting))}"
                yield from _message_faults(at, item)
            case "reasoning":
                if follower not in ("message", "function_call", "reasoning"):
                    yield f"input[{at}]: reasoning without its required following item"
                if follower == "message" and items[at + 1].get("role") != "assistant":
                    yield f"input[{at}]: reasoning without its required following item"
                if not item.get("encrypted_content"):
                    yield f"input[{at}]: reasoning that is not stored needs encrypted_content"
            case "function_call":
                if not WIRE_NAME.match(str(item.get("name"))) or not isinstance(item.get("arguments"), str):
                    yield f"input[{at}]: function_call without a valid name or arguments text"
                if not 1 <= len(str(item.get("call_id"))) <= 64 or item.get("call_id") in waiting:
                    yield f"input[{at}]: function_call without a call_id of its own"
                waiting[str(item.get("call_id"))] = at
            case "function_call_output":
                if waiting.pop(str(item.get("call_id")), None) is None:
                    yield f"No tool call found for function call output {item.get('call_id')!r}"
                if not isinstance(item.get("output"), str):
                    yield f"input[{at}].output must be a string"
            case _:
                yield f"input[{at}]: unknown item {kind!r}"
    if waiting:
        yield f"No tool output found for function call {next(iter(waiting))}"


def _message_faults(at: int, item: dict[str, Any]) -> Iterator[str]:
    role = str(item.get("role"))
    if role not in PARTS:
        yield f"input[{at}]: role {role!r}"
        return
    content = _list(item.get("content"))
    if not content:
        yield f"input[{at}]: empty content"
    for part in map(_object, content):
        if part.get("type") not in PARTS[role]:
            yield f"input[{at}]: {part.get('type')!r} may not stand in a message of {role}"
