"""One model call: a provider's stream in, one whole assistant message out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from app.agent.budget import Budget
from app.errors import DeskmateError, ProviderError, RequestCancelled, RunFatal
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    Failed,
    ModelEvent,
    ModelRequest,
    OpaqueState,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    ToolCallFragment,
    ToolCallReady,
    UsageReport,
)
from app.protocol.events import Channel
from app.protocol.ids import new_id
from app.protocol.ports import ModelProvider, RunRecord

log = logging.getLogger(__name__)

CLOSE_LIMIT_S = 1.0
"""How long a provider may take to let go of its socket."""


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """What one model call gave, whole or cut off."""

    message: AssistantMessage
    usage: UsageReport | None
    stop: StopReason | None
    """None when the call was cut off or failed."""
    error: DeskmateError | None
    """RequestCancelled, RunExpired or ProviderError; the message then holds what came before it."""
    cut_calls: frozenset[str] = frozenset()
    """Ids of calls whose arguments never became complete."""

    @property
    def is_empty(self) -> bool:
        return not (self.message.text or self.message.reasoning or self.message.tool_calls)

    @property
    def too_long(self) -> bool:
        """The provider refused the request for its length, before it said anything."""
        return isinstance(self.error, ProviderError) and self.error.kind == "context_length" and self.is_empty


async def ask(
    provider: ModelProvider,
    request: ModelRequest,
    *,
    record: RunRecord,
    cancel: asyncio.Event,
    budget: Budget,
) -> StepAnswer:
    """Streams one answer into the record.

    Cancel and the wall time end the stream at once: they interrupt whatever the stream waits for, so
    nothing is paid for them while text flows. Raises RunLost (and StorageUnavailable) from the record.
    """
    collector = _Collector(record)
    stream = provider.stream(request)
    watcher: asyncio.Task[None] | None = None
    error: DeskmateError | None = None
    scope = asyncio.timeout(budget.seconds_left)
    try:
        async with scope:
            watcher = asyncio.create_task(_expire_when_set(cancel, scope))
            async for events in stream:
                collector.take(events)
                if collector.ended:
                    break  # whole: no cancel can cut it off any more
                await record.room()
    except RunFatal:
        raise
    except Exception as fault:  # noqa: BLE001 a provider's bug must not cost the user the partial text
        if not scope.expired():
            error = _as_provider_error(fault)
        elif cancel.is_set():
            error = RequestCancelled("The run was cancelled.")
        else:
            error = budget.expired()
    finally:
        if watcher:
            watcher.cancel()
        await _close(stream)
    return collector.answer(provider.id, error)


async def _expire_when_set(cancel: asyncio.Event, scope: asyncio.Timeout) -> None:
    await cancel.wait()
    scope.reschedule(asyncio.get_running_loop().time())


def _as_provider_error(fault: Exception) -> ProviderError:
    if isinstance(fault, ProviderError):
        return fault
    log.error("provider adapter failed", exc_info=fault)
    return ProviderError("The connection to the model failed unexpectedly.", kind="server", retryable=True)


async def _close(stream: AsyncIterator[Sequence[ModelEvent]]) -> None:
    """Closes the iterator, which closes the socket: nothing is generated or billed any more (O14)."""
    aclose: Any = getattr(stream, "aclose", None)
    if aclose is None:
        return
    try:
        async with asyncio.timeout(CLOSE_LIMIT_S):
            await aclose()
    except Exception:
        log.exception("provider stream did not close")


class _Collector:
    """Adds up a stream's events; one `record.text` for each stretch of one channel in a batch."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._text: dict[Channel, list[str]] = {"answer": [], "reasoning": []}
        self._calls: dict[int, ToolCall] = {}
        self._open: dict[int, tuple[str, list[str]]] = {}
        self._opaque: dict[str, Any] | None = None
        self._usage: UsageReport | None = None
        self._end: Done | Failed | None = None

    @property
    def ended(self) -> bool:
        return self._end is not None

    def take(self, events: Sequence[ModelEvent]) -> None:
        channel: Channel = "answer"
        stretch: list[str] = []
        for event in events:
            if isinstance(event, TextDelta):
                wanted: Channel = "answer"
            elif isinstance(event, ReasoningDelta):
                wanted = "reasoning"
            else:
                self._take_other(event)
                continue
            if wanted != channel:
                self._put(channel, stretch)
                channel, stretch = wanted, []
            stretch.append(event.text)
        self._put(channel, stretch)

    def _put(self, channel: Channel, stretch: list[str]) -> None:
        if text := "".join(stretch):
            self._text[channel].append(text)
            self._record.text(channel, text)

    def _take_other(
        self, event: ToolCallFragment | ToolCallReady | OpaqueState | UsageReport | Done | Failed
    ) -> None:
        match event:
            case ToolCallFragment(index, name, text):
                known, texts = self._open.setdefault(index, (name, []))
                texts.append(text)
                if name and not known:
                    self._open[index] = (name, texts)
            case ToolCallReady():
                self._open.pop(event.index, None)
                self._calls[event.index] = _ready_call(event)
            case OpaqueState(data):
                self._opaque = {**(self._opaque or {}), **data}
            case UsageReport():
                self._usage = event
            case Done() | Failed():
                self._end = event
            case _:
                assert_never(event)

    def answer(self, provider_id: str, error: DeskmateError | None) -> StepAnswer:
        error = error or self._error_of_end()
        # Only an answer that ended by itself asked for its unfinished calls; in one that was cut off
        # they are not yet calls, and the record holds none of them.
        cut = {} if error else self._unfinished_calls()
        calls = self._calls | cut
        message = AssistantMessage(
            text="".join(self._text["answer"]),
            tool_calls=tuple(call for _, call in sorted(calls.items())),
            reasoning="".join(self._text["reasoning"]),
            opaque=self._opaque,
            provider_id=provider_id,
        )
        stop = self._end.stop if isinstance(self._end, Done) and not error else None
        return StepAnswer(message, self._usage, stop, error, frozenset(call.call_id for call in cut.values()))

    def _unfinished_calls(self) -> dict[int, ToolCall]:
        return {
            index: ToolCall(new_id("call"), name, None, "".join(texts))
            for index, (name, texts) in self._open.items()
            if name and index not in self._calls
        }

    def _error_of_end(self) -> ProviderError | None:
        match self._end:
            case Failed(error):
                return error
            case Done(stop="error", raw=raw):
                text = f"The model ended its answer with an error ({raw or 'no reason given'})."
                return ProviderError(text, kind="server", retryable=True)
            case Done():
                return None
            case None:
                text = "The model's answer broke off before its end."
                return ProviderError(text, kind="incomplete_stream", retryable=True)


def _ready_call(event: ToolCallReady) -> ToolCall:
    call = ToolCall(new_id("call"), event.name, event.arguments, event.raw_arguments, event.wire_id)
    if call.arguments is None and event.raw_arguments.strip() in {"", "null"}:
        return replace(call, arguments={})  # how many models call a tool without parameters (O11)
    return call
