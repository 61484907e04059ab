"""The two model calls of a measured run, as the raw client and the bare proxy make them."""

from __future__ import annotations

import re
from typing import Any

import orjson

_CALL_ID = re.compile(rb'"id":"(call_[^"]*)"')
_NAME = re.compile(rb'"name":"([^"]*)"')
_ARGUMENTS = re.compile(rb'"arguments":("(?:[^"\\]|\\.)*")')


def first_body(text: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
    tool: dict[str, Any] = {"name": "mistakes_add", "description": "Keeps a mistake.", "parameters": schema}
    return {
        "model": "stub",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You help a learner. Answer in short sentences."},
            {"role": "user", "content": text},
        ],
        "tools": [{"type": "function", "function": tool}],
    }


def second_body(text: str, first_answer: bytes) -> dict[str, Any]:
    """The first request, what the model asked for, and a result.

    Raises:
        ValueError: the first answer asked for no tool.
    """
    call_id, name = _CALL_ID.search(first_answer), _NAME.search(first_answer)
    if call_id is None or name is None:
        raise ValueError(f"no tool call in {first_answer[:300]!r}")
    arguments = "".join(orjson.loads(piece) for piece in _ARGUMENTS.findall(first_answer))
    function = {"name": name[1].decode(), "arguments": arguments}
    identity = call_id[1].decode()
    body = first_body(text)
    body["messages"] += [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": identity, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": identity, "content": '{"ok":true}'},
    ]
    return body
