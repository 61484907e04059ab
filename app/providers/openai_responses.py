"""OpenAI's Responses format.

Source: https://platform.openai.com/docs/api-reference/responses and /responses-streaming. Nothing is
stored at the provider: what the model needs of its own reasoning goes back with the history, encrypted.
A reasoning item without what followed it, or the reverse, is a refusal, so a reply's items go back
whole and in their order, or without any reasoning.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
from app.providers.strict_schema import strict_schema
from app.providers.tool_calls import parse_arguments
from app.providers.wire_names import IdMap, NameMap
from app.providers.wire_text import as_dict, as_list, as_text, clean_text, dump_json

_CUTS: dict[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "content_filter"}
"""Why a reply is incomplete; other reasons are a normal end."""


@dataclass(frozen=True, slots=True)
class ResponsesProfile(WireProfile):
    OURS: ClassVar[tuple[str, ...]] = ("input", "model", "stream", "tools", "store")

    send_temperature: bool = True
    """False for reasoning models, which refuse it."""
    strict_tools: bool = False
    """Send `strict: true` with each tool schema that can be rewritten for it."""
    encrypted_reasoning: bool = True
    """Ask for the reasoning in encrypted form and send it back."""
    reasoning_summary: bool = True
    """Ask for a readable summary of the reasoning."""
    extra_body: dict[str, Any] = field(default_factory=dict[str, Any])


class ResponsesWire:
    """Implements `http_provider.Wire`."""

    def __init__(self) -> None:
        self._profiles = ProfileOfModel(ResponsesProfile)

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def build(self, request: ModelRequest, provider_id: str) -> WireRequest:
        profile, model = self._profiles.of(request.model), request.model
        tools = request.tools if "tools" in model.abilities else ()
        names = NameMap([tool.wire_name for tool in tools] + called_names(request.messages))
        strict: dict[str, Mapping[str, Any]] = {}
        body: dict[str, Any] = {
            "model": model.name,
            "input": _Writer(request, provider_id, names).items(),
            "max_output_tokens": request.max_output_tokens or model.max_output_tokens,
            "store": False,
            "stream": "streaming" in model.abilities,
        }
        if request.system.strip():
            body["instructions"] = request.system
        if tools:
            body["tools"] = [_tool(tool, profile, names, strict) for tool in tools]
        if request.temperature is not None and profile.send_temperature:
            body["temperature"] = request.temperature
        if "reasoning" in model.abilities:
            if profile.encrypted_reasoning:
                body["include"] = ["reasoning.encrypted_content"]
            body.update(_reasoning(request, profile))
        body.update(profile.extra_body)
        return WireRequest("/responses", body, names, strict)

    def reader(self, request: ModelRequest) -> ReplyReader:
        return ResponsesReplyReader()

    def go_on(self, request: ModelRequest, provider_id: str, readers: Sequence[ReplyReader]) -> None:
        return None


def _reasoning(request: ModelRequest, profile: ResponsesProfile) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if request.reasoning_effort:
        wanted["effort"] = request.reasoning_effort
    if profile.reasoning_summary:
        wanted["summary"] = "auto"
    return {"reasoning": wanted} if wanted else {}


def _tool(
    tool: ToolSpec, profile: ResponsesProfile, names: NameMap, strict: dict[str, Mapping[str, Any]]
) -> dict[str, Any]:
    rewritten = strict_schema(tool.parameters) if profile.strict_tools else None
    if rewritten is not None:
        strict[tool.wire_name] = tool.parameters
    return {
        "type": "function",
        "name": names.to_wire(tool.wire_name),
        "description": tool.description,
        "parameters": dict(tool.parameters) if rewritten is None else rewritten,
        "strict": rewritten is not None,  # left out, it means true here
    }


class _Writer:
    """Writes the input items of one request."""

    def __init__(self, request: ModelRequest, provider_id: str, names: NameMap) -> None:
        self._request = request
        self._provider_id = provider_id
        self._names = names
        self._ids = IdMap("any")
        self._with_tools = "tools" in request.model.abilities
        self._sees = "vision" in request.model.abilities

    def items(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for turn in pair(self._request.messages):
            if isinstance(turn.message, UserMessage):
                if parts := [part for item in turn.message.parts if (part := self._part(item))]:
                    out.append({"type": "message", "role": "user", "content": parts})
            elif turn.calls and not self._with_tools:
                out.append(_said(told(turn)))
            else:
                out += self._assistant(turn, turn.message)
                out += [self._result(paired) for paired in turn.calls]
        return out

    def _part(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, ImagePart) and self._sees:
            return _image(part)
        text = part.text if isinstance(part, TextPart) else UNSEEN_IMAGE
        return {"type": "input_text", "text": text} if text.strip() else None

    def _assistant(self, turn: Turn, message: AssistantMessage) -> list[dict[str, Any]]:
        ours = message.provider_id == self._provider_id
        if ours and message.opaque and (kept := self._kept(turn, message.opaque)):
            return kept
        items = [_said(message.text)] if message.text.strip() else []
        return items + [self._call(paired, keep_id=ours) for paired in turn.calls]

    def _kept(self, turn: Turn, opaque: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The reply's own items, or nothing where one of their calls is no longer in the history."""
        calls = {paired.call.wire_id: paired for paired in turn.calls}
        kept: list[dict[str, Any]] = []
        for item in as_list(opaque.get("items")):
            entry = as_dict(item) or {}
            if entry.get("type") == "function_call":
                paired = calls.pop(as_text(entry.get("call_id")), None)
                if paired is None:
                    return []
                # What was not one JSON object goes back as none at all, here as elsewhere.
                entry = {**entry, **self._call(paired, keep_id=True)}
            kept.append(entry)
        return [] if calls else kept

    def _call(self, paired: PairedCall, *, keep_id: bool) -> dict[str, Any]:
        call = paired.call
        return {
            "type": "function_call",
            "call_id": self._ids.to_wire(call.call_id, call.wire_id if keep_id else None),
            "name": self._names.to_wire(call.wire_name),
            "arguments": "{}" if call.arguments is None else dump_json(dict(call.arguments)),
        }

    def _result(self, paired: PairedCall) -> dict[str, Any]:
        call_id = self._ids.to_wire(paired.call.call_id)
        return {"type": "function_call_output", "call_id": call_id, "output": paired.result}


