"""The outermost layer, pure ASGI: request id, size limit, security headers, the last catch.

Pure ASGI because Starlette's `BaseHTTPMiddleware` puts a queue and a task between a stream and its
reader, which costs time on every chunk and hides disconnects.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import REQUEST_ID, problem_of, unforeseen
from app.errors import DeskmateError, InvalidParams, NotFound, PayloadTooLarge

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_DEFAULTS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Sent where the answer does not say otherwise."""


class Edge:
    """Wraps the app.

    Args:
        app: what answers.
        body_limit_bytes: largest body of an ordinary request.
        upload_limit_bytes: largest body at one of `upload_paths`; the frame around the file is added.
        upload_paths: addresses that take files.
        https: whether the public address is https, so that browsers should insist on it.
    """

    FRAME_BYTES = 65_536
    """What multipart boundaries, part headers and small fields may add to a file."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit_bytes: int,
        upload_limit_bytes: int,
        upload_paths: frozenset[str] = frozenset(),
        https: bool = False,
    ) -> None:
        self._app = app
        self._limit = body_limit_bytes
        self._limits: Mapping[str, int] = dict.fromkeys(upload_paths, upload_limit_bytes + self.FRAME_BYTES)
        self._headers = _HEADERS + (((b"strict-transport-security", b"max-age=31536000"),) if https else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = "req_" + secrets.token_hex(10)
        scope[REQUEST_ID] = request_id
        structlog.contextvars.bind_contextvars(request_id=request_id)
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._add_headers(message, request_id)
            await send(message)

        body = _LimitedBody(receive, scope, self._limits.get(scope["path"], self._limit))
        try:
            _refuse_nul(scope)
            await self._app(scope, body, send_with_headers)
        except DeskmateError as error:
            if begun:
                raise
            await problem_of(scope, error)(scope, receive, send_with_headers)
        except Exception as error:
            if begun:
                # There is no status left to change: the server closes the connection, the client sees a cut.
                raise
            await unforeseen(scope, error)(scope, receive, send_with_headers)

    def _add_headers(self, message: Message, request_id: str) -> None:
        headers = list(message.get("headers", ()))
        present = {name.lower() for name, _ in headers}
        headers.append((b"x-request-id", request_id.encode()))
        headers.extend(self._headers)
        headers.extend(pair for pair in _DEFAULTS if pair[0] not in present)
        message["headers"] = headers


class _LimitedBody:
    """Counts what is read. Says no at the first read, so that a refused caller is told that instead."""

    __slots__ = ("_declared", "_limit", "_read", "_receive")

    def __init__(self, receive: Receive, scope: Scope, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._read = 0
        self._declared = 0
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                self._declared = int(value)

    async def __call__(self) -> Message:
        if self._declared > self._limit:
            raise self._too_large()
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > self._limit:
                raise self._too_large()
        return message

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(
            f"The body is larger than {self._limit} bytes.", details={"limit_bytes": self._limit}
        )


def _refuse_nul(scope: Scope) -> None:
    """No id and no parameter holds a NUL, and PostgreSQL would refuse it with a fault."""
    if "\x00" in scope["path"]:
        raise NotFound
    if b"%00" in scope["query_string"]:
        raise InvalidParams(
            "The query holds a NUL character (U+0000), which cannot be stored or searched for."
        )
