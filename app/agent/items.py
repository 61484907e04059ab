"""The stored form of items, and the way back from items to what the model sees (P5, P6, L9).

Both directions stand here so that they cannot drift apart. The way back takes any sequence, also
what a crash left behind, and always gives a conversation that every provider accepts: it starts
with a user message, and each call is directly followed by its result.

    {"type": "user", "parts": [{"type": "text", "text"} | {"type": "image", "file_id"}
                               | {"type": "file", "file_id", "name", "text"}]}
    {"type": "assistant", "status": "completed" | "incomplete" | "cancelled" | "failed",
     "parts": [{"type": "text", "text"} | {"type": "reasoning", "text"}],
     "calls": [{"id", "wire_name", "raw_arguments", "arguments", "wire_id"}], "opaque", "provider_id"}
    {"type": "tool", "call": {"id", "name", "wire_name", "arguments", "result", "error", "duration_ms",
                              "status", "control_fact", "degraded"?}}
    {"type": "note", "parts": [{"type": "text", "text"}]}

Fields are only ever added, since old items are read for as long as their session lives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from app.errors import Interrupted
from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from app.protocol.ports import CallOutcome, CallRecord

Item = Mapping[str, Any]

CUT_OFF = "[此消息未写完即中断] / [this message was cut off before its end]"
CUT_BY_USER = "[此消息因用户取消而中断] / [this message was cut off because the user cancelled]"
NO_MESSAGE = "(no user message at this point)"

_MARKS = re.compile(r"<(?=/?(?:note|file)\b)", re.IGNORECASE)
_NOT_WIRE = re.compile(r"[^a-zA-Z0-9_-]")
_FACT_CHARS = 2_000
"""How much of a result a fact note quotes."""


# --- to the stored form -----------------------------------------------------------------------


def assistant_data(message: AssistantMessage, *, complete: bool) -> dict[str, Any]:
    parts = [{"type": "reasoning", "text": message.reasoning}] if message.reasoning else []
    if message.text:
        parts.append({"type": "text", "text": message.text})
    calls = [
        {
            "id": call.call_id,
            "wire_name": call.wire_name,
            "raw_arguments": call.raw_arguments,
            "arguments": call.arguments,
            "wire_id": call.wire_id,
        }
        for call in message.tool_calls
    ]
    return {
        "type": "assistant",
        "status": "completed" if complete else "incomplete",
        "parts": parts,
        "calls": calls,
        "opaque": message.opaque,
        "provider_id": message.provider_id,
    }


def tool_data(record: CallRecord) -> dict[str, Any]:
    outcome = record.outcome
    call: dict[str, Any] = {
        "id": record.call_id,
        "name": record.name,
        "wire_name": record.wire_name,
        "arguments": record.arguments,
        "result": outcome.result,
        "error": outcome.error,
        "duration_ms": record.duration_ms,
        "status": outcome.status,
        "control_fact": outcome.control_fact,
    }
    if outcome.degraded:
        call["degraded"] = outcome.degraded
    return {"type": "tool", "call": call}


def note_data(text: str) -> dict[str, Any]:
    return {"type": "note", "parts": [{"type": "text", "text": text}]}


# --- what one call looks like to the model -------------------------------------------------------


def json_text(value: Any) -> str:
    """JSON for the model; a value that is no JSON (a date, a Decimal) is shown as its text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return json.dumps(value, default=str)


def replayable(call: ToolCall) -> ToolCall:
    """The call as every provider takes it back: object arguments and a name in the wire's alphabet.

    A model may invent names and cut its arguments off. The record keeps them as they came; sent back
    like that they make each later request of the session fail.
    """
    name = _NOT_WIRE.sub("_", call.wire_name)[:64] or "unknown"
    if isinstance(call.arguments, Mapping):
        sound = call.raw_arguments.lstrip().startswith("{")
        raw = call.raw_arguments if sound else json_text(call.arguments)
        return ToolCall(call.call_id, name, call.arguments, raw, call.wire_id)
    return ToolCall(call.call_id, name, {}, "{}", call.wire_id)


