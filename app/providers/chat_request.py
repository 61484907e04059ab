"""A neutral request as a Chat Completions body.

Source: https://platform.openai.com/docs/api-reference/chat/create, narrowed to what compatible
servers take. Whatever the history holds, what is sent is valid: results follow their calls, each
call has a result, arguments are JSON text, nothing is empty, names and ids fit the wire.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    ModelRequest,
    Part,
    TextPart,
    ToolSpec,
    UserMessage,
)
from app.providers.http_provider import WireRequest
from app.providers.paired import UNSEEN_IMAGE, PairedCall, Turn, called_names, pair, told
from app.providers.profiles import Profile
from app.providers.strict_schema import strict_schema
from app.providers.wire_names import IdMap, NameMap
from app.providers.wire_text import as_dict, as_list, dump_json


def build_chat_request(request: ModelRequest, profile: Profile, provider_id: str) -> WireRequest:
    model = request.model
    tools = request.tools if "tools" in model.abilities else ()
    names = NameMap([tool.wire_name for tool in tools] + called_names(request.messages))
    strict: dict[str, Mapping[str, Any]] = {}
    body: dict[str, Any] = {
        "model": model.name,
        "messages": _Writer(request, profile, provider_id, names).messages(),
    }
    if tools:
        body["tools"] = [_tool(tool, profile, names, strict) for tool in tools]
    body[profile.max_tokens_field] = request.max_output_tokens or model.max_output_tokens
    if request.temperature is not None and profile.send_temperature:
        body["temperature"] = request.temperature
    if request.reasoning_effort and profile.send_reasoning_effort and "reasoning" in model.abilities:
        body["reasoning_effort"] = request.reasoning_effort
    body["stream"] = "streaming" in model.abilities
    if body["stream"] and profile.include_usage:
        body["stream_options"] = {"include_usage": True}
    body.update(profile.extra_body)
    if not body["stream"]:
        body.update(profile.extra_body_unstreamed)
    return WireRequest("/chat/completions", body, names, strict)


def _tool(
    tool: ToolSpec, profile: Profile, names: NameMap, strict: dict[str, Mapping[str, Any]]
) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": names.to_wire(tool.wire_name),
        "description": tool.description,
        "parameters": tool.parameters,
    }
    rewritten = strict_schema(tool.parameters) if profile.strict_tools else None
    if rewritten is not None:
        function.update(parameters=rewritten, strict=True)
        strict[tool.wire_name] = tool.parameters
    return {"type": "function", "function": function}


class _Writer:
    """Writes the messages of one request."""

    def __init__(self, request: ModelRequest, profile: Profile, provider_id: str, names: NameMap) -> None:
        self._request = request
        self._profile = profile
        self._provider_id = provider_id
        self._names = names
        self._ids = IdMap(profile.tool_id_format)
        self._with_tools = "tools" in request.model.abilities

    def messages(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        if self._request.system.strip():
            out.append({"role": self._profile.system_role, "content": self._request.system})
        turns = pair(self._request.messages)
        last_user = max(
            (at for at, turn in enumerate(turns) if isinstance(turn.message, UserMessage)), default=-1
        )
        for at, turn in enumerate(turns):
            if isinstance(turn.message, UserMessage):
                out.extend(self._user(turn.message))
            else:
                out.extend(self._assistant(turn, turn.message, in_tool_loop=at > last_user))
        return out

    def _user(self, message: UserMessage) -> list[dict[str, Any]]:
        parts = [part for part in message.parts if not isinstance(part, TextPart) or part.text.strip()]
        if not parts:
            return []
        sees = "vision" in self._request.model.abilities
        if sees and any(isinstance(part, ImagePart) for part in parts):
            return [{"role": "user", "content": [_content_part(part) for part in parts]}]
        # One plain string: many compatible servers take no list.
        texts = [part.text if isinstance(part, TextPart) else UNSEEN_IMAGE for part in parts]
        return [{"role": "user", "content": "\n\n".join(texts)}]

    def _assistant(
        self, turn: Turn, message: AssistantMessage, *, in_tool_loop: bool
    ) -> list[dict[str, Any]]:
        if not self._with_tools and turn.calls:
            return [{"role": "assistant", "content": told(turn)}]
        has_text = bool(message.text.strip())
        if not has_text and not turn.calls:
            return []  # an empty assistant message is a 400 with most servers
        wire: dict[str, Any] = {"role": "assistant", "content": message.text if has_text else None}
        ours = message.provider_id == self._provider_id
        opaque: Mapping[str, Any] = message.opaque if ours and message.opaque else {}
        echo = self._profile.reasoning_echo
        if (echo == "always" or (echo == "tool_loop" and in_tool_loop)) and (message.reasoning or turn.calls):
            wire["reasoning_content"] = message.reasoning
        if details := as_list(opaque.get("reasoning_details")):
            wire["reasoning_details"] = details
        extras = as_dict(opaque.get("call_extras")) or {}
        entries: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for paired in turn.calls:
            wire_id = self._ids.to_wire(paired.call.call_id, paired.call.wire_id if ours else None)
            entry = self._call(paired, wire_id)
            if extra := extras.get(paired.call.wire_id or ""):
                entry["extra_content"] = extra
            entries.append(entry)
            results.append({"role": "tool", "tool_call_id": wire_id, "content": paired.result})
        if entries:
            wire["tool_calls"] = entries
        return [wire, *results]

    def _call(self, paired: PairedCall, wire_id: str) -> dict[str, Any]:
        call = paired.call
        # Unparsable arguments go back as none at all: servers parse them and answer 400 or 500.
        arguments = "{}" if call.arguments is None else dump_json(dict(call.arguments))
        return {
            "id": wire_id,
            "type": "function",
            "function": {"name": self._names.to_wire(call.wire_name), "arguments": arguments},
        }


def _content_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{data}"}}
