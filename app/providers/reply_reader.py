"""What all wire formats share in reading one reply: framing, how it may end, and its faults.

A reply is a stream of server-sent events whose data is JSON, or one whole JSON document although a
stream was asked for. Each wire format is a subclass that takes one payload at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.errors import ProviderError
from app.protocol.conversation import Done, Failed, ModelEvent, OpaqueState, StopReason, UsageReport
from app.providers.batch import EventBatch
from app.providers.faults import fault
from app.providers.sse import MAX_EVENT_BYTES, EventTooLong, SSEEvent, SSEReader
from app.providers.wire_text import PairJoiner, as_dict, clean_value, load_json

_BLANK = b"\xef\xbb\xbf \t\r\n"


class ReplyReader:
    """Push the bytes of one 2xx reply with `feed`, end with `close`.

    After the batch that ends with Done or Failed (`ended` is true then) both give nothing more.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.ended = False
        self._limit = max_event_bytes
        self._sse = SSEReader(max_event_bytes)
        self._whole: list[bytes] | None = None
        self._whole_bytes = 0
        self._begun = False
        self._batch = EventBatch()
        self._text = PairJoiner()
        self._thoughts = PairJoiner()

    # --- what a wire format fills in ------------------------------------------------------------

    def _take(self, payload: dict[str, Any], event: bytes) -> None:
        """One event's data; `event` is its name, empty where it had none."""
        raise NotImplementedError

    def _take_document(self, payload: Any) -> None:
        """A whole reply in one JSON document."""
        raise NotImplementedError

    def _stopped(self) -> bool:
        """Whether the model had finished, though the stream's own end mark is missing."""
        raise NotImplementedError

    def _end(self) -> None:
        """Emits what is left and a Done."""
        raise NotImplementedError

    def _usage_report(self) -> UsageReport | None:
        raise NotImplementedError

    # --- bytes in -------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[ModelEvent]:
        if self.ended:
            return []
        if not self._begun:
            # No SSE stream begins with a bracket, so the body tells its form better than its header.
            start = data.lstrip(_BLANK)
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
        if not self.ended and self._stopped():
            self._end()
        if not self.ended:
            self._fail(
                cut or fault("incomplete_stream", "The model provider's reply broke off before its end.")
            )
        return self._batch.take()

    def _take_all(self, events: Iterable[SSEEvent], *, tail: bool = False) -> None:
        for event in events:
            if self.ended:
                return
            data = event.data.strip()
            if data == b"[DONE]":
                self._done_mark()
                continue
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
            if (chunk := as_dict(payload)) is not None:
                self._take(chunk, event.event)

    def _done_mark(self) -> None:
        """`[DONE]`: the stream's end in Chat Completions, noise in the other formats."""

    def _take_whole(self, body: bytes) -> None:
        try:
            payload: Any = load_json(body.lstrip(_BLANK))
        except ValueError:
            return
        self._take_document(payload)

    # --- events out -----------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        if text:
            self._batch.text(self._text.push(text))

    def _think(self, text: str) -> None:
        if text:
            self._batch.reasoning(self._thoughts.push(text))

    def _flush(self) -> None:
        self._batch.reasoning(self._thoughts.flush())
        self._batch.text(self._text.flush())

    def _finish(self, stop: StopReason, raw: str | None, opaque: dict[str, Any] | None = None) -> None:
        if opaque:
            self._batch.add(OpaqueState(clean_value(opaque)))
        self._report_usage()
        self._batch.add(Done(stop, raw or None))
        self.ended = True

    def _fail(self, error: ProviderError) -> None:
        self._flush()
        self._report_usage()
        self._batch.add(Failed(error))
        self.ended = True

    def _report_usage(self) -> None:
        if (report := self._usage_report()) is not None:
            self._batch.add(report)


class FieldTally:
    """Usage that comes in several events: per field the last number counts, never the sum.

    Source of the rule: https://github.com/griptape-ai/griptape/issues/2275
    """

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, int] = {}

    def take(self, **found: Any) -> None:
        for name, value in found.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                self._values[name] = int(value)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __getitem__(self, name: str) -> int:
        return self._values.get(name, 0)