def result_message(call: ToolCall, outcome: CallOutcome) -> ToolResultMessage:
    """What the model gets for a (replayable) call: the result, or the error object."""
    if outcome.error is not None:
        content = outcome.error
    elif outcome.degraded:
        content = {"result": outcome.result, "degraded": outcome.degraded}
    else:
        content = outcome.result
    is_error = outcome.status in {"failed", "skipped"}
    return ToolResultMessage(call.call_id, call.wire_name, json_text(content), is_error, call.wire_id)


def note_text(text: str) -> str:
    """A host's note inside a user message; quoted text in it cannot close the mark."""
    return f"<note>{_quoted(text)}</note>"


def user_message(parts: Any, images: Mapping[str, ImagePart] | None = None) -> UserMessage:
    """Stored user parts as a message, never empty. `images` holds the pictures by file id.

    Text cannot pose as a note of the host (C21).
    """
    shown = [part for stored in _maps(parts) if (part := _user_part(stored, images or {}))]
    return UserMessage(tuple(shown) or (TextPart("(empty message)"),))


def note_message(note: Item) -> UserMessage:
    """The body of a note item as the input of a turn that no user began."""
    return UserMessage((TextPart(note_text(_joined(note, "text"))),))


def _user_part(stored: Item, images: Mapping[str, ImagePart]) -> Part | None:
    file_id = _text(stored.get("file_id"))
    match stored.get("type"):
        case "image":
            return images.get(file_id) or TextPart(f"[image {file_id}, not shown again]")
        case "file":
            name = _quoted(_text(stored.get("name"))).replace('"', "'")
            return TextPart(f'<file name="{name}">\n{_quoted(_text(stored.get("text")))}\n</file>')
        case _:
            text = _text(stored.get("text"))
            return TextPart(_quoted(text)) if text.strip() else None


def _quoted(text: str) -> str:
    return _MARKS.sub("&lt;", text)


# --- the way back -----------------------------------------------------------------------------


def messages_from_items(
    items: Sequence[Item], images: Mapping[str, ImagePart] | None = None
) -> list[Message]:
    """The model's view of stored items, oldest first; see the module's text for what it promises.

    Notes go into the next user message. Notes at the very end become a user message of their own,
    which `context.assemble` joins with the new input.
    """
    return _Projection(items, images or {}).messages()


