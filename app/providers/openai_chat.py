"""OpenAI Chat Completions and every compatible endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from app.errors import ProviderError
from app.protocol.conversation import Failed, ModelEvent, ModelRequest, ToolCallFragment, ToolCallReady
from app.providers.chat_request import ChatRequest, build_chat_request
from app.providers.chat_stream import ChatReplyReader
from app.providers.faults import fault, fault_of_response
from app.providers.profiles import Profile
from app.providers.strict_schema import without_added_nulls
from app.providers.transport import HttpTransport, Reply

DRAIN_S = 0.1
"""After the end of a reply its connection is worth this wait, so that the next call need not connect."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is and how it is paid for."""

    id: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    """Never in a repr, error or log."""


class OpenAIChatProvider:
    """A `ModelProvider` (protocol.ports) for one Chat Completions endpoint."""

    def __init__(self, endpoint: Endpoint, transport: HttpTransport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._url = endpoint.base_url.rstrip("/") + "/chat/completions"
        self._profiles: dict[str, tuple[Mapping[str, Any], Profile]] = {}

    def __repr__(self) -> str:
        return f"OpenAIChatProvider({self._endpoint!r})"

    @property
    def id(self) -> str:
        return self._endpoint.id

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        profile = self._profile(request)
        reader = ChatReplyReader(profile.think_tags)
        wire = build_chat_request(request, profile, self.id)
        call = self._transport.post(self._url, self._headers(), wire.encode())
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

    async def aclose(self) -> None:
        await self._transport.aclose()

    def _ours(self, batch: list[ModelEvent], wire: ChatRequest) -> list[ModelEvent]:
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

    def _profile(self, request: ModelRequest) -> Profile:
        data = request.model.profile
        held = self._profiles.get(request.model.id)
        if held is None or held[0] is not data:
            held = (data, Profile.from_mapping(data, where=f"profile of model {request.model.id}"))
            self._profiles[request.model.id] = held
        return held[1]

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"authorization": f"Bearer {key}"} if key else {}

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


async def _batches(reply: Reply, reader: ChatReplyReader) -> AsyncGenerator[list[ModelEvent], None]:
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
