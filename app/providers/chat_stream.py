"""A Chat Completions reply, streamed or whole, as neutral events.

Source: https://platform.openai.com/docs/api-reference/chat-streaming, and what compatible servers
really send: `null` or "" for any field, chunks without choices, errors under HTTP 200, no [DONE],
no finish_reason, a whole JSON body although a stream was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import ProviderError
from app.protocol.conversation import Done, Failed, ModelEvent, OpaqueState, StopReason
from app.providers.batch import EventBatch
from app.providers.chat_usage import UsageTally
from app.providers.faults import fault, fault_of_body
from app.providers.profiles import ThinkTags
from app.providers.reasoning_details import ReasoningDetails
from app.providers.sse import MAX_EVENT_BYTES, EventTooLong, SSEEvent, SSEReader
from app.providers.think_tags import ThinkSplitter
from app.providers.tool_calls import ToolCallAssembler
from app.providers.wire_text import PairJoiner, as_dict, as_list, as_text, clean_text, clean_value, load_json

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


class ChatReplyReader:
    """Push the bytes of one 2xx reply with `feed`, end with `close`.

    After the batch that ends with Done or Failed (`ended` is true then) both give nothing more.
    """

    def __init__(self, think_tags: ThinkTags = "off", *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.ended = False
        self._limit = max_event_bytes
        self._sse = SSEReader(max_event_bytes)
        self._whole: list[bytes] | None = None
        self._whole_bytes = 0
        self._begun = False
        self._batch = EventBatch()
        self._text = PairJoiner()
        self._thoughts = PairJoiner()
        self._splitter = None if think_tags == "off" else ThinkSplitter(inside=think_tags == "prefilled")
        self._calls = ToolCallAssembler()
        self._details = ReasoningDetails()
        self._usage = UsageTally()
        self._reasoning_field = ""
        self._finish = ""
        self._refused = False

    def feed(self, data: bytes) -> list[ModelEvent]:
        if self.ended:
            return []
        if not self._begun:
            # No SSE stream begins with a bracket, so the body tells its form better than its header.
            start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
            self._begun = bool(start)
            if start[:1] in (b"{", b"["):
                self._whole = []
        try:
            if self._whole is not None:
                self._whole.append(data)
                self._whole_bytes += len(data)
                if self._whole_bytes > self._limit:
                    raise EventTooLong
            else:
                self._take_all(self._sse.feed(data))
        except EventTooLong:
            self._fail(
                fault(
                    "server",
                    "The model provider sent an event that is too large to be read.",
                    retryable=False,
                )
            )
        return self._batch.take()

    def close(self, cut: ProviderError | None = None) -> list[ModelEvent]:
        """The body ended, or was cut by the transport fault `cut`."""
        if not self.ended and self._whole is not None:
            self._take_whole(b"".join(self._whole))
        elif not self.ended:
            try:
                self._take_all(self._sse.close(), tail=True)
            except EventTooLong:  # unreachable unless one byte is the limit; the end rules below hold
                pass
        if not self.ended and self._finish:
            self._end()  # [DONE] is missing, but the model had finished
        if not self.ended:
            self._fail(
                cut or fault("incomplete_stream", "The model provider's reply broke off before its end.")
            )
        return self._batch.take()

    # --- framing ------------------------------------------------------------------------------

    def _take_all(self, events: Iterable[SSEEvent], *, tail: bool = False) -> None:
        for event in events:
            if self.ended:
                return
            data = event.data.strip()
            if data == b"[DONE]":
                self._end()
                return
            try:
                payload: Any = load_json(data)
            except ValueError:
                if tail:
                    return  # the last line was cut; the end rules say what that means
                if event.event == b"error":
                    payload = {"error": data.decode("utf-8", "replace")}
                elif data[:1] in (b"{", b"["):
                    self._fail(
                        fault("incomplete_stream", "The model provider sent an event that is not valid JSON.")
                    )
                    return
                else:
                    continue  # "ping" and the like
            chunk = as_dict(payload)
            if chunk is None:
                continue
            if event.event == b"error" and not chunk.get("error"):
                chunk = {"error": chunk}
            self._take_chunk(chunk)

    def _take_whole(self, body: bytes) -> None:
        try:
            payload: Any = load_json(body.lstrip(b"\xef\xbb\xbf \t\r\n"))
        except ValueError:
            return
        items = as_list(payload) or [payload]
        reply = as_dict(items[0]) or {}
        self._take_chunk(reply)
        if not self.ended and as_list(reply.get("choices")):
            self._end()  # a whole document is whole, whatever its finish_reason

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
            self._finish = clean_text(finish)
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
            self._batch.text(self._text.push(refusal))
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
            self._batch.text(self._text.push(text))
            return
        for channel, piece in self._splitter.push(text):
            self._put(channel, piece)

    def _think(self, text: str) -> None:
        if text:
            self._batch.reasoning(self._thoughts.push(text))

    def _put(self, channel: str, piece: str) -> None:
        if channel == "answer":
            self._batch.text(self._text.push(piece))
        else:
            self._think(piece)

    # --- the end ------------------------------------------------------------------------------

    def _flush(self) -> None:
        for channel, piece in self._splitter.flush() if self._splitter else []:
            self._put(channel, piece)
        self._batch.reasoning(self._thoughts.flush())
        self._batch.text(self._text.flush())

    def _end(self) -> None:
        self._flush()
        stop = _STOPS.get(self._finish, "end")
        if self._refused and stop in ("end", "content_filter"):
            stop = "refusal"
        calls = self._calls.ready(cut=stop == "max_tokens") if stop in ("end", "max_tokens") else []
        # A filtered or refused reply's calls are not to be run, so they are not handed out at all.
        for call in calls:
            self._batch.add(call)
        if calls and stop == "end":
            stop = "tool_use"
        if opaque := self._opaque():
            self._batch.add(OpaqueState(opaque))
        self._report_usage()
        self._batch.add(Done(stop, self._finish or None))
        self.ended = True

    def _fail(self, error: ProviderError) -> None:
        self._flush()
        self._report_usage()
        self._batch.add(Failed(error))
        self.ended = True

    def _report_usage(self) -> None:
        if (report := self._usage.report()) is not None:
            self._batch.add(report)

    def _opaque(self) -> Mapping[str, Any]:
        state: dict[str, Any] = {}
        if details := self._details.state():
            state["reasoning_details"] = details
        if extras := self._calls.extras():
            state["call_extras"] = extras
        return clean_value(state)
