"""Anthropic's Messages format.

Source: https://docs.anthropic.com/en/api/messages and /messages-streaming; what real servers do beyond
it comes from recorded streams. What goes out is always valid: roles alternate and begin with the user,
all results of a turn stand first in the very next user message, thinking goes back unchanged and in
its place, nothing is blank.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    ModelRequest,
    Part,
    StopReason,
    TextPart,
    ToolCallFragment,
    ToolCallReady,
    ToolSpec,
    UsageReport,
    UserMessage,
)
from app.providers.faults import fault_of_body
from app.providers.http_provider import WireRequest
from app.providers.paired import UNSEEN_IMAGE, PairedCall, Turn, called_names, pair, told
from app.providers.profiles import ProfileOfModel, WireProfile
from app.providers.reply_reader import FieldTally, ReplyReader
from app.providers.tool_calls import parse_arguments
from app.providers.wire_names import IdMap, NameMap
from app.providers.wire_text import as_dict, as_list, as_text, clean_text, clean_value, dump_json

API_VERSION = "2023-06-01"
LEFT_OUT = "[The beginning of this conversation was left out.]"
"""A conversation must begin with the user."""
_CACHE = {"type": "ephemeral"}
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 32768}
"""Thinking tokens for models that take a fixed budget; the API wants at least 1,024, below max_tokens."""
_STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
"""Anything else is a normal end: with client calls it becomes tool_use, whatever the word was."""
_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class AnthropicProfile(WireProfile):
    OURS: ClassVar[tuple[str, ...]] = ("messages", "model", "stream", "tools", "system")

    thinking: Literal["adaptive", "budget", "off"] = "adaptive"
    """How thinking is asked for: by effort (4.6 and newer), or by a budget of tokens (4.6 and older)."""
    send_temperature: bool = True
    """False for models that reject it (4.7 and newer)."""
    cache_marks: bool = True
    """Mark tools, instructions and the newest message for the provider's cache."""
    extra_body: dict[str, Any] = field(default_factory=dict[str, Any])


class AnthropicWire:
    """Implements `http_provider.Wire`."""

    def __init__(self) -> None:
        self._profiles = ProfileOfModel(AnthropicProfile)

    def headers(self, api_key: str | None) -> dict[str, str]:
        headers = {"anthropic-version": API_VERSION}
        return {**headers, "x-api-key": api_key} if api_key else headers

    def build(self, request: ModelRequest, provider_id: str) -> WireRequest:
        profile, model = self._profiles.of(request.model), request.model
        tools = request.tools if "tools" in model.abilities else ()
        names = NameMap([tool.wire_name for tool in tools] + called_names(request.messages))
        body: dict[str, Any] = {
            "model": model.name,
            "max_tokens": request.max_output_tokens or model.max_output_tokens,
            "messages": _Writer(request, provider_id, names).messages(),
            "stream": "streaming" in model.abilities,
        }
        if request.system.strip():
            body["system"] = [{"type": "text", "text": request.system}]
        if tools:
            body["tools"] = [_tool(tool, names) for tool in tools]
        thinking = _thinking(request, profile, body["max_tokens"])
        body.update(thinking)
        # With thinking, every temperature but 1 is refused.
        if request.temperature is not None and profile.send_temperature and not thinking:
            body["temperature"] = min(request.temperature, 1.0)
        body.update(profile.extra_body)
        if profile.cache_marks:
            _mark(body)
        return WireRequest("/messages", body, names)

    def reader(self, request: ModelRequest) -> ReplyReader:
        return AnthropicReplyReader()

    def go_on(
        self, request: ModelRequest, provider_id: str, readers: Sequence[ReplyReader]
    ) -> WireRequest | None:
        """After `pause_turn` the provider wants its own words back, unchanged, to go on."""
        last = readers[-1]
        if not isinstance(last, AnthropicReplyReader) or not last.paused:
            return None
        wire = self.build(request, provider_id)
        said = [
            block
            for reader in readers
            if isinstance(reader, AnthropicReplyReader)
            for block in reader.content
        ]
        wire.body["messages"].append({"role": "assistant", "content": said})
        return wire


