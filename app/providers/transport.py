"""How to reach a provider over HTTP: httpx's face on aiohttp's transport.

The transport was chosen by measurement (DESIGN, "Speed"). It has ways of its own, met here:

* its httpx exceptions mislead (refused, unresolved and a full pool all come as ConnectTimeout, a cut
  body as ReadError), so faults are told by `__cause__`, the aiohttp exception;
* its read timeout counts silence on the socket, so comments and pings of a stream keep it alive;
* `accept-encoding: identity`, because a compressor holds small deltas back.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from app.errors import ProviderError
from app.providers.faults import fault

CONNECT_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 300.0
"""Reasoning models are silent for minutes (https://github.com/2389-research/tracker/issues/577)."""
POOL_TIMEOUT_S = 30.0
"""Wait for a free connection, connecting included."""
ERROR_BODY_BYTES = 64 * 1024
ERROR_BODY_TIMEOUT_S = 10.0


class Reply:
    """One HTTP answer whose body is still to be read.

    It keeps the stream alone: a model call lives for minutes, and httpx's response would keep the whole
    request (history and tools, many kilobytes a run) for as long.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        """Names are looked up in lower case."""
        # Asked for identity, but some proxies compress all the same.
        self._compressed = None
        if response.headers.get("content-encoding", "identity") not in ("identity", ""):
            self._compressed = response
        self._stream = cast("httpx.AsyncByteStream", response.stream)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives. Raises ProviderError where it is cut or falls silent."""
        source = self._stream if self._compressed is None else self._compressed.aiter_bytes()
        try:
            async for chunk in source:
                if chunk:
                    yield chunk
        except TRANSPORT_ERRORS as error:
            raise fault_of_exception(error) from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def error_body(self) -> bytes:
        """The start of the body of a refusal; what is cut or late is left out."""
        body = bytearray()
        try:
            async with asyncio.timeout(ERROR_BODY_TIMEOUT_S):
                async for chunk in self.chunks():
                    body += chunk
                    if len(body) >= ERROR_BODY_BYTES:
                        break
        except (ProviderError, TimeoutError):
            pass
        return bytes(body)


class HttpTransport:
    """The connections to one provider."""

    def __init__(
        self,
        *,
        max_connections: int,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        """`max_connections`: as many as runs may be live; the transport's own 100 would queue them."""
        timeout = httpx.Timeout(
            connect=connect_timeout_s, read=idle_timeout_s, write=idle_timeout_s, pool=POOL_TIMEOUT_S
        )
        self._extensions = {"timeout": timeout.as_dict()}
        limits = httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)
        # A session of our own, for its cookie jar: what a provider sets in one user's call must not
        # ride on another's. Built on first use, because aiohttp wants a running loop.
        verify = httpx.create_ssl_context(trust_env=False)
        # Requests go to the transport itself: httpx's client would add redirects, auth, cookies and
        # hooks, none of which a model call uses, at a tenth of the whole call's cost.
        self._transport = AiohttpTransport(
            verify=verify, trust_env=False, limits=limits, client=lambda: _session(verify, max_connections)
        )

    @asynccontextmanager
    async def post(self, url: str, headers: Mapping[str, str], content: bytes) -> AsyncGenerator[Reply, None]:
        """Sends a JSON body; leaving the block closes the socket unless the reply was read to its end.

        Raises ProviderError for every way in which no answer comes.
        """
        try:
            request = httpx.Request(
                "POST",
                url,
                content=content,
                headers={
                    "accept-encoding": "identity",
                    "content-type": "application/json",
                    "user-agent": "deskmate",
                    **headers,
                },
                extensions=self._extensions,
            )
            reply = Reply(await self._transport.handle_async_request(request))
        except TRANSPORT_ERRORS as error:
            raise fault_of_exception(error) from None
        del request, content  # sent, and not needed while the answer streams
        try:
            yield reply
        finally:
            await reply.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()


def _session(verify: ssl.SSLContext, max_connections: int) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=max_connections, keepalive_timeout=30, ssl=verify)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


TRANSPORT_ERRORS = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
)
"""All that client and transport raise; aiohttp's own come through where the transport knows no name."""


def fault_of_exception(error: BaseException) -> ProviderError:
    """What an exception of client or transport means, told by its cause where it has one."""
    cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ is not None else error
    for kinds, make in _FAULTS:
        if isinstance(cause, kinds):
            return make()
    return fault("connection", "The connection to the model provider failed.")


_FAULTS = (
    # Order counts: the narrow classes stand before those they derive from.
    (
        aiohttp.ClientConnectorDNSError,
        lambda: fault("connection", "The model provider's host name could not be resolved. Check base_url."),
    ),
    (
        (aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch, ssl.SSLError),
        lambda: fault(
            "connection", "The model provider's TLS certificate was not accepted.", retryable=False
        ),
    ),
    (
        aiohttp.ConnectionTimeoutError,
        lambda: fault("timeout", "No connection to the model provider came about in time."),
    ),
    (
        (aiohttp.ServerTimeoutError, httpx.TimeoutException, TimeoutError),
        lambda: fault("timeout", "The model provider was silent for too long."),
    ),
    (
        (aiohttp.ClientConnectorError, httpx.ConnectError),
        lambda: fault("connection", "The model provider could not be reached. Check base_url, or wait."),
    ),
    (
        aiohttp.ClientPayloadError,
        lambda: fault("incomplete_stream", "The model provider's reply broke off before its end."),
    ),
    (
        aiohttp.ServerDisconnectedError,
        lambda: fault("connection", "The model provider closed the connection without an answer."),
    ),
    (
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, httpx.InvalidURL, httpx.UnsupportedProtocol),
        lambda: fault("invalid_request", "The model provider's base_url is not an http(s) address."),
    ),
    (
        (aiohttp.ClientResponseError, aiohttp.RedirectClientError, httpx.DecodingError),
        lambda: fault("server", "The model provider's answer was not valid HTTP."),
    ),
)
