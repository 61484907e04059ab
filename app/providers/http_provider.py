"""A `ModelProvider` over HTTP: the same way of a call for every wire format."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from app.errors import ProviderError
from app.protocol.conversation import (
    Done,
    Failed,
    ModelEvent,
    ModelRequest,
    ToolCallFragment,
    ToolCallReady,
    UsageReport,
)
from app.providers.faults import fault, fault_of_response
from app.providers.reply_reader import ReplyReader
from app.providers.strict_schema import without_added_nulls
from app.providers.transport import HttpTransport, Reply
from app.providers.wire_names import NameMap
from app.providers.wire_text import clean_value

DRAIN_S = 0.1
"""After the end of a reply its connection is worth this wait, so that the next call need not connect."""
MOST_ROUNDS = 5
"""Requests of one model call, where a provider pauses and wants to be asked to go on."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is and how it is paid for."""

    id: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    """Never in a repr, error or log."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request ready for the wire, with what is needed to read its reply."""

    path: str
    """Behind the endpoint's base_url, query included."""
    body: dict[str, Any]
    names: NameMap
    strict: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Original schema of each tool that was sent as strict, by our name."""

    def encode(self) -> bytes:
        try:
            return orjson.dumps(self.body)
        except TypeError:  # a lone surrogate in the history
            return orjson.dumps(clean_value(self.body))


class Wire(Protocol):
    """One wire format: the neutral request into its body, and a reader for its reply."""

    def headers(self, api_key: str | None) -> dict[str, str]: ...

    def build(self, request: ModelRequest, provider_id: str) -> WireRequest: ...

    def reader(self, request: ModelRequest) -> ReplyReader: ...

    def go_on(
        self, request: ModelRequest, provider_id: str, readers: Sequence[ReplyReader]
    ) -> WireRequest | None:
        """The request that continues a reply which the provider paused; None where it is whole.

        `readers` have read what came so far, the newest last.
        """
        ...


class HttpProvider:
    """A `ModelProvider` (protocol.ports) for one endpoint of one wire format."""

    def __init__(self, endpoint: Endpoint, transport: HttpTransport, wire: Wire) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._wire = wire
        self._base = endpoint.base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"HttpProvider({self._endpoint!r})"

    @property
    def id(self) -> str:
        return self._endpoint.id

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        wire = self._wire.build(request, self.id)
        readers: list[ReplyReader] = []
        used: list[UsageReport] = []
        while len(readers) < MOST_ROUNDS:
            reader = self._wire.reader(request)
            readers.append(reader)
            pending: WireRequest | None = None
            async with aclosing(self._exchange(wire, reader)) as batches:
                async for events in batches:
                    batch = events
                    if reader.ended:
                        pending = self._wire.go_on(request, self.id, readers)
                        if pending is not None:
                            batch = _without_end(events, used)
                        elif used:
                            batch = _with_sum(events, used)
                    if batch:
                        yield batch
            if pending is None:
                return
            wire = pending
        yield [Failed(fault("server", "The model provider paused its reply again and again."))]

    async def _exchange(
        self, wire: WireRequest, reader: ReplyReader
    ) -> AsyncGenerator[list[ModelEvent], None]:
        call = self._transport.post(
            self._base + wire.path, self._wire.headers(self._endpoint.api_key), wire.encode()
        )
        wire.body.clear()  # encoded: what is left of it serves to read the answer
        try:
            async with call as reply:
                if not 200 <= reply.status < 300:
                    error = fault_of_response(reply.status, reply.headers, await reply.error_body())
                    yield [Failed(self._without_key(error))]
                    return
                if reply.headers.get("content-type", "").startswith("text/html"):
                    text = (
                        "The model provider answered with a web page. Check base_url: it usually ends in /v1."
                    )
                    yield [Failed(fault("invalid_request", text))]
                    return
                async with aclosing(_batches(reply, reader)) as batches:
                    async for batch in batches:
                        yield self._ours(batch, wire)
        except ProviderError as error:
            yield [Failed(self._without_key(error))]

    def _ours(self, batch: list[ModelEvent], wire: WireRequest) -> list[ModelEvent]:
        """Wire names back to ours, strict's nulls out of the arguments, the key out of errors."""
        for at, event in enumerate(batch):
            if isinstance(event, ToolCallFragment):
                batch[at] = replace(event, name=wire.names.from_wire(event.name))
            elif isinstance(event, ToolCallReady):
                name = wire.names.from_wire(event.name)
                arguments = event.arguments
                if arguments is not None and (schema := wire.strict.get(name)) is not None:
                    arguments = without_added_nulls(arguments, schema)
                batch[at] = replace(event, name=name, arguments=arguments)
            elif isinstance(event, Failed):
                batch[at] = Failed(self._without_key(event.error))
        return batch

    def _without_key(self, error: ProviderError) -> ProviderError:
        """Some servers repeat the key they refuse."""
        key = self._endpoint.api_key
        if not key or key not in error.message:
            return error
        return ProviderError(
            error.message.replace(key, "***"),
            kind=error.kind,
            retryable=error.retryable,
            retry_after_s=error.retry_after_s,
        )


async def _batches(reply: Reply, reader: ReplyReader) -> AsyncGenerator[list[ModelEvent], None]:
    cut: ProviderError | None = None
    async with aclosing(reply.chunks()) as chunks:
        try:
            async for chunk in chunks:
                batch = reader.feed(chunk)
                if batch:
                    yield batch
                if reader.ended:
                    await _drain(chunks)
                    return
        except ProviderError as error:
            cut = error
    batch = reader.close(cut)
    if batch:
        yield batch


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    with suppress(ProviderError, TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass


def _without_end(batch: list[ModelEvent], used: list[UsageReport]) -> list[ModelEvent]:
    """A paused reply's batch: its usage is kept for the sum, its end is not the call's end."""
    used.extend(event for event in batch if isinstance(event, UsageReport))
    return [event for event in batch if not isinstance(event, UsageReport | Done)]


def _with_sum(batch: list[ModelEvent], used: list[UsageReport]) -> list[ModelEvent]:
    reports = [*used, *(event for event in batch if isinstance(event, UsageReport))]
    rest = [event for event in batch if not isinstance(event, UsageReport)]
    total = UsageReport(
        input=sum(report.input for report in reports),
        output=sum(report.output for report in reports),
        cached=sum(report.cached for report in reports),
        cache_write=sum(report.cache_write for report in reports),
        reasoning=sum(report.reasoning for report in reports),
    )
    return [*rest[:-1], total, *rest[-1:]]