def _thinking(request: ModelRequest, profile: AnthropicProfile, max_tokens: int) -> dict[str, Any]:
    effort = request.reasoning_effort
    if not effort or profile.thinking == "off" or "reasoning" not in request.model.abilities:
        return {}
    if profile.thinking == "adaptive":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = min(_BUDGETS.get(effort, _BUDGETS["medium"]), max_tokens - 1)
    return {} if budget < _BUDGETS["minimal"] else {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _tool(tool: ToolSpec, names: NameMap) -> dict[str, Any]:
    return {
        "name": names.to_wire(tool.wire_name),
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


def _mark(body: dict[str, Any]) -> None:
    """Three of the four marks the API allows: behind tools, instructions and the conversation so far."""
    for blocks in (body.get("tools"), body.get("system"), body["messages"][-1]["content"]):
        # Thinking and blank blocks take no mark; those that end these lists are neither.
        if blocks and blocks[-1].get("type") not in _THINKING:
            blocks[-1]["cache_control"] = _CACHE


class _Writer:
    """Writes the messages of one request."""

    def __init__(self, request: ModelRequest, provider_id: str, names: NameMap) -> None:
        self._request = request
        self._provider_id = provider_id
        self._names = names
        self._ids = IdMap("word")
        self._with_tools = "tools" in request.model.abilities
        self._sees = "vision" in request.model.abilities
        self._out: list[dict[str, Any]] = []

    def messages(self) -> list[dict[str, Any]]:
        for turn in pair(self._request.messages):
            if isinstance(turn.message, UserMessage):
                self._put("user", [block for part in turn.message.parts if (block := self._part(part))])
            elif self._with_tools or not turn.calls:
                self._put("assistant", self._assistant(turn, turn.message))
                self._put("user", [self._result(paired) for paired in turn.calls])
            else:
                self._put("assistant", [_text(told(turn))])
        if not self._out or self._out[0]["role"] != "user":
            self._out.insert(0, {"role": "user", "content": [_text(LEFT_OUT)]})
        return self._out

    def _put(self, role: str, blocks: list[dict[str, Any]]) -> None:
        """Neighbours of one role become one message: roles must alternate."""
        if not blocks:
            return
        if self._out and self._out[-1]["role"] == role:
            self._out[-1]["content"].extend(blocks)
        else:
            self._out.append({"role": role, "content": blocks})

    def _part(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, TextPart):
            return _text(part.text) if part.text.strip() else None
        return _image(part) if self._sees else _text(UNSEEN_IMAGE)

    def _assistant(self, turn: Turn, message: AssistantMessage) -> list[dict[str, Any]]:
        ours = message.provider_id == self._provider_id
        calls = {paired.call.wire_id or "": paired for paired in turn.calls}
        blocks: list[dict[str, Any]] = []
        kept = as_list(message.opaque.get("content")) if ours and message.opaque else []
        for item in kept:
            block = as_dict(item) or {}
            if block.get("type") == "tool_use":
                if (paired := calls.pop(as_text(block.get("id")), None)) is not None:
                    blocks.append(self._call(paired, keep_id=True))
            elif block.get("type") != "text" or as_text(block.get("text")).strip():
                blocks.append(block)
        if not kept and message.text.strip():
            blocks.append(_text(message.text))
        left = [paired for paired in turn.calls if not kept or paired in calls.values()]
        blocks += [self._call(paired, keep_id=ours) for paired in left]
        # Thinking alone is no answer: the API wants something behind it.
        return blocks if any(block.get("type") not in _THINKING for block in blocks) else []

    def _call(self, paired: PairedCall, *, keep_id: bool) -> dict[str, Any]:
        call = paired.call
        return {
            "type": "tool_use",
            "id": self._ids.to_wire(call.call_id, call.wire_id if keep_id else None),
            "name": self._names.to_wire(call.wire_name),
            "input": dict(call.arguments or {}),
        }

    def _result(self, paired: PairedCall) -> dict[str, Any]:
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": self._ids.to_wire(paired.call.call_id),
            "content": paired.result,
        }
        return {**block, "is_error": True} if paired.is_error else block


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(part: ImagePart) -> dict[str, Any]:
    data = base64.b64encode(part.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}


class AnthropicReplyReader(ReplyReader):
    """Reads one reply; keeps its content blocks as they came, for the next request."""

    def __init__(self) -> None:
        super().__init__()
        self.content: list[dict[str, Any]] = []
        """The blocks so far, in the form in which they are sent back."""
        self._blocks: dict[Any, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        """Pieces of the arguments of each open call, by its place in `content`."""
        self._closed: set[int] = set()
        self._usage = FieldTally()
        self._reason = ""

    @property
    def paused(self) -> bool:
        return self.ended and self._reason == "pause_turn"

    # --- one event ------------------------------------------------------------------------------

    def _take(self, payload: dict[str, Any], event: bytes) -> None:
        match payload.get("type"):
            case "message_start":
                self._take_usage((as_dict(payload.get("message")) or {}).get("usage"))
            case "content_block_start":
                self._open(payload.get("index"), as_dict(payload.get("content_block")) or {})
            case "content_block_delta":
                self._grow(payload.get("index"), as_dict(payload.get("delta")) or {})
            case "content_block_stop":
                self._shut(payload.get("index"))
            case "message_delta":
                self._take_usage(payload.get("usage"))
                delta = as_dict(payload.get("delta")) or {}
                self._reason = clean_text(as_text(delta.get("stop_reason"))) or self._reason
            case "message_stop":
                if self._reason:  # without a reason the reply was cut, whatever the last event says
                    self._end()
            case _:
                if payload.get("type") == "error" or payload.get("error"):
                    self._fail(fault_of_body(payload))

    def _take_document(self, payload: Any) -> None:
        reply = as_dict(payload) or {}
        if reply.get("type") == "error" or reply.get("error"):
            self._fail(fault_of_body(reply))
            return
        self._take_usage(reply.get("usage"))
        for index, item in enumerate(as_list(reply.get("content"))):
            block = as_dict(item) or {}
            self._open(index, block)
            if block.get("type") == "tool_use":
                self._arguments[len(self.content) - 1] = [dump_json(block.get("input") or {})]
            self._shut(index)
        self._reason = clean_text(as_text(reply.get("stop_reason")))

    def _stopped(self) -> bool:
        return bool(self._reason)

    # --- one block ------------------------------------------------------------------------------

    def _open(self, index: Any, block: dict[str, Any]) -> None:
        block = dict(block)
        self.content.append(block)
        self._blocks[index] = block
        if block.get("type") == "text":
            self._say(as_text(block.get("text")))
        elif block.get("type") == "thinking":
            self._think(as_text(block.get("thinking")))
        elif block.get("type") == "tool_use":
            at = len(self.content) - 1
            self._arguments[at] = []
            self._batch.fragment(ToolCallFragment(at, clean_text(as_text(block.get("name"))), ""))

    def _grow(self, index: Any, delta: dict[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta":
                text = as_text(delta.get("text"))
                block["text"] = as_text(block.get("text")) + text
                self._say(text)
            case "thinking_delta":
                text = as_text(delta.get("thinking"))
                block["thinking"] = as_text(block.get("thinking")) + text
                self._think(text)
            case "signature_delta":
                block["signature"] = as_text(block.get("signature")) + as_text(delta.get("signature"))
            case "input_json_delta":
                self._grow_arguments(block, as_text(delta.get("partial_json")))
            case "citations_delta":
                block["citations"] = [*as_list(block.get("citations")), delta.get("citation")]
            case "compaction_delta":
                block["content"] = as_text(block.get("content")) + as_text(delta.get("content"))
            case _:
                pass  # a kind of block that we never asked for

    def _grow_arguments(self, block: dict[str, Any], piece: str) -> None:
        at = next(place for place, held in enumerate(self.content) if held is block)
        self._arguments.setdefault(at, []).append(piece)
        if block.get("type") == "tool_use":
            self._batch.fragment(
                ToolCallFragment(at, clean_text(as_text(block.get("name"))), clean_text(piece))
            )

    def _shut(self, index: Any) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        at = next(place for place, held in enumerate(self.content) if held is block)
        self._closed.add(at)
        if (pieces := self._arguments.get(at)) and block.get("type") != "tool_use":
            block["input"] = parse_arguments("".join(pieces))[0] or {}  # a server's own tool

    # --- the end --------------------------------------------------------------------------------

    def _end(self) -> None:
        self._flush()
        stop = _STOPS.get(self._reason, "end")
        if stop != "refusal":
            calls = self._calls()
            for call in calls:
                self._batch.add(call)
            if calls and stop == "end":
                stop = "tool_use"
        thought = any(block.get("type") in _THINKING for block in self.content)
        self._finish(stop, self._reason, {"content": clean_value(self.content)} if thought else None)

    def _calls(self) -> list[ToolCallReady]:
        out: list[ToolCallReady] = []
        for at, block in enumerate(self.content):
            if block.get("type") != "tool_use":
                continue
            raw = clean_text("".join(self._arguments.get(at, ())))
            parsed = parse_arguments(raw)
            # Nothing in a block that never closed is not "no arguments" but "not written yet".
            written = at in self._closed or bool(raw.strip())
            arguments = parsed[0] if written and len(parsed) == 1 else None
            block["input"] = dict(arguments or {})
            name, wire_id = clean_text(as_text(block.get("name"))), clean_text(as_text(block.get("id")))
            out.append(ToolCallReady(at, name, arguments, raw, wire_id or None))
        return out

    def _take_usage(self, usage: Any) -> None:
        found = as_dict(usage) or {}
        details = as_dict(found.get("output_tokens_details")) or {}
        self._usage.take(
            input=found.get("input_tokens"),
            output=found.get("output_tokens"),
            cached=found.get("cache_read_input_tokens"),
            cache_write=found.get("cache_creation_input_tokens"),
            reasoning=details.get("thinking_tokens"),
        )

    def _usage_report(self) -> UsageReport | None:
        used = self._usage
        if not used:
            return None
        return UsageReport(
            input=used["input"] + used["cached"] + used["cache_write"],
            output=used["output"],
            cached=used["cached"],
            cache_write=used["cache_write"],
            reasoning=used["reasoning"],
        )
