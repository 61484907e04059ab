"""Google's Gemini format (`generateContent`).

Source: https://ai.google.dev/api/generate-content and /gemini-api/docs/thought-signatures; what real
servers do beyond it comes from recorded streams. A signature goes back on the part it came with, all
calls of a turn in one model content, their results in one user content directly behind it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from app.protocol.conversation import (
    AssistantMessage,
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
from app.providers.faults import fault, fault_of_body
from app.providers.gemini_schema import gemini_schema
from app.providers.http_provider import WireRequest
from app.providers.paired import UNSEEN_IMAGE, PairedCall, Turn, called_names, pair, told
from app.providers.profiles import ProfileOfModel, WireProfile
from app.providers.reply_reader import FieldTally, ReplyReader
from app.providers.wire_names import NameMap
from app.providers.wire_text import as_dict, as_list, as_text, clean_text, clean_value, dump_json, load_json

LEFT_OUT = "[The beginning of this conversation was left out.]"
"""A conversation must begin with the user."""
_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24576}
_REASONS = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER", 6: "BLOCKLIST",
            7: "PROHIBITED_CONTENT", 8: "SPII", 9: "MALFORMED_FUNCTION_CALL"}  # fmt: skip
"""Finish reasons of servers that send enums as numbers."""
_STOPS: dict[str, StopReason] = {
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "LANGUAGE": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
_Path = tuple[str | int, ...]
_BAD_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")


@dataclass(frozen=True, slots=True)
class GeminiProfile(WireProfile):
    OURS: ClassVar[tuple[str, ...]] = ("contents", "tools", "systemInstruction", "generationConfig")

    thinking: Literal["level", "budget", "off"] = "level"
    """How thinking is asked for: by level (3 and newer), or by a budget of tokens (2.5)."""
    show_thoughts: bool = True
    """Ask for a readable summary of the thoughts."""
    schema: Literal["subset", "json"] = "subset"
    """Tool schemas in Google's own subset, or as JSON Schema (`parametersJsonSchema`)."""
    send_temperature: bool = True
    extra_body: dict[str, Any] = field(default_factory=dict[str, Any])


class GeminiWire:
    """Implements `http_provider.Wire`."""

    def __init__(self) -> None:
        self._profiles = ProfileOfModel(GeminiProfile)

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": api_key} if api_key else {}

    def build(self, request: ModelRequest, provider_id: str) -> WireRequest:
        profile, model = self._profiles.of(request.model), request.model
        tools = request.tools if "tools" in model.abilities else ()
        names = NameMap([tool.wire_name for tool in tools] + called_names(request.messages))
        body: dict[str, Any] = {
            "contents": _Writer(request, provider_id, names).contents(),
            "generationConfig": _config(request, profile),
        }
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool, profile, names) for tool in tools]}]
        body.update(profile.extra_body)
        path = model.name if "/" in model.name else f"models/{model.name}"
        verb = "streamGenerateContent?alt=sse" if "streaming" in model.abilities else "generateContent"
        return WireRequest(f"/{quote(path)}:{verb}", body, names)

    def reader(self, request: ModelRequest) -> ReplyReader:
        return GeminiReplyReader()

    def go_on(self, request: ModelRequest, provider_id: str, readers: Sequence[ReplyReader]) -> None:
        return None


def _config(request: ModelRequest, profile: GeminiProfile) -> dict[str, Any]:
    config: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens or request.model.max_output_tokens}
    if request.temperature is not None and profile.send_temperature:
        config["temperature"] = request.temperature
    if "reasoning" not in request.model.abilities or profile.thinking == "off":
        return config
    thinking: dict[str, Any] = {"includeThoughts": True} if profile.show_thoughts else {}
    if effort := request.reasoning_effort:
        if profile.thinking == "level":
            thinking["thinkingLevel"] = effort
        else:
            thinking["thinkingBudget"] = _BUDGETS.get(effort, _BUDGETS["medium"])
    return {**config, "thinkingConfig": thinking} if thinking else config


def _tool(tool: ToolSpec, profile: GeminiProfile, names: NameMap) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": names.to_wire(tool.wire_name), "description": tool.description}
    if profile.schema == "json":
        wire["parametersJsonSchema"] = dict(tool.parameters)
    else:
        parameters = gemini_schema(tool.parameters)
        if parameters.get("properties"):  # an object without properties is refused
            wire["parameters"] = parameters
    return wire


