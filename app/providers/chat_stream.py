"""A Chat Completions reply, streamed or whole, as neutral events.

Source: https://platform.openai.com/docs/api-reference/chat-streaming, and what compatible servers
really send: `null` or "" for any field, chunks without choices, errors under HTTP 200, no [DONE],
no finish_reason, a whole JSON body although a stream was asked for.
"""

from __future__ import annotations

from typing import Any

from app.protocol.conversation import StopReason, UsageReport
from app.providers.chat_usage import UsageTally
from app.providers.faults import fault, fault_of_body
from app.providers.profiles import ThinkTags
from app.providers.reasoning_details import ReasoningDetails
from app.providers.reply_reader import ReplyReader
from app.providers.sse import MAX_EVENT_BYTES
from app.providers.think_tags import ThinkSplitter
from app.providers.tool_calls import ToolCallAssembler
from app.providers.wire_text import as_dict, as_list, as_text, clean_text

_STOPS: dict[str, StopReason] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}
"""Anything else is a normal end: with tool calls it becomes tool_use, whatever the word was."""

_REASONING_FIELDS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})


class ChatReplyReader(ReplyReader):
    """Chat Completions; see ReplyReader for how it is used."""

    def __init__(self, think_tags: ThinkTags = "off", *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self._splitter = None if think_tags == "off" else ThinkSplitter(inside=think_tags == "prefilled")
        self._calls = ToolCallAssembler()
        self._details = ReasoningDetails()
        self._usage = UsageTally()
        self._reasoning_field = ""
        self._reason = ""
        self._refused = False

    def _done_mark(self) -> None:
        self._end()

    def _take(self, payload: dict[str, Any], event: bytes) -> None:
        if event == b"error" and not payload.get("error"):
            payload = {"error": payload}
        self._take_chunk(payload)

    def _take_document(self, payload: Any) -> None:
        items = as_list(payload) or [payload]
        reply = as_dict(items[0]) or {}
        self._take_chunk(reply)
        if not self.ended and as_list(reply.get("choices")):
            self._end()  # a whole document is whole, whatever its finish_reason

    def _stopped(self) -> bool:
        return bool(self._reason)  # [DONE] is missing, but the model had finished

    # --- one chunk ----------------------------------------------------------------------------

    def _take_chunk(self, chunk: dict[str, Any]) -> None:
        if (usage := as_dict(chunk.get("usage"))) is not None:
            self._usage.take(usage)
        if (
            "x_groq" in chunk
            and (usage := as_dict((as_dict(chunk["x_groq"]) or {}).get("usage"))) is not None
        ):
            self._usage.take(usage)
        if chunk.get("error") or chunk.get("object") == "error":
            self._fail(fault_of_body(chunk))
            return
        for item in as_list(chunk.get("choices")):
            choice = as_dict(item)
            if choice is not None and not choice.get("index"):  # other choices are other answers
                self._take_choice(choice)
                if self.ended:
                    return

    def _take_choice(self, choice: dict[str, Any]) -> None:
        if (usage := as_dict(choice.get("usage"))) is not None:
            self._usage.take(usage)  # Moonshot
        if choice.get("error"):
            self._fail(fault_of_body(choice))
            return
        self._take_delta(as_dict(choice.get("delta")) or as_dict(choice.get("message")) or {})
        finish = as_text(choice.get("finish_reason"))
        if finish:
            self._reason = clean_text(finish)
        if finish == "insufficient_system_resource":  # DeepSeek
            self._fail(
                fault("overloaded", "The model provider ran out of capacity in the middle of its reply.")
            )
        elif finish in ("error", "network_error", "abort"):
            self._fail(fault("server", "The model provider broke its reply off with an error."))

    def _take_delta(self, delta: dict[str, Any]) -> None:
        self._take_reasoning(delta)
        content = delta.get("content")
        if isinstance(content, str):
            self._answer(content)
        else:
            for item in as_list(content):
                self._take_part(as_dict(item) or {})
        if refusal := as_text(delta.get("refusal")):
            self._refused = True
            self._say(refusal)
        if entries := as_list(delta.get("tool_calls")):
            for fragment in self._calls.add_list(entries):
                self._batch.fragment(fragment)
        if (legacy := as_dict(delta.get("function_call"))) is not None:
            for fragment in self._calls.add_legacy(legacy):
                self._batch.fragment(fragment)

    def _take_reasoning(self, delta: dict[str, Any]) -> None:
        """The same reasoning may come in two fields at once: the field seen first is the one read."""
        if _REASONING_FIELDS.isdisjoint(delta):
            return
        details = as_list(delta.get("reasoning_details"))
        in_details = self._details.take(details) if details else ""
        found = {
            "reasoning_content": as_text(delta.get("reasoning_content")),
            "reasoning": as_text(delta.get("reasoning")),
            "reasoning_details": in_details,
        }
        if not self._reasoning_field:
            self._reasoning_field = next((name for name, text in found.items() if text), "")
        self._think(found.get(self._reasoning_field, ""))

    def _take_part(self, part: dict[str, Any]) -> None:
        """A part of Mistral's content lists: text, or thinking that is itself a list of texts."""
        thinking = part.get("thinking")
        self._think(as_text(thinking))
        for item in as_list(thinking):
            self._think(as_text((as_dict(item) or {}).get("text")))
        if thinking is None:
            self._answer(as_text(part.get("text")))

    def _answer(self, text: str) -> None:
        if self._splitter is None:
            self._say(text)
            return
        for channel, piece in self._splitter.push(text):
            self._put(channel, piece)

    def _put(self, channel: str, piece: str) -> None:
        if channel == "answer":
            self._say(piece)
        else:
            self._think(piece)

    # --- the end ------------------------------------------------------------------------------

    def _flush(self) -> None:
        for channel, piece in self._splitter.flush() if self._splitter else []:
            self._put(channel, piece)
        super()._flush()

    def _end(self) -> None:
        self._flush()
        stop = _STOPS.get(self._reason, "end")
        if self._refused and stop in ("end", "content_filter"):
            stop = "refusal"
        calls = self._calls.ready(cut=stop == "max_tokens") if stop in ("end", "max_tokens") else []
        # A filtered or refused reply's calls are not to be run, so they are not handed out at all.
        for call in calls:
            self._batch.add(call)
        if calls and stop == "end":
            stop = "tool_use"
        self._finish(stop, self._reason, self._opaque())

    def _usage_report(self) -> UsageReport | None:
        return self._usage.report()

    def _opaque(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        if details := self._details.state():
            state["reasoning_details"] = details
        if extras := self._calls.extras():
            state["call_extras"] = extras
        return state
