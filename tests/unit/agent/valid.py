"""What every provider asks of a conversation, written apart from the code that makes one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from app.protocol.conversation import AssistantMessage, ImagePart, Message, ToolResultMessage, UserMessage

_WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def check_conversation(messages: Sequence[Message]) -> None:
    """Fails on: no user at the start, empty messages, doubled roles, unpaired or disordered calls."""
    seen: set[str] = set()
    waiting: list[tuple[str, str]] = []
    previous: Message | None = None
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert waiting, f"result without a call: {message}"
            assert (message.call_id, message.wire_name) == waiting.pop(0)
            json.loads(message.content)
        else:
            assert not waiting, f"calls without results: {waiting}"
            assert type(message) is not type(previous), f"two of a kind in a row: {previous} {message}"
        if isinstance(message, UserMessage):
            assert message.parts
            assert all(isinstance(part, ImagePart) or part.text.strip() for part in message.parts)
        if isinstance(message, AssistantMessage):
            assert previous is not None, "starts with an assistant message"
            assert message.text.strip() or message.tool_calls, "empty assistant message"
            for call in message.tool_calls:
                assert call.call_id
                assert call.call_id not in seen
                assert _WIRE_NAME.match(call.wire_name)
                assert isinstance(call.arguments, dict)
                assert isinstance(json.loads(call.raw_arguments), dict)
                seen.add(call.call_id)
                waiting.append((call.call_id, call.wire_name))
        previous = message
    assert not waiting, f"calls without results: {waiting}"