class _Writer:
    """Writes the contents of one request."""

    def __init__(self, request: ModelRequest, provider_id: str, names: NameMap) -> None:
        self._request = request
        self._provider_id = provider_id
        self._names = names
        self._with_tools = "tools" in request.model.abilities
        self._sees = "vision" in request.model.abilities

    def contents(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for turn in pair(self._request.messages):
            if isinstance(turn.message, UserMessage):
                parts = [part for item in turn.message.parts if (part := self._part(item))]
                _put(out, "user", parts)
            elif turn.calls and not self._with_tools:
                _put(out, "model", [{"text": told(turn)}])
            else:
                ours = turn.message.provider_id == self._provider_id
                _put(out, "model", self._assistant(turn, turn.message, ours=ours))
                _put(out, "user", [self._result(paired, ours=ours) for paired in turn.calls])
        if not out or out[0]["role"] != "user":
            out.insert(0, {"role": "user", "parts": [{"text": LEFT_OUT}]})
        return out

    def _part(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, TextPart):
            return {"text": part.text} if part.text.strip() else None
        if not self._sees:
            return {"text": UNSEEN_IMAGE}
        return {"inlineData": {"mimeType": part.media_type, "data": base64.b64encode(part.data).decode()}}

    def _assistant(self, turn: Turn, message: AssistantMessage, *, ours: bool) -> list[dict[str, Any]]:
        kept = [as_dict(item) or {} for item in as_list((message.opaque or {}).get("parts"))] if ours else []
        waiting = list(turn.calls)
        # Signed parts go back in their places, if they still fit the calls of this history.
        if kept and sum("functionCall" in part for part in kept) == len(waiting):
            return [
                {**part, "functionCall": self._call(waiting.pop(0), ours=True)}
                if "functionCall" in part
                else part
                for part in kept
            ]
        parts: list[dict[str, Any]] = [{"text": message.text}] if message.text.strip() else []
        return parts + [{"functionCall": self._call(paired, ours=ours)} for paired in turn.calls]

    def _call(self, paired: PairedCall, *, ours: bool) -> dict[str, Any]:
        call = paired.call
        wire = {"name": self._names.to_wire(call.wire_name), "args": dict(call.arguments or {})}
        return {**wire, "id": call.wire_id} if ours and call.wire_id else wire

    def _result(self, paired: PairedCall, *, ours: bool) -> dict[str, Any]:
        try:
            value: Any = load_json(paired.result)
        except ValueError:
            value = paired.result
        response = as_dict(value)
        if response is None:
            response = {"result": value}  # the wire wants an object
        call = paired.call
        wire: dict[str, Any] = {"name": self._names.to_wire(call.wire_name), "response": response}
        return {"functionResponse": {**wire, "id": call.wire_id} if ours and call.wire_id else wire}


def _put(out: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Neighbours of one role become one content, but results stand alone behind their calls."""
    if not parts:
        return
    last = out[-1] if out else None
    if (
        last is not None
        and last["role"] == role
        and not any("functionResponse" in part or "functionCall" in part for part in [*last["parts"], *parts])
    ):
        last["parts"].extend(parts)
    else:
        out.append({"role": role, "parts": parts})


@dataclass(slots=True)
class _Call:
    index: int
    name: str
    wire_id: str
    arguments: dict[str, Any]
    open: bool
    """Whether more of its arguments is to come."""
    pieces: dict[_Path, Any] = field(default_factory=dict["_Path", Any])

    def whole(self) -> dict[str, Any]:
        return {**self.arguments, **_nested(self.pieces)}


class GeminiReplyReader(ReplyReader):
    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_Call] = []
        self._parts: list[dict[str, Any]] = []
        """What the model said, for the next request; its thoughts are not sent back."""
        self._usage = FieldTally()
        self._reason = ""
        self._blocked = ""
        self._signed = False

    def _take(self, payload: dict[str, Any], event: bytes) -> None:
        self._take_usage(as_dict(payload.get("usageMetadata")) or {})
        if payload.get("error"):
            self._fail(fault_of_body(payload))
            return
        blocked = (as_dict(payload.get("promptFeedback")) or {}).get("blockReason")
        if blocked and not as_list(payload.get("candidates")):
            self._blocked = clean_text(str(blocked))
        for item in as_list(payload.get("candidates")):
            candidate = as_dict(item) or {}
            if candidate.get("index"):
                continue  # other candidates are other answers
            for part in as_list((as_dict(candidate.get("content")) or {}).get("parts")):
                self._take_part(as_dict(part) or {})
            reason = candidate.get("finishReason")
            if isinstance(reason, int) and reason:
                reason = _REASONS.get(reason, "OTHER")
            # It may come in every chunk, so it ends nothing: the end of the body does.
            self._reason = clean_text(as_text(reason)) or self._reason

    def _take_document(self, payload: Any) -> None:
        for item in as_list(payload) or [payload]:
            if not self.ended and (reply := as_dict(item)) is not None:
                self._take(reply, b"")

    def _take_part(self, part: dict[str, Any]) -> None:
        self._signed = self._signed or bool(part.get("thoughtSignature"))
        text = as_text(part.get("text"))
        if part.get("thought"):
            self._think(text)
            return
        if (call := as_dict(part.get("functionCall"))) is not None:
            self._take_call(part, call)
            return
        self._say(text)
        last = self._parts[-1] if self._parts else None
        if text and set(part) == {"text"} and last is not None and set(last) == {"text"}:
            last["text"] += text
        elif set(part) - {"text"} or text:
            self._parts.append(dict(part))

    def _take_call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        name = clean_text(as_text(call.get("name")))
        last = self._calls[-1] if self._calls else None
        if name or last is None or not last.open:
            if not name:
                return  # the empty call that ends one which was whole already
            last = _Call(len(self._calls), name, clean_text(as_text(call.get("id"))), {}, open=True)
            self._calls.append(last)
            self._parts.append(dict(part))
        if (arguments := as_dict(call.get("args"))) is not None:
            last.arguments.update(clean_value(arguments))
        for piece in as_list(call.get("partialArgs")):
            _add_partial(last.pieces, as_dict(piece) or {})
        last.open = bool(call.get("willContinue"))
        self._batch.fragment(ToolCallFragment(last.index, last.name, ""))

    def _stopped(self) -> bool:
        return bool(self._reason or self._blocked)

    def _end(self) -> None:
        if self._reason in _BAD_CALLS:
            words = "The model asked for a tool in a way that cannot be understood."
            self._fail(fault("malformed_tool_call", words))
            return
        self._flush()
        stop: StopReason = "content_filter" if self._blocked and not self._reason else "end"
        stop = _STOPS.get(self._reason, stop)
        calls = self._ready() if stop in ("end", "max_tokens") else []
        for call in calls:
            self._batch.add(call)
        if calls and stop == "end":
            stop = "tool_use"
        opaque = {"parts": self._parts} if self._signed else None
        self._finish(stop, self._reason or f"BLOCK:{self._blocked}", opaque)

    def _ready(self) -> list[ToolCallReady]:
        out: list[ToolCallReady] = []
        for call in self._calls:
            arguments = call.whole()
            text = dump_json(arguments)
            out.append(
                ToolCallReady(
                    call.index, call.name, None if call.open else arguments, text, call.wire_id or None
                )
            )
        return out

    def _take_usage(self, usage: dict[str, Any]) -> None:
        self._usage.take(
            prompt=usage.get("promptTokenCount"),
            tools=usage.get("toolUsePromptTokenCount"),
            said=usage.get("candidatesTokenCount"),
            thoughts=usage.get("thoughtsTokenCount"),
            cached=usage.get("cachedContentTokenCount"),
        )

    def _usage_report(self) -> UsageReport | None:
        used = self._usage
        if not used:
            return None
        return UsageReport(
            input=used["prompt"] + used["tools"],
            output=used["said"] + used["thoughts"],
            cached=used["cached"],
            reasoning=used["thoughts"],
        )


def _add_partial(pieces: dict[_Path, Any], piece: dict[str, Any]) -> None:
    """One `partialArgs` entry: a value, or a piece of a string, at a JSON path such as `$.a[0].b`."""
    steps = _STEP.findall(as_text(piece.get("jsonPath")))
    path: _Path = tuple(int(number) if number else name or quoted for name, number, quoted in steps)
    value = next((piece[key] for key in ("stringValue", "numberValue", "boolValue") if key in piece), None)
    held = pieces.get(path)
    pieces[path] = held + value if isinstance(held, str) and isinstance(value, str) else value


def _nested(pieces: Mapping[_Path, Any]) -> dict[str, Any]:
    """The object that values at their paths make."""
    whole = _nest(dict(pieces))
    return clean_value(as_dict(whole) or {})


def _nest(pieces: dict[_Path, Any]) -> Any:
    if () in pieces:
        return pieces[()]
    below: dict[str | int, dict[_Path, Any]] = {}
    for path, value in pieces.items():
        below.setdefault(path[0], {})[path[1:]] = value
    if below and all(isinstance(step, int) for step in below):
        return [_nest(below[step]) for step in sorted(below, key=int)]
    return {str(step): _nest(inner) for step, inner in below.items()}