class _Projection:
    def __init__(self, items: Sequence[Item], images: Mapping[str, ImagePart]) -> None:
        self._items = items
        self._images = images
        self._out: list[Message] = []
        self._notes: list[str] = []
        self._results = {_text(call.get("id")): call for call in _tool_calls(reversed(items))}
        self._asked = {_text(call.get("id")) for item in items for call in _asked_calls(item)}
        self._shown: set[str] = set()

    def messages(self) -> list[Message]:
        for item in self._items:
            match item.get("type"):
                case "user":
                    self._add_user(user_message(item.get("parts"), self._images).parts)
                case "assistant":
                    self._add_assistant(item)
                case "tool":
                    self._add_unasked(item)
                case "note":
                    self._notes.append(_joined(item, "text"))
                case _:
                    pass  # a kind that a later version wrote
        if any(self._notes):
            self._add_user(())
        return self._out

    def _add_user(self, parts: Sequence[Part]) -> None:
        parts = (*(TextPart(note_text(note)) for note in self._notes if note), *parts)
        self._notes = []
        last = self._out[-1] if self._out else None
        if isinstance(last, UserMessage):
            self._out[-1] = UserMessage((*last.parts, *parts))
        else:
            self._out.append(UserMessage(tuple(parts)))

    def _add_assistant(self, item: Item) -> None:
        text = _joined(item, "text")
        calls = [call for call in _asked_calls(item) if _text(call.get("id")) not in self._shown]
        self._shown.update(_text(call.get("id")) for call in calls)
        facts = [(call, self._fact(call)) for call in calls]
        shown = [_tool_call(call) for call, fact in facts if fact is None]
        complete = item.get("status", "completed") == "completed"
        if text.strip() or shown:
            self._make_room_for_assistant()
            # Provider state belongs to exactly the message it came with: not to half of it.
            opaque = item.get("opaque") if complete and len(shown) == len(_maps(item.get("calls"))) else None
            self._out.append(
                AssistantMessage(
                    text=text,
                    tool_calls=tuple(shown),
                    reasoning=_joined(item, "reasoning"),
                    opaque=cast("Item", opaque) if isinstance(opaque, Mapping) else None,
                    provider_id=_text(item.get("provider_id")) or None,
                )
            )
            self._out.extend(result_message(call, self._outcome(call.call_id)) for call in shown)
        self._notes.extend(fact for _, fact in facts if fact)
        if not complete:
            self._notes.append(CUT_BY_USER if item.get("status") == "cancelled" else CUT_OFF)

    def _make_room_for_assistant(self) -> None:
        """Lets waiting notes come first, and keeps two assistant messages from standing together."""
        if any(self._notes):
            self._add_user(())
        elif not self._out or isinstance(self._out[-1], AssistantMessage):
            self._notes = [NO_MESSAGE]
            self._add_user(())

    def _add_unasked(self, item: Item) -> None:
        """A result without a call, such as that of a confirmed action, is told as a fact."""
        for call in _tool_calls([item]):
            if _text(call.get("id")) not in self._asked:
                self._notes.append(_text(call.get("control_fact")) or _fact_of_call(call))

    def _fact(self, call: Item) -> str | None:
        result = self._results.get(_text(call.get("id")), {})
        return _text(result.get("control_fact")) or None

    def _outcome(self, call_id: str) -> CallOutcome:
        stored = self._results.get(call_id)
        if stored is None:
            lost = Interrupted("The run ended before the result of this call was recorded.")
            return CallOutcome("failed", error=lost.as_dict())
        error = stored.get("error")
        return CallOutcome(
            status="failed" if error is not None else "succeeded",
            result=stored.get("result"),
            error=error,
            degraded=_text(stored.get("degraded")) or None,
        )


def _fact_of_call(call: Item) -> str:
    name = _text(call.get("name")) or _text(call.get("wire_name")) or "a tool"
    status = _text(call.get("status")) or "unknown"
    outcome = call.get("error") if call.get("error") is not None else call.get("result")
    sentence = f"{name} was called with {json_text(call.get('arguments'))}; {status}: {json_text(outcome)}"
    return sentence if len(sentence) <= _FACT_CHARS else sentence[:_FACT_CHARS] + " […]"


def _tool_call(stored: Item) -> ToolCall:
    return replayable(
        ToolCall(
            call_id=_text(stored.get("id")),
            wire_name=_text(stored.get("wire_name")),
            arguments=stored.get("arguments"),
            raw_arguments=_text(stored.get("raw_arguments")),
            wire_id=_text(stored.get("wire_id")) or None,
        )
    )


def _asked_calls(item: Item) -> list[Item]:
    """The calls of an assistant item, one for each id."""
    if item.get("type") != "assistant":
        return []
    return list(
        {_text(call.get("id")): call for call in _maps(item.get("calls")) if _text(call.get("id"))}.values()
    )


def _tool_calls(items: Iterable[Item]) -> list[Item]:
    return [call for item in items if item.get("type") == "tool" for call in _maps([item.get("call")])]


def _joined(item: Item, kind: str) -> str:
    return "".join(_text(part.get("text")) for part in _maps(item.get("parts")) if part.get("type") == kind)


def _maps(value: Any) -> list[Item]:
    """The mappings in `value`, if it is a list at all: stored JSON may be older than this code."""
    if not isinstance(value, (list, tuple)):
        return []
    return [cast("Item", entry) for entry in cast("Sequence[Any]", value) if isinstance(entry, Mapping)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