def _said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _image(part: ImagePart) -> dict[str, Any]:
    data = base64.b64encode(part.data).decode()
    return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{data}"}


@dataclass(slots=True)
class _Item:
    """One output item. Events of an item are told apart by output_index: ids change on the way."""

    type: str
    name: str = ""
    call_id: str = ""
    pieces: list[str] = field(default_factory=list[str])
    whole: bool = False
    said: bool = False
    """Whether its text came in deltas."""
    done: dict[str, Any] | None = None
    """The item as the provider repeated it at its end."""


class ResponsesReplyReader(ReplyReader):
    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, _Item] = {}
        self._usage = FieldTally()
        self._refused = False

    # --- one event ------------------------------------------------------------------------------

    def _take(self, payload: dict[str, Any], event: bytes) -> None:
        kind = as_text(payload.get("type"))
        match kind:
            case "response.output_text.delta":
                self._item(payload).said = True
                self._say(as_text(payload.get("delta")))
            case "response.refusal.delta":
                self._item(payload).said = True
                self._refused = True
                self._say(as_text(payload.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._item(payload).said = True
                self._think(as_text(payload.get("delta")))
            case "response.output_item.added":
                self._open(payload, as_dict(payload.get("item")) or {})
            case "response.function_call_arguments.delta":
                self._grow(self._item(payload), payload, as_text(payload.get("delta")))
            case "response.function_call_arguments.done":
                self._set_arguments(self._item(payload), payload.get("arguments"))
            case "response.output_item.done":
                self._close_item(payload, as_dict(payload.get("item")) or {})
            case "response.completed" | "response.incomplete" | "response.failed":
                self._take_response(as_dict(payload.get("response")) or {})
            case _:
                if kind == "error" or event == b"error" or payload.get("error"):
                    self._fail(fault_of_body(payload))

    def _take_document(self, payload: Any) -> None:
        reply = as_dict(payload) or {}
        for index, item in enumerate(as_list(reply.get("output"))):
            at = {"output_index": index}
            self._open(at, as_dict(item) or {})
            self._close_item(at, as_dict(item) or {})
        if reply.get("error") or reply.get("status"):
            self._take_response(reply)

    def _take_response(self, response: dict[str, Any]) -> None:
        self._take_usage(as_dict(response.get("usage")) or {})
        status = as_text(response.get("status"))
        if response.get("error") or status == "failed":
            self._fail(fault_of_body(response))
            return
        reason = as_text((as_dict(response.get("incomplete_details")) or {}).get("reason"))
        self._flush()
        stop = _CUTS.get(reason, "end")
        if self._refused and stop == "end":
            stop = "refusal"
        calls = self._calls() if stop in ("end", "max_tokens") else []
        for call in calls:
            self._batch.add(call)
        self._finish("tool_use" if calls and stop == "end" else stop, status, self._opaque())

    def _stopped(self) -> bool:
        return False  # only response.completed and its kin are an end

    # --- one item -------------------------------------------------------------------------------

    def _item(self, payload: dict[str, Any]) -> _Item:
        index = payload.get("output_index")
        at = index if isinstance(index, int) else -1
        return self._items.setdefault(at, _Item(""))

    def _open(self, payload: dict[str, Any], item: dict[str, Any]) -> None:
        held = self._item(payload)
        held.type = as_text(item.get("type"))
        if held.type == "function_call":
            held.name = clean_text(as_text(item.get("name")))
            held.call_id = clean_text(as_text(item.get("call_id")))
            self._grow(held, payload, "")

    def _grow(self, held: _Item, payload: dict[str, Any], piece: str) -> None:
        if held.type != "function_call":
            return  # a tool that the provider runs by itself
        if piece:
            held.pieces.append(piece)
        index = payload.get("output_index")
        self._batch.fragment(
            ToolCallFragment(index if isinstance(index, int) else 0, held.name, clean_text(piece))
        )

    def _set_arguments(self, held: _Item, arguments: Any) -> None:
        if isinstance(arguments, str) and arguments:
            held.pieces = [arguments]
        held.whole = True

    def _close_item(self, payload: dict[str, Any], item: dict[str, Any]) -> None:
        held = self._item(payload)
        held.done = item
        held.type = held.type or as_text(item.get("type"))
        if held.type == "function_call":
            held.name = clean_text(as_text(item.get("name"))) or held.name
            held.call_id = clean_text(as_text(item.get("call_id"))) or held.call_id
            self._set_arguments(held, item.get("arguments"))
            held.whole = item.get("status") != "incomplete"
        elif not held.said:
            self._read_whole(item)

    def _read_whole(self, item: dict[str, Any]) -> None:
        """An item that came without deltas."""
        for entry in [*as_list(item.get("summary")), *as_list(item.get("content"))]:
            part = as_dict(entry) or {}
            match part.get("type"):
                case "output_text":
                    self._say(as_text(part.get("text")))
                case "refusal":
                    self._refused = True
                    self._say(as_text(part.get("refusal")))
                case "summary_text" | "reasoning_text":
                    self._think(as_text(part.get("text")))
                case _:
                    pass

    # --- the end --------------------------------------------------------------------------------

    def _calls(self) -> list[ToolCallReady]:
        out: list[ToolCallReady] = []
        for index, item in sorted(self._items.items()):
            if item.type != "function_call":
                continue
            raw = clean_text("".join(item.pieces))
            parsed = parse_arguments(raw)
            written = item.whole or bool(raw.strip())
            arguments = parsed[0] if written and len(parsed) == 1 else None
            out.append(ToolCallReady(index, item.name, arguments, raw, item.call_id or None))
        return out

    def _opaque(self) -> dict[str, Any] | None:
        items = [item.done for _, item in sorted(self._items.items()) if item.done is not None]
        encrypted = any(item.get("type") == "reasoning" and item.get("encrypted_content") for item in items)
        return {"items": items} if encrypted else None

    def _take_usage(self, usage: dict[str, Any]) -> None:
        self._usage.take(
            input=usage.get("input_tokens"),
            output=usage.get("output_tokens"),
            cached=(as_dict(usage.get("input_tokens_details")) or {}).get("cached_tokens"),
            reasoning=(as_dict(usage.get("output_tokens_details")) or {}).get("reasoning_tokens"),
        )

    def _usage_report(self) -> UsageReport | None:
        used = self._usage
        if not used:
            return None
        return UsageReport(
            input=used["input"], output=used["output"], cached=used["cached"], reasoning=used["reasoning"]
        )
