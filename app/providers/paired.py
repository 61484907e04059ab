"""The history in the one shape that every wire accepts: each call with its result, directly behind it.

Whatever a crash, a cancel or a cut left behind, no call goes out without a result and no result
without its call: one unpaired call is a refusal of this and of each later request of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.protocol.conversation import AssistantMessage, Message, ToolCall, ToolResultMessage, UserMessage

NEVER_RAN = '{"error":{"code":"INTERRUPTED","message":"This call has no result: it was not run to its end."}}'
"""Stands in for a result that the history lost; without one the whole request is refused."""
UNSEEN_IMAGE = "[An image was here; this model cannot see images.]"


@dataclass(frozen=True, slots=True)
class PairedCall:
    call: ToolCall
    result: str
    """JSON text, never blank."""
    is_error: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message, or an assistant message with the calls it asked for."""

    message: UserMessage | AssistantMessage
    calls: tuple[PairedCall, ...] = ()


def pair(messages: Sequence[Message]) -> list[Turn]:
    results: dict[str, ToolResultMessage] = {}
    for item in messages:
        if isinstance(item, ToolResultMessage):
            results.setdefault(item.call_id, item)
    turns: list[Turn] = []
    for item in messages:
        if isinstance(item, UserMessage):
            turns.append(Turn(item))
        elif isinstance(item, AssistantMessage):
            turns.append(Turn(item, tuple(_with_result(call, results) for call in item.tool_calls)))
    return turns


def _with_result(call: ToolCall, results: dict[str, ToolResultMessage]) -> PairedCall:
    found = results.get(call.call_id)
    if found is None:
        return PairedCall(call, NEVER_RAN, is_error=True)
    return PairedCall(call, found.content if found.content.strip() else "{}", found.is_error)


def told(turn: Turn) -> str:
    """An assistant turn as plain text, for a model without tools that goes on with the session."""
    assert isinstance(turn.message, AssistantMessage)
    lines = [turn.message.text] if turn.message.text.strip() else []
    lines += [f"[Tool {paired.call.wire_name} was used. Result: {paired.result}]" for paired in turn.calls]
    return "\n\n".join(lines)


def called_names(messages: Sequence[Message]) -> list[str]:
    """Tool names in the history: they are sent again, so they need a wire name too."""
    return [
        call.wire_name for item in messages if isinstance(item, AssistantMessage) for call in item.tool_calls
    ]
