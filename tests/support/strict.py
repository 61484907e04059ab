"""What a strict Chat Completions server refuses, said in one sentence.

Kept close to what api.openai.com answers with 400: a history with an unpaired tool call is the
fault that bricks a conversation for ever, so the stub must not forgive it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")

KNOWN_FIELDS = frozenset(
    [
        "model",
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "n",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "seed",
        "response_format",
        "reasoning_effort",
        "verbosity",
        "store",
        "metadata",
        "modalities",
        "service_tier",
        "enable_thinking",
        "thinking_budget",
        "thinking",
    ]
)
"""OpenAI's fields, and the three by which DashScope and others switch reasoning."""

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})

PART_TYPES = frozenset({"text", "image_url", "input_audio", "file", "refusal"})


def find_fault(request: Any) -> str | None:
    """The first fault in a request body, or None."""
    return next(_faults(request), None)


def _object(value: Any) -> dict[str, Any]:
    """`value` where it is a JSON object; else an empty one, in which every look-up misses."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _faults(request: Any) -> Iterator[str]:
    if not isinstance(request, dict):
        yield "the body is not a JSON object"
        return
    body = _object(request)
    for name in body:
        if name not in KNOWN_FIELDS:
            yield f"unknown field {name!r}"
    if not isinstance(body.get("model"), str):
        yield "model is not a string"
    if "stream_options" in body and not body.get("stream"):
        yield "stream_options without stream"
    yield from _tool_faults(body)
    if not _list(body.get("messages")):
        yield "messages is not a list with at least one entry"
    yield from _message_faults(_list(body.get("messages")))


def _tool_faults(body: dict[str, Any]) -> Iterator[str]:
    if "tools" not in body:
        if "tool_choice" in body or "parallel_tool_calls" in body:
            yield "tool_choice or parallel_tool_calls without tools"
        return
    if not _list(body["tools"]):
        yield "tools is not a list with at least one entry"
    seen: set[str] = set()
    for at, tool in enumerate(_list(body["tools"])):
        function = _object(_object(tool).get("function"))
        name = function.get("name")
        if not _is_wire_name(name):
            yield f"tools[{at}] has the name {name!r}, which is not [a-zA-Z0-9_-]{{1,64}}"
            continue
        if name in seen:
            yield f"tools[{at}] repeats the name {name!r}"
        seen.add(str(name))
        if _object(function.get("parameters", {"type": "object"})).get("type") != "object":
            yield f"tools[{at}] ({name}) has parameters that are not a schema of type object"


def _is_wire_name(name: Any) -> bool:
    return isinstance(name, str) and WIRE_NAME.match(name) is not None


def _message_faults(messages: list[Any]) -> Iterator[str]:
    open_calls: dict[str, int] = {}
    for at, message in enumerate(map(_object, messages)):
        role = message.get("role")
        if role not in ROLES:
            yield f"messages[{at}] has the unknown role {role!r}"
        elif role == "tool":
            call_id = str(message.get("tool_call_id"))
            if open_calls.pop(call_id, None) is None:
                yield f"messages[{at}] is an orphan: no open tool call has the id {call_id!r}"
            if not isinstance(message.get("content"), str | list):
                yield f"messages[{at}] (tool) has no content"
        else:
            if open_calls:
                yield _unpaired(open_calls, f"messages[{at}] ({role}) comes first")
                open_calls.clear()
            yield from _content_faults(at, message)
            for call in map(_object, _list(message.get("tool_calls"))):
                yield from _call_faults(at, call)
                if call["id"] in open_calls:
                    yield f"messages[{at}] has two tool calls with the id {call['id']!r}"
                open_calls[call["id"]] = at
    if open_calls:
        yield _unpaired(open_calls, "the conversation ends")


def _unpaired(open_calls: dict[str, int], why: str) -> str:
    call_id, at = next(iter(open_calls.items()))
    return f"unpaired: tool call {call_id!r} of messages[{at}] has no tool message; {why}"


def _content_faults(at: int, message: dict[str, Any]) -> Iterator[str]:
    role, content = message["role"], message.get("content")
    if "tool_calls" in message and (role != "assistant" or not _list(message["tool_calls"])):
        yield f"messages[{at}] ({role}) has tool_calls that are empty or not its to make"
    if role == "assistant" and content is None:
        if "tool_calls" not in message:
            yield f"messages[{at}] (assistant) has neither content nor tool calls"
    elif not isinstance(content, str | list):
        yield f"messages[{at}] ({role}) has content that is neither a string nor a list of parts"
    for part in _list(content):
        if _object(part).get("type") not in PART_TYPES:
            yield f"messages[{at}] ({role}) has a part of unknown type"


def _call_faults(at: int, call: dict[str, Any]) -> Iterator[str]:
    function = _object(call.get("function"))
    if not function or not isinstance(call.get("id"), str) or call.get("type") != "function":
        yield f"messages[{at}] has a tool call without an id, type function or function"
    if not _is_wire_name(function.get("name")):
        yield f"messages[{at}] calls {function.get('name')!r}, which is not [a-zA-Z0-9_-]{{1,64}}"
    if not isinstance(function.get("arguments"), str):
        yield f"messages[{at}] has tool call arguments that are not a string"
